"""Intentions in doubt: shown to a person, who arms or dismisses them; none of them ever fires by itself."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory import commitments, ledger
from memory.host import audit, ids
from memory.host.errors import Conflict, Forbidden, NotFound
from memory.models import Commitment, CommitmentState, Firing
from memory.text.intentions import found_in
from openwop_console.runtime import commitment_firing
from tests import building

SUNDAY = datetime(2026, 11, 22, 10, tzinfo=UTC)
S = CommitmentState


def judged(text: str) -> str:
    found = found_in(text, zone="UTC", written_at=SUNDAY, doubtful=True)
    return "none" if not found else "possible" if found[0].doubtful else "armed"


def test_what_is_weighed_asked_or_another_persons_plan_is_possible_and_not_armed() -> None:
    for text in (
        "Maybe I'll phone the plumber tomorrow.",
        "Perhaps call the plumber on Friday.",
        "We might ship the crates on Monday.",
        "We could repaint the hall next week.",
        "I should probably renew the domain on 5 December.",
        "I'd like to review the drawings on Thursday.",
        "Finish the drawings by Friday if possible.",
        "When you get a chance, check the boiler next week.",
        "Should we order more crates on Monday?",
        "Do you want me to order more crates on Monday?",
        "Would it make sense to order more crates on Monday?",
        "It would be good to check the boiler next week.",
        "I think we should check the boiler next week.",
        "We were thinking of moving the desk on Friday.",
        "Rosa thinks she can fix the boiler by Friday.",
        "Rosa might send the drawings tomorrow.",
        "Our supplier hopes to deliver the crates on Monday.",
        "You may want to check the boiler tomorrow.",
        "At some point next week we need to check the boiler.",
        "We might call Rosa when the crates arrive.",
        "Vielleicht rufe ich morgen den Klempner an.",
        "Peut-être envoyer le devis demain.",
    ):
        assert judged(text) == "possible", text
        assert found_in(text, zone="UTC", written_at=SUNDAY) == [], text


def test_a_doubt_about_something_else_or_about_nothing_to_be_done_is_none() -> None:
    for text, as_what in (
        ("Call the plumber tomorrow, he might know the price.", "armed"),
        ("Can you call the plumber tomorrow?", "armed"),
        ("I should call the plumber tomorrow.", "armed"),
        ("Did we order the crates on Monday?", "none"),
        ("We could not ship the crates on Monday.", "none"),
        ("We might have shipped the crates on Monday.", "none"),
        ("If we moved to Graz, we could call on Monday.", "none"),
        ("Suppose we should order crates on Monday.", "none"),
        ("It could rain tomorrow.", "none"),
        ("She told us of the changes we could make on Monday.", "none"),
        ("I would call Rosa tomorrow if I could.", "none"),
        ("We could do great things if we all join forces.", "none"),
        ("The shop may close on Monday.", "none"),
        ("Maybe one day.", "none"),
    ):
        assert judged(text) == as_what, (text, as_what)


@pytest.mark.parametrize(
    "text",
    [
        "Ping me when the nightly_import job has finished.",
        "After finishing the slides, I'll send them to Ana.",
        "If the server does not answer, try the next one.",
        "Clear the cache when the theme changes.",
        "When the config review is over, update the board.",
        "Return the form if it is signed.",
        "Order more paint after this next coat.",
    ],
)
def test_what_may_be_documentation_is_for_a_person_to_say(text: str) -> None:
    assert judged(text) == "possible"


def remembered(*texts: str) -> list[Commitment]:
    building.remember("acme", *texts)
    keep()
    return list(Commitment.objects.of(building.tenant().id).order_by("id"))


def keep(at: datetime | None = None) -> None:
    commitment_firing.process_commitments(building.tenant().id, clock=lambda: at or timezone.now())


def fresh(row: Commitment) -> Commitment:
    return Commitment.objects.get(id=row.id)


@pytest.mark.django_db
@pytest.mark.engines
def test_a_possible_one_never_fires_whatever_the_clock_and_later_memory_say() -> None:
    timed, waiting = remembered("Maybe I'll call Rosa in 2 hours.", "We might call Rosa when the crates arrive.")
    assert (timed.state, waiting.state) == (S.POSSIBLE, S.POSSIBLE)
    remembered("The crates arrived.")
    keep(timezone.now() + timedelta(hours=3))
    assert Firing.objects.count() == 0
    assert fresh(waiting).state == S.POSSIBLE


@pytest.mark.django_db
@pytest.mark.engines
def test_once_armed_it_fires_as_others_do() -> None:
    timed, waiting = remembered("Maybe I'll call Rosa in 2 hours.", "We might call Rosa when the crates arrive.")
    for row in (timed, waiting):
        assert commitments.lifecycle.arm(building.scope(), row.id, now=timezone.now()).state == S.ARMED
    remembered("The crates arrived.")
    keep(timezone.now() + timedelta(hours=3))
    assert {fresh(timed).state, fresh(waiting).state} == {S.FIRED}
    told = [each.action for each in audit.export_records(timed.tenant_id)]
    assert told.count("commitment.armed") == 2


@pytest.mark.django_db
def test_one_that_is_far_away_becomes_dormant_and_one_that_comes_again_begins_from_now() -> None:
    far, often = remembered("Maybe I'll call Rosa in 5 months.", "Perhaps call Rosa every Monday.")
    now = timezone.now() + timedelta(days=20)
    assert commitments.lifecycle.arm(building.scope(), far.id, now=now).state == S.DORMANT
    due_at = commitments.lifecycle.arm(building.scope(), often.id, now=now).due_at
    assert due_at is not None
    assert now < due_at <= now + timedelta(days=7)


@pytest.mark.django_db
def test_a_dismissed_one_is_cancelled_for_good_and_keeps_no_words() -> None:
    [row] = remembered("We might call Rosa when the crates arrive.")
    dismissed = commitments.lifecycle.dismiss(building.scope(), row.id, now=timezone.now())
    assert (dismissed.state, dismissed.predicate) == (S.CANCELLED, {"turn": 0})
    for act in (commitments.lifecycle.arm, commitments.lifecycle.dismiss):
        with pytest.raises(Conflict):
            act(building.scope(), row.id, now=timezone.now())
    assert "commitment.dismissed" in [each.action for each in audit.export_records(row.tenant_id)]


@pytest.mark.django_db
def test_an_armed_one_is_neither_armed_nor_dismissed_and_a_possible_one_is_not_put_off() -> None:
    armed, possible = remembered("Call Rosa in 3 days.", "Maybe I'll call Otto in 3 days.")
    for act in (commitments.lifecycle.arm, commitments.lifecycle.dismiss):
        with pytest.raises(Conflict):
            act(building.scope(), armed.id, now=timezone.now())
    with pytest.raises(Conflict):
        until = timezone.now() + timedelta(days=1)
        commitments.lifecycle.snooze(building.scope(), possible.id, until=until, now=timezone.now())


@pytest.mark.django_db
@pytest.mark.engines
def test_one_whose_time_is_over_or_whose_entry_is_gone_is_stale_and_cannot_be_armed() -> None:
    late, lost = remembered("Maybe I'll call Rosa in 2 hours.", "We might call Rosa when the crates arrive.")
    later = timezone.now() + timedelta(hours=3)
    with pytest.raises(Conflict, match="due time has passed"):
        commitments.lifecycle.arm(building.scope(), late.id, now=later)
    ledger.erase.remove_entries(lost.tenant_id, (lost.entry_id,), reason="deleted", now=timezone.now())
    with pytest.raises(Conflict, match="entry that the commitment came from is gone"):
        commitments.lifecycle.arm(building.scope(), lost.id, now=timezone.now())
    keep(later)
    assert (fresh(late).state, fresh(late).reason) == (S.STALE, "unfired")
    assert (fresh(lost).state, fresh(lost).reason) == (S.STALE, "source_gone")


@pytest.mark.django_db
def test_a_later_entry_that_calls_it_off_cancels_a_possible_one_too() -> None:
    [row, *_] = remembered("Maybe I'll call Rosa in 3 days.")
    remembered("No need to call Rosa.")
    assert fresh(row).state == S.CANCELLED


@pytest.mark.django_db
def test_who_may_arm_and_dismiss() -> None:
    [row] = remembered("Maybe I'll call Rosa in 3 days.")
    for act in (commitments.lifecycle.arm, commitments.lifecycle.dismiss):
        with pytest.raises(Forbidden):
            act(building.scope(role="viewer"), row.id, now=timezone.now())
        for scope in (building.scope("globex"), building.scope(agents=("acme.other",))):
            with pytest.raises(NotFound):
                act(scope, row.id, now=timezone.now())
    assert fresh(row).state == S.POSSIBLE


@pytest.mark.django_db
def test_over_the_api_they_are_listed_armed_and_dismissed(client: Any) -> None:
    made = remembered("Maybe I'll call Rosa in 3 days.", "Perhaps call Otto in 3 days.")
    first, second = (ids.wire("cmt", row.id) for row in made)
    owner, place = building.headers(), "/v1/host/console/commitments"
    listed = client.get(f"{place}?state=possible", **owner).json()
    assert {each["id"] for each in listed["commitments"]} == {first, second}
    given: dict[str, Any] = {"data": {}, "content_type": "application/json"}
    assert client.post(f"{place}/{first}/arm", **given, **building.headers(role="viewer")).status_code == 403
    assert client.post(f"{place}/{first}/arm", **given, **owner).json()["state"] == "armed"
    assert client.post(f"{place}/{second}/dismiss", **given, **owner).json()["state"] == "cancelled"
    assert client.post(f"{place}/{first}/arm", **given, **owner).status_code == 409
