"""Proposals as a store of a forget: what was proposed and is not applied, with every revision of it.

An applied proposal stays: runs use what it installed, and its text is the proof of what was approved.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.host.erasure import Holding, Identifiers
from memory.matching import is_exact, is_mentioned, search_form, texts_in
from proposals import lifecycle
from proposals.models import Proposal, Revision, State, Vote

STAYS_BECAUSE = "Applied proposals stay: runs use what was installed, and the text is the proof of what was approved."


@dataclass(frozen=True, slots=True)
class _Found:
    id: UUID
    applied: bool
    exact: bool
    title: str


class ProposalTexts:
    """Titles, rationales, artifacts, notes and reasons; a proposal that names the subject is blanked as a whole."""

    store = "proposals"

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        found = list(self._mentions(tenant_id, subject))
        open_ones = [each for each in found if not each.applied]
        stays = len(found) - len(open_ones)
        return Holding(
            self.store,
            tuple(each.id for each in open_ones if each.exact),
            tuple(each.id for each in open_ones if not each.exact),
            stays,
            STAYS_BECAUSE if stays else "",
            {each.id.hex: each.title for each in open_ones},
        )

    def erase(self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, now: datetime) -> int:
        return sum(lifecycle.forget(tenant_id, row, now=now) for row in rows)

    def residue(self, tenant_id: UUID, subject: Identifiers, *, spared: tuple[UUID, ...]) -> int:
        left = (each for each in self._mentions(tenant_id, subject) if not each.applied)
        return sum(1 for each in left if each.id not in set(spared))

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[_Found]:
        """Every proposal that names the subject anywhere, oldest first."""
        texts = _texts_of(tenant_id)
        rows = Proposal.objects.of(tenant_id).order_by("id").values_list(
            "id", "state", "title", "rationale", "closing_reason"
        )  # fmt: skip
        for row, state, title, rationale, reason in rows:
            folded = search_form("\n".join((title, rationale, reason, *texts.get(row, ()))))
            if is_mentioned(subject.terms, folded):
                yield _Found(row, state == State.APPLIED, is_exact(subject.terms, folded), title)


def _texts_of(tenant_id: UUID) -> dict[UUID, list[str]]:
    """What revisions and votes say, by proposal."""
    texts: dict[UUID, list[str]] = {}
    revisions = Revision.objects.of(tenant_id).values_list("proposal_id", "text", "title", "rationale", "note")
    for proposal_id, text, *said in revisions.iterator(chunk_size=500):
        texts.setdefault(proposal_id, []).extend((*said, *texts_in(json.loads(text))))
    votes = Vote.objects.of(tenant_id).exclude(reason="").values_list("gate__proposal_id", "reason")
    for proposal_id, reason in votes.iterator(chunk_size=500):
        texts.setdefault(proposal_id, []).append(reason)
    return texts


PROPOSALS = ProposalTexts()
