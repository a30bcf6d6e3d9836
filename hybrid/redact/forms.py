"""Finds what has a form of its own: tokens with the prefix of their issuer, private keys, and recovery codes."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

from hybrid.base.text import compiled
from hybrid.redact.signs import Phrases, Secret, occurrences
from hybrid.redact.values import has_both, is_filler, is_generated, is_mixed_case, is_uuid

if TYPE_CHECKING:
    from collections.abc import Iterator


_TOKENS: tuple[tuple[str, str, str], ...] = (
    # kind, literals of which one must occur for the pattern to be worth running, pattern of the whole token
    ("aws_key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("aws_token", "IQoJb3JpZ2lu FwoGZXIvYXdz", r"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[A-Za-z0-9+/]{80,4096}={0,2}"),
    ("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    ("github_token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    (
        "gitlab_token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- gloas-",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-[A-Za-z0-9_.-]{20,255}",
    ),
    ("slack_token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,255}"),
    ("slack_token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{10,255}"),
    ("slack_webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,255}"),
    ("discord_webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{40,255}"),
    ("stripe_key", "k_live_ k_test_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}"),
    ("stripe_key", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,255}"),
    ("anthropic_key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,255}"),
    ("openrouter_key", "sk-or-", r"sk-or-v1-[0-9a-f]{40,128}"),
    ("openai_key", "sk-", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,255}"),
    ("openai_key", "sk-", r"sk-[A-Za-z0-9]{20,255}"),
    ("google_key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    ("google_token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,2048}"),
    ("google_token", "1//0", r"1//0[A-Za-z0-9_-]{40,255}"),
    ("google_secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{24,64}"),
    ("npm_token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    ("pypi_token", "pypi-", r"pypi-[A-Za-z0-9_-]{50,1000}"),
    ("nuget_key", "oy2", r"oy2[a-z0-9]{43}"),
    ("rubygems_key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    ("crates_token", "cio", r"cio[A-Za-z0-9]{32}"),
    ("huggingface_token", "hf_", r"(?:api_org|hf)_[A-Za-z0-9]{30,64}"),
    ("twilio_key", "SK", r"SK[0-9a-f]{32}"),
    ("sendgrid_key", "SG.", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}"),
    ("mailgun_key", "key-", r"key-[0-9a-f]{32}"),
    ("mailchimp_key", "-us", r"[0-9a-f]{32}-us\d{1,2}"),
    ("shopify_token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("square_token", "sq0atp- sq0csp-", r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,64}"),
    ("square_token", "EAAA", r"EAAA[A-Za-z0-9_-]{60,61}"),
    ("digitalocean_token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    ("databricks_token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    ("vault_token", "hvb. hvs.", r"hv[bs]\.[A-Za-z0-9_-]{24,255}"),
    ("terraform_token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    ("doppler_token", "dp.pt. dp.st. dp.ct. dp.sa.", r"dp\.(?:pt|st|ct|sa)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    ("heroku_key", "HRKU-", r"HRKU-[A-Za-z0-9_-]{36,80}"),
    ("fly_token", "fm1 fm2", r"fm[12][ar]?_[A-Za-z0-9+/]{80,4096}={0,3}"),
    ("netlify_token", "nfp_", r"nfp_[A-Za-z0-9]{36,64}"),
    ("supabase_key", "sbp_ sb_secret_", r"(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{22,64})"),
    ("pulumi_token", "pul-", r"pul-[0-9a-f]{40}"),
    ("tailscale_key", "tskey-", r"tskey-[a-z]{2,12}-[A-Za-z0-9]{8,32}-[A-Za-z0-9]{16,64}"),
    ("grafana_token", "glsa_", r"glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}"),
    ("grafana_token", "glc_", r"glc_[A-Za-z0-9+/]{32,400}={0,3}"),
    ("newrelic_key", "NRAK- NRII-", r"NR(?:AK|II)-[A-Za-z0-9_-]{27,64}"),
    ("sentry_token", "sntryu_ sntrys_", r"sntry(?:u_[0-9a-f]{64}|s_[A-Za-z0-9+/]{40,400}={0,2}_[A-Za-z0-9+/]{40,64})"),
    ("sonar_token", "sqp_ squ_ sqa_", r"sq[pua]_[0-9a-f]{40}"),
    ("postman_key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("telegram_token", ":AA", r"\d{8,10}:AA[A-Za-z0-9_-]{32,34}"),
    ("telegram_token", "/bot", r"(?<=/bot)\d{6,12}:[A-Za-z0-9_-]{30,40}"),
    ("swarm_token", "SWMTKN-1-", r"SWMTKN-1-[a-z0-9]{40,60}-[a-z0-9]{20,30}"),
    ("docker_token", "dckr_pat_ dckr_oat_", r"dckr_[op]at_[A-Za-z0-9_-]{20,64}"),
    ("groq_key", "gsk_", r"gsk_[A-Za-z0-9]{40,64}"),
    ("xai_key", "xai-", r"xai-[A-Za-z0-9]{40,128}"),
    ("nvidia_key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{40,128}"),
    ("perplexity_key", "pplx-", r"pplx-[A-Za-z0-9]{40,64}"),
    ("pinecone_key", "pcsk_", r"pcsk_[A-Za-z0-9_]{40,128}"),
    ("langsmith_key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    ("replicate_token", "r8_", r"r8_[A-Za-z0-9]{37,40}"),
    ("linear_key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    ("notion_token", "ntn_", r"ntn_[A-Za-z0-9]{40,64}"),
    ("notion_token", "secret_", r"secret_[A-Za-z0-9]{43}"),
    ("figma_token", "figd_", r"figd_[A-Za-z0-9_-]{36,64}"),
    ("airtable_token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("circleci_token", "CCIPAT_", r"CCIPAT_[A-Za-z0-9]{20,24}_[0-9a-f]{40}"),
    ("buildkite_token", "bkua_", r"bkua_[0-9a-f]{40}"),
    ("planetscale_key", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,64}"),
    ("onepassword_token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/_-]{200,4096}={0,3}"),
    ("atlassian_token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{40,400}"),
    ("atlassian_token", "ATBB ATCTT3", r"AT(?:BB[A-Za-z0-9]{32}|CTT3[A-Za-z0-9_=-]{40,400})"),
    ("age_key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    ("azure_key", "AccountKey=", r"(?<=AccountKey=)[A-Za-z0-9+/]{60,90}={0,2}"),
    ("azure_key", "AccessKey=", r"(?<=AccessKey=)[A-Za-z0-9+/]{40,90}={0,2}"),
    ("azure_secret", "Q~", r"[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}"),
    ("signed_url", "sig=", r"(?<=[?&]sig=)[A-Za-z0-9+/%_-]{27,100}"),
    ("signed_url", "?Signature= &Signature=", r"(?<=[?&]Signature=)[A-Za-z0-9+/%_~-]{27,400}"),
    ("signed_url", "-Signature=", r"(?<=-Signature=)[0-9a-f]{64,512}"),
    ("jwt", "eyJ", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
)

_PREFIXES = (
    "tvly- sk-lf- pat-na1- pat-eu1- xkeysib- xsmtpsib- re_ phx_ rnd_ fc- dt0c01. dt0s01. sgp_ napi_ apify_api_ tgp_v1_"
    " csk- jina_ e2b_ sk_ sha256~ dnkey- hcaik_ hcalk_ xaat- xapt- fw_ pa- bb_live_ xau_ tfp_ rdme_ p8e- doo_"
    " dbtc_ dbtu_ pnu_ pnb_ jsr_ ddp_ ddo_ CLOJARS_ FLWSECK- FLWSECK_TEST- API- rpa_ vcp_ vck_"
    " cfat_ cfut_ figu_ figoh_ secret-live- lsv2_sk_ hvr. st. pat. glrtr- glffct- glwt- sk-helicone- wandb_v1_"
).split()
_RUN_ON = tuple("AKCp LTAI EZAK EZTK nsec1 xprv AQVN".split())
_ISSUED = r"(?!pk[_-])[a-z][a-z0-9]{1,11}[_-](?:live|test|prod|api|apikey|key|pat|sk|secret|oat|token|v\d)[_-]"
_MIDDLES = tuple(
    f"{sign}{word}{sign}"
    for sign in "_-"
    for word in "live test prod api apikey key pat sk secret oat token v1 v2".split()
)
_ISSUED_TAIL = r"[A-Za-z0-9_.~+/-]{12,400}={0,2}"
"""What issuers begin their tokens with, and the words in the middle of such beginnings; a generated part follows."""

_BOT = r"[MNO][DTjz][A-Za-z0-9]{22,24}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"
"""Pattern of a Discord bot's token: the number of its account in base64 comes first."""

_PAIRS: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    (
        "aws_secret",
        ("AKIA", "ASIA"),
        r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])",
        r"[^\n]{0,120}?(?:(?<![A-Za-z0-9+/])|(?<=\\t))([A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])",
    ),
    (
        "twilio_secret",
        ("AC",),
        r"AC[0-9a-f]{32}",
        r"[^\n0-9a-f][^\n]{0,40}?(?<![0-9a-f])([0-9a-f]{32})(?![0-9a-f])",
    ),
)
"""(kind, literals, pattern of the public half, pattern of the secret after it) of each pair of keys."""

_INSIDE: dict[str, tuple[int, ...]] = {
    "k_live_": (1,),
    "k_test_": (1,),
    "_v1_": (3,),
    ":AA": (8, 9, 10),
    "-us": (32,),
    ".atlasv1.": (14,),
    "Q~": (4,),
    "/api/webhooks/": (len("discord.com"), len("discordapp.com")),
}
"""Literal that does not begin its token → the numbers of characters of the token that may stand before it."""
_FORMS_OF: dict[str, list[tuple[str, str]]] = {}
"""Literal → the kinds and patterns of the tokens that have it."""
for _kind, _literals, _pattern in _TOKENS:
    for _literal in _literals.split():
        _FORMS_OF.setdefault(_literal, []).append((_kind, _pattern))
_WORD_OF: dict[str, list[str]] = {}
"""Literal or prefix in lower case, as words of its own → its spelling by the issuer."""
for _literal in (*_FORMS_OF, *_PREFIXES, *_MIDDLES):
    if re.fullmatch(r"_?(?:[A-Za-z0-9]+[-_.~])+", _literal):
        _WORD_OF.setdefault(_literal.lower(), []).append(_literal)
_IN_WORDS = tuple(word for word in (*_FORMS_OF, *_RUN_ON) if word.lower() not in _WORD_OF or word in _INSIDE)
_WORDS = Phrases(*_WORD_OF)
_MAX_BEFORE = 40
"""Characters that a token may have before its literal, when it is put together from pieces."""
_AT_START = (0,)

_QUOTES = frozenset("\"'`\\")
_RUN = r"[A-Za-z0-9_./:=+-]*"
_MAX_PIECE = 400
_PIECE = rf"[A-Za-z0-9_./:=+-]{{0,{_MAX_PIECE}}}"
_SPACES = r"(?:\s|\\{1,4}[nrt](?![a-z])|\\(?=\s)){0,80}"
_JOIN = rf"\\{{0,4}}[\"'`]{_SPACES}(?:[+.&]{_SPACES})?\\{{0,4}}[\"'`](?=[A-Za-z0-9_-])"
_IS_KEY = r"\\{0,4}[\"'`]\s{0,3}:"
_BEFORE_LITERAL = r"[A-Za-z0-9_.:/-]*"
_MAX_PIECES = 8
_MAX_TRIES = 3
"""Number of places of a literal within one run at which a token may begin that is put together."""

# A token stands alone: neither inside a longer word nor, for the quadratic case, restarted inside a failed run. In
# text that was put into JSON, the letter of an escaped line end may stand right before it.
_NOT_INSIDE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\n)|(?<=\\t)|(?<=\\r)|(?<=%3D))"
_NOT_BEFORE = r"(?![A-Za-z0-9_])"


def tokens(text: str, pieces: str, letters: str) -> Iterator[Secret]:
    """Yield tokens by their forms, wherever they stand.

    Args:
        text: The text.
        pieces: Its pieces that may hold a token, see `pieces_of`: a cheap pass spares a hundred searches.
        letters: The letters of all.
    """
    if compiled(_BOT).search(pieces):
        for match in compiled(_alone(_BOT)).finditer(text):
            if is_generated(match.group()) or _is_number(match.group().partition(".")[0]):
                yield Secret("discord_token", *match.span())
    if not pieces:
        return
    yield from _beside_keys(text, pieces)
    joins = _Joins(text)
    found = [word for lower in _WORDS.standing(letters) for word in _WORD_OF[lower]]
    for word in dict.fromkeys((*found, *_IN_WORDS)):
        if word not in pieces:
            continue
        for kind, pattern in _FORMS_OF.get(word, ()):
            yield from (Secret(kind, *span) for span in _of_form(text, kind, word, pattern, joins))
        if word not in _FORMS_OF or word in _MIDDLES:
            yield from _issued(text, word)


def _of_form(text: str, kind: str, word: str, pattern: str, joins: _Joins) -> Iterator[tuple[int, int]]:
    """Yield the spans of tokens of a form that have a given literal; of one written in several literals, each piece."""
    form = compiled(_alone(pattern))
    offsets = (-len(word),) if pattern.startswith("(?<=") else _INSIDE.get(word, _AT_START)
    run_end, n_tries = 0, 0
    for start, end in occurrences(text, (word,)):
        match = next(filter(None, (form.match(text, start - before) for before in offsets if start >= before)), None)
        if match is not None and _is_token(kind, match.group()):
            yield match.span()
        if match is not None and text[match.end() : match.end() + 1] not in _QUOTES:
            continue
        if end > run_end:  # Where a literal comes again and again without a break, its run is looked at once.
            run_end = joins.run_end(end)
            n_tries = 0 if joins.after(run_end) else _MAX_TRIES
        if n_tries < _MAX_TRIES and run_end - end <= _MAX_PIECE:
            n_tries += 1
            yield from _put_together(kind, (start, run_end), form, offsets, joins)


def _issued(text: str, word: str) -> Iterator[Secret]:
    """Yield tokens by the beginning that their issuer gives them, if what follows it is generated."""
    is_middle = word in _MIDDLES
    beginning = _ISSUED if is_middle else re.escape(word)
    form, seen = compiled(_alone(f"(?P<before>{beginning})(?P<tail>{_ISSUED_TAIL})")), 0
    for start, _ in occurrences(text, (word,)):
        if start < seen:
            continue
        if is_middle:
            near = text[max(0, start - 12) : start]
            start -= len(near) - len(near.rstrip(_LETTERS))
        token = form.match(text, start)
        if token is not None:
            seen = token.end()
            longest = max(compiled(r"[A-Za-z0-9]+").findall(token["tail"]), key=len)
            is_one = is_uuid(token["tail"]) or (len(longest) >= 12 and has_both(longest))
            if is_one and (is_generated(token["tail"]) or is_generated(token.group())):
                yield Secret("api_key", *token.span())


_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def _beside_keys(text: str, pieces: str) -> Iterator[Secret]:
    """Yield the secret that stands after the public half of its pair, as accounts are printed."""
    for kind, words, public, secret in _PAIRS:
        if any(word in pieces for word in words) and compiled(public).search(pieces) is not None:
            for match in compiled(public + secret).finditer(text):
                if is_generated(match.group(1)) or is_mixed_case(match.group(1)):
                    yield Secret(kind, *match.span(1))


def _put_together(
    kind: str, first: tuple[int, int], pattern: re.Pattern[str], offsets: tuple[int, ...], joins: _Joins
) -> list[tuple[int, int]]:
    """Return the spans of a token written as several literals, `"ghp_…" + "…"`, on one or more lines; else none."""
    text = joins.text
    start, end = first
    begin = start
    if max(offsets) > 0:
        before = compiled(_BEFORE_LITERAL).match(text[max(0, start - _MAX_BEFORE) : start][::-1])
        begin -= 0 if before is None else before.end()
    pieces = [(begin, end)]
    while len(pieces) < _MAX_PIECES and (piece := joins.after(pieces[-1][1])) is not None:
        pieces.append(piece)
    whole = "".join([text[begin:stop] for begin, stop in pieces])
    for offset in offsets:
        match = pattern.match(whole, start - begin - offset) if start - begin >= offset else None
        if match is not None and match.end() > len(whole) - 4 and _is_token(kind, match.group()):
            return pieces
    return []


class _Joins:
    """The literals that a text joins to one another; each is looked for once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._after: dict[int, tuple[int, int] | None] = {}

    def run_end(self, start: int) -> int:
        """Return the offset where the piece of a token ends that begins at a given one."""
        run = compiled(_RUN).match(self.text, start)
        return start if run is None else run.end()

    def after(self, end: int) -> tuple[int, int] | None:
        """Return the span in the literal that is joined to one which ends at an offset; None when none is joined."""
        if self.text[end : end + 1] not in _QUOTES:
            return None
        if end not in self._after:
            join = compiled(_JOIN).match(self.text, end)
            piece = None if join is None else compiled(_PIECE).match(self.text, join.end())
            is_key = piece is None or compiled(_IS_KEY).match(self.text, piece.end()) is not None
            self._after[end] = None if piece is None or is_key else piece.span()
        return self._after[end]


def _alone(pattern: str) -> str:
    """Return the pattern of a form for a place outside of longer words; one that looks behind says so itself."""
    return f"{'' if pattern.startswith('(?<=') else _NOT_INSIDE}(?:{pattern}){_NOT_BEFORE}"


def _is_token(kind: str, token: str) -> bool:
    """Return whether a text of the form of a kind is no word of manuals, and no plain word with a short prefix."""
    if is_filler(token):
        return False
    return kind not in _SHORT_PREFIXED or sum(map(str.isdigit, token)) >= _MIN_DIGITS


_SHORT_PREFIXED = ("crates_token", "nuget_key", "airtable_token", "square_token")
"""Kinds of tokens whose prefix may begin a plain word: there have to be digits among the letters."""
_MIN_DIGITS = 3


def _is_number(encoded: str) -> bool:
    """Return whether base64 holds decimal digits, as the first part of a bot's token, its account, does."""
    try:
        return base64.b64decode(f"{encoded}{'=' * (-len(encoded) % 4)}", validate=True).isdigit()
    except binascii.Error:
        return False


# --- Private keys --------------------------------------------------------------------------------------------------

_KEY_NAMES = r"(?:(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1|[A-Z]{1,12} NKEY SEED)"
_KEY_BEGIN = rf"-----BEGIN {_KEY_NAMES}-----"
_KEY_END = rf"-{{5,6}}END {_KEY_NAMES}-{{5,6}}"
_ENCODED_BEGIN = "LS0tLS1CRUdJTi"
_ENCODED = r"[A-Za-z0-9+/]{60,}={0,2}"
_KEY_BODY = r"[A-Za-z0-9+/]{24}"
# Before a line: its number as tools print it, or where it was found.
_LINE_MARK = r"(?:[+>#*-]|//|\d{1,6}(?:→|\t|\\{1,4}t)|[\w./-]{1,100}:\d{1,6}:)"
_KEY_LINES_AFTER = (
    r"(?:\\{1,4}[nrt]|[\s\"'\\,+]|(?<=[\s\dn])"
    + _LINE_MARK
    + r"|\d{1,6}→|[A-Za-z0-9+/=]{16,}|[A-Z][A-Za-z-]{2,20}: [^\n]{0,120}\n)*"
)
_KEY_LINE = rf"[^\S\n]*(?:{_LINE_MARK}[^\S\n]*)?[\"']?[A-Za-z0-9+/=]{{16,100}}(?:\\n)?[\"']?,?[^\S\n]*(?:\\r)?"
_MAX_KEY_LINES = 200
_KEY_RUN = r"[A-Za-z0-9+/=]{16,}"
_MIN_KEY_SHARE = 0.6
"""Share of the text between the two marks of a key that must be base64; in code that only names both it is far less."""


def private_keys(text: str) -> Iterator[Secret]:
    """Yield whole blocks of keys, the part of a block that the border of a chunk left, and blocks encoded in base64."""
    run_end = 0
    for start, end in occurrences(text, (_ENCODED_BEGIN,)):
        run = compiled(_ENCODED).match(text, end) if start >= run_end else None
        if run is not None:
            run_end = run.end()
            # Whether the base64 begins with the first line of a private key.
            if b"PRIVATE KEY" in binascii.a2b_base64(text[start : start + 64]):
                yield Secret("private_key", start, run_end)
    if "-----BEGIN" in text or "-----END" in text:
        yield from _key_blocks(text)


def _key_blocks(text: str) -> Iterator[Secret]:
    """Yield the blocks between the marks of a key; the lines after a mark without its end, and those before one."""
    begins = list(compiled(_KEY_BEGIN).finditer(text))
    begun: set[int] = set()
    for begin, border in zip(begins, [*(after.start() for after in begins[1:]), len(text)], strict=False):
        end = compiled(_KEY_END).search(text, begin.end(), border)
        if end is None or not _is_key_body(text[begin.end() : end.start()]):
            end = compiled(_KEY_LINES_AFTER).match(text, begin.end(), border)
        if end is not None:
            begun.add(end.end())
            if compiled(_KEY_BODY).search(text, begin.end(), end.end()):
                yield Secret("private_key", begin.start(), end.end())
    lines = _KeyLines(text)
    for end in compiled(_KEY_END).finditer(text):
        start, has_body = lines.before(end.start())
        if has_body and end.end() not in begun:
            yield Secret("private_key", start, end.end())


def _is_key_body(body: str) -> bool:
    """Return whether most of what stands between the marks of a key is base64, whatever quotes or marks its lines."""
    size = sum(map(len, body.split()))
    return sum(map(len, compiled(_KEY_RUN).findall(body))) >= _MIN_KEY_SHARE * size


class _KeyLines:
    """The lines of base64 that stand right before marks, asked for in order; no line is looked through twice."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._last_line: dict[str, tuple[int, int]] = {}
        """Line end → how far lines were looked for, where the last one begins."""
        self._starts: dict[tuple[str, int], int] = {}
        """Line end and start of a line → where the lines of base64 before it begin."""
        self._body = (0, 0, False)
        """Offset where key lines begin, offset to which they were looked through, and whether they hold a key."""

    def before(self, end: int) -> tuple[int, bool]:
        """Return where the lines before an offset begin, and whether a key is in them; line ends may be escaped."""
        escape = compiled(r"\\{1,4}n")
        escaped = escape.match(self._text, max(0, end - 5)) or escape.match(self._text, max(0, end - 3))
        line_end = escaped.group() if escaped is not None else "\n"
        seen, line_start = self._last_line.get(line_end, (0, 0))
        at = self._text.rfind(line_end, seen, end)
        line_start = line_start if at < 0 else at + len(line_end)
        self._last_line[line_end] = end, line_start
        if (line_end, line_start) not in self._starts:
            self._starts[line_end, line_start] = _start_of_key_lines(self._text, line_end, line_start)
        start = self._starts[line_end, line_start]
        begun, seen, has_body = self._body
        if start != begun or not has_body:
            has_body = compiled(_KEY_BODY).search(self._text, seen if start == begun else start, end) is not None
        self._body = start, end, has_body
        return start, has_body


def _start_of_key_lines(text: str, line_end: str, start: int) -> int:
    """Return where the lines of base64 begin that stand right before a line."""
    for _ in range(_MAX_KEY_LINES):
        before = max(0, start - len(line_end))
        at = text.rfind(line_end, 0, before)
        previous = 0 if at < 0 else at + len(line_end)
        if previous >= start or not compiled(_KEY_LINE).fullmatch(text, previous, max(previous, before)):
            break
        start = previous
    return start


# --- Lines of a key without its marks: what an edit or a cut leaves of it ------------------------------------------

_MIN_BARE_LINES = 3
_BLANKS = r"[^\S\n]{0,40}"
_BEFORE_LINE = rf"{_BLANKS}(?:[+>#*-]|//|\d{{1,6}}(?:→|\t|: ?)|[\w./-]{{1,100}}:\d{{1,6}}:)?{_BLANKS}[+-]?[\"']?"
_AFTER_LINE = r"(?:\\n)?[\"']?[^\S\n]{0,4}[,+\\]?[^\S\n]{0,4}"
_BARE_LINE = rf"(?m)^{_BEFORE_LINE}([A-Za-z0-9+/]{{60,}}={{0,2}}){_AFTER_LINE}$"
_LAST_BARE_LINE = rf"\n{_BEFORE_LINE}[A-Za-z0-9+/]{{4,}}={{0,2}}{_AFTER_LINE}(?=\n|\Z)"
_MAX_LOWER_RUN = 2.6
"""Small letters in a row, on average, above which a line is words: in base64 there are under two."""
_MAX_SLASHES = 16
"""Divisor: a line with more than one slash in so many characters is no base64, where it is one in 64."""


def key_lines(text: str) -> Iterator[Secret]:
    """Yield each run of at least three lines that hold base64 alone, with a shorter last one.

    Digests, paths and words on lines of their own are none.
    """
    run: list[re.Match[str]] = []
    for match in compiled(_BARE_LINE).finditer(text):
        if run and match.start() != run[-1].end() + 1:
            yield from _of_run(text, run)
            run = []
        run.append(match)
    yield from _of_run(text, run)


def is_key_line(text: str) -> bool:
    """Return whether a text is nothing but lines of a key, be it a single one."""
    *first, last = text.strip("\n").split("\n")
    if not all(map(compiled(_BARE_LINE).fullmatch, first)):
        return False
    found = compiled(_LAST_BARE_LINE).fullmatch(f"\n{last}") if first else compiled(_BARE_LINE).fullmatch(last)
    return found is not None and _is_random("".join(text.split()))


def _of_run(text: str, run: list[re.Match[str]]) -> Iterator[Secret]:
    if len(run) < _MIN_BARE_LINES or not _is_random("".join(match[1] for match in run)):
        return
    last = compiled(_LAST_BARE_LINE).match(text, run[-1].end())
    yield Secret("private_key", run[0].start(1), last.end() if last else run[-1].end(1))


def _is_random(letters: str) -> bool:
    runs = compiled(r"[a-z]+").findall(letters)
    is_mixed = bool(runs) and bool(compiled(r"[A-Z]").search(letters)) and any(map(str.isdecimal, letters))
    has_short_runs = sum(map(len, runs)) <= _MAX_LOWER_RUN * len(runs)
    return is_mixed and has_short_runs and letters.count("/") * _MAX_SLASHES <= len(letters)


# --- Recovery codes ------------------------------------------------------------------------------------------------

_CODES_NAME = r"(?:recovery|backup|scratch)[ _-]?codes?\\{0,4}[\"']?"
_CODES_GAP = r"(?:[\s\"'\\\[\],*`:=;|>-]|\bis\b|\bare\b|\d{1,2}[.)]){1,40}"
_CODE = r"[A-Za-z0-9]{4,6}(?:[- ][A-Za-z0-9]{4,6}){1,3}(?![A-Za-z0-9])|[a-z0-9]{8,10}(?=[\s\",]|$)"
_CODES_OF = Phrases("recovery", "backup", "scratch")
_MAX_CODES = 24


def recovery_codes(text: str, lower: str, letters: str) -> Iterator[Secret]:
    """Yield each code of a list after its name."""
    for start, _ in occurrences(lower, _CODES_OF.standing(letters)):
        name = compiled(_CODES_NAME).match(lower, start)
        at = -1 if name is None else name.end()
        for _ in range(_MAX_CODES if at >= 0 else 0):
            gap = compiled(_CODES_GAP).match(text, at)
            code = None if gap is None else compiled(_CODE).match(text, gap.end())
            if code is None or (not any(map(str.isdigit, code.group())) and not code.group().isupper()):
                break
            yield Secret("recovery_code", *code.span())
            at = code.end()
