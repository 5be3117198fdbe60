"""Shared helpers of the console's pages: page or fragment, query parameters, cursors, and forms.

A page is rendered whole unless htmx asked for its fragment, so every address works without scripts.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Generic, Self, TypeAlias, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from django import forms, shortcuts
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme

from memory.host import exports, ids
from memory.host.audit_chain import Finding
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound, Refusal
from memory.host.json_types import JSONObject
from memory.host.paging import cursor

PAGE = 50
LONGEST = 256
LONGEST_PATH = 2048
STOP_POLLING = 286
LISTED = 8  # choices of a facet; with more it is a menu
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
MINUTE = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d")
PLACES = ("after", "before", "seen", "format")

T = TypeVar("T")


def wants_fragment(request: HttpRequest) -> bool:
    """Whether htmx asked for a part of the page; a boosted link or a restored history needs the whole."""
    htmx = getattr(request, "htmx", None)
    return htmx is not None and bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def render(
    request: HttpRequest, template: str, context: Mapping[str, object], *, fragment: str = "", status: int = 200
) -> HttpResponse:
    """Render ``template``, or the ``fragment`` that htmx asked for; ``Vary`` keeps caches from mixing the two up.

    Refused for a ``format`` that the view has not handled: the page has no such format.
    """
    if request.method in {"GET", "HEAD"} and status < HTTPStatus.BAD_REQUEST and text_of(request, "format"):
        raise Invalid(errors=[{"field": "format", "message": "is not a format of this page"}])
    partial = fragment and wants_fragment(request)
    around = {} if partial else shell(request)
    response = shortcuts.render(request, fragment if partial else template, {**around, **context}, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def public_url(request: HttpRequest) -> str:
    """Return the address of this host as the client sees it."""
    return settings.OPENWOP_PUBLIC_URL or f"{request.scheme}://{request.get_host()}"


@dataclass(frozen=True, slots=True)
class Question:
    """Asked once before something of the settings that cannot be undone.

    ``facts`` are what it is about; a time among them is shown as one, ``None`` as "never". ``sent`` are fields that the
    form sends along, to the address that shows it; ``see`` are links to read first, by their words.
    """

    heading: str
    consequence: str
    facts: Mapping[str, str | datetime | None]
    button: str
    icon: str
    back: str
    back_words: str
    sent: Mapping[str, str]
    see: Mapping[str, str]


def ask(request: HttpRequest, question: Question, *, now: datetime) -> HttpResponse:
    """Render the question, with the button that does it and the way back."""
    facts = [(name, value, value is None or isinstance(value, datetime)) for name, value in question.facts.items()]
    context = {"nav": "settings", "question": question, "facts": facts, "now": now}
    return render(request, "confirm.html", context)


def unsupported(request: HttpRequest, nav: str, heading: str, capability: str, text: str) -> HttpResponse:
    """Render an explanation for a section whose capability this host does not advertise."""
    context = {"nav": nav, "heading": heading, "capability": capability, "text": text}
    return render(request, "unsupported.html", context)


def poll_status(request: HttpRequest, *, over: bool) -> int:
    """Return the status of a polled fragment: 286 makes htmx stop polling."""
    return STOP_POLLING if over and wants_fragment(request) else 200


# --- what an address says -------------------------------------------------------------------------------------------


LIST = ("after", "seen", "format")
View = TypeVar("View", bound=Callable[..., Any])
# The values of a form that passed its checks.
Cleaned: TypeAlias = dict[str, Any]


def parameters(*names: str, several: Collection[str] = ()) -> Callable[[View], View]:
    """Declare the query parameters of the view; those in ``several`` may have more than one value.

    Any other one is refused by name, before the view is called, and so is a repeated one; a page of a protocol whose
    rule is to ignore them declares ``"*"``.
    """

    def declare(view: View) -> View:
        view.parameters = frozenset((*names, *several))  # type: ignore[attr-defined]
        view.several = frozenset(several)  # type: ignore[attr-defined]
        return view

    return declare


def undeclared(request: HttpRequest, view: Callable[..., object]) -> list[str]:
    """Return the query parameters that ``view`` does not declare, sorted; an undeclared view declares none."""
    known: frozenset[str] = getattr(view, "parameters", frozenset())
    return [] if "*" in known else sorted(set(request.GET) - known)


def repeated(request: HttpRequest, view: Callable[..., object]) -> list[str]:
    """Return the single-valued query parameters that the request repeats, sorted."""
    if "*" in getattr(view, "parameters", ()):
        return []
    several: frozenset[str] = getattr(view, "several", frozenset())
    return sorted(name for name, values in request.GET.lists() if len(values) > 1 and name not in several)


def text_of(request: HttpRequest, name: str) -> str:
    """Return a text parameter, trimmed to what a database can store; "" when it is absent."""
    return request.GET.get(name, "").replace("\x00", "").strip()[:LONGEST]


def number_of(request: HttpRequest, name: str) -> int | None:
    """Return a count parameter, or None when it is absent or no number."""
    return as_number(request.GET.get(name, ""))


def as_number(digits: str) -> int | None:
    """Parse a count from a form or a query; None when it is none."""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 15 else None


def word_of(request: HttpRequest, name: str, choices: Collection[str]) -> str:
    """Return a parameter that is one of ``choices``, or "" when it is absent; any other word is refused."""
    return one_of(choices, name, text_of(request, name))


def one_of(choices: Collection[str], name: str, word: str) -> str:
    """Return ``word`` when it is one of ``choices`` or empty; refuse any other, naming the parameter ``name``."""
    if word and word not in choices:
        raise Invalid(errors=[{"field": name, "message": f"must be one of {', '.join(choices)}"}])
    return word


def moment_of(request: HttpRequest, name: str, *, end: bool = False) -> datetime | None:
    """Parse a day (UTC) or an RFC 3339 time, to the minute at least, which is UTC without an offset; None when the
    parameter is absent, anything else is refused.

    A day begins at midnight; as the ``end`` of a period it is included in it.
    """
    text = text_of(request, name)
    try:
        if not text:
            return None
        if DAY.fullmatch(text):
            return datetime.fromisoformat(text).replace(tzinfo=UTC) + timedelta(days=int(end))
        at = datetime.fromisoformat(text.upper().replace(" ", "+"))  # an unencoded plus sign arrives as a space
        if MINUTE.match(text) and 1970 <= at.year < 9000:
            return at if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        pass
    raise Invalid(
        errors=[{"field": name, "message": "must be a day (2026-01-31) or a time (2026-01-31T17:45, or RFC 3339)"}]
    )


@dataclass(frozen=True, slots=True)
class Cursor:
    """The position of a list page: after the row ``after``, with ``seen`` rows before it.

    An unreadable cursor is the beginning.
    """

    request: HttpRequest
    prefix: str
    after: UUID | None
    seen: int

    @classmethod
    def from_request(cls, request: HttpRequest, prefix: str) -> "Cursor":
        after = ids.parse(prefix, request.GET.get("after", ""))
        return cls(request, prefix, after, (number_of(request, "seen") or 0) if after else 0)

    def links(self, shown: int, last: Any) -> JSONObject:
        """Return the row numbers of a page of ``shown`` rows and the addresses of its neighbours.

        ``last`` is the page's last row id, or None when no more rows follow.
        """
        after, end = cursor(self.prefix, last), self.seen + shown
        return {
            "first": self.seen + 1,
            "last": end,
            "older": address(self.request, after=after, seen=end) if after else "",
            "newest": address(self.request) if self.after else "",
        }


def is_there(find: Callable[[], object]) -> bool:
    """Whether ``find`` returns something that the principal may see; missing and denied are treated alike."""
    try:
        return bool(find())
    except (NotFound, Forbidden):
        return False


def file_format(request: HttpRequest) -> str:
    """Return which of ``exports.FORMATS`` the address asks for, or "" for the page; the answer to a form is a page."""
    wanted = request.GET.get("format", "")
    return wanted if wanted in exports.FORMATS and request.method != "POST" else ""


def files(request: HttpRequest, *formats: str) -> dict[str, str]:
    """Return the addresses of this page or of its whole list as files, for its template: in these ``formats``, or in
    each of ``exports.FORMATS``."""
    return {f"as_{each}": address(request, format=each) for each in formats or exports.FORMATS}


def address(request: HttpRequest, **changes: object) -> str:
    """Return the address of this page without its cursor, with ``changes`` to its query; empty values are left out."""
    kept = {name: value for name, value in request.GET.items() if name not in PLACES}
    query = {name: value for name, value in {**kept, **changes}.items() if value not in ("", None)}
    return f"{request.path}?{urlencode(query)}" if query else request.path


def canonical_address(request: HttpRequest) -> str:
    """Return the address of this page, including its cursor, without empty values; it is the canonical address."""
    place = {name: request.GET.get(name) for name in ("after", "before", "seen")}
    return address(request, **place)


def back(request: HttpRequest, otherwise: str) -> str:
    """Return the path of this site in the form's ``next``, or ``otherwise``."""
    place = request.POST.get("next") or request.GET.get("next", "")
    ours = place.startswith("/") and len(place) <= LONGEST_PATH and url_has_allowed_host_and_scheme(place, None)
    return place if ours else otherwise


# --- the filters and the tabs of a list -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a facet; ``plain`` explains its label, ``is_bound`` says that there may be more than ``count``."""

    value: str
    label: str
    selected: bool
    count: int | None = None
    is_bound: bool = False
    title: str = ""
    plain: str = ""


@dataclass(frozen=True, slots=True)
class Facet:
    """One group of choices beside a list; ``more`` counts the values that are not listed. ``is_typed`` where a value
    means the same as its label, so that it can be typed."""

    name: str
    legend: str
    options: list[Option]
    kind: str = "checkbox"
    folded: bool = False
    more: int = 0
    is_typed: bool = False

    @property
    def is_long(self) -> bool:
        """Whether the choices are better a menu than a list."""
        return len(self.options) > LISTED + 1

    @property
    def is_open_ended(self) -> bool:
        """Whether the values are typed, with the first as suggestions: a menu of so many would grow with the data."""
        return self.is_typed and self.is_long

    @property
    def chosen(self) -> str:
        return next((each.value for each in self.options if each.selected), "")


@dataclass(frozen=True, slots=True)
class Chip:
    """One filter that is set, and the address without it."""

    label: str
    value: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Tab:
    """One page of an object or a list; ``key`` opens it, ``everything`` is the section's page with all of it."""

    name: str
    label: str
    url: str
    count: int | None = None
    key: str = ""
    everything: str = ""


# --- forms ----------------------------------------------------------------------------------------------------------


WORDS = {
    "required": "is required",
    "min_length": "must have at least %(limit_value)d characters; it has %(show_value)d",
    "max_length": "must have at most %(limit_value)d characters; it has %(show_value)d",
    "min_value": "must be at least %(limit_value)s",
    "max_value": "must be at most %(limit_value)s",
    "invalid_choice": "is not one of the choices",
    "null_characters_not_allowed": "holds a NUL",
}


class PlainForm(forms.Form):
    """A form whose error messages continue the name of the field, as those of the domain do."""

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        for field in self.fields.values():
            number = {"invalid": "must be a whole number"} if isinstance(field, forms.IntegerField) else {}
            usual = [vars(each).get("default_error_messages", {}).values() for each in type(field).__mro__]
            given = field.error_messages
            own = {code: words for code, words in given.items() if not any(words in each for each in usual)}
            field.error_messages = {**given, **WORDS, **number, **own}

    def focus(self, name: str = "reason") -> Self:
        """Give the field the focus on a page that asks for little else; a refused form keeps its summary first."""
        if not self.is_bound:
            self.fields[name].widget.attrs["autofocus"] = True
        return self


@dataclass(frozen=True, slots=True)
class Creation:
    """The words for a creating form that is sent again, and the page they are on, by name, when the first answer showed
    a secret; otherwise it is the page that the first answer led to."""

    words: str
    shown_at: str = ""


SENT_ALREADY = "This form was sent before and has already taken effect."


def creates(*, shown_at: str = "", words: str = "") -> Callable[[View], View]:
    """Declare that a form of the view creates something: the same form sent twice is carried out once.

    ``words`` say, where the answer shows a secret once, what to do for a person who has not seen it.
    """

    def declare(view: View) -> View:
        view.creation = Creation(f"{SENT_ALREADY} {words}".strip(), shown_at)  # type: ignore[attr-defined]
        return view

    return declare


def creation_of(view: object) -> Creation | None:
    """Return what the view declared with ``creates``."""
    found: Creation | None = getattr(view, "creation", None)
    return found


@dataclass(frozen=True, slots=True)
class Submission(Generic[T]):
    """The outcome of a form: the domain's ``result``, or a ``conflict``, or errors on the form."""

    result: T | None = None
    conflict: Conflict | None = None

    @property
    def status(self) -> int:
        return 409 if self.conflict else 422


def submit(
    form: forms.Form,
    act: Callable[[Cleaned], T],
    *,
    authorize: Callable[[], object] | None = None,
    checks: Collection[Callable[[Cleaned], object]] = (),
    called: Mapping[str, str] | None = None,
    not_found: str = "",
) -> Submission[T]:
    """Pass the cleaned form to ``act``. Invalid fields become form errors; a conflict is returned for the page.

    ``authorize`` refuses an unauthorised caller before form errors are shown; for a valid form the domain does.
    ``checks`` are those of ``act`` that need some of the fields alone. Each is made of what is cleaned, also beside
    errors of other fields, so that all errors are shown at once; with any, ``act`` is not called.
    ``called`` maps the domain's field names to the form's, where they differ; ``not_found`` is the field that gets the
    error when the form names something that does not exist.
    """
    if not form.is_valid() and authorize:
        authorize()
    given = dict(getattr(form, "cleaned_data", {}))
    for check in checks:
        try:
            check(given)
        except Invalid as refusal:
            _put_on(form, refusal, called or {})
    if form.errors:
        return Submission()
    try:
        return Submission(act(form.cleaned_data))
    except Invalid as refusal:
        _put_on(form, refusal, called or {})
        return Submission()
    except NotFound as refusal:
        if not not_found:
            raise
        form.add_error(not_found, refusal.message)
        return Submission()
    except Conflict as conflict:
        return Submission(conflict=conflict)


def attempt(act: Callable[[], T]) -> T | Refusal:
    """Return what ``act`` returns, or why it was refused, for the page of its button to say; a missing permission and
    an overload have pages of their own."""
    try:
        return act()
    except (Invalid, Conflict, NotFound) as refusal:
        return refusal


def _put_on(form: forms.Form, refusal: Invalid, called: Mapping[str, str]) -> None:
    for error in refusal.details.get("errors", [{"field": "", "message": refusal.message}]):
        field = called.get(error["field"], error["field"])
        names = (field, field.partition(".")[0])  # an error at a path inside a field belongs to the field
        form.add_error(next((name for name in names if name in form.fields), None), error["message"])


# --- the last verification of the audit chain -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChainSeen:
    """The last verification of the tenant's audit chain, for the mark in the header."""

    state: str
    verified_at: datetime
    broken_at: int | None = None


def remember_finding(tenant_id: UUID, found: Finding, *, now: datetime) -> None:
    """Cache the finding for the header of every page."""
    seen = ChainSeen("verified" if found.intact else "broken", now, found.broken_at)
    cache.set(f"chain:{tenant_id.hex}", seen, timeout=None)


def last_verdict(tenant_id: UUID) -> ChainSeen | None:
    """Return the last verification's result, or None before the first."""
    found: ChainSeen | None = cache.get(f"chain:{tenant_id.hex}")
    return found


def shell(request: HttpRequest) -> JSONObject:
    """Return the context of the frame around every page."""
    return {"chain": chain_of(request), "permalink": canonical_address(request)}


def chain_of(request: HttpRequest) -> ChainSeen | None:
    """Return where the audit chain of the caller's tenant stands, for the header."""
    principal = getattr(request, "principal", None)
    return last_verdict(principal.tenant_id) if principal else None
