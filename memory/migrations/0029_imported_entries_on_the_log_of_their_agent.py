"""Imported entries with an address move to the log of their agent, which never closes.

Until decision 134 they stood on the log of their import, which takes no event after the import: none of them could be
changed, deleted, swept or forgotten. What their import wrote about them stays where it is.
"""

import hashlib
import json
from typing import Any

from django.db import migrations
from django.db.models import Exists, OuterRef, Subquery
from django.utils import timezone

from memory.host.ids import new_id

IMPORT, AGENT_LOG = "host-import", "openintent-agent"


def move(apps: Any, schema_editor: Any) -> None:
    entry, address, agent = (apps.get_model("memory", name) for name in ("MemoryEntry", "EntryAddress", "Agent"))
    imports = apps.get_model("host", "Run").objects.filter(workflow_id=IMPORT)
    for tenant in apps.get_model("host", "Tenant").objects.filter(Exists(imports.filter(tenant_id=OuterRef("id")))):
        addressed = address.objects.filter(tenant_id=tenant.id)
        stuck = entry.objects.filter(
            tenant_id=tenant.id,
            run_id__in=imports.filter(tenant_id=tenant.id).values("id"),
            id__in=addressed.values("id"),
        )
        agents = agent.objects.filter(tenant_id=tenant.id)
        names = addressed.filter(id__in=stuck.values("id")).values_list("agent_id", flat=True)
        for name in sorted(set(names) - set(agents.values_list("agent_id", flat=True))):
            _make_agent(apps, tenant, name)
        owner = addressed.filter(id=OuterRef(OuterRef("id"))).values("agent_id")
        owned = agents.filter(agent_id=Subquery(owner)).values("run_id")
        stuck.update(run_id=Subquery(owned))


def _make_agent(apps: Any, tenant: Any, name: str) -> None:
    """The rows of an agent that has not been here itself: it, its log with the log's beginning, and what they need."""
    own, now = {"tenant_id": tenant.id}, timezone.now()
    document = {
        "id": AGENT_LOG, "name": "An agent of OpenIntent", "version": "1.0", "nodes": [], "edges": [], "triggers": [],
        "variables": [], "metadata": {}, "settings": {},
    }  # fmt: skip
    text = json.dumps(document, separators=(",", ":"), sort_keys=True)
    host = {each: apps.get_model("host", each).objects for each in ("Definition", "Stream", "Run", "RunEvent")}
    sha256, log = hashlib.sha256(text.encode()).hexdigest(), new_id()
    definition, _ = host["Definition"].get_or_create(**own, sha256=sha256, defaults={"text": text})
    host["Stream"].create(**own, id=log, next_sequence=1)
    host["Run"].create(
        **own, id=log, workflow_id=AGENT_LOG, definition_id=definition.id, status="running", system=True,
        principal="host", agent_id=name, created_at=now, started_at=now,
    )  # fmt: skip
    begun = {"workflowId": AGENT_LOG, "owner": {"tenant": tenant.slug, "principal": "host"}}
    host["RunEvent"].create(**own, stream_id=log, sequence=0, type="run.started", timestamp=now, payload=begun)
    agents = apps.get_model("memory", "Agent").objects
    agents.create(**own, agent_id=name, run_id=log, created_at=now, updated_at=now)


class Migration(migrations.Migration):
    dependencies = [("memory", "0028_forgets_by_two_people")]
    operations = [migrations.RunPython(move, migrations.RunPython.noop)]
