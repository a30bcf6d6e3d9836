"""Finds passwords in the forms that command lines, database statements and the files of such tools have."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from hybrid.base.patterns import compiled
from hybrid.redact.names import Clarity
from hybrid.redact.patterns import Secret, occurrences, possible
from hybrid.redact.values import Position, has_both, is_example_word, is_reference, is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPACE = r"(?:[^\S\n]|\\{1,4}t)"
_ANY_SPACE = r"(?:\s|\\{1,4}[nrt]|\d{1,6}→|[+→])"
_QUOTE = r"\\{0,4}[\"']"
# In quotes a password may hold spaces; without them it ends at white space and at what joins commands.
_VALUE = (
    rf"(?:(?P<quote>{_QUOTE})(?P<quoted>(?:(?!(?P=quote))[^\n]){{3,256}})(?P=quote)"
    r"|(?P<value>[^\s\"'\\`|;<>]{3,256}))"
)
_GAP = r"(?:[ =]|[\"'],[ ]?(?=[\"']))"
"""Pattern of what is between an option and its value: a space, or the comma of a list of arguments."""
_MAX_COMMAND = 400
"""Characters after the name of a tool within which its options are looked for."""
_REACH_BEFORE, _REACH_AFTER = 16, 1024
"""Characters around a word that its rules may look at."""
_FEW = 32
"""Number of places of a word that are looked at, whatever stands around them."""
_MAX_MEMORY = 64
_BEFORE_COMMAND = frozenset(" \t\n\r\"'`/\\;|&($[{=>:→,+n")

_OPTIONS: tuple[tuple[str, str, str], ...] = (
    # first letters of its options, words in the names of the tools, what stands right before a password
    ("uU-", "curl", rf"(?:-u|-U|--user){_GAP}?(?={_QUOTE}?[\w-]{{20,128}}:{_QUOTE}?(?:\s|$))"),
    ("uU-", "curl", rf"(?:-u|-U|--user|--proxy-user){_GAP}?(?={_QUOTE}?(?P<user>[\w.@%+-]{{1,64}}:))"),
    ("p", "mysql mariadb", r"-p(?=\S)"),
    ("p", "sshpass mongo", rf"-p{_GAP}?"),
    ("P", "sqlcmd bcp unzip zip mosquitto ipmitool", rf"-P{_GAP}?"),
    ("w", "ldap", rf"-w{_GAP}?"),
    ("a-", "redis-cli valkey-cli", rf"(?:-a|--pass){_GAP}"),
    ("kK", "openssl", rf"(?:-k|-K){_GAP}"),
    (
        "bcBn",
        "htpasswd",
        r"-[a-zA-Z0-9]*b[a-zA-Z0-9]*\s+(?:-\S+\s+)*(?:[\w./~-]{1,200}\s+)?[\w.@-]{1,64}\s+(?=\S+\s*(?:$|[;&|>)]))",
    ),
    (
        "p",
        "docker podman helm skopeo buildah nerdctl crane oras heroku oc az",
        rf"\blogin\b[^\n|;&]{{0,200}}?\s-p{_GAP}?",
    ),
    (
        "bv-",
        "gh glab",
        rf"\b(?:secret|variable)\s+set\b[^\n|;&]{{0,200}}?\s(?:(?:-b|-v|--body|--value){_GAP}|-[bv](?={_QUOTE}))",
    ),
    ("U-", "smbclient rpcclient smbmap", rf"(?:-U|--user){_GAP}?(?={_QUOTE}?(?P<user>[\w.\\/@-]{{1,64}}%))"),
    ("u", "lftp", rf"-u{_GAP}?(?={_QUOTE}?(?P<user>[\w.@-]{{1,64}},))"),
    ("as", "ldappasswd", rf"-[as]{_GAP}"),
    ("t", "influx", rf"-t{_GAP}"),
    ("ph", "7z rar", r"-h?p(?=\S)"),
    ("AX", "snmp", rf"-[AX]{_GAP}"),
    ("c", "snmp", rf"-c{_GAP}(?=\S*[A-Z\d])"),
    ("p", "psexec certutil rdesktop rabbitmqadmin cqlsh twine elasticsearch-users az", rf"-p{_GAP}"),
    ("aA", "http xh", rf"-a{_GAP}(?={_QUOTE}?(?P<user>[\w.@+-]{{1,64}}:)?)"),
    ("b", "oathtool", rf"-b{_GAP}"),
    ("N", "ssh-keygen", rf"-N{_GAP}"),
)
_TOOLS = tuple((options, tuple(words.split()), pattern) for options, words, pattern in _OPTIONS)
_SIGNED_IN = (
    r"(?:log in|login|sign in|ssh|authenticate|connect)\s(?:in\s)?(?:to\s\S{1,60}\s)?(?:with|as|using)\s"
    r"(?!(?:google|git|oauth|saml|oidc|sso|openid|microsoft|apple|face|ldap))[\"'`]?[\w.@-]{1,64}[\"'`]?\s?[/:]\s?[\"'`]?"
    r"(?P<value>(?=[^\s/]*\d)[^\s\"'`\\|;<>/]{6,128})(?!/)"
)
"""Pattern of a user and a password in a sentence, `log in with admin / X`; only with a digit, as no role has."""
_RULES: tuple[tuple[str, str], ...] = (
    # literal in lower case at which the pattern is tried, pattern
    ("-pass", rf"-pass(?:in|out)?\s+pass:{_VALUE}"),
    (
        "identified",
        rf"identified{_SPACE}{{1,4}}(?:with{_SPACE}{{1,4}}\S{{1,40}}{_SPACE}{{1,4}})?by{_SPACE}{{1,4}}"
        rf"(?:password{_SPACE}{{1,4}})?(?:(?={_QUOTE})|(?=\S*\d)){_VALUE}",
    ),
    ("securestring", rf"securestring{_SPACE}{{1,4}}(?:-string{_SPACE}{{1,4}})?(?={_QUOTE}){_VALUE}"),
    (
        "login",
        rf"login{_SPACE}{{1,4}}[^\s\\]{{1,100}}(?:{_ANY_SPACE}{{1,40}}|(?:\n|\\{{1,4}}n)[\w./-]{{1,80}}:\d{{1,6}}:{_SPACE}{{0,8}})"
        rf"password{_SPACE}{{1,4}}{_VALUE}",
    ),
    (
        "login",
        rf"logins?(?:\s(?:for|to|of|on|at)\s[\w .-]{{1,40}}?)?"
        rf"\s{{0,3}}(?:\bis|\bare|:|=)\s{{0,3}}[`\"']?[\w.@-]{{1,64}}[`\"']?\s?[/:]\s?"
        rf"{_VALUE}",
    ),
    ("login", rf"(?<=vault )login\s{{1,4}}(?!-){_VALUE}"),
    ("login", r"(?<=[a-z] )login[^\S\n]{1,4}(?P<value>(?=\S*\d)[A-Za-z0-9_.-]{24,256})[^\S\n]*(?=$|[\n;&|])"),
    ("openssl passwd", rf"openssl\spasswd\s+(?:-(?:[156]|apr1|quiet|salt\s\S{{1,20}})\s+)*(?!-){_VALUE}"),
    ('"auth" "', r"\"auth\"\s+(?:\"[^\"\n]{1,64}\"\s+)?\"(?P<quoted>[^\"\n]{3,256})\"(?=\s*(?:$|\n|\\))"),
    ("auth plain ", r"auth\splain\s+(?P<value>[A-Za-z0-9+/]{12,512}={0,2})(?=\s|$)"),
    ("assword:", r"assword:[^\n]{0,60}?(?:\n[^\S\n]{0,40})?\bsend(?:\s--)?\s\\{0,4}[\"'](?P<quoted>[^\s\"'\\]{3,256})"),
    ("password-command", rf"password-command[ =]\\{{0,4}}[\"']echo\s{_VALUE}"),
    ("expdp", r"expdp\s+[\w.$-]{1,64}/\\{0,4}[\"']?(?P<quoted>[^\s@\"'\\]{3,128})"),
    ("sqlplus", r"sqlplus\s+(?:-\S{1,100}\s{1,20}){0,8}[\w.$-]{1,64}/(?P<quoted>[^\s\"']{3,128})@(?=[\w/(])"),
    (
        "echo ",
        rf"echo\s+(?:-n\s+)?{_VALUE}\s*>{{1,2}}\s*[\w./~-]{{0,80}}(?:key|pass|secret|token|cred|auth|pwd)[\w.-]{{0,20}}",
    ),
    ("echo ", rf"(?<=key <\()echo\s+{_VALUE}"),
    (":*:", rf":\*:[\w*-]{{1,64}}:[\w*-]{{1,64}}:{_VALUE}"),
    (":5432:", rf":5432:[\w*-]{{1,64}}:[\w*-]{{1,64}}:{_VALUE}"),
    (
        "rabbitmqctl",
        rf"rabbitmqctl\s+(?:-\S{{1,100}}\s{{1,20}}){{0,8}}(?:add_user|change_password|authenticate_user)\s+\S{{1,64}}\s+{_VALUE}",
    ),
    ("ssid", rf"ssid[ :=]{{1,3}}\S{{1,40}}\s(?:and\s)?(?:the\s)?(?:key|pw)(?:\sis)?[ :=]{{1,3}}(?=\S*\d){_VALUE}"),
    ("username ", rf"username\s\S{{1,64}}\s(?:privilege\s\d{{1,2}}\s)?(?:password|secret)\s\d\s(?=\S*\d){_VALUE}"),
    ("auth default", rf"auth\sdefault\s{_VALUE}"),
    (" on >", rf" on >{_VALUE}(?=\s[~+&%])"),
    *((word, _SIGNED_IN) for word in ("log in ", "login ", "sign in ", "ssh ", "authenticate ", "connect as ")),
    ("connect with ", _SIGNED_IN),
    ("wpa_pass", rf"wpa_passphrase[ \t]+(?:\"[^\"\n]{{1,64}}\"|[^\s}}]{{1,64}})[ \t]+{_VALUE}"),
    ("enable secret", rf"enable\s+secret\s+(?:\d\s+)?{_VALUE}"),
    ("-server community", rf"-server\s+community\s+{_VALUE}"),
    ("net use", rf"net\s+use\s+(?:\w:\s+)?\\\\\S{{1,200}}\s+/user:\S{{1,80}}\s+{_VALUE}"),
    ("net use", rf"net\s+use\s+(?:\w:\s+)?\\\\\S{{1,200}}\s+(?=\S+\s+/){_VALUE}"),
    ("net use", rf"net\s+user\s+\S{{1,64}}\s+(?=\S+(?:\s+/|\s*$)){_VALUE}"),
)
_PIPED = (
    rf"\b(?:echo|printf)\s+(?:-n\s+|-e\s+|['\"]%s(?:\\n)?['\"]\s+)?{_VALUE}\s*\|\s*[^\n|]{{0,80}}?"
    r"(?:chpasswd|passwd|password-stdin|--with-token|sudo\s+-S|passphrase-fd|token-stdin|\bpass\s+insert"
    r"|\bsecrets?\s+(?:create|put|set|add|versions\s+add)|\bauth\s+login|\bkinit\b|\bcryptsetup\b|\bsu(?=\s(?!-)|$)|\bopenconnect\b)"
)
_HERE_TOOL = (
    r"(?:^|[\s;&|(\"'`])(?:kinit|cryptsetup|chpasswd|passwd|su|openconnect)\b|-stdin|--with-token|phrase-fd"
    r"|\bsudo\b[^\n|;]{0,60}\s-S\b"
)
_MAX_HERE = 200
"""Characters before a here-string within which the program that reads it is looked for."""
_READERS = (
    *("stdin", "with-token", "chpasswd", "sudo -s", "phrase-fd", "secret", "insert", "auth login", "kinit"),
    *("cryptsetup", "openconnect", " su"),
)
_CRYPT = (
    r"\$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{53}|argon2(?:id?|d)\$[^\s\"'`:,]{20,200}"
    r"|(?:[156y]|gy|apr1)\$(?:rounds=\d+\$|[./A-Za-z0-9]{1,16}\$)?[./A-Za-z0-9]{0,86}\$?[./A-Za-z0-9]{20,90})"
)
_LDAP_HASH = r"\{(?:SSHA|SHA|SMD5|MD5|CRYPT|ssha|sha|crypt)\d{0,3}\}[A-Za-z0-9+/]{20,140}={0,2}"
_DJANGO_HASH = r"(?:pbkdf2_sha(?:1|256)|scrypt|bcrypt_sha256|argon2)\$[A-Za-z0-9$,=./+:-]{30,240}"
_RULES_OF = {word: tuple(pattern for other, pattern in _RULES if other == word) for word, _ in _RULES}
_OPTION = r"-(?<=[\s\"']-)([a-zA-Z-])"
COMMAND_WORDS = (*(word for word, _ in _RULES), " -", "$2", "sha256$", "echo")


def command_passwords(text: str, lower: str, letters: str) -> Iterator[Secret]:
    """Yield passwords that a command is given (option, word, pipe, here-string), and password hashes of systems."""
    places = [match.start() for match in compiled(_OPTION).finditer(text)]
    initials = {text[place + 1] for place in places}
    near = _before_options(lower, places)
    for options, words, pattern in _TOOLS if places else ():
        if initials.intersection(options):
            for word in words:
                if word in near:
                    yield from _of_tool(text, lower, word, pattern)
    if "/p:" in text:
        yield from _of_tool(text, lower, "xfreerdp", "/p:")
    for word in possible(tuple(_RULES_OF), letters):
        yield from _of_word(text, lower, word)
    printers = possible(("echo", "printf"), letters) if "|" in text else []
    if printers and any(word in lower for word in possible(_READERS, letters)):
        for start, _ in occurrences(lower, printers):
            if match := compiled(_PIPED).match(text, start):
                yield from _password(match)
    if "<<<" in text:
        yield from _here_strings(text)
    yield from _hashes(text, lower, letters)


def _of_word(text: str, lower: str, word: str) -> Iterator[Secret]:
    """Yield the secrets that a word's rules find at each place; the same text around gives the same secrets."""
    patterns: list[re.Pattern[str]] = []
    seen: dict[str, list[tuple[int, int]]] = {}
    for number, (start, _) in enumerate(occurrences(lower, (word,))):
        patterns = patterns or [compiled(pattern, re.IGNORECASE) for pattern in _RULES_OF[word]]
        around = text[start - _REACH_BEFORE : start + _REACH_AFTER] if number >= _FEW <= start else ""
        known = seen.get(around)
        if known is None:
            matches = filter(None, [pattern.match(text, start) for pattern in patterns])
            found = [secret for match in matches for secret in _password(match)]
            yield from found
            if around and len(seen) < _MAX_MEMORY:
                seen[around] = [(one.start - start, one.end - start) for one in found]
        else:
            yield from (Secret("password", start + begin, start + end) for begin, end in known)


def _here_strings(text: str) -> Iterator[Secret]:
    """Yield passwords in the here-strings of programs that read one: `kinit <<< X`."""
    seen = 0
    for start, end in occurrences(text, ("<<<",)):
        before = text[max(seen, start - _MAX_HERE) : start].rpartition("\n")[2]
        seen = end
        match = compiled(rf"\s?{_VALUE}").match(text, end)
        if match is not None and compiled(_HERE_TOOL).search(before) is not None:
            yield from _password(match)


def _before_options(lower: str, places: list[int]) -> str:
    """Return the text shortly before each option, where its tool is named: in most source far less than all."""
    pieces: list[str] = []
    end = 0
    for place in places:
        if place >= end + _MAX_COMMAND:
            pieces.append("\n")
        pieces.append(lower[max(end, place - _MAX_COMMAND) : place])
        end = place
    return "".join(pieces)


def _hashes(text: str, lower: str, letters: str) -> Iterator[Secret]:
    """Yield hashes that systems keep of passwords, told by their form."""
    forms = [_CRYPT] if "$" in text else []
    if "sha256$" in lower or "sha1$" in lower or "crypt$" in lower:
        forms.append(_DJANGO_HASH)
    if "{" in text and any(scheme in letters for scheme in ("sha", "md", "crypt")):
        forms.append(_LDAP_HASH)
    for form in forms:
        for match in compiled(form).finditer(text):
            yield Secret("password_hash", *match.span())


def _of_tool(text: str, lower: str, word: str, pattern: str) -> Iterator[Secret]:
    """Yield the passwords among the arguments of a tool, up to the next time it is named or its line's end."""
    start = lower.find(word)
    if start < 0:
        return
    option = compiled(rf"(?<![A-Za-z0-9])(?:{pattern}){_VALUE}")
    while start >= 0:
        following = lower.find(word, start + len(word))
        if _is_command(text, start):
            end = min(following if _is_command(text, following) else len(text), start + _MAX_COMMAND)
            line_end = text.find("\n", start, end)
            while line_end > 0 and text[line_end - 1] == "\\":  # A command goes on in the next line.
                line_end = text.find("\n", line_end + 1, end)
            for match in option.finditer(text, start, line_end if line_end >= 0 else end):
                yield from _password(match)
        start = following


def _is_command(text: str, start: int) -> bool:
    """Return whether a name of a tool stands where a command may begin: not in `a.zip`, not in `unzip`; not at −1."""
    return start == 0 or (start > 0 and text[start - 1] in _BEFORE_COMMAND)


def _password(match: re.Match[str]) -> Iterator[Secret]:
    """Yield the password in the group `quoted` or else `value` of a match, without the user before it; or nothing."""
    groups = match.groupdict()
    is_quoted = groups.get("quoted") is not None
    value, end = (match["quoted"], match.end("quoted")) if is_quoted else (match["value"], match.end("value"))
    value = value.removeprefix(groups.get("user") or "")
    login, colon, password = value.partition(":")
    if colon and len(password) > 3 and compiled(r"[A-Za-z_][\w.-]*").fullmatch(login):
        value = password  # `echo 'user:password' | chpasswd`
    start = end - len(value)
    value = value if is_quoted else value.rstrip(",):")
    if _is_password(value, is_quoted=is_quoted):
        yield Secret("password", start, start + len(value))


@lru_cache(maxsize=1024)
def _is_password(value: str, *, is_quoted: bool) -> bool:
    """Return whether a value was typed as a password; a name of code is taken for an example."""
    if len(value) < 4 or is_reference(value) or is_example_word(value) or value.startswith(("-", "$", "<", "[")):
        return False
    if is_quoted:
        return is_secret(value, Clarity.PASSWORD, Position.QUOTED)
    return is_secret(value, Clarity.PASSWORD, Position.SETTING) and (has_both(value) or len(value) >= 6)
