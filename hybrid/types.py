"""Value types that more than one layer passes on; they hold data and know no other module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

FileKind = Literal["code", "doc"]
FILE_KINDS = ("code", "doc")

# --- sources -----------------------------------------------------------------------------------------------


class FileStamp(Struct, frozen=True):
    """Size and time of a file: enough to know that it did not change."""

    size_bytes: int
    mtime_ns: int


class Found(Struct, frozen=True):
    """A document that a source offers, before it is read.

    Attributes:
        path: Relative to the project, with forward slashes; lone surrogates stand for undecodable bytes.
        stamp: From the `stat` of the scan.
    """

    path: str
    stamp: FileStamp


class Document(Struct, frozen=True):
    """A document that was read.

    Attributes:
        path: As in `Found`.
        kind: `code` or `doc`; of a record one of `records.types.HIT_KINDS`.
        language: Name of the language as tree-sitter grammars spell it (`python`, `csharp`, `markdown`), or `text`.
        text: Decoded, line ends normalised to LF, no byte order mark.
        digest: SHA-256 of `text` (32 bytes).
    """

    path: str
    kind: str
    language: str
    text: str
    digest: bytes


class Skipped(Struct, frozen=True):
    """A document that is not indexed, and why (`binary`, `too_large`, `minified`, `generated`, `lock_file`, …)."""

    path: str
    reason: str


class Source(Protocol):
    """Gives the documents of one collection: the files of a working tree, later lessons, lore and memory."""

    def scan(self) -> Iterator[Found]:
        """Yield every document that the source offers now, each path once, in a stable order; costs one `stat` each."""
        ...

    def read(self, found: Found) -> Document | Skipped:
        """Read one document; return `Skipped`, never raise, for a file that is unreadable, binary or gone."""
        ...

    @property
    def skipped(self) -> Mapping[str, int]:
        """Return reason → number of documents that the last scan left out without reading them."""
        ...


# --- chunking ----------------------------------------------------------------------------------------------


class LineSpan(Struct, frozen=True):
    """Whole lines, 1-based and inclusive."""

    start_line: int
    end_line: int


class Definition(Struct, frozen=True):
    """A named thing that a file defines.

    Attributes:
        name: As written (`retry`, `Client`, `operator==`).
        kind: function, method, constructor, prototype (announced here, defined elsewhere), class, struct, union, enum,
            interface, trait, protocol, object, module, namespace, impl, extension, type, macro, constant, variable,
            field, property, enum_member, event, heading.
        start_line: First line of the definition itself (decorators and comments above it not counted).
        end_line: Last line, inclusive.
        signature: The head of the definition on one line, at most 200 characters.
        scope: Names of the enclosing definitions, outermost first, joined by dots; empty at top level.
        depth: How many definitions enclose it.
        is_value: True for constants, variables, fields, properties: things that hold a value, and not a function of
            several lines.
    """

    name: str
    kind: str
    start_line: int
    end_line: int
    signature: str
    scope: str
    depth: int
    is_value: bool

    @property
    def is_full(self) -> bool:
        """False for what only holds a value or is a prototype: its name says less about where the thing is defined."""
        return not self.is_value and self.kind != "prototype"


class Chunk(Struct, frozen=True):
    """A range of whole lines of a document, with what is defined in it.

    The chunks of a document are in order, do not overlap, and together hold every line that is not blank.

    Attributes:
        start_line: 1-based.
        end_line: Inclusive.
        name: Name of the definition it shows, or the last heading for prose; empty for merged or plain lines.
        kind: The definition's kind, `section` for prose, `lines` for the rest.
        signature: Signature of that definition; empty otherwise.
        scope: Enclosing definitions, or the heading path, joined by dots (code) or ` > ` (prose).
        definitions: Those that start inside the chunk, in order.
        comments: Spans of comments and docstrings, cut to the chunk.
    """

    start_line: int
    end_line: int
    name: str = ""
    kind: str = "lines"
    signature: str = ""
    scope: str = ""
    definitions: tuple[Definition, ...] = ()
    comments: tuple[LineSpan, ...] = ()


class ChunkLimits(Struct, frozen=True):
    """Sizes that chunking aims at, in characters.

    Attributes:
        max_chars: A definition up to this stays whole.
        merge_chars: Neighbours in one scope merge up to this.
        cut_chars: What is longer is cut near this, at a statement border or a blank line.
    """

    max_chars: int
    merge_chars: int
    cut_chars: int


class Chunked(Struct, frozen=True):
    """The chunks of one document, and how they were made.

    Attributes:
        chunks: In order of lines.
        method: `definitions`, `headings` or `lines`.
        fallback: Why a parse was wanted but not had (`no_grammar`, `parse_failed`, `repetitive`, `too_many`), else
            empty.
    """

    chunks: tuple[Chunk, ...]
    method: str
    fallback: str = ""


# --- models ------------------------------------------------------------------------------------------------


class EmbedderInfo(Struct, frozen=True):
    """The identity of an embedder: two with equal `key` give equal vectors.

    Attributes:
        name: As the user names it.
        dim: Length of a vector.
        sha256: Digest of everything that decides the vectors (weights, tokenizer, settings), in hex.
        max_tokens: Tokens of a text that count; 0 = no limit.
        gate_threshold: Default threshold on the raw top cosine, from the manifest, or None if nobody measured one.
        expected_false_open_rate: The share of unfitting prompts that this threshold let pass when measured, or None.
    """

    name: str
    dim: int
    sha256: str
    max_tokens: int
    gate_threshold: float | None
    expected_false_open_rate: float | None

    @property
    def key(self) -> str:
        """The key under which vectors are stored: name and the first 16 hex digits of `sha256`."""
        return f"{self.name}@{self.sha256[:16]}"


class EmbedInput(Struct, frozen=True):
    """The parts of a chunk that are embedded: its head line (path, scope, names) and its text."""

    head: str
    body: str


class Embedder(Protocol):
    """Turns texts into unit vectors. Two embedders of the same `info.key` give the same vectors on every machine."""

    @property
    def info(self) -> EmbedderInfo:
        """The identity of this embedder."""
        ...

    def embed_documents(self, inputs: Sequence[EmbedInput]) -> NDArray[np.float32]:
        """Return unit vectors, shape (n_inputs, dim); a text without any known token gives a row of zeros."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return a unit vector, shape (dim,); all zeros when the text has no known token."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Return the unit vectors of several queries, shape (n_texts, dim), and their lengths before, shape (n_texts,).

        A query's length is that of its weighted sum of tokens before it was made unit length. None in place of the
        lengths for a model where they tell nothing about how much a text says.
        """
        ...

    def truncated(self, inputs: Sequence[EmbedInput]) -> NDArray[np.bool_]:
        """Return for each input, shape (n_inputs,), whether it is longer than what the model reads."""
        ...


# --- retrieval ---------------------------------------------------------------------------------------------


class Hit(Struct, frozen=True, kw_only=True):
    """A chunk of an index, or lines of its file, with the figures of the search that found it, if a search did.

    Attributes:
        row: Row in the snapshot it came from; −1 without an index, so that only `key` tells any two hits apart.
        rank: From 1 in the final order; 0 without a search.
        kind: `code` or `doc`; of a record `lesson`, `pattern`, `anti-pattern`, `decision`, `handoff`, `observation` or
            `summary`.
        path: Relative to the project; of a record its id in the record index.
        start_line: 1-based.
        end_line: Inclusive.
        name: Name of the definition or heading shown, may be empty.
        chunk_kind: function, class, section, lines, ….
        scope: Enclosing definitions or headings.
        signature: Signature of the definition shown.
        language: Language of the file.
        digest: Chunk digest, 16 bytes.
        cosine: In [−1, 1]; None when the query or the chunk has no vector.
        cosine_rank: From 1 in the dense leg, or None.
        bm25: In [0, ∞); None when no query term occurs in the chunk.
        bm25_rank: From 1 in the lexical leg, or None.
        rrf: In (0, legs/(rrf_k+1)] with unit weights; 0 when it was in neither leg.
        relevance: Share of the evidence for the best file, in [0, 1], 0 for what only filled up the list; when the
            ranker was `rrf`, the best share of a leg's top.
        evidence: Name of a piece of evidence → its weighted value for the file, which together decide the order; empty
            when the ranker was `rrf`.
    """

    row: int
    rank: int = 0
    kind: str
    path: str
    start_line: int
    end_line: int
    name: str
    chunk_kind: str
    scope: str
    signature: str = ""
    language: str = ""
    digest: bytes
    cosine: float | None = None
    cosine_rank: int | None = None
    bm25: float | None = None
    bm25_rank: int | None = None
    rrf: float = 0.0
    relevance: float = 0.0
    evidence: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def is_record(self) -> bool:
        """True for a record, False for a part of a file."""
        return self.kind not in FILE_KINDS

    @property
    def key(self) -> str:
        """The key of this hit in topic ids, counters and the log: `path:start:end:digest8`, or `kind:id:digest8`."""
        of_file = self.kind in FILE_KINDS
        place = f"{self.path}:{self.start_line}:{self.end_line}" if of_file else f"{self.kind}:{self.path}"
        return f"{place}:{self.digest[:4].hex()}"


# --- injection ---------------------------------------------------------------------------------------------


class CleanedPrompt(Struct, frozen=True):
    """A prompt without what must be neither searched nor stored.

    Attributes:
        text: Text that may be searched; of a slash command its arguments, of a subagent's report the report.
        had_private: Whether a `<private>` span was cut.
        is_opted_out: Whether the prompt holds `[no-hybrid]`.
        is_machine_made: Whether a client wrote it and nobody typed it.
        subagent_report: The report in a `<task-notification>`, or None; then `is_machine_made` holds too.
        command_name: Name of a slash command without the slash, else empty.
    """

    text: str = ""
    had_private: bool = False
    is_opted_out: bool = False
    is_machine_made: bool = False
    subagent_report: str | None = None
    command_name: str = ""

    @property
    def is_blank(self) -> bool:
        """True for no prompt, and for one of white space: Qwen sends an empty one after every tool's result."""
        return self == NO_PROMPT

    @property
    def typed(self) -> str:
        """The cleaned prompt with the slash command it began with; what configured prefixes are compared with."""
        return f"/{self.command_name} {self.text}".rstrip() if self.command_name else self.text


NO_PROMPT = CleanedPrompt()


class ToolCall(Struct, frozen=True):
    """A use of a tool as its event tells it, without private spans and secrets.

    Attributes:
        tool: Name of the tool, as the client spells it.
        arguments: An object, JSON as text, or a patch.
        result: Text, blocks, or an object of any client's form.
        error: Text of the error in an event that tells of a failure; else empty.
    """

    tool: str
    arguments: object
    result: object
    error: str = ""


class Use(Struct, frozen=True, omit_defaults=True):
    """A use of a tool, as far as it tells what became of a decision; it holds no text.

    Attributes:
        at_s: Seconds since 1970.
        kind: `read`, `search`, `edit` or `command`.
        read: Files of the project that it read, or found if they are few.
        written: Files of the project that it wrote.
        failed: The form of a command that failed, and digits that tell its error from others; empty for none.
    """

    at_s: float
    kind: str
    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    failed: str = ""


class HookEvent(Struct, frozen=True):
    """One hook event of any client, reduced to what the engine needs; `hooks.event.parse_event` makes it.

    No text in it has a secret, but for the names of files, which must be found: `cwd`, `paths` and `transcript`.

    Attributes:
        client: A name of `hybrid.base.clients`; `manual` by hand.
        event: What happened, in our words whatever the client's: one of `hooks.service.EVENTS`.
        session_id: The agent's session id; empty when the event had none.
        agent_id: Id of a subagent; empty in the main conversation.
        cwd: Working directory of the session.
        prompt: The prompt, cleaned.
        name: The event as the client spells it; its answer must carry that name.
        source: Of a session start: `startup`, `resume`, `clear`, `compact`; of a session end its reason.
        call: The use of a tool; None for other events.
        tool_use_id: The client's id of the use of a tool; empty when it gives none.
        paths: Files that the tool wrote, as the client names them.
        report: Final text of a subagent, cleaned.
        message: Last text of the agent, at the end of its turn; empty when the client does not say.
        transcript: File of the conversation, as the client names it; empty when it names none.
        key: Unique key of this event, so that it has its effects once however often it is sent; empty without one.
    """

    client: str
    event: str
    session_id: str
    agent_id: str
    cwd: str
    prompt: CleanedPrompt = NO_PROMPT
    name: str = ""
    source: str = ""
    call: ToolCall | None = None
    tool_use_id: str = ""
    paths: tuple[str, ...] = ()
    report: CleanedPrompt = NO_PROMPT
    message: str = ""
    transcript: str = ""
    key: str = ""


Form = Literal["full", "preview", "pointer"]
"""How much is shown of a text: all of it, the lines that tell, or nothing but the header line."""

FORMS: tuple[Form, ...] = ("full", "preview", "pointer")
"""From the most to the least."""


class Item(Struct, frozen=True):
    """A file or a record as it will be shown.

    Attributes:
        hit: The hit that the item shows; of a file the part that fits best.
        text: What is shown, without secrets and without the header line; of a preview of a record the whole text.
        form: `full`, `preview` or `pointer`.
        body: What of the text is shown in this form; empty for a pointer.
        further: Other parts of the file whose text is in `body`, each with the form in which it is shown.
        others: Parts of the file of which the header line tells the places.
        covers: What the search found of the file, each with the form in which it is given by this.
        why: The reason for the form, a few words; empty where every item has the same form.
        is_rest: Lines that stand in the agent's context are left out of what is shown.
    """

    hit: Hit
    text: str
    form: Form
    body: str = ""
    further: tuple[tuple[Hit, Form], ...] = ()
    others: tuple[Hit, ...] = ()
    covers: tuple[tuple[Hit, Form], ...] = ()
    why: str = ""
    is_rest: bool = False

    @property
    def found(self) -> Hit:
        """The best hit of a file: its parts have no place of their own in the index. Of a record the hit itself."""
        return self.covers[0][0] if self.covers else self.hit

    @property
    def shown(self) -> tuple[Hit, ...]:
        """The hits whose text is shown, or of which the item is the pointer."""
        return (self.hit, *(hit for hit, _ in self.further))

    @property
    def given(self) -> tuple[tuple[Hit, Form], ...]:
        """Every hit that the item gives, once, with the form in which it does: the others by their places."""
        named: list[tuple[Hit, Form]] = [(hit, "pointer") for hit in self.others]
        given: dict[bytes, tuple[Hit, Form]] = {}
        own: tuple[Hit, Form] = (self.hit, self.form)
        for one in (own, *self.further, *self.covers, *named):
            given.setdefault(one[0].digest, one)
        return tuple(given.values())
