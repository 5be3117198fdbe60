"""Chains of packs: what they may be, the workflow each comes to, and what a run makes of its parameters (RFC 0013)."""

import copy
import json
import random
from functools import partial
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory.forget import execution
from memory.host import event_log, ids, json_schemas, registry, runs, vault
from memory.host.errors import ChainParameterInvalid, Conflict, Invalid, Unprocessable, WorkflowNotFound
from memory.host.models import ArtifactKind, Definition, Run
from openwop_console.runtime import chains, replay, run_operations, schedules, workflows
from openwop_console.runtime.replay import ForkRequest
from openwop_console.runtime.run_operations import RunRequest
from proposals import lifecycle, review
from tests import building, proposing
from tests.budgets import cpu_within, keeps_less_than
from tests.conformance import schemas

pytestmark = pytest.mark.django_db
KIND = "workflow-chain-pack"
CHAIN = "private.acme.followUp"


def changed(path: str, value: Any) -> dict[str, Any]:
    """The chain of the builder with the member at the dotted path replaced."""
    chain = copy.deepcopy(proposing.CHAIN)
    *before, last = path.split(".")
    at: Any = chain
    for name in before:
        at = at[int(name)] if isinstance(at, list) else at[name]
    at[int(last) if isinstance(at, list) else last] = value
    return chain


def one_node(type_id: str, config: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"nodes": [{"id": "only", "typeId": type_id, "config": config, **more}]}


def install(*chains: dict[str, Any], **changes: Any) -> None:
    proposing.applied(proposing.chain_pack(*chains, **changes), kind=KIND)


def pinned(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run.definition.text)
    return found


# --- what a pack may be -----------------------------------------------------------------------------------------------

NODES = "artifact.chains[0].dag.nodes"
PARAMETERS = "artifact.chains[0].parameters"
DAYS = f"{PARAMETERS}.properties.days"
WRITE = proposing.CHAIN["dag"]["nodes"][0]
BAD_CHAINS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown node type": (changed("dag.nodes.1.typeId", "core.nothing"), f"{NODES}[1].typeId"),
    "a node type of the host": (
        changed("dag.nodes.1.typeId", "vendor.console.install-artifact"),
        f"{NODES}[1].typeId",
    ),
    "a gate of the host": (
        {"dag": one_node("core.openwop.governance.approvalGate", {})},
        f"{NODES}[0].typeId",
    ),
    "two nodes of one id": (changed("dag.nodes.1.id", "write"), NODES),
    "an edge to nowhere": (
        changed("dag.edges.0", {"from": "write", "to": "canary"}),
        "artifact.chains[0].dag.edges[0]",
    ),
    "an edge from a port of nobody": (
        changed("dag.edges.0", {"from": "canary.text", "to": "keep"}),
        "artifact.chains[0].dag.edges[0]",
    ),
    "a circle": (
        changed("dag.edges", [{"from": "write", "to": "keep"}, {"from": "keep", "to": "write"}]),
        "artifact.chains[0].dag.edges",
    ),
    "a condition nobody can read": (
        changed("dag.edges.0", {"from": "write", "to": "keep", "condition": "((("}),
        "artifact.chains[0].dag.edges[0].condition",
    ),
    "no edges": ({"dag": {"nodes": proposing.CHAIN["dag"]["nodes"]}}, "artifact.chains[0].dag.edges"),
    "an empty list of edges": (changed("dag.edges", []), "artifact.chains[0].dag.edges"),
    "a placeholder of no parameter": (
        changed("dag.nodes.0.config", {"text": "{{params.canary}}"}),
        f"{NODES}[0].config.text",
    ),
    "a placeholder that is none": (
        changed("dag.nodes.0.config", {"deep": [{"text": "{{params.customer.name}}"}]}),
        f"{NODES}[0].config.deep[0].text",
    ),
    "a placeholder that may have no value": (
        changed("parameters", {"properties": {"customer": {"type": "string"}, "days": {"default": 1}}}),
        f"{NODES}[0].config.text",
    ),
    "a placeholder in what the log tells": (
        {"dag": one_node("core.fail", {"code": "{{params.customer}}"})},
        f"{NODES}[0].config.code",
    ),
    "a placeholder in a question": (
        {"dag": one_node("core.approvalGate", {"title": "{{params.customer}}"})},
        f"{NODES}[0].config.title",
    ),
    "a text in the place of a number": (
        {"dag": one_node("vendor.console.recall", {"limit": "{{params.customer}}"})},
        f"{NODES}[0].config.limit",
    ),
    "an input from nobody": (
        changed("dag.nodes.1.inputs", {"content": {"type": "connection", "nodeId": "canary", "outputKey": "x"}}),
        f"{NODES}[1].inputs.content",
    ),
    "a port that is none": (changed("dag.nodes.1.inputs", {"content": {"type": "variable"}}), f"{NODES}[1].inputs"),
    "parameters that are no schema": (changed("parameters.type", "objekt"), PARAMETERS),
    "parameters that refer": (changed("parameters.properties.days", {"$ref": "#/canary"}), PARAMETERS),
    "parameters of no object": (changed("parameters.type", "array"), f"{PARAMETERS}.type"),
    "a pattern that runs away": (changed("parameters.properties.days", {"pattern": "(a)\\1"}), PARAMETERS),
    "a default that is not allowed": (
        changed("parameters.properties.days.default", 0),
        f"{PARAMETERS}.properties.days.default",
    ),
    "the id of a workflow of the host": ({"chainId": "conformance-noop"}, "artifact.chains[0].chainId"),
    "the id of a run of the host": ({"chainId": "host-activation"}, "artifact.chains[0].chainId"),
    "an id with a line break": ({"chainId": "acme\n"}, "artifact.chains[0].chainId"),
    "an id that no run could have": ({"chainId": "a" * 129}, "artifact.chains[0].chainId"),
    "a version with a line break": ({"version": "1.0.0\n"}, "artifact.chains[0].version"),
    "no nodes": ({"dag": {"nodes": []}}, "artifact.chains[0].dag.nodes"),
    "an agent at a node": (
        changed("dag.nodes.0", {**WRITE, "agent": {"agentId": "private.acme.clerk"}}),
        f"{NODES}[0]",
    ),
    "an unknown member": ({"canary": 1}, "artifact.chains[0]"),
}
BAD_PACKS: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"name": "acme"}, "artifact.name"),
    "a local name": ({"name": "local.acme.desk"}, "artifact.name"),
    "a name with a line break": ({"name": "private.acme.desk\n"}, "artifact.name"),
    "another kind": ({"kind": "node"}, "artifact.kind"),
    "no chains": ({"chains": []}, "artifact.chains"),
    "no engine": ({"engines": {}}, "artifact.engines.openwop"),
    "a signature that lies in an archive": ({"signing": {"method": "manual"}}, "artifact.signing"),
    "a link that is a script": ({"homepage": "javascript:canary"}, "artifact.homepage"),
}


def refused_at(text: str) -> set[str]:
    """The paths at which such a pack is refused; nothing of it is echoed, and none was made."""
    with pytest.raises(Unprocessable) as refused:
        proposing.propose(text=text, kind=KIND)
    said = refused.value.details
    assert "canary" not in " ".join(each["message"].split(" ", 1)[-1] for each in said["errors"])
    return {each["field"] for each in said["errors"]}


def test_a_chain_that_could_not_be_executed_is_refused_by_path() -> None:
    for name, (change, path) in BAD_CHAINS.items():
        assert path in {field[: len(path)] for field in refused_at(proposing.chain_pack(change))}, name


@pytest.mark.parametrize("name", BAD_PACKS)
def test_a_pack_that_is_none_is_refused_by_path(name: str) -> None:
    change, path = BAD_PACKS[name]
    assert path in refused_at(proposing.chain_pack(**change))


def test_two_chains_of_one_id_are_refused_at_both() -> None:
    paths = refused_at(proposing.chain_pack({}, {"label": "Another"}))
    assert paths == {"artifact.chains[0].chainId", "artifact.chains[1].chainId"}


def test_a_chain_never_takes_the_place_of_an_installed_workflow_nor_the_other_way_round() -> None:
    building.install("acme", building.definition("triage", building.node("a", "core.noop")))
    assert refused_at(proposing.chain_pack({"chainId": "triage"})) == {"artifact.chains[0].chainId"}
    install({"chainId": "follow-up"})
    with pytest.raises(Invalid) as refused:
        building.install("acme", building.definition("follow-up", building.node("a", "core.noop")))
    assert refused.value.details["errors"][0]["field"] == "$.id"
    forged = building.definition("forged", building.node("a", "core.noop")) | {"metadata": {"chain": {}}}
    with pytest.raises(Invalid) as refused:
        building.install("acme", forged)
    assert refused.value.details["errors"][0]["field"] == "$.metadata.chain"


def test_a_chain_of_another_pack_stays_that_pack_s() -> None:
    install()
    made = proposing.propose(text=proposing.chain_pack(name="private.acme.other", version="2.0.0"), kind=KIND)
    with pytest.raises(Conflict) as refused:
        lifecycle.ask_to_apply(building.scope(role="reviewer"), made.id, now=timezone.now())
    assert refused.value.details["installedArtifactRef"] == "chain-pack:private.acme.desk@1.0.0"


# --- the workflow it comes to -----------------------------------------------------------------------------------------


def test_a_chain_comes_to_one_text_which_is_a_workflow() -> None:
    shuffled = json.loads(json.dumps(proposing.CHAIN, sort_keys=True))
    assert chains.text_of(proposing.CHAIN) == chains.text_of(shuffled)
    found = chains.workflow_of(proposing.CHAIN)
    schemas.check("workflow-definition", found)
    assert workflows.problems_of(found) == []
    assert [(each["name"], each["type"], each["required"]) for each in found["variables"]] == [
        ("customer", "string", True),
        ("days", "number", False),
    ]
    assert found["variables"][1]["defaultValue"] == 3
    assert found["nodes"][1]["inputs"] == {"content": {"type": "connection", "nodeId": "write", "outputKey": "text"}}


def test_an_id_that_a_workflow_cannot_have_is_written_so_that_no_two_are_alike() -> None:
    names = ["plain-id", "private.acme.followUp", "private-acme-followup", "private.acme.followup", "a" * 128, "A." * 3]
    documents = [{**proposing.CHAIN, "chainId": name} for name in names[:5]]
    found = [chains.workflow_of(chain)["id"] for chain in documents]
    assert (found[0], found[2], len(set(found))) == ("plain-id", "private-acme-followup", 5)
    assert len(chains.workflow_of({**proposing.CHAIN, "chainId": "x." * 64})["id"]) == 128


def test_an_edge_may_name_a_node_that_has_a_dot_and_one_port_alone() -> None:
    dag = {
        "nodes": [{"id": "a.b", "typeId": "core.noop"}, {"id": "c", "typeId": "core.noop", "inputs": {"x": 5}}],
        "edges": [{"from": "a.b", "to": "c.text", "condition": "text"}],
    }
    found = chains.workflow_of({**proposing.CHAIN, "dag": dag})
    assert found["edges"][0]["sourceNodeId"] == "a.b"
    assert found["edges"][0]["condition"] == {"type": "expression", "expression": "text"}
    assert found["nodes"][1]["inputs"] == {
        "text": {"type": "connection", "nodeId": "a.b", "outputKey": "text"},
        "x": {"type": "static", "value": 5},
    }


# --- drafts and installations -----------------------------------------------------------------------------------------


@pytest.mark.engines
def test_a_draft_is_no_workflow_and_what_is_installed_is_one() -> None:
    acme, client = building.scope(), Client()
    made = proposing.propose(text=proposing.chain_pack(), kind=KIND)
    with pytest.raises(WorkflowNotFound):
        building.execute(acme, CHAIN, customer="Marta")
    assert client.get(f"/v1/workflows/{CHAIN}", **building.headers()).status_code == 404
    gate = proposing.opened(made)
    proposing.decide(made, gate)
    assert proposing.advance(gate).status == "completed"
    run = building.execute(acme, CHAIN, customer="Marta")
    assert (run.status, building.contents(acme)) == ("completed", ["Call Marta in 3 days."])
    shown = client.get(f"/v1/workflows/{CHAIN}", **building.headers()).json()
    schemas.check("workflow-definition", shown)
    effect = review.detail(acme, made.id).effect
    assert [(part.ref, part.part_of.ref) for part in effect.parts] == [
        (f"workflow:{CHAIN}@1.0.0", "chain-pack:private.acme.desk@1.0.0")
    ]
    assert [use.run_id for use in effect.uses] == [run.id]
    with pytest.raises(WorkflowNotFound):
        building.execute(building.scope("globex"), CHAIN, customer="Gil")


def test_a_version_without_a_chain_takes_it_out_and_a_rollback_brings_it_back() -> None:
    acme = building.scope()
    install()
    install({"chainId": "acme-other"}, version="2.0.0")
    with pytest.raises(WorkflowNotFound):
        building.execute(acme, CHAIN, customer="Marta")
    assert building.execute(acme, "acme-other", customer="Marta").status == "completed"
    back = lifecycle.propose(building.scope(role="agent"), "chain-pack:private.acme.desk@1.0.0", now=timezone.now())
    gate = proposing.opened(back)
    proposing.decide(back, gate)
    assert proposing.advance(gate).status == "completed"
    assert building.execute(acme, CHAIN, customer="Marta").status == "completed"
    assert registry.current(acme.tenant_id, ArtifactKind.WORKFLOW, "acme-other") is None


# --- a run and its parameters -----------------------------------------------------------------------------------------


def test_what_the_parameters_do_not_allow_is_refused_at_every_door_and_starts_nothing() -> None:
    acme = building.scope()
    install()
    for inputs, field in (
        ({}, "inputs.customer"),
        ({"customer": 5}, "inputs.customer"),
        ({"customer": "x" * 81}, "inputs.customer"),
        ({"customer": "Marta", "days": 0}, "inputs.days"),
        ({"customer": "Marta", "days": "3"}, "inputs.days"),
        ({"customer": "Marta", "more": "canary"}, "inputs"),
        ({"customer": "{{canary}}"}, "inputs.customer"),
        ({"customer": "{{params.days}}"}, "inputs.customer"),
    ):
        with building.undone():
            request, now = RunRequest(CHAIN, inputs=inputs), timezone.now()
            for start in (partial(run_operations.create_run, acme, now=now), partial(schedules.check_startable, acme)):
                with pytest.raises(ChainParameterInvalid) as refused:
                    start(request=request)
                assert {each["field"] for each in refused.value.details["errors"]} == {field}, (inputs, field)
                assert "canary" not in str(refused.value.details), (inputs, field)
            run_id, code = schedules.start(acme.tenant_id, "host", request, now=now)
            assert (run_id, code) == (None, "chain_parameter_invalid"), (inputs, field)
            assert not Run.objects.of(acme.tenant_id).filter(workflow_id=CHAIN).exists(), (inputs, field)


# A class of 300 letters, which RE2 makes thousands of instructions of.
LARGE = "".join(map(chr, range(0x1000, 0x3000, 27)))
LONG = "".join(random.Random(1).choices("ab", k=200_000))


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"allOf": [{"pattern": f"[ab]*a[ab]{{{n}}}c"} for n in range(190, 250)], "default": LONG}, f"{DAYS}.default"),
        ({"pattern": f"^[{LARGE}]{{1,50}}a$", "default": LONG * 5}, f"{DAYS}.default"),
        ({"allOf": [{"uniqueItems": True}] * 900, "default": list(range(100_000))}, f"{DAYS}.default"),
        ({"allOf": [{"items": {"type": "integer"}}] * 400, "default": list(range(100_000))}, f"{DAYS}.default"),
        ({"anyOf": [{"pattern": f"^[{LARGE}]{{1,{n}}}$"} for n in range(50, 100)]}, PARAMETERS),
        ({"anyOf": [{"pattern": f"^a{{{n}}}$"} for n in range(65)]}, PARAMETERS),
        ({"pattern": "a|" * 500_000}, PARAMETERS),
    ],
    ids=["patterns", "a pattern", "items", "rounds", "large patterns", "many patterns", "a long pattern"],
)
def test_what_would_take_minutes_to_check_is_refused_in_a_moment_and_not_logged(
    schema: dict[str, Any], field: str, capfd: pytest.CaptureFixture[str]
) -> None:
    text = proposing.chain_pack(changed("parameters.properties.days", schema))
    with cpu_within(4):
        assert refused_at(text) == {field}
    assert capfd.readouterr() == ("", "")


TEN_THOUSAND = [f"{number:05}" for number in range(10_000)]


@pytest.mark.parametrize(
    "schema",
    [
        {"additionalProperties": {"required": TEN_THOUSAND}, "default": {"k" * 50_000: {}}},
        {"additionalProperties": {"items": {"type": "string"}}, "default": {"k" * 400_000: [1] * 100_000}},
        {"dependentRequired": {"a": [*TEN_THOUSAND, *map(str, range(60_000))]}, "default": {"a": 1}},
        {"items": {"enum": TEN_THOUSAND}, "default": [0] * 1_000},
    ],
    ids=["missing members", "a long name", "dependencies", "values"],
)
def test_problems_of_a_schema_and_a_value_come_to_few_words(schema: dict[str, Any]) -> None:
    with cpu_within(4), pytest.raises(Unprocessable) as refused:
        proposing.propose(text=proposing.chain_pack(changed("parameters.properties.days", schema)), kind=KIND)
    assert len(json.dumps(refused.value.details)) < 100_000


def test_no_value_is_quoted_for_each_of_a_thousand_alternatives() -> None:
    schema = {"anyOf": [{"type": "integer"}] * 900, "type": "string"}
    errors = json_schemas.errors_in(json_schemas._Validator(schema), "Ж" * 200_000)
    with keeps_less_than(20):
        held = list(errors)
    assert [each.validator for each in held] == ["anyOf"]


def test_the_path_of_each_text_in_a_config_is_short() -> None:
    config = {"k" * 450_000: [""] * 130_000}
    with cpu_within(3):
        assert refused_at(proposing.chain_pack(changed("dag", one_node("vendor.console.compose", config)))) == {
            "artifact.chains[0].dag.nodes[0].config"
        }


def test_a_default_that_thousands_of_placeholders_repeat_is_refused_before_it_is_filled_in() -> None:
    text = proposing.chain_pack(
        {
            "parameters": {"type": "object", "properties": {"a": {"type": "string", "default": "x" * 400_000}}},
            "dag": one_node("vendor.console.compose", {"text": "{{params.a}}" * 30_000}),
        }
    )
    with cpu_within(3):
        assert refused_at(text) == {"artifact.chains[0].parameters"}


def test_an_input_that_thousands_of_placeholders_repeat_is_refused_before_it_is_filled_in() -> None:
    config = {"text": "{{params.a}}" * 20_000}
    parameters = {"type": "object", "properties": {"a": {}}, "required": ["a"]}
    install(changed("dag", one_node("vendor.console.compose", config)) | {"parameters": parameters})
    with cpu_within(3), pytest.raises(ChainParameterInvalid) as refused:
        request = RunRequest(CHAIN, inputs={"a": list(range(20_000))})
        run_operations.create_run(building.scope(), request, now=timezone.now())
    assert [each["field"] for each in refused.value.details["errors"]] == ["inputs"]


def test_a_pack_with_more_inputs_of_nodes_than_are_checked_in_a_second_is_refused() -> None:
    ports = {f"input{n}": n for n in range(100)}
    node = {"typeId": "vendor.console.compose", "config": {"text": "x"}, "inputs": ports}
    nodes = [{"id": f"n{n}", **node} for n in range(100)]
    dag = {"nodes": nodes, "edges": [{"from": "n0", "to": "n1"}]}
    chains_of_pack = [{**changed("dag", dag), "chainId": f"private.acme.c{n}"} for n in range(6)]
    with cpu_within(3):
        assert refused_at(proposing.chain_pack(*chains_of_pack)) == {"artifact.chains"}


def test_parameters_may_have_patterns_as_large_as_forms_of_people_have_them() -> None:
    name = {"type": "string", "pattern": r"^[\p{L}\p{N} _-]{1,200}$"}
    mail = {"type": "string", "pattern": r"^[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}$"}
    fields = {"customer": name, "days": mail, **{f"more{n}": {"pattern": f"^[A-Z]{{{n}}}$"} for n in range(60)}}
    install(changed("parameters", {"type": "object", "properties": fields, "required": ["customer", "days"]}))
    fitting = {"customer": "Zażółć Gęślą 7", "days": "ana@example.org"}
    run_operations.create_run(building.scope(), RunRequest(CHAIN, inputs=fitting), now=timezone.now())
    with pytest.raises(ChainParameterInvalid):
        wrong = {**fitting, "customer": "Zażółć!"}
        run_operations.create_run(building.scope(), RunRequest(CHAIN, inputs=wrong), now=timezone.now())


def test_over_http_a_parameter_that_is_not_allowed_is_422_with_its_code() -> None:
    install()
    body = {"workflowId": CHAIN, "inputs": {"customer": 5}}
    answer = Client().post("/v1/runs", body, content_type="application/json", **building.headers())
    assert (answer.status_code, answer.json()["error"]) == (422, "chain_parameter_invalid")


def test_a_value_alone_keeps_its_type_and_within_a_text_it_is_written_out() -> None:
    text = {
        "number": "{{params.n}}",
        "in": "n={{ params.n }}, l={{params.l}}",
        "port": "{{other}}",
        "deep": ["{{params.l}}"],
    }
    node = {
        "id": "a",
        "typeId": "core.noop",
        "config": text,
        "inputs": {"x": {"type": "static", "value": "{{params.b}}"}},
    }
    found = chains.filled({"nodes": [node]}, {"n": 3, "l": ["ü", None], "b": True})["nodes"][0]
    assert found["config"] == {"number": 3, "in": 'n=3, l=["ü", null]', "port": "{{other}}", "deep": [["ü", None]]}
    assert found["inputs"]["x"]["value"] is True


@pytest.mark.parametrize("value", ["{{content}}", "a{", {"x": "{{y}}"}, "}} {{"])
def test_no_value_becomes_a_placeholder_however_it_is_put_together(value: Any) -> None:
    assert chains.problem_of("{{params.x}}{content}}", {"x": value}) == "holds a placeholder"
    assert chains.problem_of("{{params.x}} {{content}}", {"x": "a { b"}) == ""


def test_a_value_is_not_written_out_more_often_than_there_is_room() -> None:
    text = "{{params.x}}" * 1000
    assert "more than" in chains.problem_of(text, {"x": "y" * 1000})


def test_an_expression_is_a_parameter_that_has_to_make_sense() -> None:
    port = {"type": "expression", "expression": "inputs.{{params.path}}"}
    node = {"id": "a", "typeId": "core.noop", "inputs": {"found": port}}
    schema = {"properties": {"path": {"type": "string"}}, "required": ["path"]}
    install({"chainId": "acme-look", "parameters": schema, "dag": {"nodes": [node]}})
    acme = building.scope()
    assert building.execute(acme, "acme-look", path="path").status == "completed"
    with pytest.raises(ChainParameterInvalid):
        building.execute(acme, "acme-look", path="((")


def test_a_number_that_a_node_cannot_use_is_refused_as_its_parameter() -> None:
    found = one_node("vendor.console.recall", {"memoryRef": "notes", "limit": "{{params.limit}}"})
    asked = {"properties": {"limit": {"type": "number"}}, "required": ["limit"]}
    install({"chainId": "acme-look", "parameters": asked, "dag": found})
    acme = building.scope()
    assert building.execute(acme, "acme-look", limit=5).status == "completed"
    with pytest.raises(ChainParameterInvalid) as refused:
        building.execute(acme, "acme-look", limit=-5)
    (problem,) = refused.value.details["errors"]
    assert problem["message"] == "do not fit the workflow: nodes[0].config.limit is less than 0"


def test_what_is_given_as_a_parameter_is_kept_with_the_inputs_alone_and_forgotten_there() -> None:
    install()
    acme = building.scope()
    first, second = (building.execute(acme, CHAIN, customer=name) for name in ("marta@acme.example", "Ben"))
    assert first.definition_id == second.definition_id
    assert "{{params.customer}}" in first.definition.text
    assert not Definition.objects.of(acme.tenant_id).filter(text__contains="marta@").exists()
    told = "".join(str(event.payload) for event in event_log.read(acme.tenant_id, first.id))
    assert "marta@" not in told
    now, name = timezone.now(), "marta@acme.example"
    asked = execution.preview(acme, [name], now=now).request
    execution.confirm(acme, asked.id, typed=name, reason="asked", ticked=set(), now=now)
    execution.execute(acme.tenant_id, asked.id, holder="test/1", now=now, clock=timezone.now)
    assert "marta@" not in str(runs.find(acme.tenant_id, first.id).inputs)
    assert building.contents(acme) == ["Call Ben in 3 days."]


def test_a_secret_given_as_a_parameter_stands_nowhere() -> None:
    install()
    acme = building.scope()
    vault.store_secret(acme.tenant_id, "crm-key", "hunter2-hunter2", now=timezone.now())
    run = building.execute(acme, CHAIN, customer="hunter2-hunter2")
    assert "hunter2" not in f"{run.inputs}{run.variables}{run.definition.text}{building.contents(acme)}"
    assert run.status == "completed"


@pytest.mark.parametrize("mode", ["replay", "branch"])
def test_a_fork_executes_the_chain_as_its_source_did_whatever_was_installed_since(mode: str) -> None:
    install()
    acme = building.scope()
    source = building.execute(acme, CHAIN, customer="Marta")
    install(changed("dag.nodes.0.config", {"text": "Forget it."}), version="2.0.0")
    made = replay.fork(acme, source.id, ForkRequest(mode, 0), now=timezone.now())
    made = building.advance(made)
    assert (made.status, made.definition_id) == ("completed", source.definition_id)
    assert [use.installation.ref for use in registry.used_by(made)] == [f"workflow:{CHAIN}@1.0.0"]
    assert "Forget it." not in building.contents(acme)
    assert ids.wire("run", made.id) != ids.wire("run", source.id)


def test_a_run_again_takes_the_chain_as_it_is_now() -> None:
    install()
    acme = building.scope()
    source = building.execute(acme, CHAIN, customer="Marta")
    install(changed("dag.nodes.0.config", {"text": "Write to {{params.customer}}."}), version="2.0.0")
    again = building.advance(run_operations.run_again(acme, source.id, now=timezone.now()))
    assert pinned(again)["nodes"][0]["config"]["text"] == "Write to {{params.customer}}."
    assert building.contents(acme)[0] == "Write to Marta."
