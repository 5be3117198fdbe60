"""Names of secrets and keys as stores of a forget: what people have called them, and whom they belong to.

A credential goes on as what it is, under a name that nobody else has; a workflow that resolves it by its old name fails
and says so. What is sealed in a secret is not looked through: it is replaced, not read.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from memory.erasers.kept_values import RowByRow
from memory.host import access, vault
from memory.host.erasure import Holding, Identifiers, Kept
from memory.host.models import ApiKey, Operator, Secret, Tenant
from memory.matching import FORGOTTEN, Rule, is_mentioned, mentioned_in

BECAUSE = "Operators sign in with their address, and the tenant goes by its name; deactivate or rename them instead."


class SecretNames(RowByRow):
    """Names, and the principals or runs that secrets belong to."""

    store = "names of secrets"
    table = Secret
    columns = ("name", "owner")

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        secret: Secret | None = Secret.objects.of(tenant_id).select_for_update().filter(id=row_id).first()
        changed = self.cleaned(secret, subject, rule) if secret else {}
        if secret and changed:
            vault.erase_names(secret, **dict.fromkeys(changed, f"forgotten-{secret.id.hex}"))
        return bool(changed)


class KeyNames(RowByRow):
    """Names of API keys, and the agents that they are bound to. One that loses an agent stays bound: to nobody."""

    store = "names and agents of keys"
    table = ApiKey
    columns = ("name", "agents")

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        key: ApiKey | None = ApiKey.objects.of(tenant_id).select_for_update().filter(id=row_id).first()
        changed: dict[str, Any] = self.cleaned(key, subject, rule) if key else {}
        if key and "agents" in changed:
            unnamed = f"forgotten-{key.id.hex}"
            changed["agents"] = [unnamed if each == FORGOTTEN else each for each in changed["agents"]]
        if key and changed:
            access.erase_names(key, **changed)
        return bool(changed)


class OperatorAccounts(Kept):
    """Accounts of this tenant, and the tenant itself; nothing of them is erased."""

    store = "operator accounts"
    covers: Mapping[str, tuple[str, ...]] = {
        "host_operator": ("email",),
        "account_emailaddress": ("email",),
        "host_tenant": ("slug", "name"),
    }

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        members = Operator.objects.filter(memberships__tenant_id=tenant_id).values_list("email", flat=True)
        stays = sum(is_mentioned(subject.terms, email) for email in members)
        named = Tenant.objects.filter(id=tenant_id).values_list("slug", "name")
        stays += sum(mentioned_in(subject.terms, list(names)) for names in named)
        return Holding(self.store, stays=stays, stays_because=BECAUSE if stays else "")


SECRET_NAMES, KEY_NAMES, OPERATOR_ACCOUNTS = SecretNames(), KeyNames(), OperatorAccounts()
