"""A form that creates something makes one thing, however often the same form is sent: by a double click, by reloading
the answer, or from a page that the browser has kept. No script takes part in it."""

import re
import time
from collections.abc import Callable
from functools import partial
from http.cookies import SimpleCookie
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from memory import tasks
from memory.host import idempotency_keys, ids, operators, pages
from memory.host.models import ApiKey, IdempotencyRecord, Operator
from memory.host.models.base import TenantOwned
from memory.models import Intent, Pass
from openwop_console import idempotency as forms_sent_again
from tests import building, proposing
from tests.openintent.test_workflow_file import SEED
from tests.pages.conftest import body_of
from tests.pages.test_installed_page import two_versions
from tests.pages.test_order_of_refusals import NEEDS, OPEN_TO_ALL
from tests.pages.test_review_page import form_of
from tests.pages.test_second_factor import set_up
from tests.peopled import World
from tests.proposals.test_races import at_once

Form = tuple[list[str], dict[str, Any]]
TABLES: list[Any] = [
    model for model in apps.get_models() if issubclass(model, TenantOwned) and model is not IdempotencyRecord
]
ALREADY = "This form was sent before and has already taken effect."


def roll_back(_: World, __: Client) -> Form:
    first, made = two_versions()
    return [ids.wire("prop", made.id)], {"ref": first.installed_ref}


def roll_back_artifact(_: World, __: Client) -> Form:
    first = proposing.applied(text=proposing.artifact(version="2.0.0"))
    proposing.applied(text=proposing.artifact(version="2.1.0"))
    return [str(first.installed_ref)], {}


def revise(world: World, ada: Client) -> Form:
    form = {**form_of(ada, world.proposal), "title": "Another title"}
    return [ids.wire("prop", world.proposal.id)], form


def renew_codes(_: World, ada: Client) -> Form:
    set_up(ada, page="/settings/second-factor")
    return [], {"current": building.PASSWORD}


def renew_link(_: World, __: Client) -> Form:
    both = building.operator("globex", "viewer", email="both@globex.example")
    operators.invite(building.scope(), both.email, role="viewer", now=timezone.now())
    return [ids.wire("usr", both.id)], {}


KEY = {"name": "night-agent", "role": "viewer"}
# A form to send to each address where one creates something.
FORMS: dict[str, Callable[[World, Client], Form]] = {
    "run-again": lambda world, _: ([ids.wire("run", world.run.id)], {}),
    "run-fork": lambda world, _: ([ids.wire("run", world.run.id)], {"mode": "branch", "from_seq": "0"}),
    "memory-export": lambda *_: ([], {"format": "csv"}),
    "memory-selected": lambda world, _: ([], {"action": "tag", "id": [world.entry], "tag": "seen"}),
    "memory-entry-correct": lambda world, _: ([world.entry], {"content": "a better note", "reason": "a typing error"}),
    "pass-again": lambda world, _: ([world.background_pass], {}),
    "consolidation-order": lambda world, _: ([], {"kind": "consolidate", "ref": "notes"}),
    "archives-distill": lambda world, _: ([], {"ref": "notes", "budget": "2000"}),
    "workflow-files": lambda *_: ([], {"text": SEED, "confirmed": "on"}),
    "forget": lambda *_: ([], {"subject": "marta@example.com"}),
    "forget-again": lambda world, _: ([world.forget], {}),
    "forget-holds": lambda *_: ([], {"subject": "paul@example.com", "reason": "a court case"}),
    "proposals-look": lambda *_: ([], {}),
    "proposal-comment": lambda world, _: ([ids.wire("prop", world.proposal.id)], {"text": "a word"}),
    "proposal-revise": revise,
    "proposal-roll-back": roll_back,
    "artifact-roll-back": roll_back_artifact,
    "webhook-redeliver": lambda world, _: ([world.webhook, world.delivery], {}),
    "webhooks": lambda *_: ([], {"url": "https://other.example/hook", "events": ["run.ended"]}),
    "keys": lambda *_: ([], KEY),
    "connect": lambda *_: ([], KEY),
    "operators": lambda *_: ([], {"email": "new@acme.example", "role": "viewer"}),
    "operator-link": renew_link,
    "operator-reset": lambda world, _: ([world.operator], {}),
    "second-factor-codes": renew_codes,
}
# What makes a second form of the same kind harmless where none creates anything, or a rule of the domain makes it one.
ONE_BY_RULE = {
    "the state has changed, and the second is refused or changes nothing": (
        *("run-steer", "pass-stop", "pass-undo", "forget-confirm", "forget-withdraw", "forget-retry", "forget-hold"),
        *("memory-entry-retire", "memory-entry-restore", "look-alikes-decide", "schedule-pause", "schedule-resume"),
        *("commitment-arm", "commitment-dismiss", "commitment-snooze", "commitment-cancel", "artifact-disable"),
        *("pass-review", "archive-withdraw", "runs-cancel"),
        *("artifact-enable", "proposals-end", "proposal-ask", "proposal-withdraw", "proposal-reject"),
        *("proposal-archive", "proposal-override", "approval-change-confirm", "approval-change-refuse"),
    ),
    "a person has one answer": ("run-answer", "proposal-decide"),
    "the same file is one upload, its dry run one at a time, and its import one": (
        *("memory-imports", "memory-import-check", "memory-import-confirm"),
    ),
    "it names the version that it changes": ("namespace", "approval-policy", "key-rotate", "webhook-rotate"),
    "it sets a value, which is the same again": (
        *(
            "retention",
            "pass-schedule",
            "secrets",
            "memory-entry-protect",
            "forget-suspects",
            "operator-change",
            "operator-deactivate",
        ),
        *("second-factor-policy", "password", "tenants"),
    ),
    "a name is taken once": ("memory-view", "memory-view-rename", "proposals-filter"),
    "a challenge or token is used up": (
        *("account_login", "mfa_authenticate", "passkey-sign-in", "passkey-add", "set-password", "second-factor"),
        *("single-sign-on-callback",),
    ),
    "it removes or ends": (
        *(
            "memory-export-remove",
            "memory-import-remove",
            "memory-view-remove",
            "pass-schedule-remove",
            "key-revoke",
            "operator-sign-out",
        ),
        *("operator-reset-factor", "secret-remove", "webhook-remove", "proposals-filter-remove", "grant-revoke"),
        *("passkey-remove", "second-factor-off", "account_logout", "sessions", "operator-sessions"),
    ),
    "it reads, and is a POST because that is put on record or takes long": (
        *("memory-export-file", "memory-entry-reveal", "archive-compare", "forget-copy", "audit-verify"),
        "run-verify",
        *("passkey-options", "single-sign-on"),
    ),
}


def marked(patterns: Any = None) -> set[str]:
    """The names of the addresses whose view declares that it creates something."""
    found = set()
    for each in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(each, URLResolver):
            found |= marked(each.url_patterns)
        elif isinstance(each, URLPattern) and pages.creation_of(each.callback):
            found.add(str(each.name))
    return found


def test_every_form_is_known_to_create_one_thing() -> None:
    by_rule = [name for names in ONE_BY_RULE.values() for name in names]
    assert marked() == set(FORMS), "a view that creates something says so with pages.creates, and has a form here"
    assert sorted([*FORMS, *by_rule]) == sorted({*NEEDS, *OPEN_TO_ALL}), (
        "a page that takes a form says why it makes one"
    )


@pytest.fixture
def strict() -> Client:
    """Ada's browser, whose forms need the token of a page."""
    browser = Client(enforce_csrf_checks=True, raise_request_exception=False)
    browser.force_login(building.operator("acme", "owner"))
    return browser


def token(browser: Client) -> dict[str, str]:
    """The hidden field of the forms of a page, as it is drawn now."""
    [found, *_] = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', body_of(browser.get("/settings/password")))
    return {"csrfmiddlewaretoken": found}


def rows() -> list[Any]:
    """How many rows each table has, by one statement."""
    counts = (f"SELECT '{each._meta.db_table}', COUNT(*) FROM {each._meta.db_table}" for each in TABLES)
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(counts))
        return list(cursor.fetchall())


@pytest.mark.django_db
def test_the_same_form_sent_twice_makes_one_thing_and_leads_to_it(strict: Client, drain: Callable[[], Any]) -> None:
    world = World("acme")
    wrong: dict[tuple[str, str], object] = {}
    ada = Client()
    ada.cookies = strict.cookies
    for name, form_for in FORMS.items():
        args, form = form_for(world, ada)
        url, before = reverse(name, args=args), rows()
        form |= token(strict)
        first = strict.post(url, form)
        made = rows()
        second = strict.post(url, form)
        if rows() != made or made == before:
            wrong[name, "rows"] = first.status_code
        leads = urlsplit(first.get("Location", ""))._replace(query="").geturl()
        if second.status_code != 302 or (leads and second["Location"] != leads):
            wrong[name, "answer"] = second.status_code
        elif ALREADY not in body_of(strict.get(second["Location"])):
            wrong[name, "words"] = second["Location"]
        drain()
    assert wrong == {}


@pytest.mark.django_db
def test_a_secret_that_was_shown_once_is_not_shown_again_but_where_it_is(strict: Client) -> None:
    form = KEY | token(strict)
    first = strict.post("/connect", form)
    secret = first.context["made"].text
    assert secret in body_of(first)
    again = strict.post("/connect", form, follow=True)
    assert again.redirect_chain == [("/settings/keys", 302)]
    assert "rotate it if you missed it" in body_of(again)
    assert secret not in body_of(again)
    assert ApiKey.objects.filter(name=KEY["name"]).count() == 1


@pytest.mark.django_db
def test_a_page_drawn_again_and_other_words_are_another_form(strict: Client) -> None:
    building.remember("acme", "a note")
    form, drawn = {"kind": "consolidate", "ref": "notes"}, token(strict)
    answers = [
        strict.post("/consolidation/order", {**form, **drawn}),
        strict.post("/consolidation/order", {**form, **token(strict)}),
        strict.post("/consolidation/order", {**form, **drawn, "dry_run": "on"}),
    ]
    assert len({answer["Location"] for answer in answers}) == Pass.objects.count() == 3


@pytest.mark.django_db
def test_another_file_of_the_same_name_and_size_is_another_form(strict: Client) -> None:
    url, drawn = reverse("workflow-files"), token(strict)
    texts = [SEED.replace("max_entries_per_task: 50", f"max_entries_per_task: {most}") for most in (50, 60, 60)]
    files = [SimpleUploadedFile("flow.yaml", text.encode()) for text in texts]
    first, other, again = [strict.post(url, {"file": file, "confirmed": "on", **drawn})["Location"] for file in files]
    assert first != other == again
    assert Intent.objects.count() == 2


@pytest.mark.django_db
def test_a_refused_form_can_be_sent_again_as_it_is(strict: Client, drain: Callable[[], Any]) -> None:
    building.remember("acme", "a note")
    form = {"format": "csv"}
    assert strict.post("/memory/export", {**form, **token(strict)}).status_code == 302
    form |= token(strict)
    assert strict.post("/memory/export", form).status_code == 409
    drain()
    assert strict.post("/memory/export", form).status_code == 302
    assert Pass.objects.filter(kind="export").count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"&".join(b"f%d=x" % number for number in range(1100)), "application/x-www-form-urlencoded", 400),
        (b"text=" + b"x" * 3_000_000, "application/x-www-form-urlencoded", 413),
        (b"--", "multipart/form-data; boundary=", 400),
    ],
)
def test_a_form_that_cannot_be_read_is_refused_as_on_other_pages(
    strict: Client, body: bytes, content_type: str, status: int
) -> None:
    for page in ("/consolidation/order", "/settings/password"):
        answer = strict.post(page, body, content_type=content_type)
        assert (answer.status_code, answer.get("Cache-Control")) == (status, "private, no-store"), page


@pytest.mark.django_db
def test_a_form_that_failed_can_be_sent_again_as_it_is(strict: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    building.remember("acme", "a note")
    form = {"kind": "consolidate", "ref": "notes"} | token(strict)

    def fail(_: Pass) -> None:
        raise RuntimeError("the queue is away")

    with monkeypatch.context() as patched:
        patched.setattr(tasks, "enqueue_pass", fail)
        assert strict.post("/consolidation/order", form).status_code == 500
    assert not Pass.objects.exists()
    assert strict.post("/consolidation/order", form).status_code == 302
    assert Pass.objects.count() == 1


@pytest.mark.django_db
def test_nothing_that_a_person_typed_is_stored_to_know_the_form_again(strict: Client) -> None:
    building.remember("acme", "call Marta")
    assert strict.post("/memory/export?q=Marta", {"format": "csv", **token(strict)}).status_code == 302
    assert strict.post("/settings/keys", {**KEY, "name": "Marta", **token(strict)}).status_code == 200
    stored = [str(row) for row in IdempotencyRecord.objects.of(building.tenant().id).values()]
    assert len(stored) == 2
    assert "Marta" not in str(stored)
    assert idempotency_keys.sweep(now=timezone.now() + idempotency_keys.KEPT) == 2


@pytest.mark.django_db
def test_a_form_that_waited_is_refused_when_its_person_was_deactivated_meanwhile(
    strict: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    building.remember("acme", "a note")
    building.operator("acme", "owner", email="other@acme.example")
    form = {"kind": "consolidate", "ref": "notes"} | token(strict)
    person = Operator.objects.get(id=strict.session["_auth_user_id"])
    claim = idempotency_keys.claim

    def deactivate(_: float) -> None:
        operators.change(building.scope(), person.id, active=False, now=timezone.now())
        monkeypatch.setattr(idempotency_keys, "claim", claim)

    monkeypatch.setattr(idempotency_keys, "claim", lambda *_, **__: None)
    monkeypatch.setattr(forms_sent_again, "time", SimpleNamespace(monotonic=time.monotonic, sleep=deactivate))
    assert strict.post("/consolidation/order", form).status_code == 401
    assert not Pass.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.engines
def test_the_same_form_sent_at_once_makes_one_thing(strict: Client) -> None:
    building.remember("acme", "a note")
    form = {"kind": "consolidate", "ref": "notes"} | token(strict)
    browsers = [Client(enforce_csrf_checks=True) for _ in range(4)]
    for browser in browsers:
        browser.cookies = SimpleCookie({name: each.value for name, each in strict.cookies.items()})
    answers = at_once(*(partial(browser.post, "/consolidation/order", form) for browser in browsers))
    assert {answer.status_code for answer in answers} == {302}
    [made] = Pass.objects.all()
    assert {answer["Location"] for answer in answers} == {f"/passes/{ids.wire('pass', made.id)}"}
