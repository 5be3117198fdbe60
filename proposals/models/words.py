"""The words that proposals, gates and votes are told in."""

from django.db import models


class Kind(models.TextChoices):
    AGENT_PACK = "agent-pack"
    WORKFLOW_CHAIN_PACK = "workflow-chain-pack"
    PROMPT_TEMPLATE = "prompt-template"
    AUTOMATION = "automation"


class State(models.TextChoices):
    DRAFT = "draft"
    REVISED = "revised"
    APPLIED = "applied"
    REJECTED = "rejected"
    ARCHIVED = "archived"


class Purpose(models.TextChoices):
    INSTALL = "install"
    ROLLBACK = "rollback"


class GateState(models.TextChoices):
    OPEN = "open"
    GRANTED = "granted"
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes-requested"
    EXPIRED = "expired"
    VOID = "void"
    CANCELLED = "cancelled"


class Decision(models.TextChoices):
    GRANTED = "granted"
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes-requested"


class PolicyChangeState(models.TextChoices):
    WAITING = "waiting"
    CONFIRMED = "confirmed"
    REFUSED = "refused"


UNDER_REVIEW = (State.DRAFT, State.REVISED)
# How a gate ended without anything being installed.
ENDED_WITHOUT = (
    GateState.REJECTED,
    GateState.CHANGES_REQUESTED,
    GateState.EXPIRED,
    GateState.VOID,
    GateState.CANCELLED,
)
