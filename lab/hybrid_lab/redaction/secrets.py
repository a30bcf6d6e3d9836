"""The kinds of made-up secrets that `hybrid eval redaction` hides in texts: their forms, their names, where they stand.

Written from what the issuers document, not from the rules of `hybrid.redact`.
"""

from __future__ import annotations

from msgspec import Struct


class SecretKind(Struct, frozen=True):
    """A kind of secret.

    Attributes:
        name: As reported.
        names: What a variable that holds one is called, in CONSTANT_CASE.
        forms: Templates of `redaction_forms.Writer`.
        has_form: Whether the secret can be told without the name beside it.
        public: How the forms begin that are addresses: this much may stay.
    """

    name: str
    names: tuple[str, ...]
    forms: tuple[str, ...]
    has_form: bool = True
    public: str = ""


def _kind(name: str, names: str, *forms: str, has_form: bool = True, public: str = "") -> SecretKind:
    return SecretKind(name, tuple(names.split()), forms, has_form, public)


_OPENAI = "T3Blbk" + "FJ"
_PYPI = "pypi-AgEIcHlwaS5" + "vcmc"

FORMED = (
    _kind("anthropic", "ANTHROPIC_API_KEY CLAUDE_KEY", "sk-ant-api03-{b93}AA", "sk-ant-admin01-{b93}AA"),
    _kind("aws key id", "AWS_ACCESS_KEY_ID", "AKIA{u16}", "ASIA{u16}"),
    _kind("atlassian", "JIRA_API_TOKEN CONFLUENCE_TOKEN", "ATATT3xFfGF0{b171}={H8}", "ATBB{A32}"),
    _kind("azure client secret", "AZURE_CLIENT_SECRET", "{A3}8Q~{b34}", "{A3}7Q~{b31}"),
    _kind("databricks", "DATABRICKS_TOKEN", "dapi{h32}", "dapi{h32}-2"),
    _kind("digitalocean", "DIGITALOCEAN_TOKEN DO_PAT", "dop_v1_{h64}", "doo_v1_{h64}", "dor_v1_{h64}"),
    _kind("discord bot", "DISCORD_TOKEN BOT_TOKEN", "{z18}.{b6}.{b27}", "{z19}.G{b5}.{b38}"),
    _kind("docker hub", "DOCKERHUB_TOKEN", "dckr_pat_{b27}", "dckr_oat_{b32}"),
    _kind("doppler", "DOPPLER_TOKEN", "dp.pt.{A43}", "dp.st.prd.{A43}"),
    _kind("flyio", "FLY_API_TOKEN", "FlyV1 fm2_lJPE{B120}==", "fm2_lJPE{B160}="),
    _kind("github", "GITHUB_TOKEN GH_TOKEN", "ghp_{A36}", "gho_{A36}", "ghs_{A36}", "ghu_{A36}", "ghr_{A76}"),
    _kind("github fine-grained", "GITHUB_PAT GH_TOKEN", "github_pat_{A22}_{A59}"),
    _kind("gitlab", "GITLAB_TOKEN CI_JOB_TOKEN", "glpat-{b20}", "gldt-{b20}", "glrt-{b20}", "glpat-{b27}.01.{a9}"),
    _kind("google api", "GOOGLE_API_KEY MAPS_KEY", "AIzaSy{b33}"),
    _kind("google oauth", "GOOGLE_CLIENT_SECRET", "GOCSPX-{b28}", "ya29.a0Af{b160}", "1//0e{b60}-{b38}"),
    _kind("grafana", "GRAFANA_TOKEN", "glsa_{A32}_{h8}", "glc_eyJ{A100}="),
    _kind("groq", "GROQ_API_KEY", "gsk_{A52}"),
    _kind("hashicorp", "VAULT_TOKEN TFE_TOKEN", "hvs.CAES{b90}", "{A14}.atlasv1.{b67}", "s.{A24}"),
    _kind("heroku", "HEROKU_TOKEN", "HRKU-AA{b58}"),
    _kind("huggingface", "HF_TOKEN HUGGING_FACE_HUB_TOKEN", "hf_{A34}"),
    _kind("jwt", "SESSION_JWT ID_TOKEN", "eyJhbGciOiJIUzI1NiJ9.eyJ{A90}.{b43}", "eyJhbGci{A40}.eyJ{A300}.{b342}"),
    _kind("linear", "LINEAR_API_KEY", "lin_api_{A40}", "lin_oauth_{h64}"),
    _kind("mailchimp", "MAILCHIMP_API_KEY", "{h32}-us12", "{h32}-us7"),
    _kind("mailgun", "MAILGUN_API_KEY", "key-{h32}", "{h32}-{h8}-{h8}"),
    _kind("netlify", "NETLIFY_AUTH_TOKEN", "nfp_{A36}"),
    _kind("new relic", "NEW_RELIC_API_KEY", "NRAK-{U27}"),
    _kind("notion", "NOTION_TOKEN", "secret_{A43}", "ntn_{d11}{A35}"),
    _kind("npm", "NPM_TOKEN NODE_AUTH_TOKEN", "npm_{A36}"),
    _kind("nuget", "NUGET_API_KEY", "oy2{a43}"),
    _kind("openai", "OPENAI_API_KEY", f"sk-{{A20}}{_OPENAI}{{A20}}", f"sk-proj-{{b74}}{_OPENAI}{{b74}}"),
    _kind("openrouter", "OPENROUTER_API_KEY", "sk-or-v1-{h64}"),
    _kind("perplexity", "PPLX_API_KEY", "pplx-{A48}"),
    _kind("postman", "POSTMAN_API_KEY", "PMAK-{h24}-{h34}"),
    _kind("pulumi", "PULUMI_ACCESS_TOKEN", "pul-{h40}"),
    _kind("pypi", "PYPI_TOKEN TWINE_PASSWORD", f"{_PYPI}{{b140}}", f"{_PYPI}CJ{{b160}}"),
    _kind("replicate", "REPLICATE_API_TOKEN", "r8_{A37}"),
    _kind("rubygems", "GEM_HOST_API_KEY", "rubygems_{h48}"),
    _kind("crates", "CARGO_REGISTRY_TOKEN", "cio{A32}"),
    _kind("sendgrid", "SENDGRID_API_KEY", "SG.{b22}.{b43}"),
    _kind("sentry", "SENTRY_AUTH_TOKEN", "sntryu_{h64}", "sntrys_eyJ{A120}=_{B43}"),
    _kind("shopify", "SHOPIFY_TOKEN", "shpat_{h32}", "shpss_{h32}"),
    _kind("slack", "SLACK_BOT_TOKEN SLACK_TOKEN", "xoxb-{i12}-{i13}-{A24}", "xoxp-{i12}-{i12}-{i13}-{h32}"),
    _kind("slack app", "SLACK_APP_TOKEN", "xapp-1-A{U10}-{i13}-{h64}"),
    _kind("sonar", "SONAR_TOKEN", "sqp_{h40}", "squ_{h40}"),
    _kind("square", "SQUARE_TOKEN", "EAAAl{b59}", "sq0atp-{b22}", "sq0csp-{b43}"),
    _kind("stripe", "STRIPE_SECRET_KEY STRIPE_KEY", "sk_live_{A24}", "rk_live_{A99}", "sk_test_{A99}", "whsec_{A32}"),
    _kind("supabase", "SUPABASE_ACCESS_TOKEN", "sbp_{h40}", "sb_secret_{b31}"),
    _kind("tailscale", "TS_AUTHKEY", "tskey-auth-k{A11}CNTRL-{A32}"),
    _kind("telegram", "TELEGRAM_BOT_TOKEN", "{i10}:AA{b33}", "{i9}:AA{b33}"),
    _kind("twilio key", "TWILIO_API_KEY", "SK{h32}"),
    _kind("xai", "XAI_API_KEY", "xai-{A80}"),
    _kind("age", "SOPS_AGE_KEY", "AGE-SECRET-KEY-1{n58}"),
    _kind("slack webhook", "SLACK_WEBHOOK_URL", "T{U8}/B{U10}/{A24}", public="https://hooks.slack.com/services/"),
    _kind("discord webhook", "WEBHOOK_URL", "{i18}/{b68}", public="https://discord.com/api/webhooks/"),
)
"""Secrets of a form of their own: they are to be found wherever they stand."""

NAMED = (
    _kind("aws secret key", "AWS_SECRET_ACCESS_KEY AWS_SECRET_KEY", "{B40}", has_form=False),
    _kind("cloudflare", "CLOUDFLARE_API_TOKEN CF_API_KEY", "{b40}", "{h37}", has_form=False),
    _kind("datadog", "DD_API_KEY DATADOG_APP_KEY", "{h32}", "{h40}", has_form=False),
    _kind("twilio", "TWILIO_AUTH_TOKEN", "{h32}", has_form=False),
    _kind("heroku uuid", "HEROKU_API_KEY", "{g1}", has_form=False),
    _kind("vercel", "VERCEL_TOKEN", "{A24}", has_form=False),
    _kind("azure key", "AZURE_STORAGE_KEY AZURE_OPENAI_API_KEY", "{B86}==", "{h32}", has_form=False),
    _kind("mistral", "MISTRAL_API_KEY COHERE_API_KEY", "{A32}", "{A40}", has_form=False),
    _kind(
        "own secret",
        "SECRET_KEY JWT_SECRET SIGNING_KEY ENCRYPTION_KEY SECRET_KEY_BASE APP_SECRET CLIENT_SECRET",
        "{A50}",
        "{h64}",
        "{B43}=",
        "{b32}",
        "{h128}",
        has_form=False,
    ),
    _kind(
        "own token",
        "API_TOKEN AUTH_TOKEN ACCESS_TOKEN REFRESH_TOKEN INTERNAL_API_KEY SERVICE_TOKEN WEBHOOK_SECRET DEPLOY_TOKEN",
        "{A32}",
        "{A64}",
        "{b43}",
        "{h40}",
        "{a24}",
        has_form=False,
    ),
    _kind(
        "random password",
        "DB_PASSWORD POSTGRES_PASSWORD REDIS_PASSWORD SMTP_PASS ADMIN_PASSWORD MYSQL_ROOT_PASSWORD",
        "{A16}",
        "{A12}",
        "{A6}!{A6}",
        "{A8}#{A3}.{A4}",
        "{b24}",
        has_form=False,
    ),
    _kind(
        "typed password",
        "DB_PASSWORD PASSWORD ADMIN_PASSWORD PGPASSWORD",
        "{w1}{d2}!{w1}",
        "{w1}{d4}",
        "{k3}-{d2}",
        "{w1}@{d3}",
        "{k4}",
        has_form=False,
    ),
)
"""Secrets that only the name beside them tells."""
