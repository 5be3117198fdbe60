"""Who and what may come in: operators, API keys, and the secrets that runs resolve by name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar, cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from memory import run_search
from memory.api.credentials import KEY, OPERATOR
from memory.forms import InviteForm, KeyForm, SecretForm
from memory.host import access, exports, ids, key_management, operators, pages, sessions, tenancy, vault
from memory.host.api_keys import NewKey
from memory.host.json_types import JSONObject
from memory.host.models import Operator
from memory.host.operators import Invitation, OperatorRecord
from memory.host.pages import Cleaned
from memory.host.paging import Page
from memory.host.sessions import BrowserSession
from memory.host.sql import CHUNK
from memory.host.tenancy import TenantScope
from memory.host.vault import SecretRecord
from memory.run_search import RunFilter
from memory.wire import instant

REVOKE = "Revoke"
FIELDS = {"expiresAt": "expires_at", "operator": "email"}
CONNECT = "manifest:read"
SUGGESTED_LIFE = timedelta(days=90)  # of a new key, in its form
SESSION_COLUMNS = ("browser", "tenant", "network", "signedInAt", "expiresAt", "current")
SECRET_COLUMNS = ("name", "scope", "owner", "version", "setAt", "lastUsedAt", "lastUsedBy")
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Example:
    """A program of ``examples/``, and what has to be installed for it."""

    title: str
    file: str
    installs: str
    text: str = ""


EXAMPLES = (
    Example("Plain Python", "plain.py", "./client"),
    Example("LangGraph", "langgraph_store.py", "'./client[langgraph]'"),
    Example("OpenAI Agents SDK", "agents_session.py", "'./client[agents]'"),
    Example("Model Context Protocol", "mcp_client.py", "'mcp>=2'"),
    Example("curl", "curl.sh", ""),
)

KEY_MISSED = "The key was shown then; rotate it if you missed it."
LINK_MISSED = "The link was shown then; reset the password for a new one if you missed it."


@pages.creates(shown_at="keys", words=KEY_MISSED)
@pages.parameters("after", "id", "seen", "format")
@require_http_methods(["GET", "HEAD", "POST"])
def key_list(request: HttpRequest) -> HttpResponseBase:
    """The API keys, the newest first; a POST makes one, whose text the answer shows once."""
    scope, now = tenancy.scope_of(request), timezone.now()
    key_management.check_manager(scope, key_management.SCOPE)
    if file_format := pages.file_format(request):
        records = _one_or_all(
            request,
            "key",
            lambda key_id: key_management.find(scope, key_id, now=now),
            lambda after: key_management.list_keys(scope, after=after, limit=CHUNK, now=now),
        )
        return exports.listing(file_format, "keys", map(KEY.document, records), columns=tuple(KEY["properties"]))
    form, made, status = _submitted_key(request, scope)
    return _keys_page(request, scope, form, made=made, status=status)


@pages.creates(shown_at="keys", words=KEY_MISSED)
@pages.parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def connect(request: HttpRequest) -> HttpResponse:
    """How an agent that runs elsewhere writes here; a POST makes a key, which the examples of the answer then have."""
    scope = tenancy.scope_of(request)
    scope.check(CONNECT)
    form, made, status = None, None, 200
    if request.method == "POST" or scope.can(key_management.SCOPE):
        key_management.check_manager(scope, key_management.SCOPE)
        form, made, status = _submitted_key(request, scope)
    folder = Path(settings.BASE_DIR) / "examples"
    context = {
        "nav": "settings",
        "now": timezone.now(),
        "form": form,
        "made": made,
        "address": pages.public_url(request),
        "examples": [replace(each, text=(folder / each.file).read_text()) for each in EXAMPLES],
    }
    return pages.render(request, "memory/connect.html", context, status=status)


def _submitted_key(request: HttpRequest, scope: TenantScope) -> tuple[KeyForm, NewKey | None, int]:
    """The form as it is shown, the key that it made, if any, and the status of the answer."""
    form = _key_form(scope, request.POST if request.method == "POST" else None)
    if not form.is_bound:
        return form, None, 200
    now = timezone.now()
    sent = pages.submit(
        form, lambda data: key_management.create(scope, **data, now=now), called=FIELDS, not_found="person"
    )
    if sent.conflict:
        messages.error(request, sent.conflict.message)
    return (_key_form(scope), sent.result, 200) if sent.result else (form, None, sent.status)


def _key_form(scope: TenantScope, given: object = None) -> KeyForm:
    suggested = {"role": "agent", "expires_at": timezone.now().date() + SUGGESTED_LIFE}
    return KeyForm(given, roles=_roles_below(scope), initial=suggested)


def _keys_page(
    request: HttpRequest, scope: TenantScope, form: KeyForm, *, made: NewKey | None = None, status: int = 200
) -> HttpResponse:
    now = timezone.now()
    page, place = _one_or_page(
        request,
        "key",
        lambda key_id: key_management.find(scope, key_id, now=now),
        lambda after: key_management.list_keys(scope, after=after, limit=pages.PAGE, now=now),
    )
    context = {
        "nav": "settings",
        "now": now,
        "rows": page.rows,
        "total": page.total,
        "form": form,
        "made": made,
        "names": access.names_of(scope.tenant_id, {each.row.made_by for each in page.rows}),
        **pages.files(request),
        **place,
    }
    return pages.render(request, "memory/keys.html", context, status=status)


def _one_or_all(
    request: HttpRequest, prefix: str, find: Callable[[UUID | None], Row], read: Callable[[UUID | None], Page[Row]]
) -> Iterator[Row]:
    """The record that the parameter ``id`` names, or else all rows of the list."""
    named = request.GET.get("id")
    return iter([find(ids.parse(prefix, named))]) if named else _every(read)


def _every(read: Callable[[UUID | None], Page[Row]]) -> Iterator[Row]:
    """All rows of a list, page by page."""
    after: UUID | None = None
    while True:
        page = read(after)
        yield from page.rows
        if not (after := page.after):
            return


def _one_or_page(
    request: HttpRequest, prefix: str, find: Callable[[UUID | None], Row], read: Callable[[UUID | None], Page[Row]]
) -> tuple[Page[Row], JSONObject]:
    """The record that the parameter ``id`` names, or else a page of the list; and what the pager shows."""
    if named := request.GET.get("id"):
        return Page([find(ids.parse(prefix, named))], 1), {
            "first": 1,
            "last": 1,
            "newest": request.path,
            "begin": "All",
        }
    cursor = pages.Cursor.from_request(request, prefix)
    page = read(cursor.after)
    return page, cursor.links(len(page.rows), page.after)


def _ask_about_key(request: HttpRequest, key_id: str, verb: str, icon: str, consequence: str) -> HttpResponse:
    """The question before an active key is revoked or rotated; of another key there is nothing to ask."""
    scope, now = tenancy.scope_of(request), timezone.now()
    found = key_management.find(scope, ids.parse("key", key_id), now=now)
    if found.state != "active":
        messages.info(request, f"The key is {found.state} already.")
        return redirect("keys")
    row = found.row
    facts: dict[str, str | datetime | None] = {
        "Key": row.name or "unnamed",
        "Id": key_id,
        "Agents": ", ".join(row.agents) or "any",
        "Belongs to": found.person or "a service account",
        "Last used": row.last_used_at,
    }
    see = {
        "Entries that it wrote": f"{reverse('memory')}?by={key_id}",
        "Runs that it started": f"{reverse('runs')}?by={key_id}",
        "Its audit records": f"{reverse('audit')}?actor={key_id}",
    }
    wanted = RunFilter(started_by=key_id, status=run_search.UNFINISHED)
    if verb == REVOKE and (going_on := run_search.run_page(scope, wanted, size=1)).total:
        number = f"{going_on.total:,}{'+' if going_on.inexact else ''}"
        facts["Unfinished runs"] = f"{number}, which continue after the key is revoked, until they end or are cancelled"
        see["Unfinished runs, to read or cancel"] = reverse("runs", query={"by": key_id, "status": wanted.status})
    return pages.ask(
        request,
        pages.Question(
            heading=f"{verb} this key?",
            consequence=consequence,
            facts=facts,
            button=verb,
            icon=icon,
            back=reverse("keys"),
            back_words="API keys",
            sent={"last": row.rotated_at.isoformat() if row.rotated_at else ""},
            see=see,
        ),
        now=now,
    )


@pages.parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def key_revoke(request: HttpRequest, key_id: str) -> HttpResponse:
    """The key opens nothing from now on, once the question is answered."""
    if request.method != "POST":
        consequence = "Programs that use it are refused at once, and their streams end. This cannot be undone."
        return _ask_about_key(request, key_id, REVOKE, "ban", consequence)
    key_management.revoke(tenancy.scope_of(request), ids.parse("key", key_id), now=timezone.now())
    messages.success(request, "The key is revoked.")
    return redirect(reverse("keys", query={"id": key_id}))


@pages.parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def key_rotate(request: HttpRequest, key_id: str) -> HttpResponse:
    """The same key under a new secret, which the answer shows once."""
    if request.method != "POST":
        consequence = "Programs using the current key are refused until they have the new one. This cannot be undone."
        return _ask_about_key(request, key_id, "Rotate", "repeat", consequence)
    scope = tenancy.scope_of(request)
    last = request.POST.get("last")
    sent = pages.submit(
        pages.PlainForm({}),
        lambda _: key_management.rotate(scope, ids.parse("key", key_id), last=last, now=timezone.now()),
    )
    if sent.conflict:
        messages.error(request, sent.conflict.message)
    if sent.result:
        messages.success(request, "The key is rotated. The old key no longer works.")
    status = 200 if sent.result else sent.status
    return _keys_page(request, scope, _key_form(scope), made=sent.result, status=status)


@pages.creates(shown_at="operators", words=LINK_MISSED)
@pages.parameters("after", "id", "seen", "format")
@require_http_methods(["GET", "HEAD", "POST"])
def operator_list(request: HttpRequest) -> HttpResponseBase:
    """The operators in the order they joined; a POST invites one, and the answer shows the link once."""
    scope, now = tenancy.scope_of(request), timezone.now()
    key_management.check_manager(scope, operators.SCOPE)
    if file_format := pages.file_format(request):
        records = _one_or_all(
            request,
            "usr",
            lambda operator_id: operators.find(scope, operator_id),
            lambda after: operators.list_operators(scope, after=after, limit=CHUNK),
        )
        return exports.listing(
            file_format, "operators", map(OPERATOR.document, records), columns=tuple(OPERATOR["properties"])
        )
    form = _invite_form(scope, request.POST if request.method == "POST" else None)
    if not form.is_bound:
        return _operators_page(request, scope, form)
    sent = pages.submit(
        form, lambda data: operators.invite(scope, data["email"], role=data["role"], now=now), called=FIELDS
    )
    if sent.conflict:
        messages.error(request, sent.conflict.message)
    if not sent.result:
        return _operators_page(request, scope, form, status=sent.status)
    return _operators_page(request, scope, _invite_form(scope), made=sent.result)


def _invite_form(scope: TenantScope, given: object = None) -> InviteForm:
    return InviteForm(given, roles=_roles_below(scope))


def _roles_below(scope: TenantScope) -> list[str]:
    """The roles that give no more than this principal has."""
    return [role for role, held in access.ROLES.items() if held <= scope.principal.scopes]


def _operators_page(
    request: HttpRequest, scope: TenantScope, form: InviteForm, *, made: Invitation | None = None, status: int = 200
) -> HttpResponse:
    page, place = _one_or_page(
        request,
        "usr",
        lambda operator_id: operators.find(scope, operator_id),
        lambda after: operators.list_operators(scope, after=after, limit=pages.PAGE),
    )
    link = reverse("set-password", args=[ids.wire("usr", made.operator.id), made.token]) if made else ""
    context = {
        "nav": "settings",
        "now": timezone.now(),
        "rows": page.rows,
        "total": page.total,
        "roles": _roles_below(scope),
        "required": getattr(request, "factor_required", False),
        "form": form,
        "made": made,
        "link": request.build_absolute_uri(link) if link else "",
        **pages.files(request),
        **place,
    }
    return pages.render(request, "memory/operators.html", context, status=status)


@pages.parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def operator_deactivate(request: HttpRequest, operator_id: str) -> HttpResponse:
    """The person does not sign in to this tenant any more, or an invitation is withdrawn, once the question is
    answered."""
    scope, wanted = tenancy.scope_of(request), ids.parse("usr", operator_id)
    if request.method == "POST":
        return _change(request, scope, wanted, active=False)
    found = operators.find(scope, wanted)
    if found.state not in ("active", "invited"):
        messages.info(request, f"{found.email} is {found.state} already.")
        return redirect("operators")
    invited = bool(found.row.invitation)
    return pages.ask(
        request,
        pages.Question(
            heading=f"{'Withdraw the invitation of' if invited else 'Deactivate'} {found.email}?",
            consequence="The link stops working. The person can be invited again."
            if invited
            else "They are signed out of this tenant at once, and their API keys stop working. What they did stays on "
            "record. They can be activated again.",
            facts={
                "Operator": found.email,
                "Role": ", ".join(found.roles) or "none",
                "Joined": found.row.created_at,
                "Last sign-in": found.last_sign_in,
            },
            button="Withdraw" if invited else "Deactivate",
            icon="ban",
            back=reverse("operators"),
            back_words="Operators",
            sent={},
            see={} if invited else {"Sessions": reverse("operator-sessions", args=[operator_id])},
        ),
        now=timezone.now(),
    )


@require_POST
def operator_change(request: HttpRequest, operator_id: str) -> HttpResponse:
    """The role, or that the person may sign in again, as the form says; their sessions end with a change."""
    scope, asked, wanted = tenancy.scope_of(request), request.POST, ids.parse("usr", operator_id)
    if asked.get("act") == "activate":
        return _change(request, scope, wanted, active=True)
    form = _invite_form(scope, {"role": asked.get("role", ""), "email": "unchanged@example.com"})
    return _change(request, scope, wanted, role=form.cleaned_data["role"] if form.is_valid() else "")


def _change(
    request: HttpRequest, scope: TenantScope, wanted: UUID | None, *, role: str = "", active: bool | None = None
) -> HttpResponse:
    def act(_: object) -> OperatorRecord:
        return operators.change(scope, wanted, role=role, active=active, now=timezone.now())

    sent = pages.submit(pages.PlainForm({}), act)
    if sent.result:
        messages.success(request, _said_of(sent.result, role, active))
        return redirect("operators")
    messages.error(request, sent.conflict.message if sent.conflict else "Choose a role from the list.")
    return _operators_page(request, scope, _invite_form(scope), status=sent.status)


def _said_of(changed: OperatorRecord, role: str, active: bool | None) -> str:
    """What was changed of whom, and what it means to them."""
    if changed.row.invitation:
        return (
            f"The invitation of {changed.email} is withdrawn." if active is False else f"{changed.email} is {role} now."
        )
    if active is None:
        return f"{changed.email} is {role} now, and has to sign in again."
    if active:
        return f"{changed.email} may sign in again."
    return f"{changed.email} is deactivated: signed out of this tenant, and their API keys no longer work."


@pages.parameters("format")
@require_http_methods(["GET", "HEAD", "POST"])
def own_sessions(request: HttpRequest) -> HttpResponseBase:
    """The browsers in which this person is signed in; a POST ends one session, or all but this one."""
    scope, now = tenancy.scope_of(request), timezone.now()
    operator, current = cast("Operator", request.user), request.session.session_key or ""
    if request.method != "POST":
        rows = sessions.list_own(operator, current=current, now=now)
        return _sessions_page(request, {"now": now, "rows": rows, "own": True})
    name, actor = request.POST.get("session", ""), scope.principal.id
    ended = sessions.end_own(operator, name, current=current, actor=actor, now=now)
    messages.success(request, "Session ended." if name else f"Sessions ended: {ended}.")
    return redirect("sessions")


@pages.parameters("format")
@require_http_methods(["GET", "HEAD", "POST"])
def operator_sessions(request: HttpRequest, operator_id: str) -> HttpResponseBase:
    """The browsers in which an operator is signed in to this tenant; a POST ends one session."""
    scope, now, wanted = tenancy.scope_of(request), timezone.now(), ids.parse("usr", operator_id)
    if request.method == "POST":
        sessions.end_of_member(scope, wanted, request.POST.get("session", ""), now=now)
        messages.success(request, "Session ended.")
        return redirect("operator-sessions", operator_id)
    current = request.session.session_key or ""
    rows = sessions.list_of_member(scope, wanted, current=current, now=now)
    return _sessions_page(request, {"now": now, "rows": rows, "operator": operators.find(scope, wanted)})


def _sessions_page(request: HttpRequest, context: JSONObject) -> HttpResponseBase:
    """The list as a page, or as a file."""
    if file_format := pages.file_format(request):
        return exports.listing(file_format, "sessions", map(_session_row, context["rows"]), columns=SESSION_COLUMNS)
    context = {"nav": "settings", **context, **pages.files(request)}
    return pages.render(request, "memory/sessions.html", context)


def _session_row(session: BrowserSession) -> JSONObject:
    return {
        "browser": session.browser or None,
        "tenant": session.tenant or None,
        "network": session.network or None,
        "signedInAt": instant(session.began_at),
        "expiresAt": instant(session.expires_at),
        "current": session.is_current,
    }


@require_POST
def operator_sign_out(request: HttpRequest, operator_id: str) -> HttpResponse:
    """Every session of the person in this tenant is over."""
    operators.end_sessions(tenancy.scope_of(request), ids.parse("usr", operator_id), now=timezone.now())
    messages.success(request, "Signed out of this tenant everywhere.")
    return redirect("operators")


@pages.creates(shown_at="operators", words=LINK_MISSED)
@require_POST
def operator_reset(request: HttpRequest, operator_id: str) -> HttpResponse:
    """The password opens nothing any more; the answer shows once the link by which a new one is set."""
    scope = tenancy.scope_of(request)
    sent = pages.submit(
        pages.PlainForm({}),
        lambda _: operators.reset_password(scope, ids.parse("usr", operator_id), now=timezone.now()),
    )
    if sent.conflict:
        messages.error(request, sent.conflict.message)
    return _operators_page(
        request, scope, _invite_form(scope), made=sent.result, status=200 if sent.result else sent.status
    )


@pages.creates(shown_at="operators", words=LINK_MISSED)
@require_POST
def operator_link(request: HttpRequest, operator_id: str) -> HttpResponse:
    """A new link of an invitation that was not accepted; the answer shows it once."""
    scope = tenancy.scope_of(request)
    sent = pages.submit(
        pages.PlainForm({}), lambda _: operators.renew_link(scope, ids.parse("usr", operator_id), now=timezone.now())
    )
    if sent.conflict:
        messages.error(request, sent.conflict.message)
    return _operators_page(
        request, scope, _invite_form(scope), made=sent.result, status=200 if sent.result else sent.status
    )


@require_POST
def operator_reset_factor(request: HttpRequest, operator_id: str) -> HttpResponse:
    """The person signs in without the second factor that they have lost."""
    scope = tenancy.scope_of(request)

    def act(_: object) -> bool:
        operators.reset_second_factor(scope, ids.parse("usr", operator_id), now=timezone.now())
        return True

    sent = pages.submit(pages.PlainForm({}), act)
    if sent.conflict:
        messages.error(request, sent.conflict.message)
        return _operators_page(request, scope, _invite_form(scope), status=sent.status)
    messages.success(request, "The second factor is reset. They sign in with the password alone until they set one up.")
    return redirect("operators")


@require_POST
def second_factor_policy(request: HttpRequest) -> HttpResponse:
    """Whether signing in to this tenant requires a second factor."""
    required = request.POST.get("required") == "yes"
    operators.require_second_factor(tenancy.scope_of(request), required=required, now=timezone.now())
    messages.success(request, f"A second factor is {'required' if required else 'optional'} from now on.")
    return redirect("operators")


@pages.parameters("after", "seen", "format")
@require_http_methods(["GET", "HEAD", "POST"])
def secret_list(request: HttpRequest) -> HttpResponseBase:
    """The secrets by name; a POST sets the value of one, which no page shows."""
    scope = tenancy.scope_of(request)
    scope.check("secrets:manage")
    if file_format := pages.file_format(request):
        rows = map(_secret_row, _every(lambda after: vault.list_secrets(scope, after=after, limit=CHUNK)))
        return exports.listing(file_format, "secrets", rows, columns=SECRET_COLUMNS)
    form = SecretForm(request.POST if request.method == "POST" else None)
    if not form.is_bound:
        return _secrets_page(request, scope, form)

    def act(data: Cleaned) -> bool:
        vault.set_secret(scope, data["name"], data["value"], kind="tenant", owner="", now=timezone.now())
        return True

    sent = pages.submit(form, act)
    if not sent.result:
        return _secrets_page(request, scope, form, status=sent.status)
    messages.success(request, f"Runs resolve {form.cleaned_data['name']} to the new value from now on.")
    return redirect("secrets")


def _secret_row(secret: SecretRecord) -> JSONObject:
    return {
        "name": secret.row.name,
        "scope": secret.row.scope,
        "owner": secret.row.owner or None,
        "version": secret.row.version,
        "setAt": instant(secret.row.updated_at),
        "lastUsedAt": instant(secret.used_at),
        "lastUsedBy": ids.wire("run", secret.used_by) if secret.used_by else None,
    }


def _secrets_page(request: HttpRequest, scope: TenantScope, form: SecretForm, *, status: int = 200) -> HttpResponse:
    cursor = pages.Cursor.from_request(request, "sec")
    page = vault.list_secrets(scope, after=cursor.after, limit=pages.PAGE)
    context = {
        "nav": "settings",
        "now": timezone.now(),
        "rows": page.rows,
        "total": page.total,
        "form": form,
        "names": access.names_of(scope.tenant_id, {each.row.owner for each in page.rows}),
        **pages.files(request),
        **cursor.links(len(page.rows), page.after),
    }
    return pages.render(request, "memory/secrets.html", context, status=status)


@pages.parameters("name", "scope", "owner")
@require_http_methods(["GET", "HEAD", "POST"])
def secret_remove(request: HttpRequest) -> HttpResponse:
    """No run resolves the name any more, once the question is answered."""
    scope, asked = tenancy.scope_of(request), request.POST
    if request.method != "POST":
        name, kind, owner = (pages.text_of(request, each) for each in ("name", "scope", "owner"))
        return _ask_about_secret(request, vault.find_secret(scope, name, kind=kind, owner=owner))
    place = {"kind": asked.get("scope", "tenant"), "owner": asked.get("owner", "")}
    vault.remove_secret(scope, asked.get("name", ""), **place, now=timezone.now())
    messages.success(request, "The secret is removed.")
    return redirect("secrets")


def _ask_about_secret(request: HttpRequest, found: SecretRecord) -> HttpResponse:
    row = found.row
    owners = access.names_of(row.tenant_id, {row.owner})
    return pages.ask(
        request,
        pages.Question(
            heading="Remove this secret?",
            consequence="Runs that ask for it will fail, including runs in progress. This cannot be undone.",
            facts={
                "Secret": row.name,
                "For": f"runs of {owners.get(row.owner) or row.owner}" if row.owner else "all runs",
                "Version": str(row.version),
                "Last used": found.used_at,
            },
            button="Remove",
            icon="x",
            back=reverse("secrets"),
            back_words="Secrets",
            sent={"name": row.name, "scope": row.scope, "owner": row.owner},
            see={},
        ),
        now=timezone.now(),
    )
