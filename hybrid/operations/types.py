"""Arguments of the operations: what is said of one, and how the adapters see them.

Options, parameters, forms and the JSON schemas of agents' tools are made from the types of arguments. The descriptions
are read by agents, whose context each of their words costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, cast

from msgspec import Meta, Struct, inspect

Limit = Annotated[int, Meta(ge=1, le=50, description="How many to return.")]
Cursor = Annotated[str, Meta(description="What the page before ends with; empty for the first page.")]


class Arguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The arguments of an operation; unknown ones are refused."""


def option(about: str, metavar: str = "", *, choices: Sequence[str] = (), **more: Any) -> Meta:
    """Return what is said of an argument that the command line takes as an option.

    Args:
        about: For its help, and for schemas.
        metavar: Stands for its value in the help.
        choices: The values that the command line and HTTP offer; other values are for the operation to judge.
        more: Bounds, as of `Meta`; `is_one_of` for those of which one `may` or `must` be given, `is_long` for a text of
            several lines.
    """
    return _meta(about, more, metavar=metavar, choices=tuple(choices))


def word(about: str, metavar: str, **more: Any) -> Meta:
    """Return what is said of an argument that the command line takes by its place.

    Args:
        about: For its help, and for schemas.
        metavar: Its name in the help.
        more: As of `option`; `is_sentence` if all words of the command line make one text, which must say something.
    """
    return _meta(about, more, metavar=metavar, is_word=True)


def _meta(about: str, more: dict[str, Any], **extra: Any) -> Meta:
    extra |= {name: value for name, value in more.items() if name.startswith("is_")}
    return Meta(description=about, extra=extra, **{name: value for name, value in more.items() if name not in extra})


class Argument(Struct, frozen=True):
    """An argument as an adapter sees it.

    Attributes:
        name: Its name.
        kind: Its type, without what is said of it.
        about: What it is; empty for one that only code gives.
        extra: What `option` or `word` say for the command line.
        default: Its default; None for one that must be given.
        is_needed: It must be given.
    """

    name: str
    kind: inspect.Type
    about: str
    extra: dict[str, Any]
    default: object
    is_needed: bool


def described(arguments: type[Struct]) -> list[Argument]:
    """Return the arguments of a type: its own first, then those that it shares with others."""
    found = inspect.type_info(arguments)
    assert isinstance(found, inspect.StructType)
    return [_argument(one) for one in sorted(found.fields, key=lambda one: one.name not in arguments.__annotations__)]


def _argument(of: inspect.Field) -> Argument:
    kind, said, extra = of.type, dict[str, str](), dict[str, Any]()
    while isinstance(kind, inspect.Metadata | inspect.UnionType):
        if isinstance(kind, inspect.UnionType):  # It may be left out.
            kind = next(one for one in kind.types if not isinstance(one, inspect.NoneType))
        else:
            said, extra = cast("dict[str, str]", kind.extra_json_schema or {}), cast("dict[str, Any]", kind.extra or {})
            kind = kind.type
    default: object = list[str]() if of.default_factory is list else None if of.required else of.default
    return Argument(of.name, kind, said.get("description", ""), extra, default, of.required)


class Nothing(Arguments, frozen=True):
    """No arguments."""
