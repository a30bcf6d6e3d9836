"""Finds values beside telling names: in code, settings, JSON, command lines, logs and prose.

Each telling name is looked at once. What follows it says which place its value has (`values.Place`), and only the place
says how far a value without quotes may be a name of code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.redact.calls import credentials_after
from hybrid.redact.names import Clarity, clarity, name_start, telling_places, word_before
from hybrid.redact.patterns import Secret, compiled
from hybrid.redact.tables import table_values
from hybrid.redact.values import Place, has_both, is_marked, is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_VALUE = 1024
_MAX_PIECES = 12
"""Literals that one value is put together from at most."""
_TAIL = r"[\w-]*"
_QUOTE = r"\\{0,4}[\"'`]"
_SPACES = r"[^\S\n]{0,40}"
_AFTER_NAME = frozenset(";|& \t\r:=*\"'`\\)],(>?!+<→-[\n_’”/")
# What ends a name (a quote, a bracket, bold type), a type, the sign, and the quote that a literal begins with. In JSON,
# backslashes stand before a quote, once or several times over.
_SIGN = (
    r"(?:[^\S\n]\d{1,2}(?=:)|[^\S\n]\[[^\]\n]{0,40}\](?=:))?"
    rf"(?P<close>(?:{_QUOTE}|\*\*|\*|__|”|’)?\)?\]?(?:\[\d{{0,4}}\])?(?:[^\S\n]?\{{[^{{}}\n]{{0,30}}\}}(?= =))?)"
    r"(?P<type>(?=[^\n=]{1,44}=)(?::[^\S\n]?[A-Za-z&'][\w.&\[\]|'?, ]{0,40}|[^\S\n]\*?[A-Za-z][\w.\[\]*]{1,30})"
    r"(?:[^\S\n](?=:?=(?!=))|(?==[bruf]{0,2}\\{0,4}[\"']))|)"
    rf"{_SPACES}(?P<sign>:=|=>|[!=]==?|[?+]=|\|\|=?|\?\?|or(?= [\"'])|:-|\|(?=[^\S\n])|<-|->|→|:(?!:)|=|,|\(|)"
    r"(?:\*\*|__)?"
    r"(?P<gap>[^\S\n]{0,40}(?:\(\s{0,80}(?=[bruBRUfF]{0,2}\\{0,4}[\"\']))?)(?P<open>(?:[bruBRUfF@$]{0,2}(?P<quote>\\{0,4}(?:\"\"\"|\'\'\'|[\"'`])))|[“‘]|)"
)
_COLUMN_END = r"[\"'`*]{0,2}[^\S\n]{0,20}[,;|\t\r\n)]"
_LONG_RUN = r"[^\s\"'`,()<>]{16}"
_SEEN_BEFORE, _SEEN_AFTER = 120, 260
"""Characters around a name that, where they come again, need no second look; most patterns reach less far."""
_MAX_SEEN = 64
_MAX_NAME = 120
_BARE = r"\S{1,1024}"
_INLINE_END = r"[\s\"'`;,&<>(){}\[\]|\\]"
_WORD = r"[^\S\n]{1,40}([a-z]{1,20})(?=[\s:])"
_LINKS = frozenset(
    "for of on in at between is was are ist est es now to into becomes as from back should must will".split()
)
"""Words between a name and its value."""
_PROSE = (
    r"(?:[^\S\n](?:for|of|on|in|at|between)[^\S\n](?:[\w.@'’/-]{1,40}[^\S\n]){0,4}?[\w.@'’/-]{1,40})?"
    r"[\"'`)*]{0,2}(?:[^\S\n]?:|[^\S\n]{1,3}\(?(?:is|was|are|ist|est|es|=|now|(?:back )?to|into"
    r"|(?:should|must|will)[^\S\n]be"
    r"|becomes|as|[-–—]>?|→)"
    r"(?:[^\S\n](?:now|still|set to|again|currently|changed to))?:?)\s{1,3}"
    r"(?:(?P<open>\*{0,2}(?:\\{0,4}[\"'`]|[“‘]))(?P<quoted>[^\"'`“”‘’\n]{4,200}?)\\{0,4}[\"'`”’]"
    r"|\*{0,2}(?P<value>[^\s\"'`“”‘’]{4,512}))"
)
_SAID = (
    r"[^\n:|]{0,60}?(?:\bit[’']?s|\bit is|\bwhich is|\bnamely|\bnew (?:value|one)(?: is)?"
    r"|\b(?:type|enter|use|try))[^\S\n]"
    r"[\"'`]?(?P<value>[^\s\"'`]{6,512})"
)
"""A value later in the sentence: `asks for a password, just type X`."""
_SAID_BEFORE = (
    r"(?:^|[\s(\[\"'`])(?P<value>[^\s\"'`()]{6,256})[\"'`]?[^\S\n](?:is|was|ist)[^\S\n]"
    r"(?:the|my|our|your|its|das|mein)(?:[^\S\n][a-zA-Z-]{1,20}){0,3}[^\S\n]$"
)
"""A value before its name: `X is the password`."""
_USER_BESIDE = (
    r"(?:\b(?:user(?:name)?|login|benutzer)\s?[:=]\s?|--?(?:user(?:name)?|login|u|U)[ =])\S{1,64}?[,;/|]?\s{1,3}"
    r"(?:(?:and|und)[^\S\n])?$"
)
"""A user right before the name of a password, which makes any word one."""
_OPTION_VALUE = r"(?:^|\s)--?[A-Za-z][\w-]{0,30}[ =][\"']?[\w.\[\]/-]{0,80}$"
"""What stands before a name that is set as the value of an option: `--set auth.`."""
_SPACED_NAME = (
    r"[+>-]?[^\S\n]{0,40}(?!.*\b(?:val|var|let|const|local|set|mut|final|auto|string|char|static"
    r"|my|pub|type|def|export|public|private|return)\b)"
    r"[a-z]{2,20}(?: [a-z]{2,20}){0,3} $"
)
"""The first words of a name in settings that have spaces in names: `ldap admin password = X`."""
_BARE_LINE = r" = [^\s()\[\]{}]{4,256}[^\S\n]*(?:\n|$)"
_LIST = r"(?:\\{0,4}[\"'])?\s?[:=]\s?[\[({]\s{0,40}(?=\\{0,4}[\"'])"
_LIST_ITEM = rf"(?P<quote>{_QUOTE})(?P<value>[^\"'`\\\n]{{1,256}})(?P=quote)\s{{0,3}},?\s{{0,40}}"
_LISTS = r"pass(?:word|wd|phrase)s|secrets|(?:api|access|auth|refresh)[_-]?(?:key|token)s"
_FROM = r"[^\S\n]from[^\S\n][\"'`]?(?P<old>[^\s\"'`]{4,128})[\"'`]?[^\S\n]to[^\S\n][\"'`]?(?P<value>[^\s\"'`]{4,128})"
_LOOSE = r"[^\S\n]{1,40}\(?[\"'`]?(?P<value>[^\s\"'`]{6,512})"
_LATER = r"[^\S\n][\w@ '/().-]{1,80}:[^\S\n]{1,3}[\"'`]?(?P<value>[^\s\"'`]{6,512})"
_LOGIN = (
    r"\s?(?::|=|is|are|[^\S\n])\s{0,3}[\"'`]?[\w.@-]{1,64}[\"'`]?[^\S\n]?[:/][^\S\n]?[\"'`]?"
    r"(?P<value>[^\s\"'`/:]{6,256})"
)
_NEXT_LINE = (
    r"[^\n:]{0,100}:(?:\*\*)?[^\S\n]*\n{1,2}[^\S\n]*(?:[>`]|```\w*\n)?[^\S\n]*"
    r"(?P<value>[^\s`]{6,512})`?[^\S\n]*(?=\n|$)"
)
_BLOCK = r"(?P<close>[\"']?):[^\S\n]*[|>][-+\d]{0,2}[^\S\n]*(?:#[^\n]*)?\n"
_BLOCK_LINE = r"(?P<indent>[^\S\n]*)(?P<value>\S[^\n]*?)[^\S\n]*(?:\n|$)"
_PAIR = (
    rf"(?:{_QUOTE})?(?:,|(?=[\s\\]))(?:[\s+→]|\\{{1,4}}[nrt]|\d{{1,6}}[→\t]|[\w./-]{{1,80}}:\d{{1,6}}:){{0,40}}"
    rf"(?:{_QUOTE})?(?:\w{{1,12}}:)?[vV]alue(?:{_QUOTE})?\s?[:=]\s?(?P<quote>{_QUOTE})?(?P<value>[^\s\"'`,<>{{}}\\]{{4,512}})"
)
_LISTED = (
    r"[\"\\]{1,5}:\s{0,3}[\"\\]{1,5}[\w-]{1,40}[\"\\]{1,5},\s{0,40}(?:[^:\n]{1,30}:[^:\n]{1,30},\s{0,40})?"
    r"[\"\\]{1,5}value[\"\\]{1,5}:\s{0,3}[\"\\]{1,5}(?P<value>[^\"\\\n]{16,200})"
)
_CONTENT = r"\s[Cc]ontent\s{1,20}:\s{1,3}(?P<value>\S{4,128})"
_ELEMENT = r"[^<>\n]{0,120}>(?P<value>[^<>\n]{4,512})</"
_TYPED = (
    r"[\]'\"\\) ]{0,6}(?:,|\.(?:type|fill|send_?keys|set_?value|val|value)\()\s?[\"'](?P<value>[^\"'\n]{4,256})[\"']"
)
_WRAPPED = (
    r"(?:await |new )?[\w.:]{1,60}(?:<[^<>\n]{0,40}>)?\(\s{0,3}[bru]{0,2}(?P<quote>\\{0,4}[\"'`])"
    r"(?P<value>[^\"'`\n\\]{6,512})(?P=quote)"
)
_CONSTRUCTOR = (
    r"(?:new )?(?:String|SecretString|SecretStr|Secret|SecretBox|Some|Password|Zeroizing|Cow|str|bytes)"
    r"(?:::(?:from|new|Owned|Borrowed))?\("
)
_DECLARED = (
    r"\\{0,4}[\"'](?:[^\S\n]\\{0,4}[\"'][\w-]{1,80}\\{0,4}[\"'])?\s\{[^{}]{0,400}?\b"
    r"(?:default|plaintext_value|secret_string|value)[^\S\n]{0,20}=[^\S\n]\\{0,4}[\"'](?P<value>[^\"'\n\\]{4,512})"
)
_GIVEN = r"[\"']?[^\n]{0,120}?\s--?(?:value|body|secret-string|plaintext)[ =][\"']?(?P<value>[^\s\"']{4,512})"
_CHANGED = r"\s{0,3}(?:->|=>|→)\s{0,3}(?P<quote>\\{0,4}[\"'])(?P<value>[^\"'\n\\]{4,512})"
_COMMENT = r"[\"'](?P<value>[^\"'\n]{4,256})[\"'][)\];,]{0,4}[^\S\n]+(?:#|//|--)[^\S\n]?[\w ]{0,20}$"
_PROMPTED = (
    r"[^\n]{0,300}\n(?:@@[^\n]*\n\+|[^\S\n]*\d{1,6}(?:→|\t))?[^\S\n]*(?P<value>[^\s]{6,512})[^\S\n]*"
    r"(?=\n|$|\\{0,4}\")"
)
_PROMPT = r"(?:^|[\n\"'])[^\S\n]*(?:\d{1,6}(?:→|\t))?(?:[\w@.~:/-]{0,40}[$#%❯>] |\+\+\+ )[^\n]{0,200}$"
_PLIST = r"</key>\s{0,80}<string>(?P<value>[^<>]{4,512})</string>"
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
_MAX_LINE_BEFORE = 240


def assigned_values(text: str, lower: str) -> Iterator[Secret]:
    """Values that may be secrets beside a name that says so; the name stays."""
    end = 0
    line_end = -1
    seen: dict[tuple[str, str], tuple[int, list[tuple[int, int]]]] = {}
    for start, root_end in telling_places(lower):
        if start < end:
            continue  # Within a name or a value that was looked at.
        # Where a name comes again and again among the same text, what was found there once is there each time.
        around = (text[max(0, start - _SEEN_BEFORE) : start], text[start : start + _SEEN_AFTER])
        known = seen.get(around)
        if known is not None:
            end = start + known[0]
            for begin, stop in known[1]:
                yield Secret("secret", start + begin, start + stop)
            continue
        name = _named(text, lower, start, root_end)
        spans = name.spans() if name.is_telling() else []
        if not spans and name.may_head_column() and line_end < start:
            spans = table_values(text, lower, name.start, name.end)
            line_end = text.find("\n", name.end)  # A line is the head of a table once.
            line_end = line_end if line_end >= 0 else len(text)
        end = max(name.end, spans[-1][1] if spans else 0)
        if end < start + _SEEN_AFTER // 2:
            seen[around] = (end - start, [(begin - start, stop - start) for begin, stop in spans])
        if len(seen) > _MAX_SEEN:
            seen.clear()
        for begin, stop in spans:
            yield Secret("secret", begin, stop)


def _named(text: str, lower: str, start: int, root_end: int) -> _Assigned:
    """The name that holds a telling word, with how clear it is."""
    match = compiled(_TAIL).match(text, root_end)
    end = root_end if match is None else match.end()
    if end < len(text) and text[end] not in _AFTER_NAME:
        return _Assigned(text, "", Clarity.NONE, start, end)
    begin = name_start(text, start)
    before = word_before(lower, begin) if lower.startswith("key", start) and begin == start else ""
    name = text[begin:end][-_MAX_NAME:]
    clear = clarity(name, before)
    if lower.startswith("seed", start) and lower[max(0, start - 5) : start - 1].endswith(("2fa", "mfa", "otp")):
        clear = Clarity.SECRET
    if lower.startswith(("keyname", "key content"), start):
        clear = Clarity.SECRET  # A list of keys, and how Windows prints the key of a wireless network.
    return _Assigned(text, name, clear, begin, end)


class _Assigned:
    """What stands after a telling name."""

    def __init__(self, text: str, name: str, clear: Clarity, start: int, end: int) -> None:
        self._text = text
        self._clear = clear
        self.name = name
        self.start = start
        self.end = end

    def is_telling(self) -> bool:
        """Return whether a secret may stand beside the name at all."""
        if self._clear is Clarity.NONE or self._text.startswith("redacted:", max(0, self.start - 9)):
            return False  # What hid a secret is called after it.
        if self._clear is not Clarity.WEAK or "auth" in self.name.lower():
            return True
        return compiled(_LONG_RUN).search(self._text, self.end, self.end + 100) is not None

    def may_head_column(self) -> bool:
        """Return whether the name stands in a list of names, as the first line of a table has them."""
        if self._clear <= Clarity.WEAK:
            return False
        match = compiled(_COLUMN_END).match(self._text, self.end)
        if match is None:
            return False
        before = self._text[max(0, self.start - 40) : self.start].rpartition("\n")[2]
        return match.group()[-1] not in "\r\n" or any(mark in before for mark in ",;|\t")

    def spans(self) -> list[tuple[int, int]]:
        """Where the value is, in its pieces; nothing when there is none or it is no secret."""
        text, end = self._text, self.end
        if "cred" in self.name.lower() or (self.name.lower() == "auth" and text[end : end + 1] == ":"):
            match = compiled(_LOGIN).match(text, end)
            if match is not None and is_secret(match["value"], Clarity.PASSWORD, Place.LOOSE):
                return [match.span("value")]
        if self._clear is Clarity.PASSWORD and text.startswith(("--", "-"), self.start) and text[end : end + 1] == " ":
            before = text[max(0, self.start - 100) : self.start].rpartition("\n")[2]
            match = compiled(_LOOSE).match(text, end)
            if match is not None and compiled(_USER_BESIDE, re.IGNORECASE).search(before) is not None:
                return [match.span("value")] if self._is_secret(match["value"], Place.SETTING) else []
        word = compiled(_WORD).match(text, end)
        if word is not None and text.find("=", end, end + 44) < 0:
            # Two words of a sentence, which is the most frequent case by far.
            return (self._prose() if word.group(1) in _LINKS else []) or self._later() or self._before()
        if text.startswith(" Content", end):
            return self._one(_CONTENT, Place.SETTING)
        if self.name.lower() == "keyname":
            return self._one(_LISTED, Place.QUOTED)
        return self._arguments() or self._listed() or self._assigned() or self._elsewhere()

    def _listed(self) -> list[tuple[int, int]]:
        """The literals of a list of secrets: `passwords = ["…", "…"]`."""
        if not self.name.endswith("s") or compiled(_LISTS, re.IGNORECASE).search(self.name) is None:
            return []
        at = compiled(_LIST).match(self._text, self.end)
        is_password = "pass" in self.name.lower()
        spans: list[tuple[int, int]] = []
        item = None if at is None else compiled(_LIST_ITEM).match(self._text, at.end())
        while item is not None and len(spans) < _MAX_PIECES:
            value = item["value"]
            if is_secret(value, Clarity.PASSWORD if is_password else Clarity.SECRET, Place.QUOTED) and (
                is_password or has_both(value)
            ):
                spans.append(item.span("value"))
            item = compiled(_LIST_ITEM).match(self._text, item.end())
        return spans

    def _arguments(self) -> list[tuple[int, int]]:
        name = self.name.lower()
        if "auth" not in name and "cred" not in name:
            return []
        return [(one.start, one.end) for one in credentials_after(self._text, name, self.end)]

    def _assigned(self) -> list[tuple[int, int]]:
        text, end = self._text, self.end
        if text[end : end + 1] in (">", " ") and self._is_in_tag():
            return self._one(_ELEMENT, Place.QUOTED)
        if text.find("alue", end, end + 160) >= 0:
            found = self._one(_PAIR, Place.SETTING) or self._one(_GIVEN, Place.SETTING)
            if found:
                return found
        sign = compiled(_SIGN).match(text, end)
        if sign is None:
            return []
        mark = sign["sign"]
        if sign["open"]:
            found = self._quoted(sign, mark)
            if found is not None:
                return found
        elif mark == "|" and sign["gap"]:
            return self._bare(sign, ":")
        elif mark in ("=", ":", ":=", "?=", "+=", "<-", ":-") or (mark in ("=>", "->", "→") and sign["gap"]):
            found = self._bare(sign, mark)
            if found:
                return found
            match = compiled(_WRAPPED).match(text, sign.end())
            if match is not None:
                clear = (
                    Clarity.SECRET
                    if compiled(r"hex|decode|fernet", re.IGNORECASE).search(match.group())
                    else self._clear
                )
                is_plain = compiled(_CONSTRUCTOR).match(match.group()) is not None
                place = Place.QUOTED if is_plain else Place.LOOSE
                return [match.span("value")] if is_secret(match["value"], clear, place) else []
            return self._later() if mark == ":" else []
        return self._further()

    def _elsewhere(self) -> list[tuple[int, int]]:
        """A value that stands further away: in a block, in a field of a form, before the name that a comment says."""
        text, end = self._text, self.end
        following = text[end : end + 1]
        if following in (" ", ")", ".", ",", "\n", ""):
            found = self._before() or (self._one(_SAID, Place.LOOSE) if following in (",", ")") else [])
            if found:
                return found
        if following in ('"', "'", "\\") and "{" in text[end : end + 100]:
            found = self._one(_DECLARED, Place.QUOTED)
            if found:
                return found
        if following in ('"', "'", "\\", "]", ")"):
            return self._one(_TYPED, Place.QUOTED)
        if following in ("\n", "") or text[end : end + 2] == ".\n":
            line_start = max(text.rfind("\n", 0, self.start) + 1, self.start - 300)
            match = compiled(_COMMENT).search(text[line_start : self.start])
            if match is not None and self._is_secret(match["value"], Place.QUOTED):
                return [(line_start + match.start("value"), line_start + match.end("value"))]
        return []

    def _before(self) -> list[tuple[int, int]]:
        """A value before its name: `X is the password`."""
        near = self._text[max(0, self.start - 80) : self.start]
        if not near.endswith(" ") or not (" is " in near or " was " in near or " ist " in near):
            return []
        low = max(0, self.start - 320)
        match = compiled(_SAID_BEFORE).search(self._text[low : self.start])
        if match is None or not self._is_secret(match["value"], Place.PROSE):
            return []
        return [(low + match.start("value"), low + match.end("value"))]

    def _is_secret(self, value: str, place: Place, *, most: Clarity = Clarity.PASSWORD) -> bool:
        return is_secret(value, min(self._clear, most), place)

    # --- literals ------------------------------------------------------------------------------------------

    def _quoted(self, sign: re.Match[str], mark: str) -> list[tuple[int, int]] | None:
        """A literal and those that it is joined with; None when no literal is assigned here."""
        is_argument = bool(mark) or self._takes_argument()
        if not is_argument and self._clear is not Clarity.PASSWORD:
            return None
        if mark == "or" and sign["close"]:
            return []  # `"password" or "letmein"` are two words of a sentence.
        if mark == "," and not sign["close"] and not self.name.isupper():
            return []  # `f(token, "message")`: the name is an argument itself.
        start = sign.end()
        end = self._literal_end(start, sign["quote"] or {"“": "”", "‘": "’"}[sign["open"]])
        if end < 0:
            return None
        start += 6 * self._text.startswith("{noop}", start)
        if not is_argument:  # `with the password 'X'`
            value = self._text[start:end]
            is_sure = has_both(value) or is_marked(value) or " " in value
            return [(start, end)] if is_sure and self._is_secret(value, Place.QUOTED) else None
        pieces = [(start, end), *self._joined(end, sign["quote"] or "")]
        value = "".join(self._text[begin:stop] for begin, stop in pieces)
        changed = compiled(_CHANGED).match(self._text, end + len(sign["quote"] or ""))
        if changed is not None:  # `password = "old" -> "new"`, as plans of changes have it.
            both = [(start, end), changed.span("value")]
            return [span for span in both if self._is_secret(self._text[slice(*span)], Place.QUOTED)]
        # `("password", "new-password")` lists two names; only what is assigned counts as chosen by a person.
        is_word = value.replace("-", "").isalpha()
        most = Clarity.SECRET if is_word and mark in (",", "||", "??", "or") else Clarity.PASSWORD
        if "f" in sign["open"].lower() and "{" in value:
            return []
        place = Place.QUOTED if mark != "(" or len(pieces) > 1 else Place.INLINE
        if place is Place.INLINE and self._text[end : end + 12].lstrip("\\\"'`")[:1] == ")":
            place = Place.QUOTED
        return pieces if self._is_secret(value.strip(), place, most=most) else []

    def _takes_argument(self) -> bool:
        """True for an option, and for the commands that set a value: what stands in quotes after them is one."""
        before = self._text[max(0, self.start - 80) : self.start + 1]
        if "-" in before[-3:] or " --" in before[-30:] or " set " in before[-30:] or "setx " in before[-8:]:
            return True
        return self.name.lower() == "password" and compiled(_SQL, re.IGNORECASE).search(before[:-1]) is not None

    def _literal_end(self, start: int, quote: str) -> int:
        limit = start + _MAX_VALUE * (4 if len(quote) == 3 else 1)
        end = self._text.find(quote, start, limit)
        while end > start and self._text[end - 1] == "\\" and not quote.startswith("\\"):
            if self._text[end - 2 : end] == "\\\\":
                break
            end = self._text.find(quote, end + 1, limit)
        if end < 0 or (len(quote) < 3 and "\n" in self._text[start:end].replace("\\\n", "")):
            return -1
        return end

    def _joined(self, end: int, quote: str) -> list[tuple[int, int]]:
        """Further literals that are put together with the one that ends here."""
        pieces: list[tuple[int, int]] = []
        end += len(quote)
        while len(pieces) < _MAX_PIECES and len(quote) < 3 + quote.count("\\"):
            match = compiled(_JOIN).match(self._text, end)
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
        chained = compiled(r"([A-Za-z_-]{1,40})[=:]").match(self._text, sign.end())
        if chained is not None and clarity(chained.group(1)) is not Clarity.NONE:
            return []  # `token=password=…`: the next name is looked at itself.
        run = compiled(_BARE).match(self._text, sign.end())
        if run is None:
            return self._block() if mark == ":" else []
        if mark == ":" and run.group() in ("|", ">", "|-", ">-", "|+", ">+"):
            return self._block()
        start = run.start()
        if mark == "=" and not sign["gap"] and self._text[self.start - 1 : self.start] == "/":
            cut = compiled(r"[/\s\"'`;,&<>(){}\[\]|\\]").search(self._text, start, run.end())
            stop = run.end() if cut is None else cut.start()  # A part of a path, as a folder is called.
            return [(start, stop)] if self._is_secret(self._text[start:stop], Place.SETTING) else []
        line_start = self._line_start()
        begins_line = self._begins_line(line_start)
        is_upper = self.name.isupper() and mark == "=" and not sign["gap"]
        if begins_line or (is_upper and self._text[self.start - 1 : self.start] not in (".", "$", "{", "%")):
            end = self._setting_end(start, run.end())
            value = self._text[start:end]
            after = self._text[end : end + 40].split("\n", 1)[0].strip()
            if is_upper or not after or after[0] in "#\\\"'`;," or after.startswith("//"):
                is_code = (
                    mark == "<-" or after[:1] in (";", ",") or (not is_upper and self._is_between_code(line_start, end))
                )
                place = Place.INLINE if is_code else Place.ENVIRONMENT if is_upper else Place.SETTING
                return self._continued(start, end) if self._is_secret(value, place) else []
        match = compiled(_INLINE_END).search(self._text, start, run.end())
        end = run.end() if match is None else match.start()
        value = self._text[start:end]
        before = self._text[self.start - 1 : self.start]
        if mark in ("=", ":") and self._stands_beside_user():
            value = value.rstrip(".")
            return [(start, start + len(value))] if is_secret(value, Clarity.PASSWORD, Place.SETTING) else []
        if mark == "=" and self._has_setting_before(line_start, is_joined=not sign["gap"]):
            return [(start, end)] if self._is_secret(value, Place.SETTING) else []
        if self._text[end : end + 1] in ("(", "[") or (
            not sign["gap"] and mark == ":" and before in (":", "/") and self._text[self.start - 2 : self.start] != " /"
        ):
            return []
        if sign["gap"] and mark == ":":
            value = value.rstrip(".!?:")
            return [(start, start + len(value))] if self._is_secret(value, Place.PROSE) else []
        is_option = self.name.startswith("--")
        is_connection = is_option or before in (";", "?", "&") or (before in ("-", " ", '"', "'") and mark == "=")
        is_sure = is_option or before in (";", "?", "&", "/", ",")
        place = (
            Place.SETTING
            if (is_connection or is_sure) and not sign["gap"] and self._clear is Clarity.PASSWORD
            else Place.INLINE
        )
        if place is Place.SETTING and not is_sure and not any(map(str.isdigit, value)):
            place = Place.INLINE
        if self.name.lower() == "key" and before in ("?", "&"):
            return [(start, end)] if len(value) >= 24 and is_secret(value, Clarity.SECRET, place) else []
        return [(start, end)] if self._is_secret(value, place) else []

    def _stands_beside_user(self) -> bool:
        """Return whether a user is named right before the name of a password, which makes any word one."""
        if self._clear not in (Clarity.PASSWORD, Clarity.PASS):
            return False
        line = self._text[max(0, self.start - 100) : self.start].rpartition("\n")[2]
        return ":" in line and compiled(_USER_BESIDE, re.IGNORECASE).search(line) is not None

    def _has_setting_before(self, line_start: int, *, is_joined: bool) -> bool:
        """Return whether what stands before the name on its line says that a value follows, not a name of code."""
        if self._clear < Clarity.SECRET:
            return False
        line = self._text[max(0, line_start, self.start - 120) : self.start]
        if is_joined:
            return "-" in line and compiled(_OPTION_VALUE).search(line) is not None
        if line_start < 0 or compiled(_SPACED_NAME).fullmatch(line) is None:
            return False
        following = compiled(_BARE_LINE).match(self._text, self.end)
        return following is not None

    def _setting_end(self, start: int, end: int) -> int:
        """Where a value ends that has its line for itself."""
        value = self._text[start:end]
        cut = compiled(
            r"\\{1,4}[nr](?![\w-]*\\)|\\{0,4}[\"'`]|&&|\|\||;$|,$|;(?=\w+=)|&(?=\w+=)|\\+$|\\{1,4}[nr]"
        ).search(value)
        return end if cut is None else start + cut.start()

    def _continued(self, start: int, end: int) -> list[tuple[int, int]]:
        """A value, and the lines that it is continued on after a backslash."""
        spans = [(start, end)]
        while len(spans) < _MAX_PIECES and self._text.startswith("\\\n", end):
            match = compiled(r"[^\S\n]*([^\s\\]+)").match(self._text, end + 2)
            if match is None:
                break
            spans.append(match.span(1))
            end = match.end()
        return spans

    def _block(self) -> list[tuple[int, int]]:
        """The lines of a YAML block, which are indented deeper than its name."""
        match = compiled(_BLOCK).match(self._text, self.end)
        if match is None:
            return []
        line_start = self._text.rfind("\n", 0, self.start) + 1
        depth = self.start - line_start
        spans: list[tuple[int, int]] = []
        at = match.end()
        while len(spans) < _MAX_PIECES:
            line = compiled(_BLOCK_LINE).match(self._text, at)
            if line is None or (len(line["indent"]) <= depth and depth) or not line["indent"]:
                break
            spans.append(line.span("value"))
            at = line.end()
        value = "".join(self._text[begin:end] for begin, end in spans)
        return spans if spans and " " not in value and self._is_secret(value, Place.QUOTED) else []

    # --- where a line begins, and what stands around it ----------------------------------------------------

    def _line_start(self) -> int:
        low = max(0, self.start - _MAX_LINE_BEFORE)
        start = self._text.rfind("\n", low, self.start) + 1
        for escape in ("\\n", "\\r"):
            start = max(start, self._text.rfind(escape, max(low, start), self.start) + 2)
        if start < 2 and low and not self._text.startswith("\n", start - 1):
            return -1
        return start if start > low or not low else -1

    def _begins_line(self, line_start: int) -> bool:
        """True when only a prefix of the name (and `export`, a list dash) stands before it on its line."""
        if line_start < 0:
            return False
        before = self._text[line_start : self.start]
        return not before.strip() or compiled(_LINE_START).fullmatch(before.lstrip("\"'`")) is not None

    def _is_between_code(self, line_start: int, end: int) -> bool:
        """True when the line before or after is one of code, which has names where settings have values."""
        before = self._text[max(0, line_start - 200) : max(0, line_start - 1)].rstrip().rpartition("\n")[2]
        after = self._text[end : end + 200].partition("\n")[2].lstrip("\n").partition("\n")[0]
        code = compiled(_CODE_LINE)
        return code.search(before) is not None or code.search(after) is not None

    # --- other forms ---------------------------------------------------------------------------------------

    def _further(self) -> list[tuple[int, int]]:
        before = self._text[self.start - 1 : self.start]
        following = self._text[self.end : self.end + 1]
        if following in (">", " ", '"', "'", "\\") and self._is_in_tag():
            found = self._one(_ELEMENT, Place.QUOTED)
            if found:
                return found
        if following == "<":
            return self._one(_PLIST, Place.QUOTED)
        if following not in " \t:*\n`\"'":
            return []
        match = compiled(_LOOSE).match(self._text, self.end)
        if match is not None:
            span = self._trimmed(match, "value")
            value = self._text[slice(*span)]
            # `--password X`, `ENV PASSWORD X`, and a column of names before one of values.
            is_setting = before == "-" or self.name.startswith("-") or self._text.startswith("ENV ", self.start - 4)
            is_setting |= match.start("value") > self.end + 1 and self._text[span[1] : span[1] + 1] in ("\n", "\r", "")
            place = Place.SETTING if is_setting and any(map(str.isdigit, value)) else Place.LOOSE
            if self._is_secret(value, place):
                return [span]
        return self._prose() or self._later()

    def _is_in_tag(self) -> bool:
        before = self._text[max(0, self.start - 80) : self.start]
        return before.rfind("<") > max(before.rfind(">"), before.rfind("\n"))

    def _prose(self) -> list[tuple[int, int]]:
        match = compiled(_FROM).match(self._text, self.end)
        if match is not None and self._is_secret(match["value"].rstrip(".,;:!?)"), Place.PROSE):
            return [self._trimmed(match, "old"), self._trimmed(match, "value")]
        match = compiled(_PROSE).match(self._text, self.end)
        if match is None:
            return []
        if match["quoted"] is not None:
            place = Place.QUOTED if self._clear >= Clarity.SECRET else Place.PROSE
            return [match.span("quoted")] if self._is_secret(match["quoted"].strip(), place) else []
        span = self._trimmed(match, "value")
        return [span] if self._is_secret(self._text[slice(*span)], Place.PROSE) else []

    def _later(self) -> list[tuple[int, int]]:
        """A value after a colon further on, or alone on the line after one that ends in a colon or is a command."""
        text, end = self._text, self.end
        patterns: list[tuple[str, Place]] = [(_SAID, Place.LOOSE)]
        if text.find(":", end, end + 110) >= 0:
            patterns = [(_LATER, Place.LOOSE), (_NEXT_LINE, Place.LOOSE)]
        before = text[max(0, self.start - 240) : self.start]
        if compiled(_PROMPT).search(before) is not None:
            patterns.append((_PROMPTED, Place.SETTING))
        for pattern, place in patterns:
            match = compiled(pattern).match(text, end)
            if match is not None:
                span = self._trimmed(match, "value")
                value = text[slice(*span)]
                if self._is_secret(value, place) and (place is Place.LOOSE or has_both(value) or is_marked(value)):
                    return [span]
        return []

    def _one(self, pattern: str, place: Place) -> list[tuple[int, int]]:
        match = compiled(pattern).match(self._text, self.end)
        return [match.span("value")] if match is not None and self._is_secret(match["value"], place) else []

    def _trimmed(self, match: re.Match[str], group: str) -> tuple[int, int]:
        """A value without the marks that end a sentence after it."""
        start, end = match.span(group)
        value = self._text[start:end]
        cut = compiled(r"\\{1,4}[nrt]").search(value)
        value = value if cut is None else value[: cut.start()]
        value = value.rstrip(".,;:?)]}>\\")
        return start, start + len(value.removesuffix("**"))
