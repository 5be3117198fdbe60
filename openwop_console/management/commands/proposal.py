"""``manage.py proposal ACTION [ID|REF] --tenant SLUG --as EMAIL ...``: the review from a shell, as that operator.

Nothing is done here as the host: what the operator may not do in the browser is refused here in the same words.
"""

import json
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memory.host import ids
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from openwop_console.management.base import DatabaseCommand, acting_as, operator_scope, tenant_named
from proposals import comments, inbox, lifecycle, review, rules
from proposals.api.proposals import review_document
from proposals.drafts import Change
from proposals.inbox import InboxFilter
from proposals.models import Decision, Kind, Proposal, Revision, State

Given = JSONObject
Act = Callable[[TenantScope, UUID | None, Given, datetime], Proposal | None]
DECIDES = {
    "approve": Decision.GRANTED,
    "request-changes": Decision.CHANGES_REQUESTED,
    "veto": Decision.REJECTED,
}


def _decide(scope: TenantScope, proposal_id: UUID | None, given: Given, now: datetime) -> None:
    seen = {name: given[name] for name in ("revision", "sha256", "reason")}
    lifecycle.decide(scope, proposal_id, **seen, decision=DECIDES[given["action"]], now=now)


def _override(scope: TenantScope, proposal_id: UUID | None, given: Given, now: datetime) -> None:
    seen = {name: given[name] for name in ("revision", "sha256", "reason")}
    lifecycle.override(scope, proposal_id, **seen, now=now)


def _request_activation(scope: TenantScope, proposal_id: UUID | None, given: Given, now: datetime) -> None:
    lifecycle.ask_to_apply(scope, proposal_id, expected=given["revision"], now=now)


def _revise(scope: TenantScope, proposal_id: UUID | None, given: Given, now: datetime) -> None:
    text = _text_in(given["artifact"]) if given["artifact"] else None
    change = Change(text, given["title"], given["rationale"], given["note"] or "")
    options = {"expected": given["revision"], "voids_gate": given["void_gate"]}
    lifecycle.revise(scope, proposal_id, change, **options, now=now)


def _comment(scope: TenantScope, proposal_id: UUID | None, given: Given, now: datetime) -> None:
    comments.add(scope, proposal_id, given["text"], now=now)


def _rollback(scope: TenantScope, _: UUID | None, given: Given, now: datetime) -> Proposal:
    return lifecycle.propose(scope, given["ref"], rationale=given["reason"], now=now)


# Action -> how it is carried out; the proposal it made, when it made one.
ACTS: dict[str, Act] = {
    "ask": _request_activation,
    "approve": _decide,
    "request-changes": _decide,
    "veto": _decide,
    "override": _override,
    "withdraw": lambda scope, prop, _, now: lifecycle.withdraw(scope, prop, now=now),
    "revise": _revise,
    "reject": lambda scope, prop, given, now: lifecycle.reject(scope, prop, reason=given["reason"], now=now),
    "archive": lambda scope, prop, given, now: lifecycle.archive(scope, prop, reason=given["reason"], now=now),
    "comment": _comment,
    "rollback": _rollback,
}
HELP = {
    "list": "the proposals, newest first",
    "show": "one proposal: its revision, digest and text, its gate, and what you may do",
    "ask": "request approval",
    "approve": "grant the gate, about exactly the bytes you name",
    "request-changes": "end the gate and say what is to be changed",
    "veto": "reject at the gate; the proposal stays under review",
    "override": "grant above the policy, with a reason that stays on record",
    "withdraw": "cancel the gate under way",
    "revise": "add a revision",
    "reject": "reject it for good",
    "archive": "archive it",
    "comment": "add a comment",
    "rollback": "propose to make an earlier installed version the current one",
}
NAMES_ITS_BYTES = {*DECIDES, "override"}
NEEDS_A_REASON = {"request-changes", "override", "reject"}


class Command(DatabaseCommand):
    help = "Review proposals as an operator, with exactly that operator's rights; answers are JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        for action, explanation in HELP.items():
            one = actions.add_parser(action, help=explanation, description=explanation)
            one.add_argument("--tenant", required=True, metavar="SLUG")
            one.add_argument("--as", dest="operator", required=True, metavar="EMAIL", help="the operator who acts")
            _add_own(one, action)

    def handle(self, *args: object, **options: Any) -> None:
        scope, action = operator_scope(tenant_named(options["tenant"]), options["operator"]), options["action"]
        with acting_as(scope, f"proposal {action}", now=timezone.now()):
            found = _list(scope, options) if action == "list" else _carried_out(scope, options)
        self.stdout.write(json.dumps(found, ensure_ascii=False, indent=2))


def _add_own(parser: CommandParser, action: str) -> None:
    """The arguments that this action has beside the ones of all."""
    if action == "list":
        parser.add_argument("--state", default="", choices=State.values)
        parser.add_argument("--kind", default="", choices=Kind.values)
        parser.add_argument("--show", default=inbox.ALL, choices=inbox.SHOWS)
        return
    parser.add_argument("ref" if action == "rollback" else "proposal", metavar="REF" if action == "rollback" else "ID")
    named = action in NAMES_ITS_BYTES
    if named or action in {"ask", "revise"}:
        parser.add_argument("--revision", type=int, required=named, metavar="N", help="the revision you have read")
    if named:
        parser.add_argument("--sha256", required=True, metavar="DIGEST", help="its digest, as show prints it")
    if action not in {"show", "ask", "withdraw", "revise", "comment"}:
        parser.add_argument("--reason", default="", required=action in NEEDS_A_REASON, metavar="TEXT")
    if action == "comment":
        parser.add_argument("--text", required=True)
    if action == "revise":
        parser.add_argument("--artifact", default="", metavar="FILE", help="the new artifact; - is standard input")
        parser.add_argument("--void-gate", action="store_true", help="void a gate under way, with its votes")
        for name in ("title", "rationale", "note"):
            parser.add_argument(f"--{name}", metavar="TEXT")


def _text_in(name: str) -> str:
    """What the file holds, without the white space around it."""
    try:
        return (sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")).strip()
    except (OSError, UnicodeDecodeError):
        raise CommandError(f"{name} cannot be read.") from None


def _list(scope: TenantScope, options: Given) -> JSONObject:
    states, kinds = ((options[facet],) if options[facet] else () for facet in ("state", "kind"))
    found = inbox.list_matching(scope, InboxFilter(options["show"], states=states, kinds=kinds), now=timezone.now())
    return {"total": len(found), "proposals": [_row(each) for each in found]}


def _row(revision: Revision) -> JSONObject:
    proposal = revision.proposal
    return {
        "proposalId": ids.wire("prop", proposal.id),
        "kind": proposal.kind,
        "state": proposal.state,
        "title": proposal.title,
        "revision": revision.number,
        "sha256": revision.sha256,
    }


def _carried_out(scope: TenantScope, options: Given) -> JSONObject:
    """The proposal as it is afterwards, with its text when it was only to be shown."""
    proposal_id = ids.parse("prop", options.get("proposal", ""))
    made = None if options["action"] == "show" else _act(scope, proposal_id, options)
    detail = review.detail(scope, made or proposal_id)
    refusals = rules.refusals(scope, detail.proposal, detail.gate, policy=detail.policy, now=timezone.now())
    shown = review_document(detail, refusals)
    if options["action"] == "show":
        shown |= {"title": detail.proposal.title, "rationale": detail.proposal.rationale, "text": detail.current.text}
    return shown


def _act(scope: TenantScope, proposal_id: UUID | None, options: Given) -> UUID | None:
    """The action is carried out; the id of the proposal that it made, or that it was about."""
    made = ACTS[options["action"]](scope, proposal_id, options, timezone.now())
    return made.id if made else proposal_id
