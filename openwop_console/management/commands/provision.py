"""``manage.py provision FILE``."""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone
from jsonschema import Draft202012Validator

from memory.host import access, api_keys, key_management, operators
from memory.host.json_types import JSONObject
from memory.host.models import ApiKey, Membership, Operator, Tenant
from openwop_console.management.base import (
    DatabaseCommand,
    administrator_scope,
    check_agent_ids,
    expiry_of,
    new_tenant,
    read_json,
    refusals_as_errors,
)

TEXT = {"type": "string", "minLength": 1, "maxLength": 200}
People = dict[str, Operator | None]
ROLE = {"enum": list(access.ROLES)}


def _objects(*required: str, **properties: object) -> JSONObject:
    one = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return {"type": "array", "items": one}


OPERATORS = _objects("email", "role", email=TEXT, role=ROLE, passwordEnv=TEXT)
KEYS = _objects(
    "name", "role", name=TEXT, role=ROLE, agents={"type": "array", "items": TEXT}, **{"for": TEXT, "expires": TEXT}
)
SCHEMA = {
    "type": "object",
    "properties": {"tenants": _objects("slug", slug=TEXT, name=TEXT, operators=OPERATORS, keys=KEYS)},
    "required": ["tenants"],
    "additionalProperties": False,
}


class Command(DatabaseCommand):
    help = (
        "Create the tenants, operators and API keys that a JSON file names and that do not exist yet, all or none. "
        "Each new key is printed once, as a line of JSON on standard output."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: object, **options: Any) -> None:
        document = read_json(options["file"])
        for problem in sorted(Draft202012Validator(SCHEMA).iter_errors(document), key=lambda each: each.json_path):
            raise CommandError(f"{options['file']}: {problem.json_path} {problem.message[:200]}")
        now = timezone.now()
        wanted = [operator for tenant in document["tenants"] for operator in tenant.get("operators", ())]
        with refusals_as_errors():
            people = _prepared(wanted, now)
            with transaction.atomic():
                made = [line for tenant in document["tenants"] for line in _provision(tenant, people, now)]
        for line in made:
            self.stdout.write(json.dumps(line))


def _prepared(wanted: list[dict[str, str]], now: datetime) -> People:
    """Build the people who cannot sign in yet, by address, each with the first password named for them."""
    people: People = {}
    for operator in wanted:
        email, variable = operator["email"], operator.get("passwordEnv", "")
        if access.email_form(email) in people:
            continue
        if not os.environ.get(variable) and access.operator_by_email(email) is None:
            raise _no_password(operator)
        people[access.email_form(email)] = operators.prepare_operator(email, os.environ.get(variable), now=now)
    return people


def _no_password(operator: dict[str, str]) -> CommandError:
    message = f"set passwordEnv to the name of a variable that holds the password of {operator['email']}"
    variable = operator.get("passwordEnv")
    return CommandError(f"{message}; {variable!r} is not set" if variable else message)


def _provision(wanted: JSONObject, people: People, now: datetime) -> list[dict[str, str]]:
    """Create what is missing of one tenant; its new keys, with their texts."""
    slug = wanted["slug"]
    tenant = access.tenant_by_slug(slug) or new_tenant(slug, name=wanted.get("name", ""), now=now)
    for operator in wanted.get("operators", ()):
        _create_operator(tenant, operator, people, now)
    active = ApiKey.objects.of(tenant.id).filter(revoked_at=None)
    missing = [key for key in wanted.get("keys", ()) if not active.filter(name=key["name"]).exists()]
    return [
        {"tenant": slug, "name": key["name"], "role": key["role"], "key": _create_key(tenant, key, now).text}
        for key in missing
    ]


def _create_operator(tenant: Tenant, wanted: dict[str, str], people: People, now: datetime) -> None:
    """The person is an active operator of the tenant; one who already is keeps their role and password."""
    email = wanted["email"]
    known = access.operator_by_email(email)
    if known and Membership.objects.of(tenant.id).filter(operator=known, is_active=True).exists():
        return
    fresh = people[access.email_form(email)]
    if known and fresh is None and not access.can_sign_in(known):
        raise _no_password(wanted)
    operators.admit_operator(tenant, email, fresh, role=wanted["role"], now=now)


def _create_key(tenant: Tenant, wanted: JSONObject, now: datetime) -> api_keys.NewKey:
    check_agent_ids(wanted.get("agents", ()))
    return key_management.create(
        administrator_scope(tenant),
        role=wanted["role"],
        agents=tuple(wanted.get("agents", ())),
        name=wanted["name"],
        person=wanted.get("for", ""),
        expires_at=expiry_of(wanted["expires"], now) if "expires" in wanted else None,
        now=now,
    )
