"""Shared by the management commands: a refusal is one line on standard error, and the exit status 1."""

import getpass
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.db import Error, transaction

from memory.addresses import MAX_AGENT, is_agent_id
from memory.host import access, denials, ids, request_ids, tenancy
from memory.host.errors import Forbidden, Refusal
from memory.host.models import ApiKey, Operator, Tenant
from memory.host.tenancy import TenantScope
from memory.models import Pass, PassState
from openwop_console import health

LOOK_EVERY = 0.2


class DatabaseCommand(BaseCommand):
    """A command that uses the tables: it needs a reachable database with this release's migrations."""

    requires_migrations_checks = True
    requires_system_checks: list[str] = []  # they import every view, which takes longer than the command

    def execute(self, *args: object, **options: object) -> str | None:
        with request_ids.under_way("cmd"):
            return super().execute(*args, **options)

    def check_migrations(self) -> None:
        try:
            missing = health.unapplied_migrations()
        except Error as refused:
            raise CommandError(f"The database cannot be used: {' '.join(str(refused).split())}") from refused
        if missing:
            raise CommandError("The database lacks migrations of this release; run this first: manage.py migrate")


@contextmanager
def refusals_as_errors() -> Iterator[None]:
    """Convert a refusal inside the block to a ``CommandError`` that names every field."""
    try:
        yield
    except Refusal as refusal:
        raise CommandError(refusal.in_words) from None


@transaction.atomic
def new_tenant(slug: str, *, name: str, now: datetime) -> Tenant:
    """Create a tenant as an administrator does: with its nightly passes."""
    # Imported here, as below: it takes longer than most commands, and only some need it.
    from memory import memory_policy

    tenant = access.create_tenant(slug, name=name, now=now)
    memory_policy.begin_nights(tenant.id, now=now)
    return tenant


def tenant_named(slug: str) -> Tenant:
    """Return the tenant with that slug; raises ``CommandError`` when there is none."""
    tenant = access.tenant_by_slug(slug)
    if tenant is None:
        raise CommandError(f"There is no tenant {slug!r}; create it with: manage.py create_tenant {slug}")
    return tenant


@contextmanager
def acting_as(scope: TenantScope, attempt: str, *, now: datetime) -> Iterator[None]:
    """Like ``refusals_as_errors``, and record a denial as every other entry point does."""
    with refusals_as_errors():
        try:
            yield
        except Forbidden as refusal:
            if not refusal.on_record and refusal.details.keys() & {"requiredScope", "rule"}:
                denials.record(scope, refusal, action=f"manage.py {attempt}", now=now)
            raise


def administrator_scope(tenant: Tenant) -> TenantScope:
    """Return the host's scope with an owner's permissions, for commands that manage a tenant's grants."""
    return tenancy.host_scope(tenant, scopes=access.ROLES[access.OWNER])


def read_json(file: Path) -> Any:
    """Read the JSON in ``file`` as strictly as a request body; raises ``CommandError`` when it cannot be read."""
    from rest_framework.exceptions import ParseError

    from memory.host.http import StrictJSONParser

    try:
        with file.open("rb") as stream:
            return StrictJSONParser().parse(stream)
    except OSError as problem:
        raise CommandError(f"{file} cannot be read ({problem.strerror}).") from None
    except ParseError:
        raise CommandError(f"{file} is not JSON that this host reads.") from None


def expiry_of(text: str, now: datetime) -> datetime:
    """Parse days or hours from now, or an instant: 90d, 12h, 2027-01-31T00:00:00Z; raises ``CommandError``."""
    if found := re.fullmatch(r"([1-9][0-9]{0,4})([dh])", text):
        unit = {"d": timedelta(days=1), "h": timedelta(hours=1)}[found[2]]
        return now + int(found[1]) * unit
    from memory.host.http import RFC_3339

    if RFC_3339.fullmatch(text.upper()):
        with suppress(ValueError):
            return datetime.fromisoformat(text.upper())
    raise CommandError(f"The expiry {text!r} is not of the form 90d, 12h or 2027-01-31T00:00:00Z.")


def check_agent_ids(agents: Iterable[str]) -> None:
    """Raise ``CommandError`` for a text that is no id of an agent."""
    for agent in agents:
        if not is_agent_id(agent):
            raise CommandError(f"{agent!r} is not the id of an agent: 1 to {MAX_AGENT} characters that print.")


def operator_named(tenant: Tenant, email: str) -> Operator:
    """Return the operator with that address, active or not; raises ``CommandError`` when there is none."""
    operator = access.operator_by_email(email)
    if operator is None or not Operator.objects.of(tenant.id).filter(id=operator.id).exists():
        raise CommandError(f"There is no operator {email!r} in {tenant.slug}.")
    return operator


def key_named(text: str) -> tuple[TenantScope, UUID]:
    """Return the host's scope in the key's tenant, and the key's id; raises ``CommandError`` when there is none."""
    key_id = ids.parse("key", text)
    row = ApiKey.objects.filter(id=key_id).select_related("tenant").first() if key_id else None
    if row is None:
        raise CommandError(f"There is no key {text!r}; list_api_keys --tenant SLUG shows their ids.")
    return administrator_scope(row.tenant), row.id


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format rows for a terminal, each column as wide as its longest cell."""
    lines = [list(titles), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def operator_scope(tenant: Tenant, email: str) -> TenantScope:
    """Return the operator's scope, with the permissions that its roles give it now."""
    operator = operator_named(tenant, email)
    with refusals_as_errors():
        return tenancy.tenant_scope(tenancy.operator_principal(operator, tenant.id))


def seen_through(row: Pass, carry_out: Callable[[UUID, UUID], Pass | None]) -> str:
    """Wait for an ordered pass to end, here or in a worker, and return its outcome as one line of JSON.

    Raises ``CommandError`` for a pass that did not succeed, with its code, the run's message, and the figures.
    """
    from memory import passes

    while row.state not in passes.OVER:
        ended = carry_out(row.tenant_id, row.id)
        if ended is None:
            time.sleep(LOOK_EVERY)
        row = ended or passes.find(row.tenant_id, row.id) or row
    if row.state != PassState.DONE:
        details = row.outcome.get("details", {})
        figures = f" ({json.dumps(details, sort_keys=True)})" if details else ""
        raise CommandError(f"{row.state}: {row.code}: {(row.run.error or {}).get('message', '')}{figures}")
    return json.dumps(row.outcome, sort_keys=True)


def new_password(variable: str = "") -> str:
    """Return a password from the variable, or asked for twice at the terminal; raises ``CommandError``."""
    if variable:
        if not os.environ.get(variable):
            raise CommandError(f"The environment variable {variable} is not set.")
        return os.environ[variable]
    if not sys.stdin or not sys.stdin.isatty():
        raise CommandError("There is no terminal to ask for a password at; use --password-env VAR.")
    first = getpass.getpass("Password: ")
    if first != getpass.getpass("Again: "):
        raise CommandError("The two passwords differ.")
    return first
