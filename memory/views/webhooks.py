"""Webhooks in the browser: subscriptions and their secrets, which are shown once, and the log of deliveries."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory.api.webhooks import DELIVERY, WEBHOOK
from memory.forms import WebhookForm
from memory.host import exports, ids, pages, tenancy, webhooks
from memory.host.pages import Cleaned
from memory.host.tenancy import TenantScope
from memory.host.webhooks import NewSecret

SHOWN = 50
COLUMNS = ("id", "url", "events", "tags", "state", "secretFingerprint", "createdBy", "createdAt")
DELIVERY_COLUMNS = (
    "id", "messageId", "type", "state", "attempts", "status", "code", "createdAt", "lastAttemptAt", "nextAttemptAt",
    "endedAt",
)  # fmt: skip
WORDS = {
    "status": "answered with an error",
    "redirect": "answered with a redirect",
    "timeout": "did not answer in time",
    "refused": "no connection",
    "not_allowed": "this host does not connect to that address",
    "malformed": "the answer could not be read",
    "secret_sealed": "the secret does not open",
    "webhook_failed": "the webhook has failed",
}


@pages.creates(
    shown_at="webhooks", words="The secret was shown then; rotate it on the webhook's page if you missed it."
)
@pages.parameters("format")
@require_http_methods(["GET", "HEAD", "POST"])
def webhook_list(request: HttpRequest) -> HttpResponseBase:
    """The subscriptions of the tenant, and the form for another one."""
    scope = tenancy.scope_of(request)
    webhooks.check_manager(scope)
    if request.method == "POST":
        return _create(request, scope)
    if file_format := pages.file_format(request):
        found = WEBHOOK.documents(webhooks.list_webhooks(scope, limit=webhooks.MAX_WEBHOOKS).rows)
        return exports.listing(file_format, "webhooks", found, columns=COLUMNS)
    return _list_page(request, scope, WebhookForm())


def _create(request: HttpRequest, scope: TenantScope) -> HttpResponse:
    form = WebhookForm(request.POST)

    def act(given: Cleaned) -> NewSecret:
        return webhooks.create_webhook(scope, given["url"], given["events"], tags=given["tags"], now=timezone.now())

    sent = pages.submit(form, act, checks=(_check_url, lambda given: webhooks.check_plain(scope, **_target(given))))
    if sent.result:
        return _secret_page(request, sent.result)
    conflict = sent.conflict.message if sent.conflict else ""
    return _list_page(request, scope, form, conflict=conflict, status=sent.status)


def _check_url(given: Cleaned) -> None:
    if "url" in given:
        webhooks.check_url(given["url"])


def _target(given: Cleaned) -> Cleaned:
    return {name: given[name] for name in ("url", "tags") if name in given}


def _list_page(
    request: HttpRequest, scope: TenantScope, form: WebhookForm, *, conflict: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "nav": "settings",
        "now": timezone.now(),
        "webhooks": [(webhooks.wire_id(each), each) for each in webhooks.list_webhooks(scope, limit=SHOWN).rows],
        "form": form,
        "conflict": conflict,
        "most": webhooks.MAX_WEBHOOKS,
        **pages.files(request),
    }
    return pages.render(request, "memory/webhooks.html", context, status=status)


@pages.parameters("after", "seen", "format")
@require_safe
def webhook(request: HttpRequest, webhook_id: str) -> HttpResponseBase:
    """One subscription with the log of its deliveries."""
    scope = tenancy.scope_of(request)
    row = webhooks.find(scope, ids.parse("whk", webhook_id))
    if pages.file_format(request) == "csv":
        lines = map(DELIVERY.document, webhooks.export_deliveries(scope, row.id))
        return exports.listing("csv", "deliveries", lines, columns=DELIVERY_COLUMNS)
    cursor = pages.Cursor.from_request(request, "dlv")
    page = webhooks.list_deliveries(scope, row.id, after=cursor.after, limit=SHOWN)
    if pages.file_format(request) == "json":
        listed = DELIVERY.documents(page.rows)
        return exports.document(WEBHOOK.document(row) | {"deliveries": listed, "total": page.total})
    context = {
        "nav": "settings",
        "now": timezone.now(),
        "webhook": row,
        "webhook_id": webhooks.wire_id(row),
        "deliveries": [(ids.wire("dlv", each.id), each, WORDS.get(each.code, "")) for each in page.rows],
        "total": page.total,
        **pages.files(request),
        **cursor.links(len(page.rows), page.after),
    }
    return pages.render(request, "memory/webhook.html", context)


def _secret_page(request: HttpRequest, made: NewSecret) -> HttpResponse:
    """The secret, in this one answer, which no browser keeps."""
    context = {"nav": "settings", "webhook_id": webhooks.wire_id(made.webhook), "secret": made.text}
    response = pages.render(request, "memory/webhook_secret.html", context)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
def rotate(request: HttpRequest, webhook_id: str) -> HttpResponse:
    """A new secret, shown in this one answer; refused when another one came since the page that asks was shown."""
    scope, current = tenancy.scope_of(request), request.POST.get("current", "")
    wanted = ids.parse("whk", webhook_id)
    sent = pages.submit(
        pages.PlainForm({}), lambda _: webhooks.rotate_secret(scope, wanted, current=current, now=timezone.now())
    )
    if sent.result:
        return _secret_page(request, sent.result)
    if sent.conflict:
        messages.error(request, sent.conflict.message)
    return redirect("webhook", webhook_id)


@pages.parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HttpRequest, webhook_id: str) -> HttpResponse:
    """Remove the webhook and its log, once the question is answered."""
    scope, wanted = tenancy.scope_of(request), ids.parse("whk", webhook_id)
    if request.method != "POST":
        found = webhooks.find(scope, wanted)
        question = pages.Question(
            heading="Remove this webhook and its log?",
            consequence="Nothing more is sent there, and its delivery log is deleted. This cannot be undone.",
            facts={"Address": found.url, "Events": ", ".join(found.events), "Created": found.created_at},
            button="Remove",
            icon="x",
            back=reverse("webhook", args=[webhook_id]),
            back_words="Webhook",
            sent={},
            see={},
        )
        return pages.ask(request, question, now=timezone.now())
    webhooks.remove_webhook(scope, wanted, now=timezone.now())
    messages.success(request, "The webhook is removed. Nothing is sent there any more.")
    return redirect("webhooks")


@pages.creates()
@require_POST
def redeliver(request: HttpRequest, webhook_id: str, delivery_id: str) -> HttpResponse:
    wanted = ids.parse("whk", webhook_id), ids.parse("dlv", delivery_id)
    webhooks.redeliver(tenancy.scope_of(request), *wanted, now=timezone.now())
    messages.success(request, "The delivery is tried again now.")
    return redirect("webhook", webhook_id)
