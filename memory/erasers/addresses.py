"""The names beside entries as a store of a forget: who made and curated them, and the task and intent they are for.

An entry that names the subject in its value, key, namespace or tags goes whole, and is the ledger's own store. One that
does not stays, and says ``[FORGOTTEN]`` where it named the subject.
"""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from memory import adapter, ledger
from memory.host.erasure import Holding, Identifiers, Remains
from memory.matching import is_exact, judged, mentioned_in, rule_for, whole_text, without_subject


class NamesBesideEntries:
    """Agents, tasks and intents."""

    store = "names beside memory entries"
    covers: Mapping[str, tuple[str, ...]] = {
        "memory_entryaddress": ("agent_id", "created_by", "curated_by", "task_id", "intent_id"),
        "memory_memoryentry": ("agent_id",),
    }

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        exact: dict[UUID, None] = {}
        suspected: dict[UUID, None] = {}
        for row, names in adapter.named(tenant_id):
            values = list(names.values())
            rest = without_subject(subject.terms, values, is_exact)
            suspected |= {row: None} if mentioned_in(subject.terms, rest) else {}
            exact |= {row: None} if mentioned_in(subject.terms, values, is_exact) else {}
        return Holding(self.store, tuple(exact), tuple(suspected))

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        """How many entries name the subject no more; those that went whole are not among them."""
        rule, changed = rule_for(ticked=ticked), set()
        for row, names in adapter.named(tenant_id, list(rows)):
            after = {name: without_subject(subject.terms, value, rule) for name, value in names.items()}
            anew = {name: value for name, value in after.items() if value != names[name]}
            if anew and ledger.erase_names(tenant_id, row, anew):
                changed.add(row)
        return len(changed)

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over every column of every address, as one text."""
        texts = ((row, whole_text(values)) for row, values in adapter.whole_addresses(tenant_id))
        return judged(subject.terms, texts, chosen, spared)


NAMES_BESIDE_ENTRIES = NamesBesideEntries()
