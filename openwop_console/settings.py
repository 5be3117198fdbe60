"""Every setting, read once from the environment; docs/operations.md lists the variables.

An invalid value stops the start with one sentence that names the variable.
"""

import importlib.util
import ipaddress
import json
import os
import re
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key
from environs import Env, validate

from memory.host.json_types import JSONObject
from openwop_console import databases
from openwop_console.process import data_folder

env = Env()
HOST_NAME = re.compile(r"\w([\w-]*\w)?(\.\w([\w-]*\w)?)*")  # in any alphabet


def _one_of(name: str, *choices: str) -> str:
    """Return the value of ``name``; the first choice when it is unset."""
    return env.str(name, default=choices[0], validate=validate.OneOf(choices))


def _host_or_network(text: str) -> str:
    """Parse an entry of ``OPENWOP_OUTBOUND_ALLOW``: a host name, an address, or a network such as 10.1.0.0/16."""
    found = text.strip().lower().rstrip(".")
    try:
        return str(ipaddress.ip_network(found, strict=False))
    except ValueError:
        if not HOST_NAME.fullmatch(found) or found.replace(".", "").isdigit():
            message = f"OPENWOP_OUTBOUND_ALLOW: {text!r} is neither a host, an address nor a network"
            raise ImproperlyConfigured(message) from None
        return found


def _telemetry() -> bool:
    """Return whether the standard OpenTelemetry variables name a collector and do not disable it."""
    named = any(env.str(f"OTEL_EXPORTER_OTLP_{part}ENDPOINT", default="") for part in ("", "TRACES_", "METRICS_"))
    if not named or env.str("OTEL_SDK_DISABLED", default="").lower() == "true":
        return False
    try:
        found = importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http")
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise ImproperlyConfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT names a collector, and the libraries of OpenTelemetry are not installed:"
            " pip install --require-hashes -r requirements-otel.lock"
        )
    return True


ROLES = ("viewer", "author", "agent", "reviewer", "operator", "auditor", "owner")


def _roles_of_groups() -> dict[str, dict[str, str]]:
    """Parse ``OPENWOP_OIDC_ROLES``: JSON that maps the slug of a tenant to the role of each group."""
    text = env.str("OPENWOP_OIDC_ROLES", default="{}")
    try:
        found = json.loads(text)
        if all(role in ROLES for table in found.values() for role in table.values()):
            return {slug: dict(table) for slug, table in found.items()}
    except (ValueError, AttributeError, TypeError):
        pass
    raise ImproperlyConfigured(
        'OPENWOP_OIDC_ROLES must be JSON such as {"acme": {"console-owners": "owner"}}, with the roles '
        + ", ".join(ROLES)
    )


BASE_DIR = Path(__file__).resolve().parent.parent

# --- the host -------------------------------------------------------------------------------------------------------

OPENWOP_ENV = _one_of("OPENWOP_ENV", "development", "production", "test")
OPENWOP_DATA_DIR = data_folder.checked_folder(BASE_DIR / env.path("OPENWOP_DATA_DIR", default=Path("var")).expanduser())
# The erasure journal, for restores; outside of the data folder, so that restoring a copy of the folder does not replace
# it. Hosts that share a database share this file.
OPENWOP_ERASURE_JOURNAL = (
    BASE_DIR
    / env.path(
        "OPENWOP_ERASURE_JOURNAL",
        default=OPENWOP_DATA_DIR / "erasures" if OPENWOP_ENV == "test" else Path(f"{OPENWOP_DATA_DIR}.erasures"),
    ).expanduser()
)
if os.path.exists(OPENWOP_ERASURE_JOURNAL) and not os.path.isfile(OPENWOP_ERASURE_JOURNAL):  # noqa: PTH110, PTH113  # neither raises
    raise ImproperlyConfigured(f"OPENWOP_ERASURE_JOURNAL must be a file, and {OPENWOP_ERASURE_JOURNAL} is not one")
# Episodic entries that one agent keeps, unless a narrower limit is set for it (RFC-0015 2.2).
OPENWOP_EPISODIC_CAPACITY = env.int(
    "OPENWOP_EPISODIC_CAPACITY", default=1000, validate=validate.Range(min=1, max=1_000_000)
)
# Minutes without a write after which a run that an agent executes elsewhere counts as ended.
OPENWOP_EXTERNAL_RUN_SILENCE = env.int(
    "OPENWOP_EXTERNAL_RUN_SILENCE", default=60, validate=validate.Range(min=1, max=43_200)
)
# Event streams and long polls that one web process keeps open at a time; any more are refused with a retry time.
OPENWOP_MAX_STREAMS = env.int("OPENWOP_MAX_STREAMS", default=140, validate=validate.Range(min=1, max=400))
OPENWOP_MEMORY_BACKEND = _one_of("OPENWOP_MEMORY_BACKEND", "long-term", "ephemeral")
OPENWOP_MEMORY_WRITABLE = env.bool("OPENWOP_MEMORY_WRITABLE", default=True)
# The name of this host, whose next start ends the memory written under it; empty when memory is durable.
OPENWOP_MEMORY_INSTANCE = data_folder.instance_of(OPENWOP_DATA_DIR) if OPENWOP_MEMORY_BACKEND == "ephemeral" else ""
# Hosts and networks, in addition to the public internet, that this host may connect to.
OPENWOP_OUTBOUND_ALLOW = list(map(_host_or_network, env.list("OPENWOP_OUTBOUND_ALLOW", default=[])))
OPENWOP_PROPOSALS_ACTIVATION = _one_of("OPENWOP_PROPOSALS_ACTIVATION", "approval-gate", "direct-rbac")
OPENWOP_PUBLIC_URL = env.str("OPENWOP_PUBLIC_URL", default="").rstrip("/")
# Whether the daily synthesis of proposals from traces may have the tenant's model endpoint write their text.
OPENWOP_SYNTHESIS_ENDPOINT = env.bool("OPENWOP_SYNTHESIS_ENDPOINT", default=False)
# Whether a task assigned to an agent by another agent's key counts for oversight and guardrails only once taken up.
OPENWOP_TASK_CONSENT = env.bool("OPENWOP_TASK_CONSENT", default=False)
OPENWOP_TELEMETRY = _telemetry()  # by the variables of OpenTelemetry itself
OPENWOP_TEST_SEAM_ENABLED = env.bool("OPENWOP_TEST_SEAM_ENABLED", default=False)
# The largest body in bytes, and the seconds that any body may take, whatever its size.
OPENWOP_BODY_BYTES = env.int("OPENWOP_BODY_BYTES", default=16 * 1024 * 1024, validate=validate.Range(min=1024 * 1024))
# The largest file of memory that a person may upload for an import; only the address of that form takes as much.
OPENWOP_IMPORT_BYTES = env.int(
    "OPENWOP_IMPORT_BYTES", default=64 * 1024 * 1024, validate=validate.Range(min=1024 * 1024)
)
OPENWOP_BODY_SECONDS = env.int("OPENWOP_BODY_SECONDS", default=20, validate=validate.Range(min=1, max=600))
# The OpenID Connect provider for sign-in, in addition to passwords, and the roles of its groups by tenant.
OPENWOP_OIDC_ISSUER = env.str("OPENWOP_OIDC_ISSUER", default="").rstrip("/")
OPENWOP_OIDC_CLIENT_ID = env.str("OPENWOP_OIDC_CLIENT_ID", default="")
OPENWOP_OIDC_CLIENT_SECRET = env.str("OPENWOP_OIDC_CLIENT_SECRET", default="")
OPENWOP_OIDC_NAME = env.str("OPENWOP_OIDC_NAME", default="single sign-on")
OPENWOP_OIDC_SCOPES = env.str("OPENWOP_OIDC_SCOPES", default="openid email profile").split()
OPENWOP_OIDC_GROUPS_CLAIM = env.str("OPENWOP_OIDC_GROUPS_CLAIM", default="groups")
OPENWOP_OIDC_ROLES = _roles_of_groups()
OPENWOP_OIDC_LINK = env.bool("OPENWOP_OIDC_LINK", default=False)
OPENWOP_WORKERS = env.int("OPENWOP_WORKERS", default=2, validate=validate.Range(min=1))

IN_PRODUCTION = OPENWOP_ENV == "production"
IN_TESTS = OPENWOP_ENV == "test"
# Proxies in front that set X-Forwarded-For and X-Forwarded-Proto. The console itself speaks no TLS.
OPENWOP_TRUSTED_PROXIES = env.int(
    "OPENWOP_TRUSTED_PROXIES", default=1 if IN_PRODUCTION else 0, validate=validate.Range(min=0)
)
if IN_PRODUCTION and not OPENWOP_TRUSTED_PROXIES:
    raise ImproperlyConfigured(
        "OPENWOP_TRUSTED_PROXIES must be at least 1 when OPENWOP_ENV is production:"
        " without a TLS proxy that is trusted, every page would redirect to itself"
    )
if OPENWOP_OIDC_ISSUER and not (OPENWOP_OIDC_CLIENT_ID and OPENWOP_OIDC_CLIENT_SECRET and OPENWOP_OIDC_ROLES):
    raise ImproperlyConfigured(
        "OPENWOP_OIDC_ISSUER needs OPENWOP_OIDC_CLIENT_ID, OPENWOP_OIDC_CLIENT_SECRET and OPENWOP_OIDC_ROLES beside it"
    )
if IN_PRODUCTION and OPENWOP_OIDC_ISSUER and not OPENWOP_OIDC_ISSUER.startswith("https://"):
    raise ImproperlyConfigured("OPENWOP_OIDC_ISSUER must begin with https:// when OPENWOP_ENV is production")
if IN_PRODUCTION and OPENWOP_PUBLIC_URL and not OPENWOP_PUBLIC_URL.startswith("https://"):
    raise ImproperlyConfigured("OPENWOP_PUBLIC_URL must begin with https:// when OPENWOP_ENV is production")
DEBUG = False

# --- the secret -----------------------------------------------------------------------------------------------------


SECRET_KEY_CHARACTERS = 32


def _secret_key() -> str:
    """Return ``OPENWOP_SECRET_KEY``; outside production, a key that the data folder keeps from its first use on."""
    given = env.str("OPENWOP_SECRET_KEY", default="")
    if IN_PRODUCTION and given and len(given) < SECRET_KEY_CHARACTERS:
        raise ImproperlyConfigured(
            f"OPENWOP_SECRET_KEY must have at least {SECRET_KEY_CHARACTERS} characters when OPENWOP_ENV is production"
        )
    if given or IN_TESTS:
        return given or "only-for-tests"
    if IN_PRODUCTION:
        raise ImproperlyConfigured("OPENWOP_SECRET_KEY must be set when OPENWOP_ENV is production")
    return data_folder.kept_later(OPENWOP_DATA_DIR / "secret_key", get_random_secret_key)


SECRET_KEY = _secret_key()
OPENWOP_SECRET_KEY_FALLBACKS: list[str] = [*filter(None, env.list("OPENWOP_SECRET_KEY_FALLBACKS", default=[]))]
SECRET_KEY_FALLBACKS = OPENWOP_SECRET_KEY_FALLBACKS

# --- apps and requests ----------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "openwop_console",
    "openwop_console.runtime",
    "proposals",
    "memory",
    "memory.host",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_q",
    "rest_framework",
    "django_htmx",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.idp.oidc",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
]
MIDDLEWARE = [
    "openwop_console.middleware.end_redirect_loop",
    "django.middleware.security.SecurityMiddleware",
    "openwop_console.middleware.static_files",
    "openwop_console.middleware.compression",
    "openwop_console.middleware.content_policy",
    "openwop_console.middleware.sessions",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "openwop_console.middleware.authentication",
    "openwop_console.middleware.page_messages",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "openwop_console.middleware.htmx",
    "allauth.account.middleware.AccountMiddleware",
    *(["openwop_console.telemetry.Requests"] if OPENWOP_TELEMETRY else []),
    "openwop_console.middleware.ConsoleMiddleware",
]
ROOT_URLCONF = "openwop_console.urls"
CSRF_FAILURE_VIEW = "openwop_console.errors.csrf_failure"
APPEND_SLASH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "openwop_console.views.in_navigation",
            ],
        },
    }
]
REST_FRAMEWORK = {
    # ConsoleMiddleware has authenticated the request before any view sees it.
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "memory.host.http.JsonAlone",
    "DEFAULT_PARSER_CLASSES": ["memory.host.http.StrictJSONParser"],
    "EXCEPTION_HANDLER": "openwop_console.errors.drf_exception_handler",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_METADATA_CLASS": None,  # OPTIONS describes nothing
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
    "URL_FORMAT_OVERRIDE": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}

SPECTACULAR_SETTINGS = {
    "OAS_VERSION": "3.1.1",
    "TITLE": "OpenWOP operator console",
    "DESCRIPTION": "Runs, agent memory and reviewable learning of one tenant: that of the key.",
    "SERVERS": [{"url": "/"}],
    "CAMELIZE_NAMES": True,
    "SCHEMA_PATH_PREFIX": "/v1",
    "COMPONENT_SPLIT_PATCH": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENABLE_DJANGO_DEPLOY_CHECK": False,
    "PATH_CONVERTER_OVERRIDES": {"schedule_name": str},
    "PREPROCESSING_HOOKS": ["openwop_console.openapi.served"],
    "POSTPROCESSING_HOOKS": ["openwop_console.openapi.completed"],
}

# --- database, cache, queue -----------------------------------------------------------------------------------------

OPENWOP_PROCESS = env.str("OPENWOP_PROCESS", default="")  # web or worker, set by the console for its children


def _database() -> JSONObject:
    """Return ``DATABASE_URL``'s settings, or a SQLite file in the data folder when it is unset."""
    named = bool(env.str("DATABASE_URL", default=""))
    given = {**env.dj_db_url("DATABASE_URL")} if named else databases.sqlite_file(OPENWOP_DATA_DIR)
    threads = OPENWOP_WEB_THREADS if OPENWOP_PROCESS == "web" else 0
    return databases.with_options(given, base=BASE_DIR, folder=OPENWOP_DATA_DIR, web_threads=threads)


# Web processes, by cores, and the requests that each computes at a time. SQLite has one writer at a time.
_on_sqlite = not env.str("DATABASE_URL", default="").startswith("postgres")
_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
OPENWOP_WEB_PROCESSES = env.int(
    "OPENWOP_WEB_PROCESSES",
    default=max(2, min(_cores, 4 if _on_sqlite else 16)),
    validate=validate.Range(min=1, max=64),
)
OPENWOP_WEB_THREADS = env.int(
    "OPENWOP_WEB_THREADS", default=2 if _on_sqlite else 4, validate=validate.Range(min=1, max=64)
)
DATABASES = {"default": _database()}
CACHES = {
    # In the database because the limits on failed sign-ins must hold across processes.
    "default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "console_cache"},
    # What a process keeps for minutes of what others have answered: vectors of queries, a provider's metadata.
    "process": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 512}},
    # django-q2 writes its statistics twice a second; they become the workers' heartbeat.
    "queue": {"BACKEND": "openwop_console.health.WorkerStatistics"},
}
# Seconds that a task may take, and a task that carries out a pass.
TASK_TIMEOUT = 60
PASS_TIMEOUT = 1800
# A queue row only wakes a worker. The work itself is in our own tables under a lease, and is queued again when its
# worker fails or dies (process/scheduler.py), long before django-q2 would redeliver the row.
Q_CLUSTER = {
    "name": "console",
    "orm": "default",
    "cache": "queue",
    "workers": OPENWOP_WORKERS,
    "queue_limit": OPENWOP_WORKERS,  # a task fetched early is locked early, and would run twice
    "bulk": 1,
    "timeout": TASK_TIMEOUT,
    # Counted from the fetch, after which a task may wait for two others: with less, a slow task would run twice.
    "retry": 3 * (PASS_TIMEOUT + TASK_TIMEOUT),
    "ack_failures": True,
    "scheduler": False,
    "save_limit": -1,  # keeping successes halves the speed
    "broker_class": "openwop_console.process.queue.Queue",
    "poll": 0,  # the queue class waits itself, until it is woken
}

# --- authentication -------------------------------------------------------------------------------------------------

AUTH_USER_MODEL = "host.Operator"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = [
    "openwop_console.passwords.PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
    "openwop_console.passwords.RandomSecretHasher",
]
if IN_TESTS:
    PASSWORD_HASHERS[:2] = ["django.contrib.auth.hashers.MD5PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "/login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login"
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
ACCOUNT_ADAPTER = "openwop_console.sign_in.SignInAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_LOGOUT_REDIRECT_URL = LOGOUT_REDIRECT_URL
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_RATE_LIMITS = False  # memory.host.throttle alone throttles sign-ins
SOCIALACCOUNT_ADAPTER = "openwop_console.sign_in.single_sign_on.Adapter"
SOCIALACCOUNT_STORE_TOKENS = False
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_ADAPTER = "memory.host.second_factors.SealingAdapter"
# Clients of /mcp that people grant access to: they register themselves, and their tokens expire within a day.
IDP_OIDC_ADAPTER = "openwop_console.oauth.tokens.Adapter"
IDP_OIDC_DCR_ENABLED = True
IDP_OIDC_DCR_REQUIRES_INITIAL_ACCESS_TOKEN = False
IDP_OIDC_ACCESS_TOKEN_EXPIRES_IN = 60 * 60
IDP_OIDC_REFRESH_TOKEN_EXPIRES_IN = 24 * 60 * 60
IDP_OIDC_RATE_LIMITS = {"client_registration": "10/m/ip"}
ALLAUTH_TRUSTED_PROXY_COUNT = OPENWOP_TRUSTED_PROXIES

SESSION_ENGINE = "memory.host.sessions"
SESSION_COOKIE_NAME = "openwop_session"
SESSION_COOKIE_AGE = 12 * 60 * 60  # a working day
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = IN_PRODUCTION
CSRF_COOKIE_NAME = "openwop_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = IN_PRODUCTION

# --- browser security -----------------------------------------------------------------------------------------------


# A name, all below a name (".example.com"), an address, or any host ("*").
ALLOWED_HOST = re.compile(r"\*|\.?[\w\-]+(?:\.[\w\-]+)*|\[[0-9a-fA-F:.]+\]")


def _allowed_hosts() -> list[str]:
    """Return ``OPENWOP_ALLOWED_HOSTS``, or this machine's names when unset; always with the host of the public
    address."""
    named = [*filter(None, env.list("OPENWOP_ALLOWED_HOSTS", default=[]))] or ["localhost", "127.0.0.1", "[::1]"]
    if wrong := [each for each in named if not ALLOWED_HOST.fullmatch(each)]:
        raise ImproperlyConfigured(f"OPENWOP_ALLOWED_HOSTS must hold names of hosts, not {wrong[0]!r}")
    public = env.url("OPENWOP_PUBLIC_URL").hostname if OPENWOP_PUBLIC_URL else None
    return [*named, public] if public else named


ALLOWED_HOSTS = _allowed_hosts()
CSRF_TRUSTED_ORIGINS = [OPENWOP_PUBLIC_URL] if OPENWOP_PUBLIC_URL else []
X_FRAME_OPTIONS = "DENY"
SECURE_SSL_REDIRECT = IN_PRODUCTION
# A client that sent its key in clear text must get an error rather than a redirect that hides it, so faces have none.
SECURE_REDIRECT_EXEMPT = [
    r"^api/",
    r"^v1/",
    r"^mcp$",
    r"^oauth/(token|register|revoke)$",
    r"^\.well-known/",
    r"^healthz$",
    r"^readyz$",
]
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if IN_PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = IN_PRODUCTION
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if OPENWOP_TRUSTED_PROXIES else None
# W021 asks for the browsers' preload list, which only the owner of the domain can decide to join.
SILENCED_SYSTEM_CHECKS = ["security.W021"]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "base-uri": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "object-src": ["'none'"],
    }
}

# --- static files ---------------------------------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = OPENWOP_DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Pages use no file of a library. To hash and compress those at each start took ten times as long.
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
STATIC_STORAGE = "whitenoise.storage.CompressedManifestStaticFilesStorage"
if IN_TESTS:
    STATIC_STORAGE = "django.contrib.staticfiles.storage.StaticFilesStorage"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": STATIC_STORAGE},
}
WHITENOISE_AUTOREFRESH = IN_TESTS

# --- log lines: events, never content -------------------------------------------------------------------------------

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "django": {"level": "WARNING"},
        "django.request": {"level": "ERROR"},  # refusals are the caller's errors, not the host's
        "django.security": {"level": "CRITICAL"},  # likewise, with a traceback each; errors.bad_request logs a line
        "django.security.csrf": {"level": "WARNING"},
        "django.security.SuspiciousSession": {"level": "WARNING"},
        "django-q": {"level": "WARNING"},
        "memory": {"level": "INFO"},
        "openwop_console": {"level": "INFO"},
        "proposals": {"level": "INFO"},
    },
}
