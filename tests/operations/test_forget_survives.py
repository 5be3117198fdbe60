"""A forget in a real worker: begun, killed with everything else by kill -9, and carried out to its receipt."""

import time
from typing import Any

import httpx
import pytest

from tests.fixtures_console import ConsoleProcess
from tests.operations.test_passes_survive import _shell, _until

pytestmark = pytest.mark.engines

FORGET = "/v1/host/console/forget"
ANA = "ana.q@exquis.org"
ROWS = 3000
FILL = f"""
from django.db import transaction
from django.utils import timezone
from memory import ledger
from memory.drafts import EntryDraft
from memory.host import access, registry, runs, tenancy
from memory.host.run_orders import RunOrder
now = timezone.now()
owner = tenancy.host_scope(access.tenant_by_slug("acme"))
with transaction.atomic():
    order = RunOrder("noop", registry.workflow_text(owner.tenant_id, "conformance-noop"), "host", system=True)
    run = runs.find(owner.tenant_id, runs.open_run(owner.tenant_id, order, now=now, ready=False).id)
    runs.start(run, snapshot_position=0, now=now)
    scope = tenancy.memory_scope(owner, "notes")
    for number in range({ROWS}):
        ledger.write_entry(scope, EntryDraft(f"note {{number}} of {ANA}"), run=run, node_id=None, now=now)
    ledger.write_entry(scope, EntryDraft("a bystander"), run=run, node_id=None, now=now)
    runs.complete(run, now=now)
"""
LEFT = """
from memory.models.entry import MemoryEntry
print(MemoryEntry.objects.filter(memory_ref="notes").count())
"""


def test_a_forget_that_was_killed_in_the_middle_is_carried_out_to_its_receipt(console_process: ConsoleProcess) -> None:
    console_process.start()
    console_process.manage("create_tenant", "acme")
    _shell(console_process, FILL)
    key = console_process.manage("create_api_key", "--tenant", "acme", "--role", "owner").stdout.strip()
    headers = {"X-API-Key": key}
    with httpx.Client(base_url=console_process.url, headers=headers, timeout=60) as client:
        asked = client.post(f"{FORGET}/previews", json={"subject": ANA}).json()
        address = f"{FORGET}/previews/{asked['previewId']}"
        _until(lambda: client.get(address).json()["state"] == "ready", "the preview is not built")
        given = {"previewId": asked["previewId"], "subject": ANA, "reason": "ticket 17"}
        confirmed = client.post(FORGET, json=given)
        assert confirmed.status_code == 202, confirmed.text
        found = f"{FORGET}/{confirmed.json()['forgetId']}"
        _until(lambda: _done(client, found) > 0, "nothing is erased")
        assert client.get(found).json()["state"] == "confirmed", "it was over before it could be killed"
    console_process.kill()
    assert int(_shell(console_process, LEFT)) > 1
    console_process.start()
    with httpx.Client(base_url=console_process.url, headers=headers, timeout=60) as client:
        _until(lambda: client.get(found).json()["state"] == "forgotten", "it is not carried out", seconds=240)
        receipt: dict[str, Any] = client.get(found).json()["receipt"]
    assert receipt["stores"]["memory entries"]["erased"] == ROWS
    assert int(_shell(console_process, LEFT)) == 1


def _done(client: httpx.Client, address: str) -> int:
    time.sleep(0.01)
    found: int = client.get(address).json()["progress"]["done"]
    return found
