"""Small trees of every shape in which older code, stubs and re-exports stand beside what they stand for."""

from __future__ import annotations

CLIENT_V1 = '''"""The HTTP client of the service: sends requests, retries those that fail, uploads files."""


class Client:
    """A client that sends requests to the service and retries them."""

    def __init__(self, base_url, timeout=10):
        self.base_url = base_url
        self.timeout = timeout

    def send(self, request):
        """Send a request to the service and return its response."""
        return retry_request(self._open(request), request)

    def _open(self, request):
        return (self.base_url, request)


def retry_request(connection, request, attempts=3):
    """Send a request again while the service answers with an error; wait longer each time."""
    for attempt in range(attempts):
        response = connection.send(request)
        if response.status < 500:
            return response
        wait_longer(attempt)
    raise ConnectionError("the service does not answer")


def wait_longer(attempt):
    """Sleep twice as long with each attempt."""
    return 2**attempt


def upload_archive(client, path):
    """Upload a tar archive in parts."""
    return client.send(("PUT", path))
'''
CLIENT_V2 = '''"""The client of the service."""

from acme.v2.retry import retry_request


class Client:
    """Sends requests."""

    def __init__(self, base_url, timeout=10, session=None, headers=None):
        self.base_url = base_url
        self.timeout = timeout
        self.session = session
        self.headers = headers or {}

    def send(self, request):
        """Send a request."""
        connection = self.connect(request)
        for hook in self.session.hooks:
            hook(request)
        return retry_request(connection, request, limit=self.session.limit)

    def connect(self, request):
        return self.session.pool.take(self.base_url)

    def close(self):
        self.session.close()
'''
RETRY_V2 = """import asyncio


async def retry_request(connection, request, limit):
    for attempt in range(limit.attempts):
        response = await connection.send(request)
        if not limit.is_failure(response):
            return response
        await asyncio.sleep(limit.delay(attempt))
    raise limit.error(request)


class Limit:
    def __init__(self, attempts, delays):
        self.attempts = attempts
        self.delays = delays

    def delay(self, attempt):
        return self.delays[min(attempt, len(self.delays) - 1)]
"""
OTHER_PY = '''def render_page(template, values):
    """Fill a template with values."""
    return template.format(**values)


def parse_date(text):
    """Read a date in ISO form."""
    year, month, day = text.split("-")
    return int(year), int(month), int(day)
'''
STORE_PY = '''class Store:
    def __init__(self, path):
        self.path = path

    def load_user(self, key):
        """Read a user from the disk."""
        with open(self.path) as file:
            return file.read()
'''
BILLING_OLD = '''"""Invoices: totals, discounts and taxes of an invoice."""


def invoice_total(lines, discount=0):
    """Add up the lines of an invoice, take the discount off and add the tax."""
    total = sum(line.price * line.count for line in lines)
    return total * (1 - discount) * 1.19


def print_invoice(lines):
    """Print an invoice with its total."""
    for line in lines:
        print(line.name, line.price)
    print("total", invoice_total(lines))
'''
BILLING_NEW = '''from decimal import Decimal


class Rates:
    """Rates by country."""

    def __init__(self, table):
        self.table = table

    def of(self, country):
        return Decimal(self.table.get(country, 0))


def invoice_total(invoice, rates):
    amount = sum((line.amount for line in invoice.lines), Decimal(0))
    for rebate in invoice.rebates:
        amount -= rebate.of(amount)
    return amount * (1 + rates.of(invoice.country))


def print_invoice(invoice, rates, out):
    out.write(invoice.header)
    for line in invoice.lines:
        out.write(f"{line.name}\\t{line.amount}\\n")
    out.write(str(invoice_total(invoice, rates)))


def cancel_invoice(invoice, ledger):
    ledger.reverse(invoice.number)
'''
PARSER_LEGACY_JS = """/** Parses queries: splits a query into tokens and builds a tree of them. */
export class QueryParser {
  /** Parse a query and return its tree. */
  parseQuery(text) {
    return this.tokens(text).map((token) => ({ token }));
  }

  /** Split a query into tokens. */
  tokens(text) {
    return text.split(" ");
  }
}

/** Escape the quotes of a query. */
export function escapeQuery(text) {
  return text.replace(/"/g, '\\\\"');
}
"""
PARSER_JS = """import { Lexer } from "./lexer.js";

export class QueryParser {
  constructor(grammar, options = {}) {
    this.grammar = grammar;
    this.strict = options.strict ?? true;
  }

  parseQuery(text) {
    const lexer = new Lexer(text, this.grammar);
    const stack = [];
    for (const token of lexer) {
      this.grammar.reduce(stack, token, this.strict);
    }
    return stack.pop();
  }
}
"""
LEXER_JS = """export class Lexer {
  constructor(text, grammar) {
    this.text = text;
    this.grammar = grammar;
  }

  *[Symbol.iterator]() {
    for (const match of this.text.matchAll(this.grammar.pattern)) {
      yield match;
    }
  }
}
"""
OTHER_JS = """export function formatPrice(amount, currency) {
  return `${amount} ${currency}`;
}

export function sortRows(rows, key) {
  return [...rows].sort((a, b) => (a[key] < b[key] ? -1 : 1));
}
"""
STORE_TS = """import { Listener, State } from "./types";

export class Emitter {
  private listeners: Listener[] = [];
  on(listener: Listener) {
    this.listeners.push(listener);
  }
}

export function createStore<S extends State>(initial: S) {
  let state = initial;
  const emitter = new Emitter();
  return {
    get: () => state,
    set(next: S) {
      state = next;
      emitter.on(() => next);
    },
  };
}
"""
SELECT_TS = """import type { State } from "./types";

export function selectSlice<S extends State>(state: S, key: keyof S) {
  return state[key];
}

export function memoSelector(fn: (state: State) => unknown) {
  let last: unknown;
  return (state: State) => (last = fn(state));
}
"""
BARREL_TS = """// The public API of the store: create a store, select a slice of its state.
export { createStore, Emitter } from "./store";
export { selectSlice, memoSelector } from "./select";
export * from "./types";
"""
TYPES_TS = """export type State = Record<string, unknown>;
export type Listener = () => void;
"""
INIT_PY = '''"""acme: load users from a store, parse dates, render pages."""

from acme.pages import parse_date, render_page
from acme.store import Store

__all__ = ["Store", "parse_date", "render_page"]
__version__ = "1.0"
'''
STUB = """class Store:
    path: str
    def __init__(self, path: str) -> None: ...
    def load_user(self, key: str) -> str: ...
"""
STORE_BIG = """import json


class Store:
    def __init__(self, path):
        self.path = path
        self.cache = {}

    def load_user(self, key):
        if key not in self.cache:
            with open(self.path) as file:
                for line in file:
                    row = json.loads(line)
                    self.cache[row["id"]] = row
        return self.cache.get(key)

    def drop(self):
        self.cache.clear()
"""
DTS = """export interface ParserOptions {
  /** Throw on an unknown token. */
  strict?: boolean;
}
export declare class QueryParser {
  constructor(grammar: object, options?: ParserOptions);
  /** Parse a query and return its tree. */
  parseQuery(text: string): object;
}
"""
RUST_LIB = """//! Frames: encode and decode frames of the wire.

pub mod codec;
mod buffer;

pub use crate::codec::{decode_frame, encode_frame, FrameCodec};
pub use buffer::RingBuffer;
"""
RUST_CODEC = """use crate::buffer::RingBuffer;

pub struct FrameCodec {
    max: usize,
}

impl FrameCodec {
    pub fn new(max: usize) -> Self {
        Self { max }
    }
}

pub fn encode_frame(codec: &FrameCodec, payload: &[u8], out: &mut RingBuffer) -> Result<(), usize> {
    if payload.len() > codec.max {
        return Err(payload.len());
    }
    out.push(&(payload.len() as u32).to_be_bytes());
    out.push(payload);
    Ok(())
}

pub fn decode_frame(codec: &FrameCodec, input: &mut RingBuffer) -> Option<Vec<u8>> {
    let size = input.peek_u32()? as usize;
    if size > codec.max {
        return None;
    }
    input.take(size)
}
"""
RUST_BUFFER = """pub struct RingBuffer {
    data: Vec<u8>,
    head: usize,
}

impl RingBuffer {
    pub fn push(&mut self, bytes: &[u8]) {
        self.data.extend_from_slice(bytes);
    }

    pub fn peek_u32(&self) -> Option<u32> {
        None
    }

    pub fn take(&mut self, size: usize) -> Option<Vec<u8>> {
        let end = self.head + size;
        self.data.get(self.head..end).map(<[u8]>::to_vec)
    }
}
"""
GO_COMPAT = """// Package compat encodes records in the form of before.
package compat

// EncodeRecord encodes a record as text with its checksum.
func EncodeRecord(name string, value string) string {
	return name + "=" + value + ";" + checksum(value)
}

// checksum returns the checksum of a record.
func checksum(value string) string {
	return string(rune(len(value)))
}
"""
GO_NEW = """package record

import "io"

type Encoder struct {
	out   io.Writer
	table map[string]int
}

func EncodeRecord(e *Encoder, fields []Field) error {
	for _, field := range fields {
		id, ok := e.table[field.Name]
		if !ok {
			return ErrUnknown
		}
		if err := e.write(id, field.Value); err != nil {
			return err
		}
	}
	return e.seal()
}

func (e *Encoder) write(id int, value []byte) error {
	_, err := e.out.Write(append([]byte{byte(id)}, value...))
	return err
}

func (e *Encoder) seal() error {
	return nil
}
"""
GO_OTHER = """package server

func ListenAndServe(address string) error {
	return nil
}

func Shutdown() {
}
"""
K8S_BETA = """// Package v1beta1 holds the deployment types.
package v1beta1

// DeploymentSpec says how many replicas of a deployment run and how they are replaced.
type DeploymentSpec struct {
	Replicas *int32
	Paused   bool
}

// ScaleDeployment changes the number of replicas of a deployment.
func ScaleDeployment(spec *DeploymentSpec, replicas int32) {
	spec.Replicas = &replicas
}
"""
K8S_V1 = """package v1

type DeploymentSpec struct {
	Replicas        *int32
	Selector        map[string]string
	MinReadySeconds int32
	Paused          bool
	Deadline        *int32
}

func ScaleDeployment(spec *DeploymentSpec, replicas int32, clock Clock) error {
	if spec.Paused {
		return ErrPaused
	}
	spec.Replicas = &replicas
	return clock.Wait(spec.Deadline)
}
"""
HEADER_C = """/* Hash tables: add a key to a table, find a key in a table. */
struct table;
int table_add(struct table *t, const char *key, void *value);
void *table_find(struct table *t, const char *key);
"""
SOURCE_C = """#include "table.h"

int table_add(struct table *t, const char *key, void *value) {
    unsigned slot = hash(key) % t->n;
    t->slots[slot] = entry(key, value, t->slots[slot]);
    return ++t->used;
}

void *table_find(struct table *t, const char *key) {
    struct entry *e = t->slots[hash(key) % t->n];
    while (e && strcmp(e->key, key)) e = e->next;
    return e ? e->value : 0;
}
"""

REST = {"acme/pages.py": OTHER_PY, "README.md": "# Acme\n\nA service with users, pages and dates.\n"}
TREES: dict[str, dict[str, str]] = {
    "versions": {
        "acme/v1/client.py": CLIENT_V1,
        "acme/v2/client.py": CLIENT_V2,
        "acme/v2/retry.py": RETRY_V2,
        **REST,
    },
    "version_names": {"acme/client_v1.py": CLIENT_V1, "acme/client_v2.py": CLIENT_V2 + "\n\n" + RETRY_V2, **REST},
    "beta": {"apis/apps/v1beta1/types.go": K8S_BETA, "apis/apps/v1/types.go": K8S_V1, "server/http.go": GO_OTHER},
    "legacy_folder": {
        "src/legacy/parser.js": PARSER_LEGACY_JS,
        "src/parser.js": PARSER_JS,
        "src/lexer.js": LEXER_JS,
        "src/format.js": OTHER_JS,
    },
    "legacy_elsewhere": {
        "legacy/src/queries.js": PARSER_LEGACY_JS,
        "src/parser.js": PARSER_JS,
        "src/lexer.js": LEXER_JS,
        "src/format.js": OTHER_JS,
    },
    "old_file": {"shop/billing_old.py": BILLING_OLD, "shop/billing.py": BILLING_NEW, **REST},
    "old_folder": {"shop_old/billing.py": BILLING_OLD, "shop/billing.py": BILLING_NEW, **REST},
    "under_old": {"shop/_old/billing.py": BILLING_OLD, "shop/billing.py": BILLING_NEW, **REST},
    "compat_go": {
        "internal/compat/record.go": GO_COMPAT,
        "internal/record/record.go": GO_NEW,
        "server/http.go": GO_OTHER,
    },
    "compat_py": {"shop/compat.py": BILLING_OLD, "shop/billing.py": BILLING_NEW, **REST},
    "barrel": {
        "src/index.ts": BARREL_TS,
        "src/store.ts": STORE_TS,
        "src/select.ts": SELECT_TS,
        "src/types.ts": TYPES_TS,
        "app/format.js": OTHER_JS,
    },
    "init": {"acme/__init__.py": INIT_PY, "acme/store.py": STORE_BIG, **REST},
    "stub": {"acme/store.pyi": STUB, "acme/store.py": STORE_BIG, **REST},
    "stub_alone": {"acme/store.pyi": STUB, **REST},
    "declared": {
        "src/parser.d.ts": DTS,
        "src/parser.js": PARSER_JS,
        "src/lexer.js": LEXER_JS,
        "src/format.js": OTHER_JS,
    },
    "rust": {"src/lib.rs": RUST_LIB, "src/codec.rs": RUST_CODEC, "src/buffer.rs": RUST_BUFFER},
    "header": {"src/table.h": HEADER_C, "src/table.c": SOURCE_C},
    "legacy_alone": {"shop/legacy/billing.py": BILLING_OLD, "shop/orders.py": STORE_PY, **REST},
}
