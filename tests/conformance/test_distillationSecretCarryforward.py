"""``distillation-secret-carryforward``: no secret re-enters by way of an archive (RFC 0062 B.3, SR-1)."""

import re

from tests.conformance import dreaming
from tests.conformance.conftest import Host
from tests.conformance.dreaming import DISTILL, SOURCES

CANARY = re.compile("canary-[0-9a-f]{8}")


def test_a_canary_in_the_sources_is_in_nothing_that_comes_of_them(seamed: Host) -> None:
    for given in ({}, {"sources": SOURCES}):
        ref = dreaming.fresh_ref()
        made = dreaming.asked(
            seamed,
            DISTILL,
            memoryRef=ref,
            includeSecretCanary=True,
            indexEmitted=True,
            tokenBudget=8000,
            targetTokens=2000,
            **given,
        )
        assert made["secretLeaked"] is False
        entries = dreaming.listed(seamed, ref)
        everything = [made, entries, seamed.events(made["runId"]), dreaming.file(seamed)]
        assert not CANARY.search(str(everything))
        assert made["event"]["sourceCount"] >= len(SOURCES) + 1
        [archive] = [entry for entry in entries if entry["id"] == made["event"]["outputId"]]
        assert "[REDACTED:conformance-canary]" in archive["content"]


def test_a_canary_that_is_asked_for_again_changes_no_byte(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    given = {"memoryRef": ref, "includeSecretCanary": True, "tokenBudget": 8000}
    first, second = (dreaming.asked(seamed, DISTILL, **given) for _ in range(2))
    assert first["archiveChecksum"] == second["archiveChecksum"]
    assert second["secretLeaked"] is False


def test_old_marks_and_shapes_of_secrets_in_the_sources_are_redacted(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    key = "AKIA" + "ABCDEFGH12345678"
    sources = [*SOURCES, "The case was filed with <REDACTED:crm-key> at noon.", f"Somebody pasted {key} into the chat."]
    made = dreaming.asked(seamed, DISTILL, memoryRef=ref, sources=sources)
    shown = str([made, dreaming.listed(seamed, ref), dreaming.file(seamed)])
    assert "<REDACTED:" not in shown
    assert key not in shown


def test_a_secret_of_the_vault_in_the_sources_is_kept_nowhere(seamed: Host) -> None:
    ref, value = dreaming.fresh_ref(), "a-value-of-the-vault-itself"
    with seamed.client() as client:
        assert client.put("/v1/host/console/secrets/till-two", json={"value": value}).status_code < 300
        made = dreaming.asked(seamed, DISTILL, memoryRef=ref, sources=[*SOURCES, f"The till opens with {value} only."])
        assert client.delete("/v1/host/console/secrets/till-two").status_code == 204
    assert value not in str([made, dreaming.listed(seamed, ref), seamed.events(made["runId"])])
