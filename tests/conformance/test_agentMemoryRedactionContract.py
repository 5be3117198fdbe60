"""``conformance-agent-memory-redaction``: a resolved BYOK secret is persisted as its mark (SR-1)."""

from tests.conformance import schemas
from tests.conformance.conftest import Host


def test_what_is_kept_holds_the_mark_in_the_secret_s_place(host: Host) -> None:
    entry = host.run("conformance-agent-memory-redaction")["variables"]["memoryReadback"]
    schemas.check("memory-entry", entry)
    assert entry["content"] == "the provider answered to [REDACTED:conformance-byok] at once"


def test_the_plaintext_is_in_no_answer_of_the_run(host: Host) -> None:
    snapshot = host.run("conformance-agent-memory-redaction")
    assert "canary-" not in str(snapshot) + str(host.events(snapshot["runId"]))
