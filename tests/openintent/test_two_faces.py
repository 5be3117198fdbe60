"""One row, two faces: what an agent keeps over OpenIntent, as OpenWOP's runs, keys and pages find it, and back."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import adapter, commitments
from memory.addresses import Address, Tier
from memory.host import ids, tenancy
from memory.host.errors import NotFound, Unprocessable
from memory.host.models import ForkMode, Run
from memory.ledger.entries import AddressedValue
from memory.models import Commitment, PassState
from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry
from memory.openintent import entries, namespaces, work
from memory.openintent.access import Caller
from memory.openintent.namespaces import Permissions
from memory.openintent.work.rows import NewCoordinator, NewIntent, NewTask, TaskChange
from memory.passes import orders, pass_schedules
from memory.passes.orders import RequestedPass
from memory.passes.pass_schedules import PassTimes
from openwop_console.runtime import replay
from openwop_console.runtime.models import Step
from openwop_console.runtime.replay import ForkRequest
from tests import building
from tests.openintent.conftest import Served

OWN, OTHER = "billing-01", "support-02"


# Over HTTP, by the published client.


def console(served: Served, path: str, **query: Any) -> Any:
    """What the console's own API says to an operator of Acme."""
    with served.http(role="operator") as client:
        answer = client.get(f"/v1/host/console/{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.engines
def test_an_entry_of_the_published_client_is_the_same_one_on_the_openwop_face(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        made = client.create_memory(
            agent, "invoices", "progress", {"total": 47}, memory_type="episodic", priority="high"
        )
    [row] = console(served, "memory", agentId=agent)["entries"]
    assert (row["id"], json.loads(row["content"])) == (made.id, {"total": 47})
    address = row["address"]
    assert (address["tier"], address["namespace"], address["key"]) == ("episodic", "invoices", "progress")
    assert (address["version"], address["priority"], address["sensitivity"]) == (1, "high", None)
    told = console(served, f"memory/{made.id}")
    assert told["memoryRef"] == row.pop("memoryRef") == f"openintent/episodic/{agent}"
    assert told["entry"] == row
    [write] = told["provenance"]["writes"]
    assert (told["provenance"]["verdict"], write["agentId"]) == ("node", agent)


def test_a_change_over_openintent_is_seen_on_the_other_face_under_the_same_id(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        made = client.create_memory(agent, "invoices", "progress", {"n": 1})
        client.update_memory(made.id, 1, value={"n": 2}, tags=["late"])
    told = console(served, f"memory/{made.id}")
    assert (json.loads(told["entry"]["content"]), told["entry"]["tags"]) == ({"n": 2}, ["late"])
    assert told["entry"]["address"]["version"] == 2
    assert len(told["provenance"]["writes"]) == 2


def test_a_sealed_value_is_said_to_be_sealed_and_never_in_clear(served: Served) -> None:
    agent, word = served.agent(), served.agent("pelican")
    made = served.remembers(agent, value={"iban": word}, sensitivity="restricted")
    told = console(served, f"memory/{made['id']}")
    assert told["entry"]["content"] == '{"sealed": "restricted"}'
    assert told["entry"]["address"]["sealed"] is True
    assert word not in json.dumps(console(served, "memory", agentId=agent))
    assert console(served, "memory", q=word)["total"] == 0


@pytest.mark.engines
def test_the_console_narrows_by_tier_namespace_and_sensitivity(served: Served) -> None:
    agent = served.agent()
    served.remembers(agent, "a", memory_type="episodic", sensitivity="internal")
    served.remembers(agent, "b", memory_type="working")
    found = console(served, "memory", agentId=agent, tier="episodic")["entries"]
    assert [each["address"]["key"] for each in found] == ["a"]
    assert console(served, "memory", agentId=agent, sensitivity="internal")["total"] == 1
    assert console(served, "memory", agentId=agent, namespace="elsewhere")["total"] == 0


def test_what_is_deleted_over_openintent_is_gone_from_the_other_face(served: Served) -> None:
    agent = served.agent()
    made = served.remembers(agent)
    with served.client(agent) as client:
        client.delete_memory(made["id"])
    assert console(served, "memory", agentId=agent)["total"] == 0


@pytest.mark.engines
def test_a_key_bound_to_agents_finds_what_those_wrote_and_nothing_of_others(served: Served) -> None:
    mine, theirs = served.agent(), served.agent()
    own, foreign = served.remembers(mine), served.remembers(theirs)
    with served.plain(**{"X-API-Key": served.key("agent", mine)}) as client:
        client.base_url = f"{served.url}/v1/host/console/"
        found = client.get("memory").json()["entries"]
        assert [each["id"] for each in found] == [own["id"]]
        place = f"openintent/working/{theirs}/-"
        budget = client.get("memory", params={"memoryRef": place, "tokenBudget": 100}).json()
        unknown = client.get("memory", params={"memoryRef": "openintent/working/x/-", "tokenBudget": 100}).json()
        assert budget["entries"] == unknown["entries"] == []
        assert budget["total"] == unknown["total"] == 0
        hidden = client.get(f"memory/{foreign['id']}")
        nothing = client.get(f"memory/{ids.wire('mem', ids.new_id())}")
        assert (hidden.status_code, hidden.json()) == (nothing.status_code, nothing.json())


# Runs, in this process.


def remember(
    key: str = "k", value: dict[str, Any] | None = None, *, agent: str = OWN, tier: str = Tier.WORKING, **more: Any
) -> EntryAddress:
    place = {"tier": tier, "agent_id": agent, "namespace": "ns", "key": key, **more}
    given = AddressedValue(Address(**place), {"n": 1} if value is None else value)
    return entries.create(Caller(building.scope(), agent), given, now=timezone.now())


def recalled(memory_ref: str, *, agent: str = OWN, own: bool = True) -> tuple[Run, list[str]]:
    """A run that recalls what stands under the ref: the ids that it was given. Its agent is the node's or the run's."""
    acts = {"agent": {"agentId": agent}} if own and agent else {}
    name = f"look-{ids.new_id().hex}"
    node = building.node("recall", "vendor.console.recall", {"memoryRef": memory_ref, "limit": 100}, **acts)
    building.install("acme", building.definition(name, node))
    run = building.execute(building.scope(), name, agent_id="" if own else agent)
    assert run.status == "completed", run.error
    step = Step.objects.get(run_id=run.id, node_id="recall")
    return run, [each["id"] for each in step.outputs["entries"]]


@pytest.mark.django_db
@pytest.mark.parametrize("own", [True, False], ids=["the agent of the node", "the agent of the run"])
@pytest.mark.parametrize("tier", ["working", "episodic"])
def test_a_run_reads_memory_of_the_agent_that_it_acts_as_and_of_no_other(tier: str, own: bool) -> None:
    mine, theirs = remember(tier=tier), remember(tier=tier, agent=OTHER)
    ref = mine.entry.memory_ref
    assert recalled(ref, own=own)[1] == [ids.wire("mem", mine.id)]
    assert recalled(theirs.entry.memory_ref, own=own)[1] == []
    assert recalled(ref, agent="", own=own)[1] == []


@pytest.mark.django_db
def test_a_run_reads_shared_memory_where_its_agent_may(client: Client) -> None:
    made = remember(tier=Tier.SEMANTIC, namespace="prices")
    assert recalled("openintent/semantic/prices", agent=OTHER)[1] == [ids.wire("mem", made.id)]
    caller = Caller(building.scope(), OWN)
    closed = Permissions("none", [{"agent": OWN, "access": "write"}])
    namespaces.change(caller, "prices", closed, now=timezone.now())
    assert recalled("openintent/semantic/prices", agent=OTHER)[1] == []
    assert recalled("openintent/semantic/prices")[1] == [ids.wire("mem", made.id)]
    assert recalled("openintent/semantic/unknown")[1] == []


@pytest.mark.django_db
def test_a_key_bound_to_an_agent_loses_what_it_wrote_where_it_may_not_read_any_more() -> None:
    made = remember(tier=Tier.SEMANTIC, namespace="prices")
    bound = building.scope(role="agent", agents=(OWN,))
    assert adapter.console.find_entry(bound, made.id, now=timezone.now())
    namespaces.change(Caller(building.scope(), OTHER), "prices", Permissions("none", []), now=timezone.now())
    assert adapter.console.find_entry(bound, made.id, now=timezone.now()) is None
    assert tenancy.memory_scope(bound, "openintent/semantic/prices") is None
    assert tenancy.memory_scope(building.scope(), "openintent/semantic/prices")


@pytest.mark.django_db
def test_no_two_agents_share_a_ref_whatever_they_and_their_tasks_are_called() -> None:
    """``a`` in a task called ``b/-``, and ``a/b`` in none."""
    mine, theirs = remember(agent="a", task_id="b/-"), remember(agent="a/b")
    assert mine.entry.memory_ref != theirs.entry.memory_ref
    assert recalled(theirs.entry.memory_ref, agent="a", own=False)[1] == []
    assert recalled(mine.entry.memory_ref, agent="a", own=False)[1] == [ids.wire("mem", mine.id)]


@pytest.mark.django_db
def test_a_run_is_given_a_sealed_entry_without_its_value() -> None:
    made = remember(value={"iban": "PELICAN-4711"}, sensitivity="confidential")
    run, found = recalled(made.entry.memory_ref)
    assert found == [ids.wire("mem", made.id)]
    assert "PELICAN" not in str(Step.objects.get(run_id=run.id, node_id="recall").outputs)


@pytest.mark.django_db
def test_a_replay_is_told_what_its_source_read_whatever_became_of_it() -> None:
    made = remember()
    run, found = recalled(made.entry.memory_ref)
    entries.update(Caller(building.scope(), OWN), made.id, 1, {"value": {"n": 2}}, now=timezone.now())
    fork = replay.fork(building.scope(), run.id, ForkRequest(ForkMode.REPLAY), now=timezone.now())
    again = building.advance(fork)
    assert again.status == "completed", again.error
    step = Step.objects.get(run_id=again.id, node_id="recall")
    assert [each["id"] for each in step.outputs["entries"]] == found
    assert json.loads(step.outputs["entries"][0]["content"]) == {"n": 1}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "memory_ref", ["openintent/working/billing-01/-", "openintent/episodic/support-02", "openintent/semantic/prices"]
)
def test_a_run_that_writes_there_fails_with_a_code_and_nothing_is_written(memory_ref: str) -> None:
    node = building.remember_node("text", memory_ref=memory_ref) | {"agent": {"agentId": OWN}}
    building.install("acme", building.definition("writes-there", node))
    run = building.execute(building.scope(), "writes-there")
    assert run.status == "failed"
    assert run.error["code"] == "memory_ref_reserved"
    assert not MemoryEntry.objects.exists()


@pytest.mark.django_db
def test_a_key_bound_to_an_agent_reads_no_namespace_that_a_coordinator_of_its_task_closes() -> None:
    owner, now = building.scope(), timezone.now()
    made = remember(tier=Tier.SEMANTIC, namespace="prices")
    intent = f"intent_{work.intents.create_intent(owner, NewIntent('Invoices'), actor='chief', now=now).id.hex}"
    work.tasks.create_task(owner, NewTask(intent, "fetch", assigned_agent=OTHER), actor="chief", now=now)
    bound = building.scope(role="agent", agents=(OTHER,))
    assert tenancy.memory_scope(bound, "openintent/semantic/prices")
    rails = NewCoordinator(intent, "chief", {"allowed_semantic_namespaces": ["stock"]})
    work.coordinators.create_coordinator(owner, rails, actor="chief", now=now)
    assert tenancy.memory_scope(bound, "openintent/semantic/prices") is None
    assert adapter.console.find_entry(bound, made.id, now=now) is None


@pytest.mark.django_db
def test_a_key_bound_to_an_agent_resolves_no_ref_of_another() -> None:
    mine, theirs = remember(), remember(agent=OTHER)
    bound = building.scope(role="agent", agents=(OWN,))
    assert tenancy.memory_scope(bound, mine.entry.memory_ref)
    assert tenancy.memory_scope(bound, theirs.entry.memory_ref) is None
    assert tenancy.memory_scope(bound, "openintent/working") is None
    assert adapter.console.find_entry(bound, theirs.id, now=timezone.now()) is None


# What people do, on either face.


@pytest.mark.django_db
def test_what_is_retired_here_is_not_there_and_its_key_is_free(client: Client) -> None:
    made, caller = remember(), Caller(building.scope(), OWN)
    browser = Client()
    browser.force_login(building.operator())
    browser.post(f"/memory/{ids.wire('mem', made.id)}/retire", {"reason": "wrong"})
    with pytest.raises(NotFound):
        entries.get(caller, made.id, now=timezone.now())
    other = remember()
    entries.delete(caller, other.id, None, now=timezone.now())
    browser.post(f"/memory/{ids.wire('mem', made.id)}/restore")
    assert entries.get(caller, made.id, now=timezone.now()).version == 1


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["consolidate", "compact", "distill"])
def test_no_pass_goes_over_working_memory_by_any_door(client: Client, kind: str) -> None:
    made, now = remember(), timezone.now()
    ref, scope = made.entry.memory_ref, building.scope()
    with pytest.raises(Unprocessable):
        orders.order(scope, RequestedPass(kind, ref), now=now)
    with pytest.raises(Unprocessable):
        pass_schedules.set_schedule(scope, PassTimes(kind, ref, "0 3 * * *"), now=now)
    by_clock = orders.order_for(scope.tenant_id, scope.principal.id, RequestedPass(kind, ref), window="w", now=now)
    assert (by_clock.state, by_clock.code) == (PassState.REFUSED, "validation_error")
    headers, body = building.headers(), {"kind": kind, "memoryRef": ref}
    for path, send in (("passes", client.post), ("pass-schedules", client.put)):
        given = body if path == "passes" else {**body, "cron": "0 3 * * *"}
        answer = send(f"/v1/host/console/{path}", given, content_type="application/json", **headers)
        assert answer.status_code == 422, answer.content
        [problem] = answer.json()["details"]["errors"]
        assert problem == {"field": "memoryRef", "message": "is working memory of OpenIntent, over which no pass goes"}


@pytest.mark.django_db
@pytest.mark.engines
@pytest.mark.parametrize("options", [{}, {"full": True}])
def test_a_consolidation_leaves_every_key_readable(options: dict[str, Any]) -> None:
    """The same value at two keys is two facts, and a newer value at one key replaces none at another."""
    text = {"text": "The refund of Acme Labs takes five working days after the approval."}
    kept = [
        remember("sealed", text, tier=Tier.EPISODIC, sensitivity="confidential"),
        remember("pinned", text, tier=Tier.EPISODIC, pinned=True),
        *(remember(key, text, tier=Tier.EPISODIC, namespace=place) for key in ("one", "two") for place in ("a", "b")),
        remember("old", {"status": "open", "order": 1}, tier=Tier.EPISODIC),
        remember("new", {"status": "closed", "order": 1}, tier=Tier.EPISODIC),
    ]
    for number in range(2):
        kept.append(remember(f"later {number}", text, tier=Tier.EPISODIC))
        wanted = RequestedPass("consolidate", kept[0].entry.memory_ref, options=options)
        work = orders.order(building.scope(), wanted, now=timezone.now())
        done = orders.run_pass(work.tenant_id, work.id, holder="test/1", clock=timezone.now)
        assert done
        assert (done.state, done.outcome["merged"], done.outcome["superseded"]) == ("done", 0, 0)
    assert {each.id for each in kept} == {row.id for row in EntryAddress.objects.filter(hidden=False)}


@pytest.mark.django_db
def test_globex_finds_nothing_of_acme_by_any_ref(client: Client) -> None:
    made = [remember(tier, tier=tier) for tier in Tier]
    gil = building.headers("globex")
    for row in made:
        place = {"memoryRef": row.entry.memory_ref}
        assert client.get("/v1/host/console/memory", place, **gil).json()["entries"] == []
        assert client.get(f"/v1/host/console/memory/{ids.wire('mem', row.id)}", **gil).status_code == 404


@pytest.mark.django_db
def test_a_key_s_list_asks_as_many_questions_for_thirty_agents_as_for_three() -> None:
    """Each under a coordinator of its own, which keeps it out of what the others share."""
    now, boss = timezone.now(), building.scope()
    agents = [f"agent-{number}" for number in range(30)]
    for number, agent in enumerate(agents):
        remember(agent=agent, tier=Tier.SEMANTIC, namespace=f"ns-{number}")
        log = ids.wire("intent", work.intents.create_intent(boss, NewIntent("i"), actor="chief", now=now).id)
        task = work.tasks.create_task(boss, NewTask(log, "t", assigned_agent=agent), actor="chief", now=now)
        running = TaskChange(status="running")
        work.tasks.update_task(boss, ids.wire("task", task.id), running, version=task.version, actor=agent, now=now)
        rails = {"denied_semantic_namespaces": [f"ns-{number}"]}
        work.coordinators.create_coordinator(boss, NewCoordinator(log, f"boss-{number}", rails), actor="chief", now=now)

    def asked(count: int) -> tuple[int, set[str]]:
        bound = building.scope(role="agent", agents=tuple(agents[:count]))
        with CaptureQueriesContext(connection) as queries:
            seen = {row.memory_ref.rpartition("/")[2] for row in adapter.console.visible_entries(bound, now=now)}
        return len(queries), seen

    assert asked(1) == (3, set())
    few, many = asked(3), asked(30)
    assert few[0] == many[0] == 3
    assert (len(few[1]), len(many[1])) == (3, 30)  # another of its agents reads what is denied to one


@pytest.mark.engines
@pytest.mark.django_db
def test_what_an_agent_writes_over_openintent_arms_a_commitment() -> None:
    remember("call", {"note": "Remind me on Friday to call the harbour office."}, tier=Tier.EPISODIC)
    remember("sealed", {"note": "Remind me on Friday to call."}, tier=Tier.EPISODIC, sensitivity="restricted")
    tenant_id = building.scope().tenant_id
    while commitments.inference.read_next(tenant_id, now=timezone.now()):
        pass
    [row] = Commitment.objects.of(tenant_id)
    assert (row.agent_id, row.condition, row.state) == (OWN, "time", "armed")


@pytest.mark.engines
@pytest.mark.django_db
def test_a_value_that_is_replaced_arms_from_what_it_says_now_and_leaves_alone_what_it_still_says() -> None:
    made = remember("call", {"note": "Remind me in 3 days to call Ana. Call Bob in 5 days."}, tier=Tier.EPISODIC)
    tenant_id = building.scope().tenant_id

    def read() -> dict[str, Commitment]:
        while commitments.inference.read_next(tenant_id, now=timezone.now()):
            pass
        shown = commitments.lifecycle.page(
            building.scope(), commitments.lifecycle.CommitmentFilter(), now=timezone.now()
        ).rows
        return {each.intention or "": each.row for each in shown}

    before = read()
    assert sorted(before) == ["Call Bob in 5 days.", "Remind me in 3 days to call Ana."]
    commitments.lifecycle.cancel(building.scope(), before["Call Bob in 5 days."].id, reason="done", now=timezone.now())
    changed = {"value": {"note": "Send Eve the plan next month. And more. Call Bob in 5 days."}}
    later = timezone.now() + timedelta(hours=1)
    entries.update(Caller(building.scope(), OWN), made.id, 1, changed, now=later)
    after = read()
    assert sorted(after) == ["Call Bob in 5 days.", "Send Eve the plan next month."]
    assert (after["Call Bob in 5 days."].id, after["Call Bob in 5 days."].state) == (
        before["Call Bob in 5 days."].id, "cancelled",
    )  # fmt: skip
    assert after["Send Eve the plan next month."].state == "armed"
    assert read().keys() == after.keys()
