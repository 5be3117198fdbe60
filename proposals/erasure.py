"""Proposals as a store of a forget: what was proposed and is not applied, with every revision of it.

An applied proposal stays: runs use what it installed, and its text is the proof of what was approved.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.host.erasure import Holding, Identifiers, Remains
from memory.matching import is_exact, is_mentioned, judged, search_form, texts_in, whole_text
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

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        return sum(lifecycle.forget(tenant_id, row, now=now) for row in rows)

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over every column of every unapplied proposal, its revisions and its votes, each as one text."""
        unapplied = Proposal.objects.of(tenant_id).exclude(state=State.APPLIED)
        mine = {"proposal_id__in": unapplied.values("id")}
        rows = (
            *((row["id"], row) for row in unapplied.values()),
            *((row["proposal_id"], row) for row in Revision.objects.of(tenant_id).filter(**mine).values()),
            *(
                (row["gate__proposal_id"], row)
                for row in Vote.objects.of(tenant_id)
                .filter(gate__proposal_id__in=unapplied.values("id"))
                .values("reason", "gate__proposal_id")
            ),
        )
        return judged(subject.terms, ((row, search_form(whole_text(text))) for row, text in rows), chosen, spared)

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[_Found]:
        """Every proposal that names the subject anywhere, oldest first."""
        texts = _texts_of(tenant_id)
        rows = Proposal.objects.of(tenant_id).order_by("id").values_list(
            "id", "state", "title", "rationale", "closing_reason", "synthesizer_model"
        )  # fmt: skip
        for row, state, title, *said in rows:
            folded = search_form("\n".join((title, *said, *texts.get(row, ()))))
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
