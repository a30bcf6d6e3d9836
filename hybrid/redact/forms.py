"""Finds tokens that have a form of their own, as their issuers give them a prefix so that they can be found."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

from hybrid.redact.patterns import Secret, compiled, occurrences
from hybrid.redact.values import is_filler, is_generated, is_mixed_case

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
    ("signed_url", "sig=", r"(?<=[?&]sig=)[A-Za-z0-9+/%_-]{40,100}"),
    ("signed_url", "-Signature=", r"(?<=-Signature=)[0-9a-f]{64,512}"),
    ("jwt", "eyJ", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
)

_BOT = r"[MNO][DTjz][A-Za-z0-9]{22,24}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"
"""A Discord bot's token: the number of its account in base64 comes first."""

_PAIRS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "aws_secret",
        ("AKIA", "ASIA"),
        r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])[^\n]{0,120}?(?<![A-Za-z0-9+/])([A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])",
    ),
    ("twilio_secret", ("AC",), r"AC[0-9a-f]{32}[^\n0-9a-f][^\n]{0,40}?(?<![0-9a-f])([0-9a-f]{32})(?![0-9a-f])"),
)
"""Kind, literals, the public half with the secret after it."""

_FORMS = tuple((kind, tuple(literals.split()), pattern) for kind, literals, pattern in _TOKENS)

_ANY_LITERAL = "|".join(re.escape(word) for word in sorted({word for _, words, _ in _FORMS for word in words}))
_LONG_TEXT = 20_000
"""Characters from which on one pass for all literals pays for its pattern, which takes milliseconds to compile."""
_MIN_TOKEN = 15
_PIECE = rf"[A-Za-z0-9_.~/+:=%&?-]{{{_MIN_TOKEN},}}"
_MAX_BEFORE = 40
"""Characters that a token may have before its literal."""
_INSIDE = (
    *("stripe_key", "digitalocean_token", "telegram_token", "mailchimp_key", "terraform_token", "azure_secret"),
    "discord_webhook",
)
"""Kinds whose literal does not stand at the beginning."""

# A token stands alone: neither inside a longer word nor, for the quadratic case, restarted inside a failed run. In
# text that was put into JSON, the letter of an escaped line end may stand right before it.
_NOT_INSIDE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\n)|(?<=\\t)|(?<=\\r)|(?<=%3D))"
_NOT_BEFORE = r"(?![A-Za-z0-9_])"


def tokens(text: str) -> Iterator[Secret]:
    """Tokens by their forms, wherever they stand."""
    pieces = _long_pieces(text)
    if compiled(_BOT).search(pieces):
        for match in compiled(_alone(_BOT)).finditer(text):
            if is_generated(match.group()) or _is_number(match.group().partition(".")[0]):
                yield Secret("discord_token", match.start(), match.end())
    if not pieces or (len(pieces) > _LONG_TEXT and not compiled(_ANY_LITERAL).search(pieces)):
        return
    yield from _beside_keys(text, pieces)
    for kind, words, pattern in _FORMS:
        for word in words:
            if word not in pieces:
                continue
            found = compiled(_alone(pattern))
            for start, end in occurrences(text, (word,)):
                match = _match_near(found, text, start, end, kind)
                if match is not None and _is_token(kind, match.group()):
                    yield Secret(kind, match.start(), match.end())


def _beside_keys(text: str, pieces: str) -> Iterator[Secret]:
    """The secret that stands after the public half of its pair, as accounts are printed."""
    for kind, words, pattern in _PAIRS:
        for word in words:
            if word in pieces:
                for match in compiled(pattern).finditer(text):
                    if is_generated(match.group(1)) or is_mixed_case(match.group(1)):
                        yield Secret(kind, match.start(1), match.end(1))


def _long_pieces(text: str) -> str:
    """Only what may be a token or hold one, which has no space in it: a cheap pass spares a hundred searches."""
    long = " ".join([piece for piece in text.split() if len(piece) >= _MIN_TOKEN])
    return " ".join(compiled(_PIECE).findall(long))


def _match_near(found: re.Pattern[str], text: str, start: int, end: int, kind: str) -> re.Match[str] | None:
    """The token at a literal: it begins there, right after it (a name is no part of it), or a few characters before."""
    if found.pattern.startswith("(?:(?<="):
        return found.match(text, end)
    if kind not in _INSIDE:
        return found.match(text, start)
    for begin in range(start, max(-1, start - _MAX_BEFORE), -1):
        match = found.match(text, begin)
        if match is not None:
            return match
    return None


def _alone(pattern: str) -> str:
    return f"{'' if pattern.startswith('(?<=') else _NOT_INSIDE}(?:{pattern}){_NOT_BEFORE}"


def _is_token(kind: str, token: str) -> bool:
    if is_filler(token):
        return False
    return kind not in _SHORT_PREFIXED or sum(map(str.isdigit, token)) >= _MIN_DIGITS


_SHORT_PREFIXED = ("crates_token", "nuget_key", "airtable_token", "square_token")
"""Kinds whose prefix may begin a plain word: there have to be digits among the letters."""
_MIN_DIGITS = 3


def _is_number(encoded: str) -> bool:
    """True for decimal digits in base64, as the first part of a bot's token is its account."""
    try:
        return base64.b64decode(f"{encoded}{'=' * (-len(encoded) % 4)}", validate=True).isdigit()
    except binascii.Error:
        return False
