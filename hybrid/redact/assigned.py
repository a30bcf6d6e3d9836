"""Finds values beside telling names: in code, settings, JSON, command lines, logs and prose.

In the order of reading:

1. What is a key. `names.telling_places` gives each place where a telling word stands, `_key_at` the whole name with how
   clear it is. `_Key.is_telling` says whether a secret may stand beside it at all.
2. Where its value is. `_Key.spans` tries, in order: a user and a password, a sentence (`sentences`), a call with
   credentials, a list (`lists`), the literal that a reference falls back to, what stands after a sign (a literal, a
   value without quotes, a block), and what stands further away (a comment, a field of a form, a declaration).
3. What stays. `values.is_secret` judges the value by how clear the key is and by its `values.Position`: the place alone
   says how far a value without quotes may be a name of code. References, types, placeholders and calls stay.
4. What is masked: the value without its quotes and the marks after it; the key stays. Of a value in pieces, each piece.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.base.text import compiled
from hybrid.redact.calls import arguments_after, default_after, default_beside
from hybrid.redact.lists import block_lines, continued, field_values, kept_items, list_items, table_values
from hybrid.redact.sentences import (
    LINKS,
    USER_BESIDE,
    VALUE_LATE,
    follows_user,
    may_follow,
    stands_beside_user,
    value_after,
    value_before,
    value_later,
)
from hybrid.redact.signs import (
    FOREIGN_WORDS,
    Clarity,
    Secret,
    clarity,
    foreign_name,
    name_start,
    telling_places,
    word_before,
)
from hybrid.redact.values import REGION, Position, TellingName, has_both, is_generated, is_marked, is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid.redact.values import Walks

_MAX_VALUE = 1024
_MAX_PIECES = 12
"""Number of literals at most that one value is put together from."""
_TAIL = r"[\w-]*"
_QUOTE = r"\\{0,4}[\"'`]"
_SPACES = r"[^\S\n]{0,40}"
_AFTER_NAME = frozenset(";|& \t\r:=*\"'`\\)],(>?!+<→-[\n_’”/")
_IN_NAME = frozenset("-_")
_AFTER_SENTENCE = frozenset(("", *" \n\r\"'\\"))
# What ends a name (a quote, a bracket, bold type), a type, the sign, and the quote that a literal begins with. In JSON,
# backslashes stand before a quote, once or several times over.
_SIGN = (
    r"(?:[^\S\n]\d{1,2}(?=:)|[^\S\n]\[[^\]\n]{0,40}\](?=:))?"
    rf"(?P<close>(?:{_QUOTE}|\*\*|\*|__|”|’)?\)?\]?(?:\[\d{{0,4}}\])?(?:[^\S\n]?\{{[^{{}}\n]{{0,30}}\}}(?= =))?)"
    r"(?P<type>(?=[^\n=]{1,44}=)(?::[^\S\n]?[A-Za-z&'][\w.&\[\]|'?, ]{0,40}|[^\S\n]\*?[A-Za-z][\w.\[\]*]{1,30})"
    r"(?:[^\S\n](?=:?=(?!=))|(?==[bruf]{0,2}\\{0,4}[\"']))|)"
    rf"{_SPACES}(?P<sign>:=|=>|[!=]==?|[?+]=|\|\|=?|\?\?|or(?= [\"'])|:-|\|(?=[^\S\n])|<-|->|→|:(?!:)|=|,|\(|)"
    r"(?:\*\*|__)?"
    r"(?P<gap>[^\S\n]{0,40}(?:[…›] |!!\w{1,12} |&\w{1,40} )?(?:\(\s{0,80}(?=[bruBRUfF]{0,2}\\{0,4}[\"\']))?)"
    r"(?P<open>(?:[bruBRUfFN@$]{0,2}(?P<quote>\\{0,4}(?:\"\"\"|\'\'\'|[\"'`])))|[“‘]|)"
)
_AFTER_COLUMN = frozenset("\"'`*,;|)")
_COLUMN_END = r"[\"'`*]{0,2}[^\S\n]{0,20}[,;|\t\r\n)]"
_LEAST_RUN = 16
_LONG_RUN = rf"[^\s\"'`,()<>]{{{_LEAST_RUN}}}"
_NEXT_RUN = rf"[\s\"'`,()<>]{_LONG_RUN}"
_WHOLE_RUN = r"[^\s\"'`,()<>]{16,1024}"
"""Pattern of a run of characters without spaces; a generated value has such a run, with a digit in it."""
_RUN_WITHIN = 100
_REACH_BEFORE, _REACH_AFTER = 120, 260
"""Characters before and after a name that make a second look needless where they come again."""
_FEW = 64
"""Number of places that are looked at, whatever stands around them."""
_MAX_MEMORY = 64
_MAX_NAME = 120
_CHOSEN = (Clarity.PASSWORD, Clarity.PASS)
_MAY_END_TAG = frozenset("\"'\\> ")
_SEED_OF = ("2fa", "mfa", "otp")
_BARE = r"\S{1,1024}"
_PATH_PART_END = r"[/\s\"'`;,&<>(){}\[\]|\\]"
_INLINE_END = r"[\s\"'`,<>(){}\[\]|\\]|&(?!(?:amp|lt|gt);(?!\w{1,40}=))|(?<!&amp)(?<!&lt)(?<!&gt);"
_WORD = r"[^\S\n]{1,40}([a-z\u00df-\u00ff]{1,20})(?=[\s:])"
_OPTION_VALUE = r"(?:^|\s)--?[A-Za-z][\w-]{0,30}[ =][\"']?[\w.\[\]/-]{0,80}$"
"""Pattern of what stands before a name that is set as the value of an option: `--set auth.`."""
_NAME_WITH_SPACES = (
    r"[+>-]?[^\S\n]{0,40}(?!.*\b(?:val|var|let|const|local|set|mut|final|auto|string|char|static"
    r"|my|pub|type|def|export|public|private|return)\b)"
    r"[a-z]{2,20}(?: [a-z]{2,20}){0,3} $"
)
"""Pattern of the first words of a name in settings that have spaces in names: `ldap admin password = X`."""
_BARE_LINE = r" = [^\s()\[\]{}]{4,256}[^\S\n]*(?:\n|$)"
_LOOSE = r"[^\S\n]{1,40}\(?[\"'`]?(?P<value>[^\s\"'`]{6,512})"
_LOGIN = (
    r"\s?(?P<sign>:|=|is|are|[^\S\n])\s{0,3}[\"'`]?[\w.@-]{1,64}[\"'`]?[^\S\n]?[:/][^\S\n]?[\"'`]?"
    r"(?P<value>[^\s\"'`/:,]{6,256})(?:,[\w.@-]{1,64}:(?P<next>[^\s\"'`/:,]{6,256}))?"
)
_KEY_LIST = (
    r"[\"\\]{1,5}:\s{0,3}[\"\\]{1,5}[\w-]{1,40}[\"\\]{1,5},\s{0,40}(?:[^:\n]{1,30}:[^:\n]{1,30},\s{0,40})?"
    r"[\"\\]{1,5}value[\"\\]{1,5}:\s{0,3}[\"\\]{1,5}(?P<value>[^\"\\\n]{16,200})"
)
_CONTENT = r"\s[Cc]ontent\s{1,20}:\s{1,3}(?P<value>\S{4,128})"
_ELEMENT = (
    r"(?:[^<>\n]{0,120}>|</[\w.:-]{1,40}>)(?:\s{0,80}<(?:[\w-]{0,20}[vV]alue|string|arg\w{0,8})[^<>\n]{0,40}>)?"
    r"\s{0,80}(?P<value>[^<>\s](?:[^<>\n]{2,510}[^<>\s]))\s{0,80}</"
)
_NEXT_ITEM = (
    rf"(?:{_QUOTE})?(?:,\s{{0,80}}|[^\S\n]{{0,40}}\n[^\S\n]{{0,80}}-[^\S\n]{{1,20}}|\)\s{{0,40}}\.\w{{1,12}}\()"
    rf"(?P<quote>{_QUOTE})?(?P<value>[^\s\"'`,<>\]\\-][^\"'`\n\\,<>\]]{{3,512}})(?(quote){_QUOTE}|(?=[\s,\]]|$))"
)
"""Pattern of a value after its option in a list: `["--password", "…"]`, or an item on each line."""
_ABOUT_OPTIONS = r"\b(?:use|the|with|option|flag|specify|via|or|and|using|usage)\b|\[$"
_AFTER_TYPED = r"[\"'`)]{0,2}[^\S\n]?(?:\n|$|\\|[;|&<>\"'`]|(?<=\s)(?:-|[\w.~-]{0,80}/|[\w.-]{1,60}(?:\n|$)))"
"""Pattern of what follows the value of an option in a command: its end, another option, a path, one word."""
_USERS = r"\(\{\s{0,80}(?:\w{1,20}: \w{1,20},\s{0,40}){0,2}users\s?:\s?\{\s{0,80}"
_USER_ITEM = r"[\"']?[\w.@-]{1,64}[\"']?\s?:\s?[\"'](?P<value>[^\"'\n\\]{4,256})[\"'](?:(?P<more>,)\s{0,80}|)"
_FORM_PART = r"[\"']\s?\n\s?\n(?P<value>\S{4,128})[^\S\n]*(?:\n|$)"
_IS_KEY = r"[\w .-]{0,60}\\{0,4}[\"']\s{0,3}:"
_FORM_CALL = (
    rf"[\]'\"\\) ]{{0,6}}(?:,(?!\s?[\"']{REGION}[\"'])"
    r"|\.(?:type|fill|send_?keys|set_?value|val|value)\(|=>\s{1,20}string\(\d{1,4}\)|\s{1,3}\d{1,3}\))"
    r"\s?[\"'](?P<value>(?!--)[^\"'\n{]{4,256})(?:\{enter\})?[\"'](?!\s{0,3}:)"
)
_CALL = (
    r"(?:await |new )?(?:\[\])?[\w.:]{1,60}(?:<[^<>\n]{0,40}>)?\(\s{0,80}[bru]{0,2}(?P<quote>\\{0,4}[\"'`])"
    r"(?P<value>[^\"'`\n\\]{6,512})(?P=quote)"
)
_CONSTRUCTOR = (
    r"(?:new )?(?:\[\]byte|String|SecretString|SecretStr|Secret|SecretBox|Some|Password|Zeroizing|Cow|str|bytes)"
    r"(?:::(?:from|new|Owned|Borrowed))?\("
)
_VALUE_OPTION = r"[\"']?[^\n]{0,120}?\s--?(?:value|body|secret-string|plaintext)[ =][\"']?(?P<value>[^\s\"']{4,512})"
_CHANGE = r"\s{0,3}(?:->|=>|→)\s{0,3}(?P<quote>\\{0,4}[\"'])(?P<value>[^\"'\n\\]{4,512})"
_COMMENT = r"[\"'](?P<value>[^\"'\\\n]{4,256})\\{0,4}[\"'][)\];,]{0,4}[^\S\n]+(?:#|//|--)[^\S\n]?[\w ]{0,20}$"
_PLUS = r"(?:[+.&|]{1,2}|<>)?"
_JOIN = rf"{_SPACES}{_PLUS}{_SPACES}\\?(?:\n[^\S\n]{{0,80}})?{_PLUS}{_SPACES}[bruf]{{0,2}}(?P<quote>{_QUOTE})"
_SQL = r"(?:create|alter|with|encrypted|role|user|login|set|using)\b[^\n;]{0,80}$"
# Where a line may begin: at its start or the text's, in JSON after an escaped line end or a quote; then what tools put
# before a line: where it was found, its number, the sign of a diff.
_LINE_START = (
    r"(?:[\w./-]{1,100}[:-]\d{1,6}[:-])?(?:[^\S\n]{0,20}\d{1,6}(?:→|\\u2192|\t|\\{1,4}t|[:|]))?"
    r"[+>-]?(?:[^\S\n]|\\{1,4}t){0,60}(?:export |set |setx |ENV |ARG |[*-] |\$env:|#[^\S\n])?(?:\*\*|__)?[\w.-]{0,60}"
)
_CODE_LINE = (
    r"[;{},(]\s*$|\)\s*:?\s*$|^\s*(?:def|class|import|from|return|if|for|while|else|try|func|fn|let|const|var|public"
    r"|private|static|end|type|interface|struct|enum)\b|^\s*[@}]|[A-Za-z_]\(|\bself\.|\bthis\.|=>|::|//"
)
_NO_CODE = r"\$\{[^{}]*\}|\{\{[^{}]*\}\}|^\s*[\"'][\s\"'\]})]*,?$"
"""Pattern of what looks like code and is none: references of settings files, and what ends a text in JSON."""
_MAX_LINE_BEFORE = 240


def assigned_values(text: str, lower: str, letters: str) -> Iterator[Secret]:
    """Yield the values beside telling names that are secrets; the names are no part of them."""
    end = 0
    line_end = -1
    seen: dict[str, tuple[int, list[tuple[int, int]]]] = {}
    walks: Walks = {}
    for number, (start, root_end) in enumerate(telling_places(lower, letters)):
        if start < end:
            continue  # Within a name or a value that was looked at.
        # Where a name comes again and again among the same text, what was found there once is there each time.
        is_one_of_many = number >= _FEW and start >= _REACH_BEFORE
        around = text[start - _REACH_BEFORE : start + _REACH_AFTER] if is_one_of_many else ""
        known = seen.get(around) if around else None
        if known is not None:
            end = start + known[0]
            for begin, stop in known[1]:
                yield Secret("secret", start + begin, start + stop)
            continue
        name = _key_at(text, lower, walks, start, root_end)
        spans = name.spans() if name.is_telling() else []
        if not spans and line_end < start and name.may_head_column():
            spans = table_values(text, lower, name.start, name.end)
            line_end = text.find("\n", name.end)  # A line is the head of a table once.
            line_end = line_end if line_end >= 0 else len(text)
        # Other names may come between a name and its field.
        is_apart = bool(spans) and not {"{", "\n"}.isdisjoint(text[name.end : spans[0][0]])
        end = name.end if is_apart or not spans else max(name.end, spans[-1][1])
        if around and end < start + _REACH_AFTER // 2:
            seen[around] = (end - start, [(begin - start, stop - start) for begin, stop in spans])
        if len(seen) > _MAX_MEMORY:
            seen.clear()
        for begin, stop in spans:
            yield Secret("secret", begin, stop)


def _key_at(text: str, lower: str, walks: Walks, start: int, root_end: int) -> _Key:
    """Return the name that holds the telling word between two offsets; `NONE` is how clear it is if it tells nothing.

    A mark that ends no name, behind the word, such as `@`, gives an empty name.
    """
    if (word := lower[start:root_end]) in FOREIGN_WORDS:
        begin = name_start(text, start)
        name, end = foreign_name(text, word, start, begin)
        clear = clarity(name[-_MAX_NAME:]) if text[end : end + 1] in _AFTER_NAME or end == len(text) else Clarity.NONE
        return _Key(text, walks, name, clear, begin, end, is_foreign=True)
    following = text[root_end : root_end + 1]
    end = root_end
    if following not in _AFTER_NAME or following in _IN_NAME:
        match = compiled(_TAIL).match(text, root_end)
        end = root_end if match is None else match.end()
        following = text[end : end + 1]
    ends_sentence = following == "." and text[end + 1 : end + 2] in _AFTER_SENTENCE
    if following and following not in _AFTER_NAME and not ends_sentence:
        return _Key(text, walks, "", Clarity.NONE, start, end)
    begin = name_start(text, start)
    name = text[begin:end][-_MAX_NAME:]
    first = lower[start]
    if first == "k":
        clear = clarity(name, word_before(lower, begin) if begin == start and lower.startswith("key", start) else "")
        if lower.startswith(("keyname", "key content"), start):
            clear = Clarity.SECRET  # A list of keys, and how Windows prints the key of a wireless network.
    else:
        clear = clarity(name)
        if first == "s" and lower.startswith("seed", start) and lower.endswith(_SEED_OF, max(0, start - 5), start - 1):
            clear = Clarity.SECRET
    return _Key(text, walks, name, clear, begin, end)


def _is_typed(value: str) -> bool:
    """Return whether a value after `&password=` is of letters of both cases in no order that names of code have."""
    is_name = compiled(r"[A-Z][a-z]+|[a-z]+(?:[A-Z][a-z]+)*").fullmatch(value) is not None
    return len(value) >= 8 and value.isalpha() and not is_name


class _Key(TellingName):
    """A telling name, and where the value that belongs to it stands."""

    @property
    def before(self) -> str:
        """The character right before the name; empty at the start of the text."""
        return self.text[self.start - 1 : self.start]

    def is_telling(self) -> bool:
        """Return whether a secret may stand beside the name at all."""
        if self.clear is Clarity.NONE or self.text.startswith("redacted:", max(0, self.start - 9)):
            return False  # What hid a secret is called after it.
        if self.text.startswith(("checksum/", "red from key"), max(0, self.start - 9)):
            return False  # A digest of a secret, and the key of a cache: `restored from key`.
        return self.clear is not Clarity.WEAK or "auth" in self.name.lower() or self._has_generated_near()

    def _has_generated_near(self) -> bool:
        """Return whether a run of 16 characters or more with a digit in it stands shortly after the name."""
        at, end = self.end, self.end + _RUN_WITHIN
        text = self.text
        while run := compiled(_LONG_RUN).match(text, at, end) or compiled(_NEXT_RUN).search(text, at, end):
            run = compiled(_WHOLE_RUN).match(text, run.end() - _LEAST_RUN)
            if run is None or compiled(r"\d").search(run.group()) is not None:
                return True
            at = run.end()
        return False

    def may_head_column(self) -> bool:
        """Return whether the name may head a column: it stands in a list of names, as in the first line of a table."""
        following = self.text[self.end : self.end + 1]
        if self.clear <= Clarity.WEAK and (
            self.clear is Clarity.NONE or following not in ",)" or "VALUES" not in self.text[self.end : self.end + 200]
        ):
            return False
        if following not in _AFTER_COLUMN and not following.isspace():
            return False
        match = compiled(_COLUMN_END).match(self.text, self.end)
        if match is None:
            return False
        before = self.text[max(0, self.start - 40) : self.start].rpartition("\n")[2]
        return match.group()[-1] not in "\r\n" or any(mark in before for mark in ",;|\t")

    def spans(self) -> list[tuple[int, int]]:
        """Return the pieces of the value; nothing when there is none or it is no secret."""
        text, end = self.text, self.end
        if logins := self._login():
            return logins
        if self.clear in _CHOSEN and self.name.startswith("-") and text[end : end + 1] == " ":
            before = text[max(0, self.start - 100) : self.start].rpartition("\n")[2]
            option = compiled(_LOOSE).match(text, end)
            if option and (
                compiled(USER_BESIDE, re.IGNORECASE).search(before) or self._is_in_command(before, option.end("value"))
            ):
                span = self.without_end_marks(option)
                value = text[slice(*span)]
                value = value.lower() if value.istitle() else value
                if is_secret(value, Clarity.PASSWORD, Position.SETTING):
                    return [span]
        word = compiled(_WORD).match(text, end)
        is_prose = word is not None and text.find("=", end, end + 44) < 0
        if is_prose and not self.is_foreign and not may_follow(self):
            return value_before(self)
        if self.clear is Clarity.PASSWORD and text[end : end + 1] == " " and follows_user(self):
            match = compiled(_LOOSE).match(text, end)
            if match is not None:
                span = self.without_end_marks(match)
                value = text[slice(*span)]
                if (has_both(value) or is_marked(value)) and self.is_secret(value, Position.PROSE):
                    return [span]
        may_be_option = self.clear <= Clarity.WEAK or text.find(" --", end, end + 60) >= 0
        if may_be_option and (option := self.one(_VALUE_OPTION, Position.SETTING)):
            return option
        if word is not None and is_prose:
            # Two words of a sentence, which is the most frequent case by far.
            return (value_after(self) if word.group(1) in LINKS else []) or value_later(self) or value_before(self)
        if text.startswith(" Content", end):
            return self.one(_CONTENT, Position.SETTING)
        if self.name.lower() == "keyname":
            return self.one(_KEY_LIST, Position.QUOTED)
        return (
            self._arguments()
            or list_items(self)
            or self._default(default_beside(text, end))
            or self._after_sign()
            or self._elsewhere()
        )

    def _login(self) -> list[tuple[int, int]]:
        """Return the spans of the passwords behind their users: `--creds user:X`, `BASIC_AUTH=user:X,other:Y`."""
        name, following = self.name.lower(), self.text[self.end : self.end + 1]
        if "cred" not in name and not (name.endswith(("auth", "auth_users")) and (following in ":=" or name[0] == "-")):
            return []
        match = compiled(_LOGIN).match(self.text, self.end)
        if match is None:
            return []
        is_given = name[0] == "-" or (match["sign"] == "=" and self.name.isupper())
        position = Position.SETTING if is_given else Position.INLINE if name == "creds" else Position.LOOSE
        spans = [match.span(group) for group in ("value", "next") if match[group] and not match[group].isdigit()]
        return [span for span in spans if is_secret(self.text[slice(*span)], Clarity.PASSWORD, position)]

    def _arguments(self) -> list[tuple[int, int]]:
        """Return the span of the password in `HTTPBasicAuth("user", "password")` and the like."""
        name = self.name.lower()
        if "auth" not in name and "cred" not in name:
            return []
        if begun := compiled(_USERS).match(self.text, self.end):  # `basicAuth({ users: { admin: "X" } })`
            return kept_items(
                _USER_ITEM, self.text, begun.end(), lambda value: is_secret(value, Clarity.PASSWORD, Position.QUOTED)
            )
        number = 3 if name.endswith(("plainauth", "auth_password")) else 2
        if name.endswith("credentials") and (fourth := arguments_after(self.text, self.end, 4)[0]):
            return [(secret.start, secret.end) for secret in fourth]
        return [(secret.start, secret.end) for secret in arguments_after(self.text, self.end, number)[0]]

    def _after_sign(self) -> list[tuple[int, int]]:
        """Return the spans of a value behind a sign such as `=`, within a tag or an option, or right after the name."""
        text, end = self.text, self.end
        following = text[end : end + 1]
        is_in_tag = following in _MAY_END_TAG and text.find(">", end, end + 122) >= 0 and self._is_in_tag()
        spans = self.one(_ELEMENT, Position.QUOTED) if is_in_tag or following == "<" else []
        if spans or following == "<" or (is_in_tag and following in (">", " ")):
            return spans
        if spans := field_values(self):
            return spans
        if text.find("alue", end, end + 160) >= 0 and (spans := self.one(_VALUE_OPTION, Position.SETTING)):
            return spans
        item = compiled(_NEXT_ITEM).match(text, end) if self.name.startswith("-") else None
        position = Position.QUOTED if item is not None and item["quote"] else Position.SETTING
        if item is not None and (spans := self.kept(item.span("value"), position)):
            return spans
        sign = compiled(_SIGN).match(text, end)
        if sign is None:
            return []
        mark = sign["sign"]
        if sign["open"]:
            spans = self._literal(sign, mark)
            if spans is not None:
                return spans
        elif mark == "|" and sign["gap"] and "}}" not in text[end : end + 80].partition("\n")[0]:
            return self._bare(sign, ":")
        elif mark in ("=", ":", ":=", "?=", "+=", "<-", ":-") or (mark in ("=>", "->", "→") and sign["gap"]):
            fallback = self._default(default_after(text, sign.end()))
            is_template = text.startswith("${", sign.end())
            if spans := (fallback if is_template else []) or self._bare(sign, mark) or fallback:
                return spans
            if match := compiled(_CALL).match(text, sign.end()):
                is_plain = compiled(_CONSTRUCTOR).match(match.group()) is not None
                is_decoded = compiled(r"hex|decode|fernet", re.IGNORECASE).search(match.group()) is not None
                clear = Clarity.SECRET if is_decoded else self.clear
                is_kept = is_secret(match["value"], clear, Position.QUOTED if is_plain else Position.LOOSE)
                return [match.span("value")] if is_kept else []
            return value_later(self) if mark == ":" else []
        return self._further()

    def _default(self, span: tuple[int, int] | None) -> list[tuple[int, int]]:
        """Return the span of a literal that a reference falls back to, if it is a secret; a single word may be none."""
        if span is None:
            return []
        value = self.text[slice(*span)]
        if compiled(r"[a-z]+(?:_[a-z]+)+(?:_?v?\d{1,2})?").fullmatch(value) or compiled(REGION).fullmatch(value):
            return []  # The name of a setting, or a region.
        most = Clarity.SECRET if value.replace("-", "").isalpha() else Clarity.PASSWORD
        return [span] if self.is_secret(value, Position.QUOTED, most=most) else []

    def _elsewhere(self) -> list[tuple[int, int]]:
        """Return the spans of a value further away: later in a sentence, in a declaration, form or comment."""
        text, end = self.text, self.end
        following = text[end : end + 1]
        if following in (" ", ")", ".", ",", "\n", ""):
            if spans := value_before(self):
                return spans
            if following in (",", ")") and (spans := self.one(VALUE_LATE, Position.LOOSE)):
                return spans
        is_quoted = following in ('"', "'", "\\")
        if (
            is_quoted
            and text[end + 1 : end + 2].isspace()
            and "form-data" in text[max(0, self.start - 60) : self.start]
        ):
            return self.one(_FORM_PART, Position.SETTING)
        if (is_quoted or following in ("]", ")")) and (spans := self.one(_FORM_CALL, Position.QUOTED)):
            is_word = compiled(r"[a-z]+(?:-[a-z]+)+").fullmatch(text, *spans[0]) is not None
            return [] if is_word and "," in text[end : spans[0][0]] else spans
        if following in ("\n", "", '"', "\\") or text[end : end + 2] == ".\n":
            line_start = max(text.rfind("\n", 0, self.start) + 1, self.start - 300)
            match = compiled(_COMMENT).search(text[line_start : self.start])
            if match is not None:
                return self.kept((line_start + match.start("value"), line_start + match.end("value")), Position.QUOTED)
        return []

    # --- literals ------------------------------------------------------------------------------------------

    def _literal(self, sign: re.Match[str], mark: str) -> list[tuple[int, int]] | None:
        """Return the spans of a literal and those joined to it; none if it is no value; None without a literal."""
        is_argument = bool(mark) or self._takes_argument()
        if not is_argument and self.clear < Clarity.TOKEN:
            return None
        if mark == "or" and sign["close"]:
            return []  # `"password" or "letmein"` are two words of a sentence.
        if mark == "," and not sign["close"] and not self.name.isupper():
            return []  # `f(token, "message")`: the name is an argument itself.
        if mark == "," and compiled(_IS_KEY).match(self.text, sign.end()):
            return []  # `"id": "api_key", "description": …`
        start = sign.end()
        quote = sign["quote"] or {"“": "”", "‘": "’"}[sign["open"]]
        inner = compiled(r"\\{1,8}[\"']").match(self.text, start)
        if inner is not None and inner.group() > quote:  # A literal within a literal: `"\"X\""`.
            start, quote = inner.end(), inner.group()
        end = self._literal_end(start, quote)
        if end < 0 or (quote == "`" and " " in self.text[start:end]):
            return None
        if self.name.lower().endswith("userpwd"):
            start = self.text.find(":", start, end) + 1 or start
        is_template = self.text.startswith(("${", "{{"), start)
        if is_template and (fallback := self._default(default_after(self.text, start))):
            return fallback
        start += 6 * self.text.startswith("{noop}", start)
        if not is_argument:  # `with the password 'X'`
            value = self.text[start:end]
            is_chosen = self.clear is Clarity.PASSWORD
            is_sure = is_generated(value) or (
                is_chosen and (has_both(value) or is_marked(value) or " " in value or value.count("-") > 1)
            )
            return [(start, end)] if is_sure and self.is_secret(value, Position.QUOTED) else None
        pieces = [(start, end), *self._further_literals(end, quote if sign["quote"] else "")]
        value = "".join(self.text[begin:stop] for begin, stop in pieces)
        changed = compiled(_CHANGE).match(self.text, end + len(sign["quote"] or ""))
        if changed is not None:  # `password = "old" -> "new"`, as plans of changes have it.
            return self.kept((start, end), Position.QUOTED) + self.kept(changed.span("value"), Position.QUOTED)
        if mark == "," and compiled(REGION).fullmatch(value):
            return []  # `lookup("db-password", "eu-west-1")`: where a secret is kept, not what it is.
        # `("password", "new-password")` lists two names; only what is assigned counts as chosen by a person.
        is_word = value.replace("-", "").isalpha()
        most = Clarity.SECRET if is_word and mark in (",", "|", "||", "??", "or") else Clarity.PASSWORD
        if "f" in sign["open"].lower() and "{" in value:
            return []
        is_one_of_several = mark == "(" and len(pieces) == 1 and self.text[end : end + 12].lstrip("\\\"'`")[:1] != ")"
        position = Position.INLINE if is_one_of_several else Position.QUOTED
        if " " in value and self.name.isupper() and (not mark or (mark == "=" and not sign["gap"])):
            # In settings of shells stands no label, whose words have capitals.
            value = value.lower().replace(" ", "-") if value.count(" ") == 1 else value.lower()
        value = value.removeprefix("Bearer ").removeprefix("Basic ")
        return pieces if self.is_secret(value.strip(), position, most=most) else []

    def _takes_argument(self) -> bool:
        """Return whether quotes after the name hold its value: the name is an option or set by a command."""
        before = self.text[max(0, self.start - 80) : self.start + 1]
        if "-" in before[-3:] or " --" in before[-30:] or " set " in before[-30:] or "setx " in before[-8:]:
            return True
        if before.rpartition("\n")[2].startswith("set "):
            return True
        return self.name.lower() == "password" and compiled(_SQL, re.IGNORECASE).search(before[:-1]) is not None

    def _literal_end(self, start: int, quote: str) -> int:
        """Return the offset of the quote that ends a literal; −1 when it is too long or does not end on its line."""
        limit = start + _MAX_VALUE * (4 if len(quote) == 3 else 1)
        end = self.text.find(quote, start, limit)
        while end > start and self.text[end - 1] == "\\" and not quote.startswith("\\"):
            if self.text[end - 2 : end] == "\\\\":
                break
            end = self.text.find(quote, end + 1, limit)
        if end < 0 or (len(quote) < 3 and "\n" in self.text[start:end].replace("\\\n", "")):
            return -1
        return end

    def _further_literals(self, end: int, quote: str) -> list[tuple[int, int]]:
        """Return the spans of further literals that are joined to the one that ends here."""
        pieces: list[tuple[int, int]] = []
        end += len(quote)
        while len(pieces) < _MAX_PIECES and len(quote) < 3 + quote.count("\\"):
            match = compiled(_JOIN).match(self.text, end)
            if match is None or match["quote"] != quote:
                break
            stop = self._literal_end(match.end(), quote)
            if stop < 0:
                break
            pieces.append((match.end(), stop))
            end = stop + len(quote)
        return pieces

    # --- values without quotes -----------------------------------------------------------------------------

    def _bare(self, sign: re.Match[str], mark: str) -> list[tuple[int, int]]:
        """Return the spans of a value without quotes, or of the lines of a YAML block; nothing if it is no secret."""
        chained = compiled(r"([A-Za-z_-]{1,40})[=:]").match(self.text, sign.end())
        if chained is not None and clarity(chained.group(1)) is not Clarity.NONE:
            return []  # `token=password=…`: the next name is looked at itself.
        run = compiled(_BARE).match(self.text, sign.end())
        if run is None or (mark == ":" and run.group() in ("|", ">", "|-", ">-", "|+", ">+")):
            return block_lines(self) if mark == ":" else []
        is_joined = not sign["gap"]
        if mark == "=" and is_joined and self.before == "/":  # A part of a path, as a folder is called.
            return self.kept(self._up_to(_PATH_PART_END, run), Position.SETTING)
        is_upper = mark == "=" and is_joined and self.name.isupper()
        if is_upper and self.before in ("'", '"') and (spans := self._in_quotes(run.start())):
            return spans
        line_start = self._line_start()
        if self._begins_line(line_start) or (is_upper and self.before not in (".", "$", "{", "%")):
            spans = self._on_own_line(run, mark, line_start, is_upper=is_upper)
            if spans is not None:
                return spans
        return self._within_line(run, mark, line_start, is_joined=is_joined)

    def _up_to(self, pattern: str, run: re.Match[str]) -> tuple[int, int]:
        """Return the span of a run up to the first place in it where a pattern is found."""
        cut = compiled(pattern).search(self.text, *run.span())
        return run.start(), run.end() if cut is None else cut.start()

    def _in_quotes(self, start: int) -> list[tuple[int, int]]:
        """Return the span of several words that stand with their name in quotes: `putenv("PASSWORD=several words")`."""
        end = self._literal_end(start, self.before)
        value = self.text[start:end].lower() if end > 0 else ""
        is_first = self.is_secret(value.partition(" ")[0], Position.ENVIRONMENT)  # Then a command follows.
        is_first &= "Environment=" not in self.text[max(0, start - 160) : start]
        return [(start, end)] if " " in value and not is_first and self.is_secret(value, Position.QUOTED) else []

    def _on_own_line(
        self, run: re.Match[str], mark: str, line_start: int, *, is_upper: bool
    ) -> list[tuple[int, int]] | None:
        """Return the spans of a value that has the rest of its line; nothing if it is no secret, None if it has not."""
        start = run.start()
        end = self._setting_end(start, run.end(), is_form=not is_upper)
        after = self.text[end : end + 40].split("\n", 1)[0].strip()
        if after and not is_upper and after[0] not in "#\\\"'`;," and not after.startswith("//"):
            return None
        is_code = mark == "<-" or after[:1] in (";", ",") or (not is_upper and self._is_between_code(line_start, end))
        is_shell = is_upper or (mark == "=" and self.text[start - 1] == "=" and "-" in self.text[start:end])
        position = Position.INLINE if is_code else Position.ENVIRONMENT if is_shell else Position.SETTING
        return continued(self.text, start, end) if self.is_secret(self.text[start:end], position) else []

    def _within_line(self, run: re.Match[str], mark: str, line_start: int, *, is_joined: bool) -> list[tuple[int, int]]:
        """Return the span of a value that is followed by other text on its line; nothing if it is no secret."""
        start, end = self._up_to(_INLINE_END, run)
        value = self.text[start:end]
        if mark in ("=", ":") and stands_beside_user(self):
            value = value.rstrip(".")
            return [(start, start + len(value))] if is_secret(value, Clarity.PASSWORD, Position.SETTING) else []
        if mark == "=" and self._has_setting_before(line_start, is_joined=is_joined):
            return self.kept((start, end), Position.SETTING)
        is_scope = self.before in (":", "/") and self.text[self.start - 2 : self.start] != " /"
        if self.text[end : end + 1] in ("(", "[") or (mark == ":" and is_joined and is_scope):
            return []
        if mark == ":" and not is_joined:
            value = value.rstrip(".?:")  # A mark at the end may belong to the password.
            is_one = self.is_secret(value.rstrip("!"), Position.PROSE) or self.is_secret(value, Position.PROSE)
            return [(start, start + len(value))] if is_one else []
        if self.name.lower() == "key" and self.before in ("?", "&"):
            return [(start, end)] if len(value) >= 24 and is_secret(value, Clarity.SECRET, Position.INLINE) else []
        is_chosen = is_joined and self.clear is Clarity.PASSWORD
        if mark == ":" and self.before == "/" and is_joined:  # `cmdkey /pass:X`
            return self.kept((start, end), Position.SETTING)
        is_sure = self.name.startswith("--") or self.before in (";", "?", "&", "/", ",")
        is_sure = is_sure or self.text.startswith("/:", self.start - 2)
        if is_chosen and is_sure and mark == "=" and _is_typed(value):
            return [(start, end)]
        is_setting = mark == "=" and self.before in ("-", " ", '"', "'") and any(map(str.isdigit, value))
        return self.kept((start, end), Position.SETTING if is_chosen and (is_sure or is_setting) else Position.INLINE)

    def _has_setting_before(self, line_start: int, *, is_joined: bool) -> bool:
        """Return whether the text before the name on its line is an option or setting, so that a value follows."""
        if self.clear < Clarity.SECRET:
            return False
        line = self.text[max(0, line_start, self.start - 120) : self.start]
        if is_joined:
            return "-" in line and compiled(_OPTION_VALUE).search(line) is not None
        if line_start < 0 or compiled(_NAME_WITH_SPACES).fullmatch(line) is None:
            return False
        return compiled(_BARE_LINE).match(self.text, self.end) is not None

    def _setting_end(self, start: int, end: int, *, is_form: bool) -> int:
        """Return the end of a value that has its line for itself; in a form another value may follow after `&`."""
        value = self.text[start:end]
        further = r"|&(?=\w+=)" if is_form else ""
        cut = compiled(
            rf"\\{{1,4}}[nr](?![\w-]*\\)|\\{{0,4}}[\"'`]|&&|\|\||;$|,$|;(?=\w+=){further}|\\+$|\\{{1,4}}[nr]"
        ).search(value)
        return end if cut is None else start + cut.start()

    # --- where a line begins, and what stands around it ----------------------------------------------------

    def _line_start(self) -> int:
        """Return where the line of the name begins, an escaped line end counted; −1 when that is too far back."""
        low = max(0, self.start - _MAX_LINE_BEFORE)
        start = self.text.rfind("\n", low, self.start) + 1
        for escape in ("\\n", "\\r"):
            start = max(start, self.text.rfind(escape, max(low, start), self.start) + 2)
        if start < 2 and low and not self.text.startswith("\n", start - 1):
            return -1
        return start if start > low or not low else -1

    def _begins_line(self, line_start: int) -> bool:
        """Return whether nothing stands before the name on its line but a prefix of it, `export` or a list's dash."""
        if line_start < 0:
            return False
        before = self.text[line_start : self.start]
        return not before.strip() or compiled(_LINE_START).fullmatch(before.lstrip("\"'`")) is not None

    def _is_between_code(self, line_start: int, end: int) -> bool:
        """Return whether the line before or after is one of code, which has names where settings have values."""
        before = self.text[max(0, line_start - 200) : max(0, line_start - 1)].rstrip().rpartition("\n")[2]
        after = self.text[end : end + 200].partition("\n")[2].lstrip("\n").partition("\n")[0]
        lines = (compiled(_NO_CODE).sub("", line) for line in (before, after))
        return any(compiled(_CODE_LINE).search(line) is not None for line in lines)

    # --- other forms ---------------------------------------------------------------------------------------

    def _further(self) -> list[tuple[int, int]]:
        """Return the span of a value behind a name in a tag, right after the name, or later in a sentence."""
        following = self.text[self.end : self.end + 1]
        if following not in " \t:*\n`\"'":
            return []
        if match := compiled(_LOOSE).match(self.text, self.end):
            span = self.without_end_marks(match)
            # `--password X`, `ENV PASSWORD X`, and a column of names before one of values.
            is_setting = self.before == "-" or self.name.startswith("-") or self.text.startswith("ENV ", self.start - 4)
            is_digest = "DIGEST" in self.text[max(0, self.start - 100) : self.start]  # The head of the column.
            is_setting |= match.start("value") > self.end + 1 and self.text[span[1] : span[1] + 1] in ("\n", "\r", "")
            is_setting &= any(map(str.isdigit, self.text[slice(*span)]))
            if not is_digest and (spans := self.kept(span, Position.SETTING if is_setting else Position.LOOSE)):
                return spans
        return value_after(self) or value_later(self)

    def _is_in_command(self, before: str, end: int) -> bool:
        """Return whether an option is part of a command, not of a text about one, so that its value may be any word."""
        is_command = before.strip() and compiled(_ABOUT_OPTIONS, re.IGNORECASE).search(before) is None
        return bool(is_command) and compiled(_AFTER_TYPED).match(self.text, end) is not None

    def _is_in_tag(self) -> bool:
        """Return whether the name stands within a tag that was opened on its line and is not closed yet."""
        before = self.text[max(0, self.start - 80) : self.start]
        return before.rfind("<") > max(before.rfind(">"), before.rfind("\n"))
