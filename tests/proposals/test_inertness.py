"""What is not applied has no effect (RFC 0096): nothing that executes runs asks the tables of proposals at all, and no
door lists or resolves what a proposal holds. What is applied is there at once, which shows that they would.
"""

import json
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.host import registry
from memory.host.models import Run, Schedule
from openwop_console.process import scheduler
from openwop_console.runtime import steps
from proposals import lifecycle
from proposals.drafts import Change
from proposals.models import Kind, Proposal
from tests import building, proposing

pytestmark = pytest.mark.django_db
PATIENTLY = timedelta(days=2)
VERSIONS = {"draft": "2.0.0", "revised": "2.1.0", "rejected": "2.2.0", "archived": "2.3.0", "waiting": "2.4.0"}


@dataclass(frozen=True)
class Learned:
    """An artifact of a kind, and what a run or a door makes of it: ``seen`` is what there is to see of it now.

    ``text`` writes it in a version; what it does tells which version that was.
    """

    kind: str
    text: Callable[[str], str]
    seen: Callable[[], Any]
    workflows: list[dict[str, Any]] = field(default_factory=list)

    def __str__(self) -> str:
        return str(self.kind)


def template(version: str) -> str:
    return proposing.artifact(templateId="desk.learned", version=version, text=f"As of {version}", variables=[])


def composed() -> Any:
    run = executed("composes")
    return node_of(run, "compose").get("text", run.error["code"] if run.error else "")


def pack(version: str) -> str:
    return proposing.agent_pack({"agentId": "private.acme.learned"}, name="private.acme.learners", version=version)


def dispatched() -> Any:
    """What the inventory says of the agent, alone and in the list, and how a node fares that is dispatched to it."""
    [one] = [get("/v1/agents/private.acme.learned")]
    listed = [entry["packVersion"] for entry in get("/v1/agents")["agents"] if "learned" in entry["agentId"]]
    run = executed("dispatches")
    return one.get("packVersion", one.get("error")), listed, run.error["code"] if run.error else run.status


def chains(version: str) -> str:
    one = building.node("say", "vendor.console.compose", {"text": f"As of {version}"})
    dag = {"nodes": [{"id": one["id"], "typeId": one["typeId"], "config": one["config"]}]}
    words = {"chainId": "desk-learned", "version": "1.0.0", "label": "Say", "description": "Says its version."}
    return json.dumps(
        {
            "name": "private.acme.learned-chains",
            "version": version,
            "kind": "workflow-chain",
            "engines": {"openwop": ">=1.0 <2.0.0"},
            "chains": [{**words, "parameters": {"type": "object"}, "dag": dag}],
        }
    )


def chained() -> Any:
    """What the address of the workflow says, and what a run of it comes to."""
    found = get("/v1/workflows/desk-learned")
    made = (
        Client()
        .post("/v1/runs", '{"workflowId": "desk-learned"}', content_type="application/json", **building.headers())
        .json()
    )
    if "runId" not in made:
        return found["error"], made["error"]
    run = building.advance(Run.objects.get(id=building.id_of("run", made["runId"])))
    return found["id"], node_of(run, "say")["text"]


def automation(version: str) -> str:
    about = {"automationId": "desk.learned", "version": version, "cron": "0 3 * * *"}
    return json.dumps({**about, "workflowId": "ticks", "inputs": {"version": version}})


def ticked() -> Any:
    """The schedules of the tenant, and with which inputs its workflow is started in the next two days."""
    listed = [each["name"] for each in get("/v1/host/console/schedules")["schedules"]]
    before = Run.objects.count()
    scheduler.Scheduler().tick(timezone.now() + PATIENTLY)
    started = Run.objects.filter(workflow_id="ticks").order_by("-id")[: Run.objects.count() - before]
    return listed, [run.inputs["version"] for run in started]


DISPATCH = building.node("act", "vendor.console.dispatch", agent={"agentId": "private.acme.learned"})
CASES = [
    Learned(
        Kind.PROMPT_TEMPLATE,
        template,
        composed,
        [
            building.definition(
                "composes", building.node("compose", "vendor.console.compose", {"template": "desk.learned"})
            )
        ],
    ),
    Learned(Kind.AGENT_PACK, pack, dispatched, [building.definition("dispatches", DISPATCH)]),
    Learned(Kind.WORKFLOW_CHAIN_PACK, chains, chained),
    Learned(Kind.AUTOMATION, automation, ticked, [building.definition("ticks", building.node("n", "core.noop"))]),
]
NOTHING: dict[str, Any] = {
    Kind.PROMPT_TEMPLATE: "not_found",
    Kind.AGENT_PACK: ("not_found", [], "not_found"),
    Kind.WORKFLOW_CHAIN_PACK: ("workflow_not_found", "workflow_not_found"),
    Kind.AUTOMATION: ([], []),
}
EFFECT: dict[str, Callable[[str], Any]] = {
    Kind.PROMPT_TEMPLATE: lambda version: f"As of {version}",
    Kind.AGENT_PACK: lambda version: (version, [version], "completed"),
    Kind.WORKFLOW_CHAIN_PACK: lambda version: ("desk-learned", f"As of {version}"),
    Kind.AUTOMATION: lambda version: (["automation/desk.learned"], [version]),
}


def get(path: str) -> Any:
    return Client().get(path, **building.headers()).json()


def executed(workflow_id: str) -> Run:
    return building.execute(building.scope(), workflow_id)


def node_of(run: Run, node_id: str) -> dict[str, Any]:
    """The outputs of a node of the run."""
    found = steps.steps_of_run(run.tenant_id, run.id).get(node_id)
    return dict(found.outputs) if found else {}


def proposals_in_every_state(learned: Learned) -> dict[str, Proposal]:
    """A proposal of the kind in each state in which it is not applied, by state; one waits at its open gate."""
    made = {
        state: proposing.propose(text=learned.text(version), kind=learned.kind) for state, version in VERSIONS.items()
    }
    now, owner = timezone.now(), building.scope()
    change = Change(artifact=learned.text("2.1.1"))
    lifecycle.revise(building.scope(role="author"), made["revised"].id, change, now=now)
    lifecycle.reject(owner, made["rejected"].id, reason="no", now=now)
    lifecycle.archive(owner, made["archived"].id, now=now)
    proposing.advance(proposing.opened(made["waiting"]))
    return made


def granted(proposal: Proposal) -> None:
    """The gate that waits is granted, and a worker installs."""
    gate = lifecycle.ask_to_apply(building.scope(role="reviewer"), proposal.id, now=timezone.now()).gate
    assert gate
    proposing.decide(proposal, gate)
    assert proposing.advance(gate).status == "completed"


@contextmanager
def heard() -> Iterator[list[str]]:
    """What is asked of the tables of proposals meanwhile."""
    tables = [model._meta.db_table for model in apps.get_app_config("proposals").get_models()]
    assert len(tables) > 3
    assert all(table.startswith("proposals_") for table in tables)
    asked: list[str] = []
    with CaptureQueriesContext(connection) as queries:
        yield asked
    assert queries.captured_queries
    asked.extend(each["sql"] for each in queries.captured_queries if "proposals_" in each["sql"])


@pytest.fixture(params=CASES, ids=str)
def learned(request: pytest.FixtureRequest) -> Learned:
    case: Learned = request.param
    for workflow in case.workflows:
        building.install("acme", workflow)
    return case


# --- the engine has no way there --------------------------------------------------------------------------------------


def test_the_engine_may_not_import_what_knows_proposals() -> None:
    contracts = tomllib.loads((Path(settings.BASE_DIR) / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    [arrow] = [each for each in contracts if each["type"] == "layers" and "containers" not in each]
    assert arrow["layers"] == ["openwop_console", "proposals", "memory"]
    [unreachable] = [each for each in contracts if "openwop_console.runtime" in each.get("source_modules", ())]
    assert (unreachable["type"], unreachable["forbidden_modules"]) == ("forbidden", ["proposals"])
    assert not {"ignore_imports", "allow_indirect_imports"} & unreachable.keys()


def test_nor_does_its_source_name_their_tables() -> None:
    root = Path(settings.BASE_DIR)
    sources = [*(root / "openwop_console" / "runtime").rglob("*.py"), *(root / "memory").rglob("*.py")]
    assert len(sources) > 100
    assert [str(source) for source in sources if "proposals_" in source.read_text()] == []


def test_a_capability_document_says_the_same_whatever_is_proposed(learned: Learned) -> None:
    before = get("/.well-known/openwop")
    proposals_in_every_state(learned)
    with heard() as asked:
        building.headers()
        assert get("/.well-known/openwop") == before
    assert asked == []


# --- nothing is asked, listed or resolved, and after the application it is --------------------------------------------


def test_nothing_of_a_kind_has_an_effect_until_it_is_applied(learned: Learned) -> None:
    assert learned.seen() == NOTHING[learned.kind]
    made = proposals_in_every_state(learned)
    assert [proposing.fresh(each).state for each in made.values()] == [
        "draft",
        "revised",
        "rejected",
        "archived",
        "draft",
    ]

    with heard() as asked:
        assert learned.seen() == NOTHING[learned.kind]
    assert asked == []

    granted(made["waiting"])
    with heard() as asked:
        assert learned.seen() == EFFECT[learned.kind](VERSIONS["waiting"])
    assert asked == []


def test_what_is_applied_stays_what_it_was_while_another_version_is_proposed(learned: Learned) -> None:
    proposing.applied(text=learned.text("1.0.0"), kind=learned.kind)
    proposals_in_every_state(learned)
    with heard() as asked:
        assert learned.seen() == EFFECT[learned.kind]("1.0.0")
    assert asked == []


def test_the_run_that_activates_is_heard_asking_so_that_silence_means_something() -> None:
    gate = proposing.opened(proposing.propose())
    with heard() as asked:
        proposing.advance(gate)
    assert asked


def test_no_installation_and_no_schedule_comes_of_a_proposal_that_is_not_applied(learned: Learned) -> None:
    before = list(registry.texts_of(building.tenant().id))
    proposals_in_every_state(learned)
    of_the_host = {run.definition.text for run in Run.objects.filter(system=True).select_related("definition")}
    assert [text for text in registry.texts_of(building.tenant().id) if text not in of_the_host] == before
    assert Schedule.objects.count() == 0


def test_every_kind_that_can_be_installed_is_looked_at_here() -> None:
    assert {case.kind for case in CASES} == set(registry.kinds()) == set(Kind.values)
