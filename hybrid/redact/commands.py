"""Finds passwords in the forms that command lines, database statements and files of such tools have, and in addresses.

With them come the values of HTTP headers that let someone in: tokens, API keys, cookies.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from hybrid.base.text import compiled
from hybrid.redact.signs import Clarity, Phrases, Secret, occurrences, possible
from hybrid.redact.values import (
    REGION,
    Position,
    bits_per_char,
    has_both,
    is_basic,
    is_decodable,
    is_example_word,
    is_generated,
    is_plain_id,
    is_reference,
    is_secret,
    is_uuid,
)

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
    (
        "uU-sSkLfiv",
        "curl etcdctl govc",
        rf"(?:-[sSkLfiv]{{0,6}}[uU]|--user|--proxy-user){_GAP}?(?={_QUOTE}?(?P<user>[\w.@%+/-]{{1,64}}:))",
    ),
    ("p", "mysql mariadb", r"-p(?=\S)"),
    ("p", "sshpass mongo", rf"-p{_GAP}?"),
    ("P", "sqlcmd bcp unzip zip mosquitto ipmitool", rf"-P{_GAP}?"),
    ("w", "ldap security", rf"-w{_GAP}?"),
    ("a-", "redis-cli valkey-cli", rf"(?:-a|--pass){_GAP}"),
    ("kK", "openssl", rf"(?:-k|-K){_GAP}"),
    (
        "bcBn",
        "htpasswd",
        r"-[a-zA-Z0-9]*b[a-zA-Z0-9]*\s+(?:-\S+\s+)*(?:[\w./~-]{1,200}\s+)?[\w.@-]{1,64}\s+(?=\S+\s*(?:$|[;&|>)]))",
    ),
    (
        "p",
        "docker podman helm skopeo buildah nerdctl crane oras regctl conan heroku oc az dotnet",
        rf"\b(?:login|add source)\b[^\n|;&]{{0,200}}?\s-p{_GAP}?",
    ),
    (
        "bv-",
        "gh glab",
        rf"\b(?:secret|variable)\s+set\b[^\n|;&]{{0,200}}?\s(?:(?:-b|-v|--body|--value){_GAP}|-[bv](?={_QUOTE}))",
    ),
    ("U-", "smbclient rpcclient smbmap", rf"(?:-U|--user){_GAP}?(?={_QUOTE}?(?P<user>[\w.\\/@-]{{1,64}}%))"),
    ("u", "lftp", rf"-u{_GAP}?(?={_QUOTE}?(?P<user>[\w.@-]{{1,64}},))"),
    ("as", "ldappasswd", rf"-[as]{_GAP}"),
    ("t", "influx gotify codecov", rf"-t{_GAP}"),
    ("T", "zerotier-cli", r"-T"),
    ("n", "transmission-remote", rf"-n{_GAP}"),
    ("y", "nsupdate dig", rf"-y{_GAP}(?={_QUOTE}?(?P<user>[\w.-]{{1,40}}:[\w.-]{{1,64}}:))"),
    ("ph", "7z rar", r"-h?p(?=\S)"),
    ("AX", "snmp", rf"-[AX]{_GAP}"),
    ("c", "snmp", rf"-c{_GAP}(?=\S*[A-Z\d])"),
    ("p", "psexec security esxcli certutil rdesktop rabbitmqadmin cqlsh twine elasticsearch-users az", rf"-p{_GAP}"),
    ("aA-", "http xh", rf"(?:-a|--bearer){_GAP}(?={_QUOTE}?(?P<user>[\w.@+-]{{1,64}}:)?)"),
    ("b", "oathtool", rf"-b{_GAP}"),
    ("c", "esxcli ttyd", rf"-c{_GAP}"),
    ("k", "dotnet", rf"-k{_GAP}"),
    ("r", "gitlab-runner", rf"-r{_GAP}"),
    ("N", "ssh-keygen", rf"-N{_GAP}"),
)
_TOOLS = tuple((options, tuple(words.split()), pattern) for options, words, pattern in _OPTIONS)
_SIGNED_IN = (
    r"(?:log in|login|sign in|ssh|authenticate|connect)\s(?:in\s)?(?:to\s\S{1,60}\s)?(?:with|as|using)\s"
    r"(?!(?:google|git|oauth|saml|oidc|sso|openid|microsoft|apple|face|ldap))[\"'`]?[\w.@-]{1,64}[\"'`]?\s?[/:]\s?[\"'`]?"
    r"(?P<value>(?=[^\s/]*\d)[^\s\"'`\\|;<>/]{6,128})(?!/)"
)
"""Pattern of a user and a password in a sentence, `log in with admin / X`; only with a digit, as no role has."""
_ASSIGN = rf"{_QUOTE}?[^\S\n]{{0,12}}(?:[:=][^\S\n]{{0,12}}{_QUOTE}?|(?<=\s)\")"
_CODES = ("code", "device_code", "code_verifier", "samlresponse")
_CODE_KINDS = "door gate alarm entry access verification security one-time login sms".split()
_USAGES = (
    # What is typed or written: `…` is an argument, `§` the password, `§9` one with a digit, `§40` a long one.
    "requirepass §|insecure-password §|stats auth §|set_password vnc §|shell input text §|auth.password -v §|unseal §9"
    "|auth.basic=§|user.info=§|release_cookie=§|-setcookie §|/token:§|{plain}§|bw unlock §|bw login … §"
    "|service install §40|http-basic.… … §|-token.… §9|-oauth.… §9|alias set … … … §|passwd enc §|auth-pass … §"
    "|secret-set-value … §|radtest … §|radtest … … … … §|rootpw §|rootpw --plaintext §|--session §40"
    "|-password password §|-password-again password §|auth default §|enable secret §|enable secret … §"
    "|-server community §|> auth §"
    "|> auth … §|pushover_user=§"
    "|steam: login … §|+login … §|-pass pass:§|-passin pass:§|-passout pass:§"
).split("|")
_UUID = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_NAMED = {
    # What only one tool calls so, in lower case → pattern of its values, which nothing else has.
    **dict.fromkeys(("secret_id", "secretid", "secret id"), _UUID),
    **dict.fromkeys(('"k"', '"d"'), "[A-Za-z0-9_-]{40,512}"),
    **dict.fromkeys(("alarm_code", "cpin", "passcode", "_pin"), r"\d{4,8}(?![\w.])"),
    **dict.fromkeys(("encrypt", '"encoded"'), "[A-Za-z0-9+/]{40,100}={1,2}"),
    '"totp"': "[A-Z2-7]{16,64}",
    "sonar.login": "[0-9a-f]{40}",
    "signing_salt": "[A-Za-z0-9+/]{8,32}(?=[\"'])",
    "password_hash": r"[A-Za-z0-9+/]{40,88}={0,2}(?![\w$])",
    "dockerconfigjson": "[A-Za-z0-9+/={}]{40,4096}",
    "network_key": r"(?<=\[)(?:\d{1,3},\s?){15}\d{1,3}",
}
_SPELLED = {
    # Text before a value in lower case → pattern of what it is, of a form of its own.
    "<auth-user-pass>": r"\s\S+\s(?P<sure>\S{4,128})\s</",
    "<master>": r"(?P<sure>[^<>\s]{8,256})</",
    "wifi:": r"[^\n]{0,80}?;P:(?P<sure>[^;\n]{4,64});",
    "334 ugfzc3dvcmq6": r"[\s~<>C:-]{0,20}(?P<sure>[A-Za-z0-9+/=]{4,256})",
    "key 7 ": r"(?P<sure>[0-9A-F]{8,80})",
    "private-lines:": r"\s\d+\s+(?P<sure>(?:[A-Za-z0-9+/=]{4,80}\s)+)",
    "recovery key": r":?\s+(?P<sure>\d{6}(?:-\d{6}){7})",
    "this key: ": r"(?P<sure>(?:[a-z2-7]{4}\s){3,15}[a-z2-7]{2,4})(?![a-z])",
    "auth-credentials": r"\s'\(\(\S+\s\d+\s\"[^\"\n]+\"\s\"(?P<sure>[^\"\n]{4,128})\"",
    "gem/credentials": r"\s+(?:---\s+)?:\w+:\s(?P<sure>[0-9a-f]{40,64})",
    '"bearer": {': r'\s*"[^"\n]{1,100}":\s?"(?P<sure>[^"\n]{16,256})"',
    **dict.fromkeys(("pwd=", "password="), r"(?P<sure>\{(?![A-Za-z_]+\})[^{}\n]{4,128}\}\w*)"),
    **{f"{kind} code ": r"(?:for\s[^\n.]{1,40}?\s)?is\s(?P<sure>\d{4,8}#?)" for kind in _CODE_KINDS},
    **{name: rf"(?<=(?-i:{name}))(?P<sure>\d{{4,8}})(?![\w.])" for name in ("PIN: ", "PUK: ", "PIN ", "PUK ")},
    **{f"{name}=": r"(?P<generated>[A-Za-z0-9_.%+/=~-]{20,4096})" for name in _CODES},
}
_TO_PRINT = (
    "get-parameter|item get|bw unlock|bw get|cli show|pass show|gopass show|find-generic-password|base64decode}}"
    "|versions access|config:get|output -raw|kv get|secrets get|op read|show wg0 dump"
).split("|")
_PRINTED = (
    r"[^\n]*\n(?:[^\n]*[:'][^\S\n]*(?:\[hidden\])?\n)?"
    r"(?:(?P<value>[^\s|{}\[\]]{6,512})(?:\t[^\n]*)?|(?P<quoted>[^\n|{}()\[\]:=]{6,80}))[^\S\n]*(?:\n|$)"
)
"""Commands that print a secret → pattern of their output, a line of its own."""
_SIGN_IN_WORDS = ("log in ", "login ", "sign in ", "ssh ", "authenticate ", "connect as ", "connect with ")


def _usage(row: str) -> str:
    """Return the pattern of a row of `_USAGES`."""
    pattern = re.escape(row).replace("\\ ", r"[^\S\n]+").replace("…", r"\S+")
    return pattern.replace("§9", rf"(?=\S*\d){_VALUE}").replace("§40", rf"(?=\S{{40}}){_VALUE}").replace("§", _VALUE)


_RULES: tuple[tuple[str, str], ...] = (
    # literal in lower case at which the pattern is tried, pattern
    (
        "identified",
        rf"identified{_SPACE}{{1,4}}(?:with{_SPACE}{{1,4}}\S{{1,40}}{_SPACE}{{1,4}})?by{_SPACE}{{1,4}}"
        rf"(?:password{_SPACE}{{1,4}})?(?:(?={_QUOTE})|(?=\S*\d)){_VALUE}",
    ),
    ("securestring", rf"securestring{_SPACE}{{1,4}}(?:-\w+{_SPACE}{{1,4}}){{0,3}}(?={_QUOTE}){_VALUE}"),
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
    ("login", r"(?<=[a-z] )login[^\S\n]{1,4}(?P<value>(?=\S*\d)[A-Za-z0-9_.-]{24,256})[^\S\n]*(?=$|[\n;&|]|--)"),
    ("openssl passwd", rf"openssl\spasswd\s+(?:-(?:[156]|apr1|quiet|salt\s\S{{1,20}})\s+)*(?!-){_VALUE}"),
    ('"auth" "', r"\"auth\"\s+(?:\"[^\"\n]{1,64}\"\s+)?\"(?P<quoted>[^\"\n]{3,256})\"(?=\s*(?:$|\n|\\))"),
    ("auth plain ", r"auth\splain\s+(?P<value>[A-Za-z0-9+/]{12,512}={0,2})(?=\s|$)"),
    (
        "password:",
        r"password:[^\n]{0,60}?(?:\n[^\S\n]{0,40})?\bsend(?:\s--)?\s\\{0,4}[\"'](?P<quoted>[^\s\"'\\]{3,256})",
    ),
    (
        '"assword:',
        r"\"assword:[^\n]{0,60}?(?:\n[^\S\n]{0,40})?\bsend(?:\s--)?\s\\{0,4}[\"'](?P<quoted>[^\s\"'\\]{3,256})",
    ),
    ("password-command", rf"password-command[ =]\\{{0,4}}[\"']echo\s{_VALUE}"),
    ("expdp", r"expdp\s+[\w.$-]{1,64}/\\{0,4}[\"']?(?P<quoted>[^\s@\"'\\]{3,128})"),
    ("sqlplus", r"sqlplus\s+(?:-\S{1,100}\s{1,20}){0,8}[\w.$-]{1,64}/(?P<quoted>[^\s\"']{3,128})@(?=[\w/(])"),
    *(
        (port, rf"{re.escape(port)}(?!\d+:)[\w*-]{{1,64}}:[\w*-]{{1,64}}:{_VALUE}")
        for port in (":*:", ":5432:", ":5433:", ":6432:")
    ),
    (":*:", rf"(?<=\d):\*:(?!\d+:)[\w-]{{1,64}}:{_VALUE}"),
    *((port, rf"{port}[^\S\n]+\S{{1,80}}:(?P<value>[^\s:]{{4,128}})(?=\s|$)") for port in ("]:587", "]:465", "]:25")),
    *((kind, rf"(?<=:){kind}(?:\S+\.\w+\s)?(?={_QUOTE}){_VALUE}") for kind in (" psk ", " eap ", " xauth ", " rsa ")),
    ("bundle config", rf"bundle\sconfig\s+(?:set\s+)?(?:--\w+\s+)*[\w.-]+\s+(?=[\w.@-]+:\w){_VALUE}"),
    ("encrypt_string", rf"encrypt_string\s+(?:--?\S+\s+\S+\s+)*{_VALUE}"),
    *((tool, rf"{tool}\b[^\n]{{0,120}}?\spass(?:word)?\s+(?!-){_VALUE}") for tool in ("nmcli", "rclone", "mysqladmin")),
    ("redis-cli", rf"redis-cli\b[^\n]{{0,120}}?\sauth\s+{_VALUE}"),
    ("set password", rf"set\spassword(?:\sfor\s\S+)?\s?=\s?(?:password\()?(?={_QUOTE}){_VALUE}"),
    ("signtool", rf"signtool\b[^\n]{{0,200}}?\s/p\s{_VALUE}"),
    ("\npass ", rf"\n(?-i:PASS)\s{_VALUE}[^\S\n]*(?:\n|$)"),
    ("login ", rf"login\s[\w.@-]{{1,64}}\s/\s{_VALUE}"),
    *(
        (f"{user} / ", rf"(?<=[—:-] ){user}\s/\s(?P<value>(?=\S*[A-Z\d-])[^\s\"'()]{{6,128}})")
        for user in ("admin", "root")
    ),
    ("_pat", rf"_pat{_ASSIGN}(?P<value>[A-Za-z0-9/:_-]{{20,256}})"),
    (":basic, ", rf":basic,\s{_QUOTE}[^\"'\n]{{1,64}}{_QUOTE},\s(?={_QUOTE}){_VALUE}"),
    *(
        (call, rf"{re.escape(call)}b?(?={_QUOTE}[\w.@-]{{1,64}}:){_VALUE}")
        for call in ("encodetostring(", "b64encode(", "btoa(")
    ),
    ("plainloginmodule", r"plainloginmodule[^;]{0,400}?user_\w+=\"(?P<sure>[^\"\n]{4,128})\""),
    ("plainloginmodule", r"plainloginmodule[^;]{0,400}user_\w+=\"(?P<sure>[^\"\n]{4,128})\""),
    ("new value: ", rf"new\svalue:\s(?=\S{{14}})(?=\S*\d){_VALUE}"),
    *(
        (
            "from tokens",
            rf"from\stokens;?\s*\n{rows}(?:[^\n|]{{0,80}}\|){{1,4}}?(?P<sure>[0-9a-f]{{32,64}}|[A-Za-z0-9_-]{{36,128}})\|",
        )
        for rows in ("", r"[^\n]{1,400}\n")
    ),
    ("otpauth://", r"(?P<sure>otpauth://[^\s\"'<>`$]{1,120}?secret=[A-Z2-7]{16,128}(?:&[^\s\"'<>`]{1,120})?)"),
    ("username=", rf"username=[\w.-]{{1,40}}:{_VALUE}"),
    ("user=", rf"(?<![\w-])user=[\w.-]{{1,40}}:(?=\S*\d){_VALUE}"),
    (" pin ", rf"\spin\s{{1,4}}=\s(?={_QUOTE}){_VALUE}"),
    ("auth.txt", rf"auth\.txt\s*\n[\w.@-]{{1,64}}\n{_VALUE}[^\S\n]*(?:\n|$)"),
    (
        "rabbitmqctl",
        rf"rabbitmqctl\s+(?:-\S{{1,100}}\s{{1,20}}){{0,8}}(?:add_user|change_password|authenticate_user)\s+\S{{1,64}}\s+{_VALUE}",
    ),
    ("ssid", rf"ssid[ :=]{{1,3}}\S{{1,40}}\s(?:and\s)?(?:the\s)?(?:key|pw)(?:\sis)?[ :=]{{1,3}}(?=\S*\d){_VALUE}"),
    ("username ", rf"username\s\S{{1,64}}\s(?:privilege\s\d{{1,2}}\s)?(?:password|secret)\s\d\s(?=\S*\d){_VALUE}"),
    (" on >", rf" on >{_VALUE}(?=\s[~+&%])"),
    *((word, _SIGNED_IN) for word in _SIGN_IN_WORDS),
    *((row.partition("…")[0].partition("§")[0], _usage(row)) for row in _USAGES),
    *((name, rf"{name}{_ASSIGN}\[?(?P<sure>{value})") for name, value in _NAMED.items()),
    *((word.lower(), re.escape(word.lower()) + rest) for word, rest in _SPELLED.items()),
    *((word, re.escape(word) + _PRINTED) for word in _TO_PRINT),
    ("wpa_passphrase", rf"wpa_passphrase[ \t]+(?:\"[^\"\n]{{1,64}}\"|[^\s}}]{{1,64}})[ \t]+{_VALUE}"),
    ("secret_id", rf"secret_id[^\S\n]{{2,40}}(?P<sure>{_UUID})"),
    ("secret generic", rf"secret\sgeneric\b[^\n|;&]{{0,200}}?--from-literal[= ]{_QUOTE}?[\w.-]+=(?=\S*\d){_VALUE}"),
    ("securestring", rf"securestring\s*\|\s*{_VALUE}\s*\|"),
    ("net use", rf"net\s+use\s+(?:\w:\s+)?\\\\\S{{1,200}}\s+/user:\S{{1,80}}\s+{_VALUE}"),
    ("net use", rf"net\s+use\s+(?:\w:\s+)?\\\\\S{{1,200}}\s+(?=\S+\s+/){_VALUE}"),
    ("net user", rf"net\s+user\s+\S{{1,64}}\s+(?=\S+(?:\s+/|\s*$)){_VALUE}"),
)
_SECRET_FILE = r"[\w./~-]{0,80}(?:key|pass|secret|token|cred|auth|pwd)[\w.-]{0,20}"
_PIPED = (
    rf"\b(?:echo|printf)\s+(?:-n\s+|-e\s+|['\"]%s(?:\\n| ?\n)?['\"]\s+)?{_VALUE}"
    r"(?:\s(?P<second>[^\s|<>;&]{4,128}))?\s*(?:\|\s*[^\n|]{0,80}?"
    r"(?:chpasswd|passwd|password-stdin|--with-token|sudo\s+-S|passphrase-fd|token-stdin|\bpass\s+insert"
    r"|\bsecrets?\s+(?:create|put|set|add|versions\s+add)|\bauth\s+login|\bkinit\b|\bcryptsetup\b|\bsu(?=\s(?!-)|$)|\bopenconnect\b)"
    rf"|>{{1,2}}\s*{_SECRET_FILE}|\|\s*(?:sudo\s)?tee\s(?:-a\s)?{_SECRET_FILE})"
)
_DECODED = (
    r"echo\s+(?:-n\s+)?(?P<value>[A-Za-z0-9+/]{12,512}={0,2})\s\|\sbase64\s+(?:-d|-D|--decode)"
    r"\s*(?:\n(?P<plain>\S{4,256}))?(?:\n|$)"
)
_TO_KEY = rf"(?:(?<=key <\()|(?<=file[ =]<\())echo\s+{_VALUE}"
_HERE_TOOL = (
    r"(?i:(?:^|[\s;&|(\"'`])(?:kinit|cryptsetup|chpasswd|passwd|smbpasswd|su|openconnect)\b|-stdin|--with-token|phrase-fd"
    r"|\bsudo\b[^\n|;]{0,60}\s-S\b|\bsecrets?\s(?:create|put|set|add)\b"
    rf"|(?:>|=|\bread\s|\btee\s)[^\n|;>=]{{0,20}}?{_SECRET_FILE}|{_SECRET_FILE}\s?=)"
)
_HERE = r"<<(?:<\s?|[-~]?\s?\\?[\"']?(?P<mark>[A-Za-z_]\w{0,20})[\"']?(?P<rest>[^\n]{0,80})\n)"
_MAX_HERE = 200
"""Characters before a here-string within which the program that reads it is looked for."""
_MAX_HERE_LINES = 12
_CRYPT = (
    r"\$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{53}|argon2(?:id?|d)\$[^\s\"'`:]{20,200}"
    r"|(?:[15689y]|gy|apr1)\$(?:rounds=\d+\$|[./A-Za-z0-9]{1,16}\$)?[./A-Za-z0-9]{0,86}\$?[./A-Za-z0-9]{20,90})"
)
_SCRAM = r"SCRAM-SHA-(?:1|256)\$\d{1,6}:[^\s\"',]{40,200}|(?<=\")md5[0-9a-f]{32}(?=\")|\*[0-9A-F]{40}(?![0-9A-Za-z])"
_LDAP_HASH = r"\{(?:SSHA|SHA|SMD5|MD5|CRYPT|ssha|sha|crypt)\d{0,3}\}[A-Za-z0-9+/]{20,140}={0,2}"
_DJANGO_HASH = r"(?:pbkdf2_sha(?:1|256)|scrypt|bcrypt_sha256|argon2)\$[A-Za-z0-9$,=./+:-]{30,240}"
_RULES_OF = {word: tuple(pattern for other, pattern in _RULES if other == word) for word, _ in _RULES}
RULE_WORDS = Phrases(*_RULES_OF)
_PRINTERS = Phrases("echo ", "printf ")
_HASHED = Phrases("scram-sha", "authentication_string")
_OPTION = r"-(?<=[\s\"']-)([a-zA-Z-])"
COMMAND_WORDS = (" -", "$2", "sha256$", "echo")


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
    for word in RULE_WORDS.standing(letters):
        yield from _of_word(text, lower, word)
    for start, _ in occurrences(lower, _PRINTERS.standing(letters)):
        if match := compiled(_PIPED).match(text, start) or compiled(_TO_KEY).match(text, start):
            yield from _password(match)
            if match["value"] and match.groupdict().get("second") == match["value"]:
                yield Secret("password", *match.span("second"))
        if (match := compiled(_DECODED).match(text, start)) and is_decodable(match["value"]):
            yield Secret("password", *match.span("value"))
            if match["plain"]:
                yield Secret("password", *match.span("plain"))
    if "<<" in text:
        yield from _here_texts(text)
    yield from _login_lines(text, lower, letters)
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


def _here_texts(text: str) -> Iterator[Secret]:
    """Yield passwords in the here-strings and here-documents of what reads or stores one: `kinit <<< X`."""
    seen = 0
    for start, _ in occurrences(text, ("<<",)):
        here = compiled(_HERE).match(text, start) if start >= seen else None
        if here is None:
            continue
        before = text[max(seen, start - _MAX_HERE) : start].rpartition("\n")[2]
        seen = here.end()
        if compiled(_HERE_TOOL).search(f"{before}{here['rest'] or ''}") is None:
            continue
        at = here.end()
        for _ in range(_MAX_HERE_LINES if here["mark"] else 1):
            line = compiled(
                rf"[^\S\n]*(?![A-Za-z_][\w.-]*=){_VALUE}[^\S\n]*(?:\n|$)" if here["mark"] else _VALUE
            ).match(text, at)
            if line is None or (here["mark"] and line["value"] == here["mark"]):
                break
            yield from _password(line)
            at = seen = line.end()


_USERS = Phrases(*"userlist passwd chpasswd htpasswd secrets credentials creds users basicauth basic_auth".split())
_HEAD = r"[\w.-]{0,40}[\s:=<>{\[\"'`\])-]{0,8}\n(?:[^\S\n]*(?:#[^\n]{0,100}|list: \||---)\n){0,3}"
_LOGIN_LINE = (
    r"[^\S\n]*(?:-[^\S\n]+)?\"?[\w.@+-]{1,64}(?:(?P<quote>\"[^\S\n]+\")|:|[^\S\n]+\*[^\S\n]+)"
    r"(?P<value>[^\s\":,]{4,128})(?(quote)\")(?:[^\S\n]+\*)?[^\S\n]*(?:\n|$)"
)
_MAX_LOGINS = 100


def _login_lines(text: str, lower: str, letters: str) -> Iterator[Secret]:
    """Yield the passwords of lines `user:password` and `"user" "password"` below the name of a file or list of them."""
    seen, pattern = 0, compiled(_HEAD)
    for _, end in sorted(occurrences(lower, _USERS.standing(letters))):
        head = pattern.match(text, end) if end >= seen else None
        if head is None:
            continue
        at = head.end()
        lines: list[re.Match[str]] = []
        while len(lines) < _MAX_LOGINS and (line := compiled(_LOGIN_LINE).match(text, at)) is not None:
            at = line.end()
            lines.append(line)
        seen = at
        if any(not line["value"].isalpha() for line in lines):
            for line in lines:
                if is_secret(line["value"], Clarity.PASSWORD, Position.SETTING):
                    yield Secret("password", *line.span("value"))


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
    if "md5" in letters or _HASHED.standing(letters):
        forms.append(_SCRAM)
    if "$" in text and any(scheme in lower for scheme in ("sha256$", "sha1$", "crypt$")):
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
    option = compiled(rf"(?<![A-Za-z0-9\[])(?:{pattern}){_VALUE}")
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
    for group in ("sure", "generated"):
        if groups.get(group):
            if group == "sure" or is_generated(groups[group]):
                yield Secret("password", *match.span(group))
            return
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
    return is_secret(value, Clarity.PASSWORD, Position.ENVIRONMENT) and (has_both(value) or len(value) >= 6)


# --- addresses and headers ------------------------------------------------------------------------------------------


_URL_PASSWORD = r"[^\s:/@?#\"'`<>]{0,128}:([^\s/@\"'`<>]{1,256})@(?=[\w.\[$-])"
_MASK = r"\[redacted:\w{1,40}\]@"
_URL_USER = r"([^\s:/@?#\"'`<>\\]{16,256})@(?=[\w.\[$-])"
_KEYED_PATHS = Phrases(
    *"invite incomingwebhook hook hooks trigger webhook webhooks t ping live live2 app private appid hmac code".split()
)
_URL_KEY = (
    r"(?:/(?:invite|IncomingWebhook|hooks?|trigger|webhooks?|t|ping|live2?|app)/|/private-|[?&](?:appid|hmac|code)=)"
    r"(?P<key>[\w-]{15,256})(?=[/?&\s\"'<>)`]|$)"
)
"""Pattern of a key in the path of an address, which lets in whoever knows it, and the words before such keys."""
_MAX_BEFORE_KEY = 160
_DSN = r"(?:^|[\"'`\s=])[\w.+-]{0,64}:([^\s\"'`/@]{3,128})$"
_THIN = r"[\w.$-]{1,64}/\"?([^\s\"'`/@]{3,128})\"?@"
HEADER_NAMES = ("authorization", "api-key", "auth-token", "private-token", "vault-token", "access-token")
COOKIE_NAMES = ("cookie", "curl", "connect.sid", "_session", "aspnetcore.", "sessionid")
_SESSION_COOKIES = Phrases(*COOKIE_NAMES[2:])
_AUTH = Phrases("_auth", '"auth')
_ANY_QUOTE = r"\\{0,4}[\"'`]"
_HEADER_REST = (
    rf"(?:(?:(?:{_ANY_QUOTE})?\]?\s{{0,3}}(?:=>|[:=,])|\|)\s{{0,3}}(?:\[\s{{0,3}})?(?:{_ANY_QUOTE})?|\s{{1,3}}{_ANY_QUOTE}(?=basic\s|bearer\s))"
    r"(?:([A-Za-z][A-Za-z0-9-]{1,19})(?:\s{1,3}|\s{0,3}\\{0,4}\s{0,4}\n\s{0,20})(?:token=\"?)?)?([A-Za-z0-9._~+/=:@|-]{6,4096})"
)
_PARAMETER = r"(?:response|signature|oauth_token|oauth_signature|mac|token|api_key|sig)=\\{0,4}\"?([^\s\",\\]{8,1024})"
_COOKIE_HEADER = r"cookie\\{0,4}[\"']?[:,][^\S\n]{0,3}\\{0,4}[\"']?(?P<cookies>[^\n\"']{8,4096})"
_CURL_COOKIE = r"curl\b[^\n]{0,400}?\s(?:-b|--cookie)[ =]\\{0,4}[\"'](?P<cookies>[^\n\"']{8,4096})"
_COOKIE = (
    r"(?<![^\s;'\"])([\w.%-]{0,60}(?:sess|sid|auth|token|jwt|login|remember|cookies|identity)[\w.%-]{0,60})"
    r"=(?:s%3A)?([^;\s\"'\\]{16,4096})"
)
_SESSION_COOKIE = (
    rf"[a-z.]{{0,30}}(?:{_ANY_QUOTE}\s?[=:,]\s{{0,40}}|[=:\t]\s{{0,4}})(?:{_ANY_QUOTE}value{_ANY_QUOTE}\s?:\s?)?(?:{_ANY_QUOTE})?"
    r"(?P<value>[^\s;,\"'\\]{20,4096})"
)
_REGISTRY_AUTH = r"auth\\{0,4}[\"']?\s{0,3}[:=]\s{0,3}\\{0,4}[\"']?([A-Za-z0-9+/]{12,512}={0,2})(?![A-Za-z0-9+/=_.-])"


def url_passwords(text: str, letters: str) -> Iterator[Secret]:
    """Yield passwords between a user and a host, and generated keys in the place of the user or in a path.

    References such as `$PASSWORD`, words of examples, and keys that are public are left out.
    """
    for key in _keys_of_paths(text) if _KEYED_PATHS.standing(letters) else ():
        last = key["key"].rpartition("_")[2]
        before = text[max(0, key.start() - _MAX_BEFORE_KEY) : key.start()].rpartition("://")
        is_address = before[1] and not any(map(str.isspace, before[2]))
        if is_address and (is_generated(key["key"]) or is_generated(last) or is_uuid(key["key"])):
            yield Secret("url_password", *key.span("key"))
    for start, end in occurrences(text, ("//",)):
        if not (text[start - 1 : start].isalnum() or text.startswith(":", start - 1)):
            continue  # A comment, or a path in XML.
        match = compiled(_URL_PASSWORD).match(text, end)
        if match is not None:
            password = match.group(1)
            if compiled(_MASK).match(text, end):
                continue  # What was redacted before: `https://[redacted:github_token]@…`.
            # In an address a password is a password: only one that is a single word of examples stays.
            if any(map(str.isalnum, password)) and not (is_reference(password) or is_example_word(password)):
                yield Secret("url_password", *match.span(1))
            continue
        match = compiled(_URL_USER).match(text, end)
        if match is not None and is_generated(match.group(1)) and not _is_public(text, match):
            yield Secret("url_password", *match.span(1))


def _keys_of_paths(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `_URL_KEY` behind the first `://` of each line that has one."""
    seen = 0
    for start, end in occurrences(text, ("://",)):
        if start >= seen:
            line_end = text.find("\n", end)
            seen = line_end if line_end >= 0 else len(text)
            yield from compiled(_URL_KEY).finditer(text, start + 1, seen)


def dsn_passwords(text: str) -> Iterator[Secret]:
    """Yield passwords in addresses without a scheme: `user:password@tcp(host)`, `thin:user/password@host`."""
    if "@" not in text:
        return
    hosts = [compiled(_DSN).search(text, max(0, at - 160), at) for at, _ in occurrences(text, ("@tcp(", "@unix("))]
    oracle = [compiled(_THIN).match(text, end, end + 240) for _, end in occurrences(text, ("thin:",))]
    for match in filter(None, hosts + oracle):
        if not is_reference(match.group(1)) and not is_example_word(match.group(1)):
            yield Secret("url_password", *match.span(1))


def _is_public(text: str, match: re.Match[str]) -> bool:
    """Return whether a key is public: one in a Sentry address only allows to report errors, and stands in web pages."""
    return is_uuid(match.group(1)) or "sentry" in text[match.end() : match.end() + 80].partition("\n")[0].lower()


def header_values(text: str, lower: str, letters: str) -> Iterator[Secret]:
    """Yield the values of headers that let someone in; a digest in such a place counts too."""
    seen = 0
    for _, end in sorted(occurrences(lower, possible(HEADER_NAMES, letters))):
        match = compiled(_HEADER_REST, re.IGNORECASE).match(text, end) if end >= seen else None
        seen = match.end() if match is not None else seen  # Within a value stands no header.
        if match is None or is_reference(match.group(2)):
            continue
        scheme, value = (match.group(1) or "").lower(), match.group(2)
        if text.startswith(" [redacted:", match.end(2)):
            continue  # What was taken for a value is the scheme of one that is hidden already.
        if scheme and compiled(r"[A-Za-z_]{2,20}=").match(value) is not None:
            yield from _parameters(text, match.start(2))
            continue
        if "," in text[end : match.start(2)] and compiled(REGION).fullmatch(value) is not None:
            continue  # `get_secret("api-key", "eu-west-1")`
        # Behind a scheme stands a literal; without one it may be a name of code.
        position = Position.QUOTED if scheme else Position.INLINE
        if is_secret(value, Clarity.SECRET, position) or (scheme == "basic" and is_basic(value)):
            yield Secret("authorization", *match.span(2))
    for _, end in occurrences(lower, _AUTH.standing(letters)):
        match = compiled(_REGISTRY_AUTH).match(text, end - 4)
        if match is not None and is_basic(match.group(1)):
            yield Secret("authorization", *match.span(1))


def _parameters(text: str, start: int) -> Iterator[Secret]:
    """Yield the parameters after a scheme of authorization that prove who sends: those with letters and digits."""
    end = text.find("\n", start, start + 1000)
    for match in compiled(_PARAMETER, re.IGNORECASE).finditer(text, start, end if end >= 0 else start + 1000):
        if has_both(match.group(1)) and not is_reference(match.group(1)):
            yield Secret("authorization", *match.span(1))


def cookies(text: str, lower: str, letters: str) -> Iterator[Secret]:
    """Yield values of session cookies."""
    for word in _SESSION_COOKIES.standing(letters):
        seen = 0
        for start, after in occurrences(lower, (word,)):
            named = compiled(_SESSION_COOKIE, re.IGNORECASE).match(text, after) if after >= seen else None
            if named is None:
                continue
            seen, value = named.end(), named["value"]
            if word != "sessionid":
                is_kept = is_generated(value)
            else:  # As Django spells it; a `sessionId` is a plain id.
                is_kept = text.startswith(word, start) and len(value) >= 24 and has_both(value)
                is_kept = is_kept and bits_per_char(value) >= 3 and not is_plain_id(value)
            if is_kept:
                yield Secret("cookie", *named.span("value"))
    for word in ("cookie", "curl"):
        if word not in letters or (word == "curl" and " -b" not in text and "--cookie" not in text):
            continue
        end = 0
        pattern = compiled(_CURL_COOKIE if word == "curl" else _COOKIE_HEADER, re.IGNORECASE)
        for start, after in occurrences(lower, (word,)):
            following = lower.find(word, after, after + 500) if word == "curl" else -1
            header = pattern.match(text, start, following if following >= 0 else len(text)) if start >= end else None
            if header is None:
                continue
            end = header.end()
            for match in compiled(_COOKIE, re.IGNORECASE).finditer(text, *header.span("cookies")):
                value = match.group(2)
                if has_both(value) and bits_per_char(value) >= 3 and not is_reference(value):
                    yield Secret("cookie", *match.span(2))
