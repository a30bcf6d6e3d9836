"""Which project a record speaks of: this one, another one, or none that is known; pure.

A name counts as a whole word: `flow` is not in `workflow`, `flow-cli` or `flow.py`. In a path each part is a word, so
`/workspace/lineage/journal/lib/store.sh` speaks of `lineage`. Case does not count.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from hybrid.records.lore.values import projects_of, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Attribution = Literal["this", "other", "none"]

_BETWEEN_WORDS = re.compile(r"[^\w.\-]+")


class ProjectNames(Struct, frozen=True, dict=True):
    """What a project is called, and what the other ones are called that are known here.

    Attributes:
        name: Its name; empty outside of any project, where every record that names a project is another one's.
        key: Its key.
        others: Names and keys of all other projects of the registry; one that this project has too is dropped.
    """

    name: str
    key: str = ""
    others: tuple[str, ...] = ()

    @cached_property
    def own_words(self) -> frozenset[str]:
        """Its name and key as words."""
        return frozenset(words for text in (self.name, self.key) if (words := words_of(text)))

    @cached_property
    def other_words(self) -> frozenset[str]:
        """The names of the others as words."""
        return frozenset(words for text in self.others if (words := words_of(text))) - self.own_words


NOWHERE = ProjectNames("")


class Mentions(Struct, frozen=True):
    """What a record says about projects.

    Attributes:
        named: The words of each project that it names, see `values.projects_of`; words may be empty.
        words: Single words of its entities and tags.
        text: The same in order, for names of several words.
    """

    named: tuple[str, ...]
    words: frozenset[str]
    text: str


def mentions_of(fields: Mapping[str, object]) -> Mentions:
    """What a record says about projects, from its `project`, `context.project`, entities and tags."""
    named = tuple([words_of(name) for name in projects_of(fields)])
    texts = [*texts_of(fields.get("entities")), *texts_of(fields.get("tags"))]
    if not texts:
        return Mentions(named, frozenset(), "")
    text = "/".join(map(words_of, texts))
    return Mentions(named, frozenset(re.split("[ /]", text)), f"/{text}/")


def attributed(mentions: Mentions, project: ProjectNames) -> Attribution:
    """Whose a record is.

    What stands in its `project` decides alone when it is there: a name that the registry does not know, or something
    that is no name, makes it another project's too, since it was attributed on purpose, and giving it away would be the
    graver mistake. Of several names one of this project is enough. Else
    its entities and tags speak: one that names this project is this one's, whatever else it names; one that names
    another known project is that one's; one that names neither is unattributed.
    """
    if mentions.named:
        is_ours = any(_is_among(f"/{name}/", _parts(name), project.own_words) for name in mentions.named)
        return "this" if is_ours else "other"
    if not mentions.words:
        return "none"
    if _is_among(mentions.text, mentions.words, project.own_words):
        return "this"
    return "other" if _is_among(mentions.text, mentions.words, project.other_words) else "none"


def words_of(text: str) -> str:
    """A text as words: white space is one space, every other run between words one `/`; lower case.

    Dots and dashes belong to a word, as in `next.js` and `lore-client`, except at the end of a sentence.
    """
    spaced = _BETWEEN_WORDS.sub(lambda run: " " if run.group().isspace() else "/", text.casefold())
    return re.sub(r"[.\-]+(?=[ /]|$)", "", spaced).strip(" /")


def project_names(name: str, key: str, registry: Iterable[tuple[str, str]]) -> ProjectNames:
    """The names of a project and of all others.

    Args:
        name: Of this project; empty when there is none.
        key: Of this project.
        registry: Key and name of every known project, this one among them or not.
    """
    others = [text for other, called in registry if other != key for text in (called, other) if text]
    return ProjectNames(name, key, tuple(others))


def _parts(words: str) -> frozenset[str]:
    return frozenset(re.split("[ /]", words))


def _is_among(text: str, words: frozenset[str], names: frozenset[str]) -> bool:
    if not words.isdisjoint(names):
        return True
    several = (name for name in names if " " in name or "/" in name)
    return any(re.search(rf"(?<![^ /]){re.escape(name)}(?![^ /])", text) for name in several)
