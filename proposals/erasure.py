"""The eraser of proposals and their revisions.

The installed text of an applied proposal stays: runs use it, and it is the proof of what was approved. Its title,
rationale and earlier revisions were not approved, so they are erased. Comments and reasons are no proof either; their
models declare their personal fields (``Personal``).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, F, Q

from memory.host import ids
from memory.host.erasure import Holding, Identifiers, Remains
from memory.text.matching import (
    Mention,
    is_mentioned,
    judged,
    mention,
    passages_in,
    whole_text,
)
from proposals import lifecycle
from proposals.models import Proposal, Revision, State

STAYS_BECAUSE = "Applied proposals stay: runs use what was installed, and the text is the proof of what was approved."
# Kept for an applied proposal: the ref is made of names in the installed text.
INSTALLED_AS = frozenset({"installed_ref"})
# What a proposal says in plain text and does not keep.
SAID = ("title", "rationale", "closing_reason", "synthesizer_model", "agent_id", "duplicate_of", "uninstalled_ref")


# Whether a revision is the installed one: an applied proposal cannot be revised, so it is the last.
INSTALLED = ExpressionWrapper(
    Q(proposal__state=State.APPLIED, number=F("proposal__revision")), output_field=BooleanField()
)


@dataclass(frozen=True, slots=True)
class _NamingProposal:
    """A proposal that names the subject in erasable texts (``goes``), in the installed text (``stays``), or both."""

    id: UUID
    goes: bool
    stays: bool
    exact: bool


class ProposalTexts:
    """Titles, rationales, artifacts, notes and evidence; a proposal that names the subject is blanked whole, except
    for its installed text."""

    store = "proposals"
    covers: Mapping[str, tuple[str, ...]] = {
        "proposals_proposal": (*SAID, "evidence", "installed_ref"),
        "proposals_revision": ("title", "rationale", "text", "note"),
    }

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        found = list(self._mentions(tenant_id, subject))
        going = [each for each in found if each.goes]
        stays = sum(each.stays for each in found)
        return Holding(
            self.store,
            tuple(each.id for each in going if each.exact),
            tuple(each.id for each in going if not each.exact),
            stays,
            STAYS_BECAUSE if stays else "",
        )

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        return {row: ids.wire("prop", row) for row in rows}

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        shown = Proposal.objects.of(tenant_id).filter(id__in=rows).values_list("id", "evidence", *SAID)
        said = {row: [*filter(None, texts), *passages_in(evidence)] for row, evidence, *texts in shown}
        revisions = Revision.objects.of(tenant_id).filter(proposal_id__in=rows)
        for row, text, *more in revisions.values_list("proposal_id", "text", "title", "rationale", "note"):
            said[row] += [*filter(None, more), *passages_in(json.loads(text))]
        return said

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        there = list(Proposal.objects.of(tenant_id).filter(id__in=rows).order_by("id").values_list("id", flat=True))
        for row in there:
            lifecycle.forget(tenant_id, row, now=now)
        return len(there)

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Search the texts of proposals and revisions, and the parsed artifacts, except what an applied proposal has
        installed."""
        rows = ((row, whole_text(said)) for row, said in self._that_can_go(tenant_id))
        return judged(subject.terms, rows, chosen, spared)

    def _that_can_go(self, tenant_id: UUID) -> Iterable[tuple[UUID, list[Any]]]:
        """The erasable texts of each proposal and each revision, with the id of the proposal."""
        columns = self.covers["proposals_proposal"]
        for row in Proposal.objects.of(tenant_id).values("id", "state", *columns):
            stay = INSTALLED_AS if row["state"] == State.APPLIED else ()
            yield row["id"], [row[name] for name in columns if name not in stay]
        revisions = Revision.objects.of(tenant_id).annotate(installed=INSTALLED)
        for row, installed, text, *said in revisions.values_list(
            "proposal_id", "installed", "text", "title", "rationale", "note"
        ).iterator(chunk_size=500):
            yield row, said if installed else [*said, json.loads(text)]

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[_NamingProposal]:
        """Every proposal that names the subject anywhere, oldest first."""
        texts, installed = _texts_of(tenant_id)
        for row, evidence, *said in Proposal.objects.of(tenant_id).order_by("id").values_list("id", "evidence", *SAID):
            texts_of_row = (*passages_in(evidence), *filter(None, said), *texts.get(row, ()))
            stays = is_mentioned(subject.terms, whole_text(installed.get(row, [])))
            goes = mention(subject.terms, whole_text(list(texts_of_row)))
            if goes or stays:
                yield _NamingProposal(row, bool(goes), stays, goes is Mention.EXACT)


def _texts_of(tenant_id: UUID) -> tuple[dict[UUID, list[str]], dict[UUID, list[str]]]:
    """By proposal: the erasable texts of its revisions; and, separately, the texts of the installed artifact."""
    texts: dict[UUID, list[str]] = {}
    kept: dict[UUID, list[str]] = {}
    rows = Revision.objects.of(tenant_id).annotate(installed=INSTALLED)
    for proposal_id, installed, text, *said in rows.values_list(
        "proposal_id", "installed", "text", "title", "rationale", "note"
    ).iterator(chunk_size=500):
        texts.setdefault(proposal_id, []).extend(said)
        (kept if installed else texts).setdefault(proposal_id, []).extend(passages_in(json.loads(text)))
    return texts, kept


PROPOSALS = ProposalTexts()
