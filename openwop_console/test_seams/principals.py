"""The principals and tenants that a suite may name, kept apart from real ones."""

import secrets as random_secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import wraps
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.http import HttpResponseBase

from memory import adapter, ledger
from memory.entry_drafts import EntryDraft
from memory.host import access, ids, registry, runs, tenancy, vault
from memory.host.errors import Invalid, NotFound
from memory.host.models import Run, SecretScope, Tenant
from memory.host.runs import RunOrder
from memory.host.tenancy import MemoryScope, TenantScope
from memory.ledger import Written
from memory.passes.distillation import DISTILLED
from memory.text.encodings import forms_of

SCOPE = "manifest:read"  # every key of a suite has it
MARK = "conformance-"
OWNER = "conformance-owner-principal"
LONGEST = 64
View = Callable[..., HttpResponseBase]
WORKFLOW = "conformance-noop"
CANARY = "conformance-canary"
RESTATED = "conformance-restated"
SPOKEN = "The provider was called with {canary} and answered at once."


def tenant_of(caller: TenantScope) -> Tenant:
    """Return the caller's own tenant."""
    found = access.tenant_by_slug(caller.principal.tenant_slug)
    assert found is not None, "a principal has a tenant"
    return found


def find_principal(caller: TenantScope, name: str, *, now: datetime) -> TenantScope:
    """Return the scope of principal ``name`` in the caller's tenant with its roles there; ``OWNER`` is seeded.

    Raises ``Invalid`` for any other name without the prefix ``MARK``: a person or key of the tenant acts only for
    itself.
    """
    if name == caller.principal.id:
        return caller
    if not name.startswith(MARK) or len(name) > LONGEST or not name.isprintable():
        message = f"must begin with {MARK} and have at most {LONGEST} characters"
        raise Invalid("No seam acts as that principal.", errors=[{"field": "principal", "message": message}])
    if name == OWNER:
        access.grant_role(caller.tenant_id, name, "owner", now=now)
    return tenancy.named_scope(tenant_of(caller), name)


# Seams: entry points for a conformance suite, closed unless ``OPENWOP_TEST_SEAM_ENABLED`` is set (openwop-memory 2).
#
# A seam calls the same code as every other caller. A closed seam answers 404, once the middleware has checked the
# credential.


def seam(view: View) -> View:
    """Answer 404 unless seams are enabled. Goes inside ``api_view``, outside nothing else."""

    @wraps(view)
    def gated(*args: object, **kwargs: object) -> HttpResponseBase:
        if not settings.OPENWOP_TEST_SEAM_ENABLED:
            raise NotFound
        return view(*args, **kwargs)

    return gated


# Memory that a seam writes for a suite: through the ledger, in the name of a small system run of the caller's tenant.
#
# Nothing is stored that the ledger would not store for any caller. A canary is a secret of the vault that such a run
# has resolved, so a stored text contains its mark instead; ``leaks`` checks that it is nowhere else.


@transaction.atomic
def plant(scope: MemoryScope, drafts: Sequence[EntryDraft], *, canary: bool = False, now: datetime) -> list[Written]:
    """Write the entries under the ref in their order; with ``canary`` two more, unless the ref has those already.

    Both have the same content under different tags, so a consolidation rewrites them.
    """
    canary = canary and not adapter.list_entries(scope, now=now, limit=1, tag=CANARY)
    if not drafts and not canary:
        return []
    with _a_run(scope.tenant, now) as run:
        said = _spoken(run, now) if canary else ""
        spoken = [EntryDraft(said, (CANARY,)), EntryDraft(said, (RESTATED,))] if canary else []
        return [ledger.write_entry(scope, draft, run=run, node_id=None, now=now) for draft in [*drafts, *spoken]]


@transaction.atomic
def spoken_canary(scope: TenantScope, *, now: datetime) -> str:
    """Return a text with a new canary in clear, to be redacted before it is stored."""
    with _a_run(scope, now) as run:
        return _spoken(run, now)


def is_empty(scope: MemoryScope, *, now: datetime) -> bool:
    """Return whether the ref has no live entry of its own; entries that passes distilled do not count."""
    return all(entry.derived == DISTILLED for chunk in adapter.corpus(scope, now=now) for entry in chunk)


def leaks(tenant_id: UUID, texts: Iterable[str]) -> bool:
    """Return whether a canary of the tenant occurs in one of ``texts``, in any form that a redactor would find."""
    values = [vault.unseal(secret) for secret in vault.held_by(tenant_id) if secret.name == CANARY]
    forms = {form for value in values for form in forms_of(value)}
    return any(form in text for text in texts for form in forms)


@contextmanager
def _a_run(scope: TenantScope, now: datetime) -> Iterator[Run]:
    """Yield a started run, completed at the end of the block."""
    definition = registry.workflow_text(scope.tenant_id, WORKFLOW)
    assert definition is not None, "the host brings this workflow along"
    order = RunOrder(WORKFLOW, definition, scope.principal.id, system=True)
    run = runs.find(scope.tenant_id, runs.open_run(scope.tenant_id, order, now=now, ready=False).id)
    runs.start(run, snapshot_position=ledger.position(scope.tenant_id), now=now)
    yield run
    runs.complete(run, now=now)


def _spoken(run: Run, now: datetime) -> str:
    """Return a text with a secret that belongs to this run alone and that it has resolved."""
    owner, value = ids.wire("run", run.id), f"canary-{random_secrets.token_hex(16)}"
    vault.store_secret(run.tenant_id, CANARY, value, scope=SecretScope.RUN, owner=owner, now=now)
    return SPOKEN.format(canary=vault.resolve(run, CANARY, now=now))
