"""The wire forms of archives and of the memory policy; camelCase stops here."""

from typing import Any

from rest_framework import serializers

from memory.archive_reports import ArchivePage
from memory.host import ids
from memory.host.serializing import After, Closed, SoughtRef, Text, Whole
from memory.models import Archive
from memory.policies import ENDPOINT, EXTRACTIVE, LONGEST_DAYS, Policy
from memory.wire import instant

FIELDS = {
    "archiveDays": "archive_days",
    "restoreDays": "restore_days",
    "staleDays": "stale_days",
    "timezone": "timezone",
    "commitmentWorkflow": "commitment_workflow",
    "distiller": "distiller",
    "endpointUrl": "endpoint_url",
    "endpointModel": "endpoint_model",
    "endpointSecret": "endpoint_secret",
}
CALLED = {field: name for name, field in FIELDS.items()}


class ArchivesQuery(Closed):
    """The newest first, of one ref when it is named; ``after`` is what ``next`` gave."""

    memoryRef = SoughtRef()
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("arc")


class PolicyChange(Closed):
    """What is not named stays as it was. ``endpointSecret`` is the name of a secret of the vault, never its value."""

    archiveDays = Whole(required=False, min_value=1, max_value=LONGEST_DAYS)
    restoreDays = Whole(required=False, min_value=1, max_value=LONGEST_DAYS)
    staleDays = Whole(required=False, min_value=1, max_value=LONGEST_DAYS)
    timezone = Text(required=False, max_length=64)
    commitmentWorkflow = Text(required=False, allow_blank=True, max_length=128)
    distiller = serializers.ChoiceField(choices=(EXTRACTIVE, ENDPOINT), required=False)
    endpointUrl = Text(required=False, allow_blank=True, max_length=500)
    endpointModel = Text(required=False, allow_blank=True, max_length=128)
    endpointSecret = Text(required=False, allow_blank=True, max_length=128)

    def changes(self) -> dict[str, Any]:
        return {FIELDS[name]: value for name, value in self.validated_data.items()}


def policy_document(policy: Policy) -> dict[str, Any]:
    return {name: getattr(policy, field) for name, field in FIELDS.items()}


def archive_document(row: Archive) -> dict[str, Any]:
    """What is known of an archive, withdrawn or not; its text is in the bytes alone."""
    return {
        "id": ids.wire("arc", row.id),
        "memoryRef": row.memory_ref,
        "state": row.state,
        "sha256": row.sha256,
        "distiller": row.distiller,
        "tokenizer": row.tokenizer,
        "trigger": row.trigger,
        "tokenBudget": row.token_budget,
        "tokensUsed": row.tokens_used,
        "outputTokens": row.output_tokens,
        "sourceCount": row.source_count,
        "corpusCount": row.corpus_count,
        "indexUpdated": row.index_updated,
        "runId": ids.wire("run", row.run_id),
        "entryId": ids.wire("mem", row.entry_id) if row.entry_id else None,
        "createdAt": instant(row.created_at),
        "keepUntil": instant(row.keep_until) if row.keep_until else None,
        "withdrawnAt": instant(row.withdrawn_at) if row.withdrawn_at else None,
        "withdrawnBecause": row.withdrawn_because or None,
    }


def page_document(page: ArchivePage, memory_ref: str) -> dict[str, Any]:
    return {
        "memoryRef": memory_ref or None,
        "archives": [archive_document(row) for row in page.archives],
        "total": page.total,
        "next": ids.wire("arc", page.after) if page.after else None,
    }
