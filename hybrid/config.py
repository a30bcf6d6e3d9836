"""Settings: reads the layers, checks types and ranges, and gives one frozen `Config`; the rims read it once.

Defaults stand in the shipped `config.toml` only; a field of a section that has one here, or in `constants`, is no
setting but a constant, which only a flag overrides. A layer with a mistake never stops a hook: the wrong value is left
out and named. Commands turn what the user can mend into an error; a mistake in a project's file, which may come from
strangers, is only a warning.
"""

# Annotations are no strings here: the checks read them, and to compile each from a string costs a hook a millisecond.

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args, get_origin, get_type_hints

import tomli
from msgspec import Struct, field

from hybrid.base.atomic import read_regular
from hybrid.base.errors import ConfigError
from hybrid.base.resources import shipped
from hybrid.constants import Cosine, GateConfig, PartsConfig, RankingConfig, SearchConfig, Share

ContentMode = Literal["adaptive", "full", "preview", "none"]
Format = Literal["text", "xml", "json"]


class HooksConfig(Struct, frozen=True):
    """The `[hooks]` section; units and reasons stand in `config.toml`."""

    threshold: Share
    budget: Annotated[int, (0, 10_000)]
    budget_chars: Annotated[int, (0, 9_000)]
    content_mode: ContentMode
    format: Format
    gate_threshold: Annotated[float | Literal["auto"], (-1, 1)]
    dedup_enabled: bool
    skip_prefixes: tuple[str, ...]
    deadline_ms: Annotated[int, (50, 60_000)]
    ledger_days: Annotated[int, (1, 3650)]
    skip_read: bool
    check_names: bool
    at_file: bool
    tests_of_edited: bool
    session_start: bool
    subagent_reports: bool
    subagent_brief: bool
    notice: bool

    # Give nothing when the session was given this many of the best results before, the first of them in full: the rest
    # would be second choice, and an old question asked again would bring ever worse records. 0 gives the rest.
    known_best: Annotated[int, (0, 100)] = 3


class LessonsConfig(Struct, frozen=True):
    """The `[lessons]` section."""

    enabled: bool
    max_items: Annotated[int, (0, 100)]
    budget_chars: Annotated[int, (0, 9_000)]
    threshold: Share
    min_score: Annotated[int, (0, 10)]
    min_cosine: Cosine
    max_false_open_rate: Share
    max_other_task_rate: Share
    session_start: Annotated[int, (0, 100)]
    remind_every: Annotated[int, (0, 10_000)]
    capture: bool
    use_haiku_scoring: bool
    haiku_model: str

    # Lessons for the report of a subagent.
    after_report: Annotated[int, (0, 100)] = 3


class LoreConfig(Struct, frozen=True):
    """The `[lore]` section."""

    enabled: bool
    data_dir: str
    budget_chars: Annotated[int, (0, 9_000)]
    threshold: Share
    min_cosine: Cosine
    max_false_open_rate: Share
    max_other_task_rate: Share
    handoff_days: Annotated[int, (0, 3650)]


class MemoryConfig(Struct, frozen=True):
    """The `[memory]` section."""

    enabled: bool
    capture: bool
    remedies: bool
    path: str
    skip_tools: tuple[str, ...]
    exclude_projects: tuple[str, ...]
    extractor: str
    batch_window_ms: Annotated[int, (0, 3_600_000)]
    cross_project: bool
    half_life_days: Annotated[float, (0.000_001, 100_000)]
    budget_chars: Annotated[int, (0, 9_000)]
    threshold: Share
    min_cosine: Cosine
    max_false_open_rate: Share
    max_other_task_rate: Share
    session_start: Annotated[int, (0, 100)]
    retention_days: Annotated[int, (0, 36_500)]
    max_mb: Annotated[int, (1, 1_000_000)]


class IndexConfig(Struct, frozen=True):
    """The `[index]` section."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    roots: tuple[str, ...]
    max_file_bytes: Annotated[int, (1, 1_000_000_000)]
    follow_gitignore: bool
    inner_max_files: Annotated[int, (0, 10_000_000)]
    workers: Annotated[int, (0, 64)]
    quota_mb: Annotated[int, (1, 100_000_000)]
    auto: bool
    auto_max_files: Annotated[int, (0, 10_000_000)]
    watch: bool
    backend: Literal["embedded", "milvus"]
    uri: str
    collection: str
    store_text: bool

    # Characters up to which a definition stays one chunk; measured best for ranking between 1,200 and 1,800.
    chunk_max_chars: Annotated[int, (100, 100_000)] = 1500
    # Neighbouring small definitions of one scope are merged up to this many characters.
    chunk_merge_chars: Annotated[int, (1, 100_000)] = 750
    # Longer text is cut near this many characters, at a statement border or a blank line.
    chunk_cut_chars: Annotated[int, (100, 100_000)] = 1000
    # Segments of a snapshot beyond which small ones are merged. Each costs a query about 0.1 ms.
    max_segments: Annotated[int, (1, 1_000)] = 8
    # Milliseconds without a change before the changed files are indexed: editors and branch switches write many files.
    debounce_ms: Annotated[int, (50, 60_000)] = 300


class McpConfig(Struct, frozen=True):
    """The `[mcp]` section."""

    write: bool


class DaemonConfig(Struct, frozen=True):
    """The `[daemon]` section."""

    enabled: bool
    idle_minutes: Annotated[float, (0.01, 100_000)]
    max_index_mb: Annotated[int, (10, 1_000_000)]
    http: bool
    http_port: Annotated[int, (0, 65_535)]

    # Projects whose index is kept open; the least recently used is closed.
    max_projects: Annotated[int, (1, 1_000)] = 8


class DashboardConfig(Struct, frozen=True):
    """The `[dashboard]` section."""

    port: Annotated[int, (0, 65_535)]
    idle_minutes: Annotated[float, (0.01, 100_000)]
    open: bool


class ModelConfig(Struct, frozen=True):
    """The `[model]` section."""

    name: str
    reader: str


class PrivacyConfig(Struct, frozen=True):
    """The `[privacy]` section."""

    redact: bool
    log_prompts: Literal["none", "hash", "text"]


class LogConfig(Struct, frozen=True):
    """The `[log]` section."""

    max_bytes: Annotated[int, (10_000, 10_000_000_000)]
    keep: Annotated[int, (0, 100)]
    text_days: Annotated[int, (0, 3650)]
    outcomes: bool
    hot_topics_every: Annotated[int, (1, 1_000_000)]


class TerminalConfig(Struct, frozen=True):
    """The `[terminal]` section."""

    links: str


class ExperimentConfig(Struct, frozen=True):
    """The `[experiment]` section."""

    holdout: Annotated[float, (0, 0.5)]


class Config(Struct, frozen=True):
    """Every setting in force."""

    hooks: HooksConfig
    gate: GateConfig
    search: SearchConfig
    ranking: RankingConfig
    parts: PartsConfig
    lessons: LessonsConfig
    lore: LoreConfig
    memory: MemoryConfig
    index: IndexConfig
    mcp: McpConfig
    daemon: DaemonConfig
    dashboard: DashboardConfig
    model: ModelConfig
    privacy: PrivacyConfig
    log: LogConfig
    experiment: ExperimentConfig
    terminal: TerminalConfig


class Loaded(Struct, frozen=True):
    """The settings in force, where each comes from, and what was wrong in the layers.

    Attributes:
        config: The settings in force.
        origins: `section.key` → `default`, a file path, an environment variable, or `flag`; of a constant only when a
            flag overrides it.
        own_problems: Mistakes in the user's file, the environment and the command line, one sentence each; wrong values
            were left out.
        warnings: Removed settings in the user's file, then mistakes in the project's file, at most ten of these.
        waiting: `section.key` → value of the project's file that does not count yet: its owner has not accepted the
            working tree.
    """

    config: Config
    origins: Mapping[str, str]
    own_problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    waiting: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def problems(self) -> tuple[str, ...]:
        """The mistakes of the user, then those in the project's file."""
        return self.own_problems + self.warnings


_SECTIONS: dict[str, type[Any]] = Config.__annotations__
_MODEL_NAMES_A_PROJECT_MAY_USE = ("static-v1", "hashing")
"""Names besides that of the shipped model: no model at all, and models that shipped once and have a successor."""
_READERS_A_PROJECT_MAY_USE = ("all-MiniLM-L6-v2-int8", "")
NO_PROJECT_CHOOSES = (
    "daemon.",
    "dashboard.",
    "experiment.",
    "hooks.deadline_ms",
    "hooks.ledger_days",
    "index.auto_max_files",
    "index.backend",
    "index.collection",
    "index.max_file_bytes",
    "index.quota_mb",
    "index.store_text",
    "index.uri",
    "index.workers",
    "lessons.capture",
    "lessons.haiku_model",
    "lessons.use_haiku_scoring",
    "log.",
    "lore.data_dir",
    "mcp.",
    "memory.batch_window_ms",
    "memory.exclude_projects",
    "memory.extractor",
    "memory.max_mb",
    "memory.path",
    "memory.retention_days",
    "memory.skip_tools",
    "search.lexical_engine",
    "terminal.",
)
"""Settings, and beginnings of their names, that no project chooses."""

ADDING = ("index.include", "index.exclude")
"""Lists that each layer adds to instead of replacing, so that no layer drops by accident what those below it say."""

_COUNTS_UNACCEPTED = (
    "privacy.redact",
    "privacy.log_prompts",
    "memory.enabled",
    "memory.capture",
    "memory.cross_project",
)
"""Settings that count from a tree that nobody accepted; `_reason_against` lets them raise privacy only."""
_OTHER_VARIABLES = {
    "memory.cross_project": "HYBRID_CROSS_PROJECT",
    "memory.half_life_days": "HYBRID_RECENCY_HALFLIFE_DAYS",
    "memory.path": "HYBRID_MEMORY_DB",
    "memory.skip_tools": "HYBRID_SKIP_TOOLS",
}
"""Setting → a second variable for it, known from other memory systems; the setting's own variable goes first."""
_NO_SETTINGS = ("HYBRID_HOME", "HYBRID_DISABLE")
"""Variables that begin with `HYBRID_` and are known, but set no `section.key`."""
CONSTANTS = {
    f"{name}.{key}": default
    for name, section in _SECTIONS.items()
    for key, default in zip(reversed(section.__struct_fields__), reversed(section.__struct_defaults__), strict=False)
}
"""`section.key` of every constant → its value."""
REMOVED = {
    **dict.fromkeys(CONSTANTS, "the value that served best is built in; leave the setting out"),
    "hooks.min_prompt_length": "a short prompt is answered when it names something here; leave the setting out",
    "hooks.follow_up": "a prompt that refers back is answered like any other; leave the setting out",
    "memory.reader": "the order of the memory needs no second model; leave the setting out",
    "gate.hub": "it only moved the bars; leave the setting out",
    "hooks.on_need": "an agent that did not ask is given nothing; leave the setting out",
}
"""Setting that is gone → what to do instead."""
_NEAR = 0.6
"""Likeness, 0 to 1 as `difflib` counts it, from which a known name is proposed for an unknown one."""
_MOST_NAME_CHARS = 80
_FILE_BYTES = 256_000
_MOST_PROJECT_PROBLEMS = 10
_PROBLEM_CHARS = 500
_PRIVACY_ORDER = ("text", "hash", "none")

_FIELDS = tuple(f"{name}.{key}" for name, section in _SECTIONS.items() for key in section.__struct_fields__)
KEYS = tuple(key for key in _FIELDS if key not in CONSTANTS)
"""Every setting as `section.key`, in the order of `config.toml`."""
_VARIABLES = {key: "HYBRID_" + key.replace(".", "_").upper() for key in KEYS}
"""Setting → its environment variable."""


def check(key: str, value: object) -> object:
    """Return the value of a setting or a constant in its proper type.

    Args:
        key: `section.key`.
        value: As TOML gives it. A list becomes a tuple, a whole number where any number may stand a float.

    Raises:
        ConfigError: Unknown key, wrong type, or out of range.
    """
    section, _, name = key.partition(".")
    hints = _hints(section)
    if name not in hints:
        raise ConfigError(no_setting(key))
    hint = hints[name]
    if get_origin(hint) is Annotated:
        return _checked_number(key, value, *get_args(hint))
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise ConfigError(f"{key} = {_shown(value)}: must be one of {', '.join(get_args(hint))}")
        return value
    if hint == tuple[str, ...]:
        return _checked_texts(key, value)
    if hint is str:
        return _checked_text(key, value)
    if not isinstance(value, bool):
        raise ConfigError(f"{key} = {_shown(value)}: must be true or false")
    return value


def no_setting(key: str) -> str:
    """Return a sentence on a `section.key` that is no setting: what to do instead of one that was removed."""
    if key in REMOVED:
        return f"{key} was removed: {REMOVED[key]}"
    return f"unknown setting {key}; `hybrid config` lists all"


@cache
def _hints(section: str) -> dict[str, Any]:
    """Return the types of a section's settings, with the ranges of numbers; empty for an unknown one."""
    return get_type_hints(_SECTIONS[section], include_extras=True) if section in _SECTIONS else {}


_SHOWN_CHARS = 200
_MAY_BE_EMPTY = ("index.uri", "lore.data_dir", "memory.path", "model.reader")


def _checked_text(key: str, value: object) -> str:
    """Return a text that is not empty, or may be; see `check`."""
    if not isinstance(value, str) or not (value or key in _MAY_BE_EMPTY):
        raise ConfigError(f"{key} = {_shown(value)}: must be text that is not empty")
    if key == "terminal.links" and value not in ("auto", "off") and "{path}" not in value:
        raise ConfigError(f"{key} = {_shown(value)}: must be auto, off, or an address with {{path}} in it")
    return _storable(key, value)


def _checked_texts(key: str, value: object) -> tuple[str, ...]:
    """Return a list of texts as a tuple; see `check`."""
    if not isinstance(value, (list, tuple)):
        raise ConfigError(f"{key} = {_shown(value)}: must be a list of texts")
    parts = list(cast("list[object]", value))
    if not all(isinstance(part, str) for part in parts):
        raise ConfigError(f"{key} = {_shown(parts)}: must be a list of texts")
    return tuple(_storable(key, part) for part in cast("list[str]", parts))


def _storable(key: str, text: str) -> str:
    """Return the text unchanged, after checking that it can be written to a TOML file and be used as a path.

    Raises:
        ConfigError: It holds a NUL, which no path can, or a byte that is no UTF-8, which no TOML can.
    """
    if "\0" in text:
        raise ConfigError(f"{key} = {_shown(text)}: must be text without a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ConfigError(f"{key} = {_shown(text)}: must be text in UTF-8")
    return text


def _shown(value: object) -> str:
    """Return a value as text for a message, cut to 200 characters: a wrong one may be of any length."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write more than 4,300 digits; TOML reads them in base 16.
        return "a number of thousands of digits"
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def _checked_number(key: str, value: object, kind: object, limits: tuple[float, float]) -> object:
    """Return a number as its kind, `int` or `float`, in its range, both ends included; of another kind also `auto`."""
    wanted = {int: "a whole number", float: "a number"}.get(cast("type", kind), 'a number or "auto"')
    if value == "auto" and wanted.endswith('"auto"'):
        return value
    if isinstance(value, bool) or not isinstance(value, int if kind is int else (int, float)):
        raise ConfigError(f"{key} = {_shown(value)}: must be {wanted}")
    low, high = limits
    if not low <= value <= high:
        raise ConfigError(f"{key} = {_shown(value)}: must lie in {low:g} to {high:g}")
    return value if kind is int else float(value)


def parse_text(key: str, text: str) -> object:
    """Parse a setting written as text (environment, `hybrid config set`): `80`, `true`, `auto`, `a,b`, `["a", "b"]`.

    Raises:
        ConfigError: As `check`, and for a list that begins with a bracket or a quote and is no TOML.
    """
    section, _, name = key.partition(".")
    hint = _hints(section).get(name)
    if hint == tuple[str, ...]:
        return check(key, _parse_list(key, text.strip()))
    if hint is str or get_origin(hint) is Literal:
        return check(key, text)
    try:
        value: object = _toml_value(text)
    except tomli.TOMLDecodeError:
        value = text
    return check(key, value)


def _parse_list(key: str, text: str) -> object:
    """Return the list that a text means: TOML with or without brackets, or plain texts with commas between them.

    Raises:
        ConfigError: A text that begins as TOML is none.
    """
    if not text.startswith(("[", '"', "'")):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return _toml_value(text if text.startswith("[") else f"[{text}]")
    except tomli.TOMLDecodeError as error:
        shown = _shown(text)
        raise ConfigError(f"""{key}: {shown} is no list ({error}); write a,b or ["a", "b"]""") from error


def _toml_value(text: str) -> object:
    """Return the value that a text means in TOML.

    Raises:
        tomli.TOMLDecodeError: The text is no value, or more than one.
    """
    try:
        found = tomli.loads(f"value = {text}")
    except (ValueError, RecursionError) as error:
        if isinstance(error, tomli.TOMLDecodeError):
            raise
        # A number of thousands of digits, or lists nested without end.
        raise tomli.TOMLDecodeError("beyond what a setting can be", text, 0) from error
    if set(found) != {"value"}:
        raise tomli.TOMLDecodeError("more than one value", text, 0)
    return found["value"]


def read_layer(
    path: Path, problems: list[str], *, is_project: bool = False, removed: list[str] | None = None
) -> dict[str, object]:
    """Return the valid settings of one TOML file, `section.key` → value; empty when it is missing or cannot be read.

    Args:
        path: Path of the file.
        problems: Takes a sentence for each mistake, whose setting is left out.
        is_project: The file may come from strangers: it counts only if it is no link.
        removed: Takes a sentence for the settings that were removed; by default `problems` does.
    """
    try:
        data = tomli.loads(_text(path if is_project else path.resolve()))  # People link their own from elsewhere.
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        # Not TOML, not UTF-8, a number of thousands of digits, or lists nested without end.
        problems.append(f"{path}: cannot be read: {error}")
        return {}
    found: dict[str, object] = {}
    gone: dict[str, list[str]] = {}
    for section, entries in data.items():
        if not isinstance(entries, dict):
            problems.append(f"{path}: unknown setting {section}; settings stand in sections such as [hooks]")
            continue
        for name, value in cast("dict[str, object]", entries).items():
            key = f"{section}.{name}"
            if key in REMOVED:
                gone.setdefault(REMOVED[key], []).append(key)
                continue
            with _noted(path, problems):
                found[key] = check(key, value)
    # One sentence for all that went for the same reason: a file of an earlier version may set all the weights.
    removed = problems if removed is None else removed
    for advice, keys in gone.items():
        removed.append(f"{path}: {', '.join(keys)} {'was' if len(keys) == 1 else 'were'} removed: {advice}")
    return found


def _text(path: Path) -> str:
    if path.is_symlink():
        raise OSError("it is a link; a file must stand there")
    data = read_regular(path, _FILE_BYTES)
    if len(data) > _FILE_BYTES:
        raise OSError(f"it is longer than {_FILE_BYTES:,} bytes")
    return data.decode("utf-8-sig")


def _project_layer(
    path: Path, so_far: Mapping[str, object], *, is_accepted: bool
) -> tuple[dict[str, object], dict[str, object], tuple[str, ...]]:
    """Return the settings of a project's file that count, those that wait for acceptance, and sentences on mistakes.

    The sentences are safe to print and to log: at most ten, cut, without control characters.
    """
    problems: list[str] = []
    layer = read_layer(path, problems, is_project=True)
    for key, value in [*layer.items()]:
        if reason := _reason_against(key, value, so_far[key]):
            problems.append(f"{path}: {key} = {value!r}: {reason}")
            del layer[key]
    waiting = {} if is_accepted else _taken_out(layer)
    shown = ("".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text) for text in problems)
    return layer, waiting, tuple(text[:_PROBLEM_CHARS] for text in islice(shown, _MOST_PROJECT_PROBLEMS))


def _taken_out(layer: dict[str, object]) -> dict[str, object]:
    """Take the settings that wait for the owner's acceptance out of a project's layer, and return them.

    A stranger's file could otherwise silence hybrid in a dozen ways, or make it speak to every prompt. Patterns that
    leave files out stay in the layer: a `.gitignore` in the tree could do the same.
    """
    waiting: dict[str, object] = {}
    for key in list(layer):
        if key == "index.exclude":
            patterns = cast("tuple[str, ...]", layer[key])
            if back := tuple(pattern for pattern in patterns if pattern.startswith("!")):
                waiting[key] = back
                layer[key] = tuple(pattern for pattern in patterns if pattern not in back)
        elif key not in _COUNTS_UNACCEPTED:
            waiting[key] = layer.pop(key)
    return waiting


def _reason_against(key: str, value: Any, below: Any) -> str:
    """Return why a project may not choose this value over that of the layers below; empty when it may."""
    if key.startswith(NO_PROJECT_CHOOSES):
        return "is not a project's to choose"
    if key == "model.name" and value not in (*_MODEL_NAMES_A_PROJECT_MAY_USE, _defaults(shipped("config.toml"))[key]):
        return "a project may only name a model that ships with hybrid"
    if key == "model.reader" and value not in _READERS_A_PROJECT_MAY_USE:
        return "a project may only name a reader that ships with hybrid, or none"
    if key == "privacy.redact":
        is_lowered = not value
    elif key == "privacy.log_prompts":
        is_lowered = _PRIVACY_ORDER.index(value) < _PRIVACY_ORDER.index(below)
    else:
        is_lowered = key in _COUNTS_UNACCEPTED and value and not below
    return "a project may raise privacy, not lower it" if is_lowered else ""


@contextmanager
def _noted(place: object, problems: list[str]) -> Generator[None]:
    """Turn a mistake in a setting into a sentence in `problems` that begins with its place."""
    try:
        yield
    except ConfigError as error:
        problems.append(f"{place}: {error}")


def unknown_variables(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each variable that begins with `HYBRID_` and is unknown, with a known name like it.

    Args:
        environ: Environment variables; only their names are looked at.
    """
    known = {*_VARIABLES.values(), *_OTHER_VARIABLES.values(), *_NO_SETTINGS}
    unknown = sorted(name for name in environ if name.startswith("HYBRID_") and name not in known)
    return tuple(_unknown_variable(name[:_MOST_NAME_CHARS], known) for name in unknown)


def _unknown_variable(name: str, known: set[str]) -> str:
    from difflib import get_close_matches  # As a rule there is none.

    # All begin alike, which says nothing.
    rests = [variable.removeprefix("HYBRID_") for variable in sorted(known)]
    for key, advice in REMOVED.items():
        if name == "HYBRID_" + key.replace(".", "_").upper():
            return f"{name} is set in the environment, but {key} was removed: {advice}"
    near = get_close_matches(name.removeprefix("HYBRID_").upper(), rests, n=1, cutoff=_NEAR)
    meant = f"; HYBRID_{near[0]} is one" if near else ""
    return f"{name} is set in the environment and is no setting{meant}"


@cache
def _defaults(path: Path) -> Mapping[str, object]:
    """Return the shipped values, `section.key` → value; read once for each path, since a service ends on an upgrade.

    Raises:
        ConfigError: The file is damaged.
    """
    problems: list[str] = []
    values = read_layer(path, problems)
    if problems or set(values) != set(KEYS):
        raise ConfigError(f"the shipped config.toml is damaged; reinstall hybrid ({'; '.join(problems)})")
    return values


def load(
    *,
    home: Path,
    project_folder: Path | None = None,
    is_accepted: bool = False,
    environ: Mapping[str, str] = os.environ,
    flags: Mapping[str, object] | None = None,
) -> Loaded:
    """Return the settings in force, from the layers: shipped, user, project, environment, flags; the later win.

    Args:
        home: `$HYBRID_HOME`, whose `config.toml` is the user's layer.
        project_folder: `.hybrid` of the project, whose `config.toml` is the project's layer; None without one.
        is_accepted: The owner accepted the project's working tree: all of its layer counts, not only what raises
            privacy or leaves files out.
        environ: Environment variables.
        flags: `section.key` → value from the command line, of constants too; None values are not given.

    Raises:
        ConfigError: The shipped `config.toml` itself is damaged.
    """
    problems: list[str] = []
    warnings: list[str] = []
    values = dict(_defaults(shipped("config.toml")))
    origins = dict.fromkeys(KEYS, "default")

    def lay(layer: Mapping[str, object], origin: str) -> None:
        for key, value in layer.items():
            values[key] = added(values[key], value) if key in ADDING else value
            origins[key] = origin

    lay(read_layer(home / "config.toml", problems, removed=warnings), str(home / "config.toml"))
    waiting: dict[str, object] = {}
    if project_folder is not None:
        path = project_folder / "config.toml"
        layer, waiting, mistakes = _project_layer(path, values, is_accepted=is_accepted)
        warnings += mistakes
        lay(layer, str(path))
    for key, own in _VARIABLES.items():
        if variable := next((name for name in (own, _OTHER_VARIABLES.get(key, own)) if name in environ), None):
            with _noted(variable, problems):
                lay({key: parse_text(key, environ[variable])}, variable)
    for key, value in (flags or {}).items():
        if value is not None:
            with _noted("command line", problems):
                values[key], origins[key] = check(key, value), "flag"
    sections = {
        name: section(**{key: values[at] for key in section.__struct_fields__ if (at := f"{name}.{key}") in values})
        for name, section in _SECTIONS.items()
    }
    return Loaded(Config(**sections), origins, tuple(problems), tuple(warnings), waiting)


def added(below: object, above: object) -> tuple[str, ...]:
    """Return the texts of the layers below with those of one layer added or taken out.

    Args:
        below: Texts so far.
        above: Texts to add. `!text` takes a text of `below` out again, with or without a slash at its end; any other
            text with `!` is added as it is.

    Returns:
        Each text once, the later place of two counts: of patterns the last that matches decides.
    """
    known = {text.rstrip("/") for text in cast("tuple[str, ...]", below)}
    kept = dict.fromkeys(cast("tuple[str, ...]", below))
    for text in cast("tuple[str, ...]", above):
        if text.startswith("!") and (bare := text[1:].rstrip("/")) in known:
            kept = {each: None for each in kept if each.rstrip("/") != bare}
        else:
            kept.pop(text, None)
            kept[text] = None
    return tuple(kept)


def value_of(config: Config, key: str) -> object:
    """Return the value in force of the setting `section.key`."""
    section, _, name = key.partition(".")
    return getattr(getattr(config, section), name)
