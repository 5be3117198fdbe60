"""The names beside entries as a store of a forget: who made and curated them, and the task and intent they are for.

An entry that names the subject in its value, key, namespace or tags goes whole, and is the ledger's own store. One that
does not stays, and says ``[FORGOTTEN]`` where it named the subject.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain
from uuid import UUID

from memory import adapter, ledger
from memory.host import ids
from memory.host.erasure import Holding, Identifiers, Remains
from memory.matching import is_exact, is_mentioned, judged, mentioned_in, rule_for, whole_text, without_subject


class NamesBesideEntries:
    """Agents, tasks and intents."""

    store = "entry aliases"
    covers: Mapping[str, tuple[str, ...]] = {
        "memory_entryaddress": ("agent_id", "created_by", "curated_by", "task_id", "intent_id"),
        "memory_memoryentry": ("agent_id",),
    }

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        naming = [name for name in adapter.names_beside(tenant_id) if mentioned_in(subject.terms, name)]
        exact: set[UUID] = set()
        suspected: set[UUID] = set()
        for row, names in adapter.bearing(tenant_id, naming):
            values = list(names.values())
            if mentioned_in(subject.terms, values, is_exact):
                exact.add(row)
                values = without_subject(subject.terms, values, is_exact)
            if mentioned_in(subject.terms, values):
                suspected.add(row)
        return Holding(self.store, tuple(sorted(exact)), tuple(sorted(suspected)))

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        return {row: ids.wire("mem", row) for row in rows}

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        said: dict[UUID, list[str]] = {}
        for row, names in adapter.named(tenant_id, rows):
            said.setdefault(row, []).extend(filter(None, names.values()))
        return said

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        """How many entries name the subject no more; those that went whole are not among them."""
        rule, changed = rule_for(ticked=ticked), set()
        for row, names in adapter.named(tenant_id, rows):
            after = {name: without_subject(subject.terms, value, rule) for name, value in names.items()}
            anew = {name: value for name, value in after.items() if value != names[name]}
            if anew and ledger.erase_names(tenant_id, row, anew):
                changed.add(row)
        return len(changed)

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over the names of every address, as one text, and over who wrote an entry; namespace and key belong to the
        entry."""
        whole = ((row, whole_text(values)) for row, values in adapter.whole_addresses(tenant_id))
        writers = [name for name in adapter.names_beside(tenant_id) if is_mentioned(subject.terms, name)]
        written = ((row, names["agent_id"]) for row, names in adapter.written_as(tenant_id, writers))
        return judged(subject.terms, chain(whole, written), chosen, spared)


NAMES_BESIDE_ENTRIES = NamesBesideEntries()
