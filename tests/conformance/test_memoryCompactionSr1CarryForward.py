"""``memory-compaction-sr1-carry-forward``: what is redacted in a source stays so in what is made of it (RFC 0012 D)."""

from typing import Any

import pytest

from tests import sse
from tests.conformance import dreaming, schemas
from tests.conformance.conftest import Host
from tests.conformance.dreaming import COMPACT, SEED

OLD_MARK = "the case was filed with <REDACTED:crm-api-key> at noon"
SHAPED = "somebody pasted AKIA" + "ABCDEFGH12345678 into the chat"


def test_old_marks_are_rewritten_and_shapes_of_secrets_go(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    dreaming.seed(seamed, ref, OLD_MARK, SHAPED, "the case was closed")
    made = dreaming.asked(seamed, COMPACT, memoryRef=ref)
    assert "<REDACTED:" not in made["outputContent"]
    assert "AKIA" not in made["outputContent"]
    assert made["outputContent"] == (
        "the case was filed with [REDACTED:crm-api-key] at noon\n"
        "somebody pasted [REDACTED:secret-shape] into the chat\n"
        "the case was closed"
    )


FORMS = ("[BYOK:{}]", "<REDACTED:{}>", "{{{{secret:{}}}}}", "${{secret:{}}}")


@pytest.mark.parametrize("path", [COMPACT, dreaming.DISTILL, dreaming.CONSOLIDATE])
def test_no_placeholder_of_a_credential_is_in_anything_derived(seamed: Host, path: str) -> None:
    leaked = "AKIA" + "ABCDEFGH12345678"
    for form in FORMS:
        ref = dreaming.fresh_ref()
        said = [f"The till opens with {form.format(name)} in shop 4." for name in ("crm-key", leaked)]
        planted = dreaming.seed(seamed, ref, *said, *said)
        made = dreaming.asked(seamed, path, memoryRef=ref)
        new = [entry for entry in dreaming.listed(seamed, ref) if entry["id"] not in planted]
        archives = dreaming.archives(seamed, ref)
        assert bool(archives) is (path == dreaming.DISTILL), form
        derived = str([made, new, archives])
        assert "[REDACTED:crm-key]" in derived, form
        assert "[REDACTED:secret]" in derived, form
        kept = derived + str(dreaming.file(seamed))
        assert not [name for name in ("crm-key", leaked) if form.format(name) in kept], form
        assert leaked not in kept, form


def test_a_seeded_entry_is_stored_as_it_was_given(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    [planted] = dreaming.seed(seamed, ref, OLD_MARK)
    [entry] = dreaming.listed(seamed, ref)
    assert (entry["id"], entry["content"]) == (planted, OLD_MARK)
    schemas.check("memory-entry", entry)


def test_a_secret_that_the_vault_came_to_know_later_is_not_carried_forward(seamed: Host) -> None:
    ref, value = dreaming.fresh_ref(), "a-value-that-was-no-secret-yet"
    dreaming.seed(seamed, ref, f"we use {value} for the till", "the till is in shop 4")
    with seamed.client() as client:
        assert client.put("/v1/host/console/secrets/till-key", json={"value": value}).status_code < 300
        made = dreaming.asked(seamed, COMPACT, memoryRef=ref)
        assert client.delete("/v1/host/console/secrets/till-key").status_code == 204
    assert made["outputContent"] == "we use [REDACTED:till-key] for the till\nthe till is in shop 4"
    assert value not in str(dreaming.listed(seamed, ref))


def test_the_event_is_content_free_and_its_output_can_be_read(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    planted = dreaming.seed(seamed, ref, "one", "two", "one")
    made = dreaming.asked(seamed, COMPACT, memoryRef=ref)
    payload = made["payload"]
    schemas.check_payload("memoryCompacted", payload)
    assert made["type"] == "memory.compacted"
    assert payload == {
        "memoryRef": ref,
        "outputId": payload["outputId"],
        "sourceCount": 3,
        "sourceIds": planted,
        "trigger": "host-managed",
        "byteSize": len(made["outputContent"].encode()),
    }
    [entry] = dreaming.listed(seamed, ref)
    assert (entry["id"], entry["content"]) == (payload["outputId"], "one\ntwo")
    assert entry["tags"][0] == "compacted"
    assert entry["tags"][1].startswith("compacted-from:run_")


def test_its_log_ends_with_the_end_of_its_run_and_names_no_node(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    dreaming.seed(seamed, ref, "one", "two")
    run_id = dreaming.asked(seamed, COMPACT, memoryRef=ref)["runId"]
    events = seamed.events(run_id)
    for event in events:
        schemas.check("run-event", event)
    assert [event["type"] for event in events][-3:] == ["memory.written", "memory.compacted", "run.completed"]
    written = events[-3]["payload"]
    schemas.check_payload("memoryWritten", written)
    assert "nodeId" not in written
    with seamed.client() as client:
        assert "memory.compacted" in sse.types(sse.read(client, run_id, streamMode="debug"))
        assert "memory.written" in sse.types(sse.read(client, run_id, streamMode="updates"))


def test_bounds_of_the_request_hold_and_what_finds_no_room_stays(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    dreaming.seed(seamed, ref, *(f"note {number}" for number in range(6)))
    made = dreaming.asked(seamed, COMPACT, memoryRef=ref, maxInputEntries=4, maxOutputBytes=20)
    assert made["outputContent"] == "note 0\nnote 1\nnote 2"
    assert made["payload"]["sourceCount"] == 3
    assert len(dreaming.listed(seamed, ref)) == 4


def test_more_than_the_host_advertises_is_as_much_as_it_advertises(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    dreaming.seed(seamed, ref, "one", "two")
    block = dreaming.advertised(seamed)["memory"]["compaction"]
    assert block == {"supported": True, "trigger": "host-managed", "maxInputEntries": 1000, "maxOutputBytes": 65536}
    most = {name: 10 * block[name] for name in ("maxInputEntries", "maxOutputBytes")}
    assert dreaming.asked(seamed, COMPACT, memoryRef=ref, **most)["payload"]["sourceCount"] == 2


@pytest.mark.parametrize("contents", [[], ["alone"]], ids=["none", "one"])
def test_fewer_than_two_entries_are_left_as_they_are(seamed: Host, contents: list[str]) -> None:
    ref = dreaming.fresh_ref()
    if contents:
        dreaming.seed(seamed, ref, *contents)
    answer = dreaming.ask(seamed, COMPACT, {"memoryRef": ref})
    assert (answer.status_code, answer.content) == (204, b"")
    assert [entry["content"] for entry in dreaming.listed(seamed, ref)] == contents


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (COMPACT, {}),
        (COMPACT, {"memoryRef": 5}),
        (COMPACT, {"memoryRef": "x", "maxInputEntries": 0}),
        (COMPACT, {"memoryRef": "x", "maxOutputBytes": "many"}),
        (COMPACT, {"memoryRef": "x", "more": 1}),
        (COMPACT, []),
        (SEED, {}),
        (SEED, {"memoryRef": "x"}),
        (SEED, {"memoryRef": "x", "entries": []}),
        (SEED, {"memoryRef": "x", "entries": ["a"]}),
        (SEED, {"memoryRef": "x", "entries": [{"id": "a"}]}),
        (SEED, {"memoryRef": "x", "entries": [{"id": "a", "content": "x" * 65_537}]}),
    ],
)
def test_a_body_that_makes_no_sense_is_refused_in_the_envelope(seamed: Host, path: str, body: Any) -> None:
    dreaming.refused(dreaming.ask(seamed, path, body), 400, "validation_error")


@pytest.mark.engines
def test_a_batch_with_one_entry_that_cannot_be_stored_stores_none(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    entries = [{"id": "a", "content": "fine"}, {"id": "b", "content": "fine", "tags": ["x" * 257]}]
    dreaming.refused(dreaming.ask(seamed, SEED, {"memoryRef": ref, "entries": entries}), 400, "validation_error")
    assert dreaming.listed(seamed, ref) == []


@pytest.mark.parametrize("path", [COMPACT, SEED, dreaming.DISTILL, dreaming.CONSOLIDATE])
@pytest.mark.parametrize(
    ("ref", "status", "code"),
    [
        ("../x", 400, "validation_error"),
        ("x" * 257, 400, "validation_error"),
        ("a\x00b", 400, "validation_error"),
        ("tenant/globex/x", 404, "not_found"),
    ],
)
def test_a_seam_refuses_a_malformed_ref_as_invalid_and_does_not_find_a_foreign_one(
    seamed: Host, path: str, ref: str, status: int, code: str
) -> None:
    body: dict[str, Any] = {"memoryRef": ref}
    if path == SEED:
        body["entries"] = [{"id": "a", "content": "x"}]
    dreaming.refused(dreaming.ask(seamed, path, body), status, code)


def test_another_tenant_s_ref_of_the_same_name_is_another_ref(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    dreaming.seed(seamed, ref, "ours one", "ours two")
    dreaming.seed(seamed, ref, "theirs one", "theirs two", key="globex/owner")
    made = dreaming.asked(seamed, COMPACT, memoryRef=ref)
    assert made["outputContent"] == "ours one\nours two"
    theirs = dreaming.listed(seamed, ref, key="globex/owner")
    assert [entry["content"] for entry in theirs] == ["theirs two", "theirs one"]


@pytest.mark.parametrize("path", [COMPACT, SEED, dreaming.DISTILL, dreaming.CONSOLIDATE])
def test_who_may_not_run_passes_learns_which_permission_is_missing(host: Host, seamed: Host, path: str) -> None:
    body = {"memoryRef": "x", **({"entries": [{"id": "a", "content": "x"}]} if path == SEED else {})}
    for role in ("viewer", "author", "auditor"):
        answer = dreaming.ask(seamed, path, body, key=f"acme/{role}")
        assert dreaming.refused(answer, 403, "forbidden") == {"requiredScope": "passes:run"}
    assert seamed.stranger.post(path, json=body).status_code == 401
    assert host.stranger.post(path, json=body).status_code == 401
    dreaming.refused(dreaming.ask(host, path, body), 404, "not_found")
