"""Entries that are selected in the ledger and retired, restored or protected at once: all of them, or none."""

from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from memory import entry_selection
from memory.host import audit, ids
from memory.host.errors import NotFound
from memory.models.entry import MemoryEntry
from tests import building
from tests.pages.conftest import SignIn, body_of

pytestmark = pytest.mark.django_db


def written(*texts: str) -> list[str]:
    owner = building.scope()
    run = building.open_run(owner)
    return [ids.wire("mem", building.write(owner, run, text).id) for text in texts]


def rows(mem_ids: list[str]) -> list[MemoryEntry]:
    return list(MemoryEntry.objects.filter(id__in=[ids.parse("mem", each) for each in mem_ids]))


def send(browser: Client, action: str, mem_ids: list[str], **more: Any) -> Any:
    return browser.post("/memory/selected", {"action": action, "id": mem_ids, **more})


@pytest.mark.engines
def test_selected_entries_are_shown_then_retired_and_restored_with_a_record_of_each(ada: Client) -> None:
    made = written("alpha", "beta", "gamma")
    listed = body_of(ada.get("/memory"))
    assert all(f'name="id" value="{each}"' in listed for each in made)
    shown = body_of(ada.get("/memory/selected", {"action": "retire", "id": made[:2]}))
    assert ("alpha" in shown, "beta" in shown, "gamma" in shown) == (True, True, False)
    answer = send(ada, "retire", made[:2], reason="not ours", next="/memory?tag=x")
    assert answer["Location"] == "/memory?tag=x"
    assert {row.retired_reason for row in rows(made[:2])} == {"not ours"}
    assert rows(made[2:])[0].retired_at is None
    assert "beta" not in body_of(ada.get("/memory"))
    send(ada, "restore", made[:2])
    assert all(row.retired_at is None for row in rows(made))
    send(ada, "protect", made)
    assert all(row.protected for row in rows(made))
    for action, targets in (("retired", made[:2]), ("restored", made[:2]), ("protected", made)):
        found = audit.newest(building.tenant().id, audit.AuditFilter(action=f"memory.{action}"))
        assert sorted(each.target for each in found) == sorted(targets)


@pytest.mark.engines
def test_one_that_is_not_there_or_is_another_tenant_s_keeps_the_others_as_they_are(ada: Client) -> None:
    made = written("alpha")
    foreign = building.scope("globex")
    theirs = ids.wire("mem", building.write(foreign, building.open_run(foreign), "theirs").id)
    for other in (theirs, f"mem_{'0' * 32}", "nonsense"):
        assert send(ada, "retire", [*made, other]).status_code == 404
    assert [row.retired_at for row in rows([*made, theirs])] == [None, None]


@pytest.mark.parametrize(("action", "number"), [("retire", 0), ("retire", 51), ("forget", 1)])
def test_no_entry_more_than_a_page_has_or_another_act_is_refused(ada: Client, action: str, number: int) -> None:
    given = {"action": action, "id": [ids.wire("mem", ids.new_id()) for _ in range(number)]}
    assert ada.get("/memory/selected", given).status_code == 422
    assert ada.post("/memory/selected", given).status_code == 422


def test_who_may_not_retire_has_no_boxes_and_is_refused(ada: Client, sign_in: SignIn) -> None:
    made, viewer = written("alpha"), sign_in(role="viewer")
    assert "data-check" not in body_of(viewer.get("/memory"))
    assert send(viewer, "retire", made).status_code == 403
    assert rows(made)[0].retired_at is None


@pytest.mark.engines
def test_an_entry_that_goes_meanwhile_leaves_the_others_as_they_were() -> None:
    (mem_id,) = written("alpha")
    chosen = [row.id for row in rows([mem_id])]
    with pytest.raises(NotFound):
        entry_selection.apply(
            building.scope(), "retire", [*chosen, UUID(int=2**128 - 1)], reason="", now=timezone.now()
        )
    assert rows([mem_id])[0].retired_at is None
    assert audit.newest(building.tenant().id, audit.AuditFilter(action="memory.retired")) == []
