"""Answers to plain interrupts: who gives one, what it must be, how it is counted, and what stands on record.

Everything is decided under the lock of the run, so of answers that race one wins. Values are redacted before they are
kept, and the audit says who acted and how, without a word of theirs.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory import harness
from memory.host import access, audit, denials, ids, interrupts, runs
from memory.host.errors import Conflict, Invalid
from memory.host.events import ApprovalReceived
from memory.host.interrupts import InterruptAlreadyResolved, InterruptNotFound, InterruptTokenRefused
from memory.host.models import Interrupt, Run
from memory.host.tenancy import TenantScope
from memory.wire import instant
from openwop_console.runtime.asking import resume_values, tokens
from openwop_console.runtime.asking.gate_configs import APPROVAL_GATE, CLARIFICATION_GATE, INTERRUPT
from openwop_console.runtime.asking.tokens import Claims

BEARER = "token"
MAX_VOTER = 128
MAX_EXCHANGES = 100


@dataclass(frozen=True, slots=True)
class Voice:
    """Who answers: ``principal`` is whom the record names, ``voter`` whose voice is counted; ``people`` are those whose
    word it may be, none at a conformance fixture that says which of its voices speaks."""

    principal: str
    voter: str
    people: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a genuine token opens: the interrupt, its run, and until when."""

    run: Run
    interrupt: Interrupt
    claims: Claims


def resolve(scope: TenantScope, run: Run, node_id: str, value: Any, now: datetime) -> None:
    """The principal has answered what the run asks at ``node_id``; a denial stays on record although it is refused."""
    interrupt = interrupts.at_node(run, node_id)
    if interrupt is None:
        scope.check(interrupts.SCOPE)
        raise InterruptNotFound
    if denied := interrupts.denial(scope, interrupt):
        target = ids.wire("int", interrupt.id)
        attempt = "interrupt.answer"
        denials.record(scope, denied, action=interrupts.SCOPE, attempt=attempt, resource=target, run_id=run.id, now=now)
        raise denied
    _settle(run, interrupt, _voice(scope, interrupt, value), value, now)


def _voice(scope: TenantScope, interrupt: Interrupt, value: Any) -> Voice:
    """The authenticated principal. At a conformance fixture the answer may say which of its voices speaks."""
    principal = scope.principal.id
    said = value.get("voter") if isinstance(value, dict) and interrupt.policy.get("voters") else None
    if said is None:
        return Voice(principal, scope.principal.person, scope.principal.people)
    if not isinstance(said, str) or not 0 < len(said) <= MAX_VOTER:
        problem = f"must be a text of at most {MAX_VOTER} characters"
        raise Invalid(errors=[{"field": "resumeValue.voter", "message": problem}])
    return Voice(principal, f"{principal}:{hashlib.sha256(said.encode()).hexdigest()[:32]}")


def spoken_by(voter: str, run: Run, value: Any) -> Any:
    """The resume value, said by ``voter``; only the fixtures of a conformance suite know such a field."""
    if not voter:
        return value
    if not run.workflow_id.startswith("conformance-") or not isinstance(value, dict):
        raise Invalid(errors=[{"field": "voter", "message": "is not a field of this request"}])
    return {**value, "voter": voter}


@transaction.atomic
def _settle(run: Run, interrupt: Interrupt, voice: Voice, value: Any, now: datetime) -> None:
    run = runs.locked(run.tenant_id, run.id)
    interrupt = _fresh(run.tenant_id, interrupt.id)
    interrupts.require_open(run, interrupt, now=now)
    answer = resume_values.checked(interrupt.kind, _redacted(run, value), interrupt.data, interrupt.policy)
    action = answer.get("action", "answer")
    if action == "ask":
        _exchange(interrupt, answer, voice, now)
        counted = True
    elif interrupt.kind == "approval":
        counted = _decide(run, interrupt, voice, answer, now)
    else:
        interrupts.answer(run, interrupt, {**answer, "decidedBy": voice.principal}, now=now)
        counted = True
    details = {"runId": ids.wire("run", run.id), "nodeId": interrupt.node_id, "kind": interrupt.kind, "action": action}
    audit.append(
        run.tenant_id,
        actor=voice.principal,
        action="interrupt.answered",
        target=ids.wire("int", interrupt.id),
        details={**details, "counted": counted},
        now=now,
    )


def _fresh(tenant_id: UUID, interrupt_id: UUID) -> Interrupt:
    found = interrupts.by_id(tenant_id, interrupt_id)
    if found is None:
        raise InterruptNotFound
    return found


def _redacted(run: Run, value: Any) -> Any:
    """As inputs are: no secret of the tenant, and none that the run has resolved."""
    return harness.for_run(run.tenant_id, run.id).redact_json(harness.for_tenant(run.tenant_id).redact_json(value))


def _exchange(interrupt: Interrupt, answer: dict[str, Any], voice: Voice, now: datetime) -> None:
    """A question back. It stands beside what is asked, and the run waits on."""
    if len(interrupt.data.get("exchanges", [])) >= MAX_EXCHANGES:
        raise Conflict("Enough has been asked at this gate; decide.", nodeId=interrupt.node_id)
    said = {"question": answer.get("question", ""), "askedBy": voice.principal, "askedAt": instant(now)}
    interrupts.add_exchange(interrupt, said)


def _decide(run: Run, interrupt: Interrupt, voice: Voice, answer: dict[str, Any], now: datetime) -> bool:
    """The approval is decided, or the voice counts towards it; False when this voter had raised it before."""
    required, action = interrupt.policy["requiredApprovals"], answer["action"]
    decided_by: str | None = voice.principal
    if required > 1:
        _require_own_voice(interrupt, voice)
        cast = {"voter": voice.voter, "principal": voice.principal, "action": action}
        if not interrupts.add_vote(interrupt, **cast, now=now):
            return False
        decided_by = _outcome(interrupt, required, voice)
    if decided_by is None:
        runs.note(run, ApprovalReceived(interrupt.node_id, action, voice.principal), now=now)
    else:
        received = ApprovalReceived(interrupt.node_id, action, decided_by)
        interrupts.answer(run, interrupt, {**answer, "decidedBy": decided_by}, received, now=now)
    return True


def _require_own_voice(interrupt: Interrupt, voice: Voice) -> None:
    """Refuse a second voice of one person: by a login beside a key, or by two keys."""
    raised = [vote.principal for vote in interrupts.votes_at(interrupt) if vote.principal != voice.principal]
    same = access.same_people(interrupt.tenant_id, voice.people, raised)
    if same:
        called = access.names_of(interrupt.tenant_id, same)
        names = ", ".join(sorted(called.get(each, each) for each in same))
        message = f"{names} has answered at this gate; that is the same person's voice."
        raise Conflict(message, nodeId=interrupt.node_id, rule="one-voice-a-person")


def _outcome(interrupt: Interrupt, required: int, last: Voice) -> str | None:
    """Who has decided, once the voices suffice: as many grants as are required, or the rejections of the policy."""
    actions = [vote.action for vote in interrupts.votes_at(interrupt)]
    grants, rejections = actions.count("accept"), actions.count("reject")
    vetoes = required // 2 + 1 if interrupt.policy["rejectionPolicy"] == "majority" else 1
    if grants >= required:
        return f"quorum:{grants}-of-{required}"
    return last.principal if rejections >= vetoes else None


# --- tokens ---------------------------------------------------------------------------------------------------------


def tokens_for(scope: TenantScope, asked: Iterable[Interrupt], *, now: datetime) -> dict[UUID, str]:
    """A token for each open interrupt that has them and that this principal may answer."""
    return {
        interrupt.id: tokens.mint(interrupt, now=now)
        for interrupt in asked
        if interrupt.policy.get("tokens") and interrupts.denial(scope, interrupt) is None and _has_time(interrupt, now)
    }


def _has_time(interrupt: Interrupt, now: datetime) -> bool:
    return interrupt.timeout_at is None or interrupt.timeout_at > now


def inspect(token: str, *, now: datetime) -> Asked:
    """What a token asks about; nothing of the run changes."""
    claims = tokens.read(token, now=now)
    return _opened(claims, runs.find(claims.tenant_id, claims.run_id))


def require_genuine(token: str, *, now: datetime) -> None:
    """Refuse a token that is malformed, forged or out of time, before what comes with it is looked at."""
    tokens.read(token, now=now)


@transaction.atomic
def resolve_by_token(token: str, value: Any, *, now: datetime) -> Asked:
    """Whoever holds the token has answered; it stands for nobody in particular."""
    claims = tokens.read(token, now=now)
    asked = _opened(claims, runs.locked(claims.tenant_id, claims.run_id))
    if asked.claims.intent != tokens.RESOLVE:
        raise InterruptTokenRefused("That token shows the interrupt, and does not answer it.")
    _settle(asked.run, asked.interrupt, Voice(BEARER, BEARER), value, now)
    return Asked(runs.find(asked.run.tenant_id, asked.run.id), asked.interrupt, asked.claims)


def _opened(claims: Claims, run: Run) -> Asked:
    """The interrupt behind genuine claims; refused when it takes no tokens, is answered, or its run has ended."""
    interrupt = interrupts.by_id(claims.tenant_id, claims.interrupt_id)
    if interrupt is None or interrupt.run_id != run.id:
        raise InterruptNotFound
    if not interrupt.policy.get("tokens"):
        raise InterruptTokenRefused("This interrupt is answered by an authenticated principal, never by a token.")
    if interrupt.resolved_at is not None or run.status in runs.ENDING:
        raise InterruptAlreadyResolved(nodeId=interrupt.node_id)
    return Asked(run, interrupt, claims)


def register() -> None:
    """Interrupts at the nodes of the runtime's own types are answered here."""
    for type_id in (APPROVAL_GATE, CLARIFICATION_GATE, INTERRUPT):
        interrupts.register(type_id, resolve)
