"""Forgetting in the browser, step by step, without scripts: find, preview, confirm, run, verify, receipt."""

import base64
import html
import io
import json
import re
import zipfile
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import transaction
from django.test import Client
from django.utils import timezone

from memory import ledger, ledger_exports, memory_policy, passes, saved_filters, tasks
from memory.forget import consequences, execution
from memory.forget.erasers.entries import ENTRIES
from memory.host import access, ids, pages, vault
from memory.host.erasure import Remains, registered
from memory.host.errors import Conflict
from memory.host.models import AuditRecord
from memory.ledger_search import LedgerFilter
from memory.models import Archive, ForgetRequest, Suspect
from memory.models.entry import MemoryEntry
from openwop_console.templatetags import console
from tests import building
from tests.fixtures_queue import Drain
from tests.pages.conftest import HTMX, body_of, standing

pytestmark = pytest.mark.django_db
MARTA = "marta@example.com"
HOLD = "Case 4 C 12/26 before the district court"
Preview = Callable[..., str]


@pytest.fixture
def memories() -> None:
    building.remember("acme", f"write to {MARTA}", f"ana{MARTA} is somebody else", "nothing to see")


@pytest.fixture
def preview(drain: Drain) -> Preview:
    """``preview(browser)`` is the address of a fresh preview that a worker has built."""

    def preview(browser: Client, subject: str = MARTA) -> str:
        answer = browser.post("/forget", {"subject": subject, "aliases": ""})
        assert answer.status_code == 302, body_of(answer)
        drain()
        return str(answer["Location"])

    return preview


def confirm(browser: Client, url: str, **more: Any) -> Any:
    return browser.post(
        f"{url}/confirm", {"typed": MARTA, "reason": "ticket 17", "password": building.PASSWORD, **more}
    )


def suspected_in(page: str) -> list[str]:
    """The names of the fields in which the suspects of a page are decided about."""
    return re.findall(r'name="(decision-sus_[0-9a-f]{32})" value="ticked"', page)


def test_the_whole_way_from_a_subject_to_a_receipt(ada: Client, memories: None, drain: Drain, preview: Preview) -> None:
    url = preview(ada)
    shown = body_of(ada.get(url))
    assert "Erasure preview" in shown
    assert f"write to {MARTA}" in shown
    asked = body_of(ada.get(f"{url}/confirm"))
    assert "Forget for good" in asked
    assert re.search(r'<input[^>]* name="typed"[^>]* autofocus', asked)
    assert f"about <span hx-disable>{MARTA}</span> will be erased" in asked
    assert confirm(ada, url)["Location"] == url
    assert 'hx-trigger="every 1s"' in body_of(ada.get(url))
    assert ada.get(url, **HTMX).status_code == 200
    drain()
    over = ada.get(url, **HTMX)
    assert over.status_code == 286
    assert "suspects undecided" in body_of(over)
    assert MARTA not in body_of(over)
    assert building.contents(building.scope()) == ["nothing to see", f"ana{MARTA} is somebody else"]

    # A request that is over is not confirmed again.
    assert confirm(ada, url)["Location"] == url
    assert ada.post(f"{url}/retry").status_code == 409
    assert ada.post(f"{url}/again").status_code == 409


def test_a_receipt_says_what_it_counted_what_stays_elsewhere_and_that_a_later_request_decided(
    ada: Client, memories: None, drain: Drain, preview: Preview
) -> None:
    first = preview(ada)
    confirm(ada, first)
    drain()
    shown = html.unescape(body_of(ada.get(first)))
    assert "genuine" in shown
    table, _, rest = shown.partition("Before and after")[2].partition("</table>")
    assert 'scope="row">memory entries' in table
    assert "workspace files" not in table
    assert "workspace files" in rest.partition("</section>")[0]
    assert "stores without a mention" in rest

    found = json.loads(ada.get(f"{first}?format=json").content)
    assert found["receipt"]["stores"][ENTRIES.store]["erased"] == 1
    assert found["signature"]
    assert MARTA not in json.dumps(found)
    said = found["receipt"]["storage"]
    for place in ("replicas keep it until", "write-ahead log", "backups", "until they expire"):
        assert place in said
    assert said in shown
    assert "Ed25519 over the RFC 8785 form (UTF-8) of <code>receipt</code>" in shown
    assert "<code>signedBytes</code> beside the public keys" in shown

    assert "A later request decided" not in shown
    later = preview(ada)
    ada.post(f"{later}/suspects", {"rest": "spared"})
    confirm(ada, later)
    drain()
    shown = body_of(ada.get(first))
    assert "Forgotten and verified" in shown
    assert "A later request decided about the 2 suspected rows" in shown


def test_the_receipt_names_the_archives_that_went_beside_those_that_came(
    ada: Client, drain: Drain, preview: Preview
) -> None:
    rest = [f"Customer number {number} pays {number} euros a month." for number in range(12)]
    building.remember("acme", f"{MARTA} pays 99 euros a month.", *rest)
    ada.post("/archives/distill", {"ref": "notes", "budget": "2000"})
    drain()
    old = Archive.objects.get()
    url = preview(ada)
    confirm(ada, url)
    drain()
    before = body_of(ada.get(url))
    for words in (ids.wire("arc", old.id), old.sha256, "waiting", "not distilled yet"):
        assert words in before
    tasks.enqueue_unattended()
    drain()
    new = Archive.objects.get(state="current")
    shown = body_of(ada.get(url))
    for words in (ids.wire("arc", old.id), old.sha256, ids.wire("arc", new.id), new.sha256, "genuine", "Ed25519"):
        assert words in shown
    assert "not distilled yet" not in shown
    found = json.loads(ada.get(f"{url}?format=json").content)
    gone = {"id": ids.wire("arc", old.id), "sha256": old.sha256}
    assert found["receipt"]["archivesWithdrawn"] == [gone]
    [pass_id] = found["receipt"]["distilledAnewBy"]
    made = {"id": ids.wire("arc", new.id), "sha256": new.sha256, "state": "current"}
    assert found["archives"] == [gone | {"distilledAnewBy": pass_id, "passState": "done", "archive": made}]


def test_the_suspects_are_amber_until_each_is_decided_and_those_that_a_person_chose_go(
    ada: Client, memories: None, drain: Drain, preview: Preview
) -> None:
    url = preview(ada)
    shown = body_of(ada.get(url))
    assert "panel attention" in shown
    chosen = dict.fromkeys(suspected_in(shown), "ticked")
    ada.post(f"{url}/suspects", {next(iter(chosen)): "spared"})
    assert "panel attention" in body_of(ada.get(url))
    assert ada.post(f"{url}/suspects", {**chosen, "confirm": "yes"})["Location"] == f"{url}/confirm"
    shown = body_of(ada.get(url))
    assert "panel attention" not in shown
    assert "all decided" in shown
    assert f"{len(chosen)} suspected rows that you chose" in body_of(ada.get(f"{url}/confirm"))
    confirm(ada, url)
    drain()
    assert building.contents(building.scope()) == ["nothing to see"]


def test_what_is_found_is_shown_with_the_words_around_it_and_a_secret_is_a_mark_wherever_it_is_cut(
    ada: Client, preview: Preview
) -> None:
    long, short = "tok-8h3k-" + "q7w9" * 30, "tok-8h3k-q7w9-aa11"
    # Written before the vault knew the secrets.
    building.remember(
        "acme",
        f"{'long ago ' * 40}the boat of ana{MARTA} lies in <b>Gdansk</b>{' and stays' * 40}",
        f"the key {long} of ana{MARTA} is {long} now",
        f"{long} ana{MARTA}",
    )
    ends_within_it = f"{MARTA} {'x' * (2000 - len(MARTA) - 18)} {short}"
    building.remember("acme", f"{MARTA} gave us {short}", ends_within_it)
    for name, secret in (("crm", long), ("desk", short)):
        vault.store_secret(building.tenant().id, name, secret, now=timezone.now())
    shown = body_of(ada.get(preview(ada)))
    assert f"the boat of ana<mark>{MARTA}</mark> lies in &lt;b&gt;Gdansk&lt;/b&gt;" in shown
    assert "long ago " * 20 not in shown
    assert f"the key [REDACTED:crm] of ana<mark>{MARTA}</mark> is [REDACTED:crm] now" in shown
    assert f"{MARTA} gave us [REDACTED:desk]" in shown
    assert "q7w9" not in shown


# How a row may name Marta, and what of it is shown; written plainly, or decoded.
MENTIONS = {
    "marta+news@example.com": ("write to <mark>marta+news@example.com</mark> about it", False),
    "joana.marta@example.com": ("write to joana.<mark>marta@example.com</mark> about it", False),
    "M\u00e1rta@example.com": ("write to <mark>marta@example.com</mark> about it", True),
    "jomarta%40example.com": ("write to jo<mark>marta@example.com</mark> about it", True),
    base64.b64encode(b"lemarta@example.com").decode(): ("le<mark>marta@example.com</mark>", True),
}


def test_a_suspect_shows_what_it_is_suspected_for_wherever_in_its_row_that_stands(
    ada: Client, preview: Preview
) -> None:
    """And not the whole name beside it, which goes without a decision, nor the first words of the row."""
    for said in MENTIONS:
        inputs = {"first": "an invoice", "who": MARTA, "more": f"{'long ago ' * 300}write to {said} about it"}
        building.execute(building.scope(), "conformance-noop", **inputs)
    suspects = body_of(ada.get(preview(ada))).partition('id="suspected"')[2]
    assert f"<mark>{MARTA}</mark></p>" not in suspects, "the whole name by itself"
    rows = suspects.split('class="field suspect"')[1:]
    assert len(rows) == len(MENTIONS)
    for shown, is_decoded in MENTIONS.values():
        assert any(shown in row and ("decoded, or without accents" in row) is is_decoded for row in rows), shown


def test_the_page_of_a_preview_has_one_size_however_many_suspects_there_are_and_however_long(
    ada: Client, preview: Preview
) -> None:
    owner = building.scope()

    def remember(numbers: range) -> None:
        run = building.open_run(owner)
        for number in numbers:
            building.write(owner, run, f"{number} ana{MARTA} {'and more ' * 1000}")

    def shown() -> str:
        return body_of(ada.get(preview(ada)))

    remember(range(51))
    some = shown()
    remember(range(51, 80))
    many = shown()
    assert len(suspected_in(some)) == len(suspected_in(many)) == pages.PAGE
    assert len(many) < 1.05 * len(some)
    assert len(many) < 400_000


@pytest.mark.engines
def test_suspects_come_by_page_and_decisions_are_kept_across_pages(
    ada: Client, drain: Drain, preview: Preview, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE", 2)
    building.remember("acme", *[f"{number} ana{MARTA}" for number in range(5)])
    url = preview(ada)
    first = suspected_in(body_of(ada.get(url)))
    assert len(first) == 2
    following = next(iter(re.findall(r'name="next" value="([^"]+)"', body_of(ada.get(url))))).replace("&amp;", "&")
    to = ada.post(f"{url}/suspects", {first[0]: "ticked", first[1]: "spared", "next": following})["Location"]
    assert to == following
    second = body_of(ada.get(to))
    assert not {*suspected_in(second)} & {*first}
    total = Suspect.objects.count()
    assert f"1 to forget, 1 to keep, {total - 2} undecided" in second
    bar = second.split('class="decision-bar"')[1]
    assert f"1 to forget, 1 to keep, <strong>{total - 2} undecided</strong>" in bar, "it is in view beside the button"
    assert 'form="preview" name="confirm"' in bar
    again = body_of(ada.get(url))
    assert re.search(rf'name="{first[0]}" value="ticked" checked', again)
    assert ada.post(f"{url}/suspects", {"rest": "spared"})["Location"] == url
    assert f"1 to forget, {total - 1} to keep, 0 undecided" in body_of(ada.get(url))
    confirm(ada, url)
    drain()
    stores = json.loads(ada.get(f"{url}?format=json").content)["receipt"]["stores"].values()
    assert sum(each["spared"] for each in stores) == total - 1
    assert sum(each["undecided"] for each in stores) == 0


def test_a_preview_is_built_by_a_worker_while_the_page_shows_progress(
    ada: Client, memories: None, drain: Drain
) -> None:
    url = ada.post("/forget", {"subject": MARTA, "aliases": ""})["Location"]
    waiting = body_of(ada.get(url))
    assert "Waiting for a worker" in waiting
    assert 'hx-trigger="every 1s"' in waiting
    assert f'href="{url}">Refresh' in waiting
    assert MARTA not in waiting
    assert confirm(ada, url)["Location"] == url
    drain()
    assert ada.get(url, **HTMX)["HX-Redirect"] == url
    assert "Erasure preview" in body_of(ada.get(url))


def test_the_page_says_how_many_stores_a_preview_has_looked_through(
    ada: Client, memories: None, drain: Drain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "MOMENT", timedelta())
    progress, shown = passes.progress, list[tuple[str, str]]()

    def look(*given: Any, **far: Any) -> None:
        progress(*given, **far)
        shown.extend(re.findall(r"<strong>(\d+) of \d+</strong><span>([^<]+)<", body_of(ada.get(url, **HTMX))))

    monkeypatch.setattr(passes, "progress", look)
    url = ada.post("/forget", {"subject": MARTA, "aliases": ""})["Location"]
    drain()
    through = [int(done) for done, doing in shown if doing.startswith("looking through ")]
    assert through == list(range(1, len(registered())))
    assert shown[-1] == (str(len(registered())), "writing the plan")


def test_every_store_has_a_line_and_those_without_a_mention_are_folded_away(
    ada: Client, memories: None, preview: Preview
) -> None:
    shown = body_of(ada.get(preview(ada)))
    table, folded = shown.index("Nothing is removed yet"), shown.index("without a mention")
    assert table < shown.index('scope="row">memory entries</th>') < folded < shown.index("workspace files")
    for eraser in registered():
        assert eraser.store in shown


def test_a_subject_that_nothing_mentions_is_told_before_the_table(ada: Client, preview: Preview) -> None:
    shown = body_of(ada.get(preview(ada, "nobody@example.com")))
    assert shown.index("Nothing mentions this subject.") < shown.index("What would become of each store")
    assert "Nothing is removed yet." not in shown


def test_nothing_is_removed_without_the_subject_the_password_and_a_reason_that_does_not_name_them(
    ada: Client, memories: None, drain: Drain, preview: Preview
) -> None:
    url = preview(ada)
    for lacking, words in (
        ({"typed": "somebody else"}, "is not the subject of this preview"),
        ({"reason": f"{MARTA} asked"}, "must not name the subject"),
        ({"password": "somebody else's"}, "is not your password"),
        ({"password": ""}, "Your password"),
    ):
        answer = confirm(ada, url, **lacking)
        assert answer.status_code == 422, lacking
        assert words in body_of(answer)
        assert "somebody else&#x27;s" not in body_of(answer)
    drain()
    assert len(building.contents(building.scope())) == 3
    assert confirm(ada, url).status_code == 302


def test_all_that_is_wrong_with_a_confirmation_stands_beside_its_fields_at_once(
    ada: Client, memories: None, preview: Preview
) -> None:
    url = preview(ada)
    answer = confirm(ada, url, typed="somebody else", reason=f"{MARTA} asked", password="a guess")
    assert answer.status_code == 422
    assert {*answer.context["form"].errors} == {"typed", "reason", "password"}
    answer = confirm(ada, url, typed="somebody else", reason="", password="")
    assert answer.context["form"].errors["typed"] == ["is not the subject of this preview"]
    assert {*answer.context["form"].errors} == {"typed", "reason", "password"}


def test_a_preview_says_what_is_withdrawn_and_rebuilt_which_logs_stay_and_how_long_backups_do(
    ada: Client, drain: Drain, preview: Preview
) -> None:
    rest = [f"Customer number {number} pays {number} euros a month." for number in range(12)]
    run = building.remember("acme", f"{MARTA} pays 99 euros a month.", *rest).run
    ada.post("/archives/distill", {"ref": "notes", "budget": "2000"})
    drain()
    now = timezone.now()
    tenants = [building.tenant().id]
    consequences.record_backup(tenants, expires_at=now + timedelta(days=30), now=now)
    consequences.record_backup(tenants, expires_at=now - timedelta(days=1), now=now)
    consequences.record_backup(tenants, expires_at=None, now=now)
    url = preview(ada)
    shown = body_of(ada.get(url))
    archives = re.sub(r"<[^>]+>", " ", shown.partition('scope="row">archives</th>')[2].partition("</tr>")[0]).split()
    assert archives[:3] == ["0", "1", "1"], "erased, withdrawn, rebuilt"
    elsewhere = shown.partition('id="keeps"')[2].partition("</section>")[0]
    assert f'href="/runs/{ids.wire("run", run.id)}"' in elsewhere
    assert "RFC 0080" in elsewhere
    assert "2 backups of this host" in elsewhere
    assert f"kept until {console.time(now + timedelta(days=30), show='absolute')[:20]}" in elsewhere
    assert "no end is known" in elsewhere
    assert "1 archive is withdrawn, and 1 memory ref distilled anew" in body_of(ada.get(f"{url}/confirm"))


def test_a_session_that_was_left_open_does_not_guess_the_password(
    ada: Client, memories: None, preview: Preview
) -> None:
    url = preview(ada)
    with time_machine.travel(timezone.now(), tick=False):  # the wait is over in seconds
        for _ in range(6):
            confirm(ada, url, password="a guess")
        answer = confirm(ada, url)
    assert answer.status_code == 422
    assert "Too many failed attempts" in body_of(answer)


def test_an_open_request_says_when_its_answer_is_due_and_that_it_is_overdue(
    ada: Client, memories: None, drain: Drain, preview: Preview
) -> None:
    url = preview(ada)
    assert "Answer due" in body_of(ada.get(url))
    confirm(ada, url)
    request = ForgetRequest.objects.get()
    shown = body_of(ada.get(url))
    assert "Answer due" in shown
    assert "overdue" not in shown
    assert json.loads(ada.get(f"{url}?format=json").content)["dueAt"][:10] == f"{request.due_at:%Y-%m-%d}"
    assert request.due_at - request.created_at == timedelta(days=30)
    request.created_at -= timedelta(days=31)
    request.save(by=execution.WRITER, update_fields=["created_at"])
    assert "overdue" in body_of(ada.get(url))
    assert "overdue" in body_of(ada.get("/forget"))
    drain()
    forgotten = preview(ada)
    ada.post(f"{forgotten}/suspects", {"rest": "spared"})
    confirm(ada, forgotten)
    drain()
    assert "overdue" not in body_of(ada.get("/forget"))
    assert "Answer due" not in body_of(ada.get(forgotten))


def copied(browser: Client, url: str) -> tuple[dict[str, Any], str]:
    """The two files of the copy that a preview gives."""
    answer: Any = browser.post(f"{url}/copy")
    assert answer.status_code == 200
    assert answer["Content-Disposition"] == f'attachment; filename="{url.removeprefix("/forget/")}.zip"'
    bundle = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))
    return json.loads(bundle.read("subject.json")), bundle.read("subject.html").decode()


@pytest.mark.engines
def test_a_copy_for_the_subject_has_every_exact_match_and_the_chosen_suspects(ada: Client, preview: Preview) -> None:
    secret = "tok-8h3k-q7w9-aa11"
    for told in (f"{MARTA} likes <b>tea</b>", f"{MARTA} has {secret}", f"ana{MARTA} is another"):
        building.remember("acme", told)
    vault.store_secret(building.tenant().id, "crm", secret, now=timezone.now())
    url = preview(ada)
    data, page = copied(ada, url)
    [entries] = [store["rows"] for store in data["stores"] if store["store"] == ENTRIES.store]
    assert {text for row in entries for text in row["texts"]} >= {
        f"{MARTA} likes <b>tea</b>",
        f"{MARTA} has [REDACTED:crm]",
    }
    assert data["names"] == [MARTA]
    assert data["rows"] == sum(len(store["rows"]) for store in data["stores"])
    assert f"{MARTA} likes &lt;b&gt;tea&lt;/b&gt;" in page
    assert "is another" not in json.dumps(data) + page
    assert secret not in json.dumps(data) + page
    ada.post(f"{url}/suspects", {"rest": "ticked"})
    data, page = copied(ada, url)
    assert "is another" in json.dumps(data)
    assert "is another" in page
    assert len(building.contents(building.scope())) == 3


def test_a_copy_is_on_record_without_the_name_and_what_fits_no_more_is_neither_copied_nor_removed(
    ada: Client, memories: None, drain: Drain, preview: Preview
) -> None:
    url = preview(ada)
    copied(ada, url)
    record = AuditRecord.objects.get(action="forget.copied")
    assert record.target == url.removeprefix("/forget/")
    assert record.details["rows"] == 2  # the entry, and what its run was given
    assert MARTA not in json.dumps(record.details)
    building.remember("acme", f"{MARTA} called again")
    for answer in (ada.post(f"{url}/copy"), confirm(ada, url)):
        assert answer.status_code == 409
        assert "memory entries: +1 rows to erase" in body_of(answer)
    fresh = ada.post(f"{url}/again")["Location"]
    assert fresh != url
    drain()
    assert confirm(ada, fresh).status_code == 302


def test_a_copy_during_which_something_else_deletes_a_row_is_refused(
    ada: Client, memories: None, preview: Preview
) -> None:
    acme, now = building.scope(), timezone.now()
    hers = saved_filters.save_filter(acme, "memory", name="hers", query=f"q={MARTA}", shared=True, now=now)
    request_id = ids.parse("fgt", preview(ada).removeprefix("/forget/"))
    first, second = (execution.open_copy(acme, request_id, now=now) for _ in range(2))
    assert next(first.pieces())
    saved_filters.remove_filter(acme, "memory", hers.id)
    with pytest.raises(Conflict, match="while the copy was made"):
        next(second.pieces())


def test_a_copy_during_which_the_subject_is_forgotten_is_refused_and_not_half_a_copy(
    ada: Client, memories: None, preview: Preview
) -> None:
    url, acme = preview(ada), building.scope()
    request_id = ids.parse("fgt", url.removeprefix("/forget/"))
    first, second = (execution.open_copy(acme, request_id, now=timezone.now()) for _ in range(2))
    assert all(next(each.pieces()) for each in (first, second))
    rows = MemoryEntry.objects.written_by("memory.ledger").filter(tenant_id=acme.tenant_id)
    with transaction.atomic():
        ledger.erase.remove_entries(
            acme.tenant_id, list(rows.values_list("id", flat=True)), reason="deleted", now=timezone.now()
        )
        with pytest.raises(Conflict, match="while the copy was made"):
            next(second.pieces())
        transaction.set_rollback(True)
    confirm(ada, url)
    with pytest.raises(Conflict, match="while the copy was made"):
        next(first.pieces())


def test_a_confirmation_that_is_sent_twice_leads_to_its_progress_and_does_not_say_that_nothing_was_removed(
    ada: Client, memories: None, preview: Preview, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, check = preview(ada), access.require_password
    others = iter([lambda: confirm(ada, url)])

    def meanwhile(*given: Any, **named: Any) -> Any:
        next(others, lambda: None)()
        return check(*given, **named)

    monkeypatch.setattr(access, "require_password", meanwhile)
    answer = confirm(ada, url)
    assert (answer.status_code, answer.headers.get("Location")) == (302, url)
    assert ForgetRequest.objects.get().state == "confirmed"


def test_a_lapsed_preview_offers_another_look(ada: Client, memories: None) -> None:
    past = timezone.now() - 2 * execution.LIFETIME
    made = execution.preview(building.scope(), [MARTA], now=past)
    url = f"/forget/{ids.wire('fgt', made.request.id)}"
    assert "This preview has expired" in body_of(ada.get(url))
    assert confirm(ada, url).status_code == 409


def test_a_subject_that_is_too_short_is_said_on_the_form(ada: Client) -> None:
    answer = ada.post("/forget", {"subject": "ab", "aliases": ""})
    assert answer.status_code == 422
    assert "error-summary" in body_of(answer)


@pytest.mark.engines
def test_residue_is_red_and_can_be_run_again(
    ada: Client, memories: None, drain: Drain, monkeypatch: pytest.MonkeyPatch, preview: Preview
) -> None:
    url = preview(ada)
    confirm(ada, url)
    with monkeypatch.context() as patched:
        patched.setattr(type(ENTRIES), "remains", lambda *_, **__: Remains(left=2))
        drain(may_fail=True)
        shown = body_of(ada.get(url))
    assert "Residue was found" in shown
    assert "so there is no receipt" in shown
    assert "residue found</span>" in shown
    with monkeypatch.context() as patched:
        patched.setattr(passes, "MAX_ATTEMPTS", 0)
        ada.post(f"{url}/retry")
        drain(may_fail=True)
        shown = body_of(ada.get(url))
    assert "failed or died repeatedly" in shown
    assert "so there is no receipt" not in shown
    assert "A forget left residue" in body_of(ada.get("/"))
    held = ada.post("/forget/holds", {"subject": MARTA, "aliases": "", "reason": HOLD})
    refused = ada.post(f"{url}/retry")
    assert (refused.status_code, HOLD in body_of(refused)) == (409, True)
    ada.post(held["Location"], {"reason": "closed"})
    with time_machine.travel(timezone.now() + timedelta(seconds=2)):
        ada.post(f"{url}/retry")
        drain()
    assert "suspects undecided" in body_of(ada.get(url))


def test_the_form_is_prefilled_from_an_entry_without_content_in_the_address(ada: Client) -> None:
    (mem_id,) = building.remember("acme", f"about {MARTA}", subject=MARTA).entries
    shown = body_of(ada.get(f"/forget?from={mem_id}"))
    assert f'value="{MARTA}"' in shown
    assert f"about {MARTA}" in shown
    assert "Match rules" in body_of(ada.get("/forget?from=mem_none"))


def test_requests_are_listed_with_a_true_total(ada: Client, memories: None, drain: Drain, preview: Preview) -> None:
    assert "No forget requests yet" in body_of(ada.get("/forget"))
    confirm(ada, preview(ada))
    shown = body_of(ada.get("/forget"))
    assert "in progress" in shown
    assert standing(1, 1, 1, "requests") in shown
    assert json.loads(body_of(ada.get("/forget?format=json")))["total"] == 1
    assert "Nothing older" in body_of(ada.get(f"/forget?after=fgt_{'0' * 32}"))
    assert "in progress" in body_of(ada.get("/"))


@pytest.mark.engines
def test_a_suspect_leads_to_where_it_can_be_read(ada: Client, preview: Preview) -> None:
    run = building.remember("acme", f"ana{MARTA} is somebody else").run
    compose = building.node("c", "core.identity", inputs={"who": {"type": "static", "value": f"ana{MARTA}"}})
    building.install("acme", building.definition("asks", compose))
    building.execute(building.scope(), "asks")
    shown = body_of(ada.get(preview(ada)))
    assert f"/runs/{ids.wire('run', run.id)}" in shown
    assert "node outputs" in shown


def test_the_pages_set_show_and_end_a_hold_and_say_why_a_subject_is_not_forgotten(
    ada: Client, memories: None, preview: Preview
) -> None:
    made = ada.post("/forget/holds", {"subject": MARTA, "aliases": "", "reason": HOLD})
    assert made.status_code == 302, body_of(made)
    page = made["Location"]
    for url in ("/forget", "/forget/holds", page):
        shown = body_of(ada.get(url))
        assert HOLD in shown
        assert "ada.owner@acme.example" in shown
    url = preview(ada)
    assert "This subject is on legal hold" in body_of(ada.get(url))
    refused = confirm(ada, url)
    assert refused.status_code == 409
    assert HOLD in body_of(refused)
    held = json.loads(ada.get("/forget/holds?format=json").getvalue())["holds"]
    assert [(each["names"], each["reason"], each["endedAt"]) for each in held] == [([MARTA], HOLD, None)]
    assert ada.post(page, {"reason": ""}).status_code == 422
    assert ada.post(page, {"reason": "closed"})["Location"] == page
    assert ada.post(page, {"reason": "again"}).status_code == 409
    assert "<dt>Reason of the end</dt><dd hx-disable>closed</dd>" in body_of(ada.get(page))
    assert "No subject is on hold" in body_of(ada.get("/forget"))
    url = preview(ada)
    assert confirm(ada, url)["Location"] == url


def test_where_the_policy_says_so_a_second_owner_confirms_what_the_first_one_did_and_did_not_withdraw(
    ada: Client, memories: None, drain: Drain, preview: Preview
) -> None:
    rosa = Client()
    rosa.force_login(building.operator(email="rosa.owner@acme.example"))
    memory_policy.change(building.scope(), {"forget_second_person": True}, now=timezone.now())
    assert "a second owner has a week" in body_of(ada.get("/forget"))
    url = preview(ada)
    assert "Confirm as the first of two" in body_of(ada.get(f"{url}/confirm"))
    confirm(ada, url)
    assert ada.post(f"{url}/withdraw")["Location"] == url
    shown = body_of(ada.get(url))
    assert "Nothing was removed" in shown
    assert "Awaits a second person" not in shown
    url = preview(ada)
    assert confirm(ada, url)["Location"] == url
    mine, hers = body_of(ada.get(url)), body_of(rosa.get(url))
    for shown in (mine, hers):
        assert "Awaits a second person" in shown
        assert "ticket 17" in shown
        assert f"write to {MARTA}" in shown
    assert f'href="{url}/confirm"' in hers
    assert f'href="{url}/confirm"' not in mine
    assert ada.get(f"{url}/confirm")["Location"] == url
    assert url in body_of(rosa.get("/"))
    assert url not in body_of(ada.get("/"))
    refused = confirm(ada, url)
    assert (refused.status_code, "Another person who may forget" in body_of(refused)) == (409, True)
    assert "You are the second person" in body_of(rosa.get(f"{url}/confirm"))
    assert confirm(rosa, url)["Location"] == url
    drain()
    assert "Before and after" in body_of(rosa.get(url))


def test_a_refused_form_is_a_page_whatever_format_its_address_asks_for(ada: Client) -> None:
    answer = ada.post("/forget/holds?format=json", {})
    assert (answer.status_code, answer["Content-Type"]) == (422, "text/html; charset=utf-8")


def test_a_file_that_is_erased_unread_is_called_no_match(ada: Client, preview: Preview) -> None:
    building.remember("acme", "a note")
    row = ledger_exports.order(building.scope(), LedgerFilter(), "csv", now=timezone.now())
    tasks.carry_out_pass(row.tenant_id.hex, row.id.hex)
    url = preview(ada, "nobody@example.org")
    assert "Such files are not searched: each of them is erased, whatever it holds." in body_of(ada.get(url))
    asked = re.sub(r"<[^>]+>", "", body_of(ada.get(f"{url}/confirm")))
    assert "0 rows about nobody@example.org will be erased" in asked
    assert "0 exact matches" in asked
    assert "1 saved export or uploaded import, which is not searched, is erased too." in asked


def test_to_confirm_that_nothing_was_found_warns_of_nothing(ada: Client, preview: Preview) -> None:
    asked = body_of(ada.get(f"{preview(ada, 'nobody@example.org')}/confirm"))
    plain = re.sub(r"<[^>]+>", "", asked)
    assert "Nothing about nobody@example.org was found. The receipt states that nothing was found." in plain
    assert ("notice bad" in asked, "will be erased and cannot" in plain) == (False, False)


def test_a_subject_that_is_in_memory_again_after_it_was_forgotten_is_named(
    ada: Client, preview: Preview, drain: Drain
) -> None:
    assert confirm(ada, preview(ada)).status_code == 302
    drain()
    building.remember("acme", "somebody else", subject="paul@example.com")
    assert "is in memory again" not in body_of(ada.get("/forget"))
    building.remember("acme", "a note", "another", subject=MARTA.upper())
    shown = re.sub(r"<[^>]+>", "", body_of(ada.get("/forget")))
    assert re.search(rf"{MARTA.upper()} is in memory again\. It was forgotten just now; 2 of the newest", shown)
