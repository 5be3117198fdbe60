"""Registered OAuth clients as a store of a forget: what a program calls itself.

A client registers without a login and belongs to no tenant. A forget looks at those that this tenant has granted
something, and at those that no tenant has; of the latter only what certainly names the subject goes, and nothing of
them is shown. The name is emptied, and the client goes by its id then. Where a client is sent back stays.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from allauth.idp.oidc.models import Client
from django.db import transaction

from memory.host import api_keys
from memory.host.erasure import Holding, Identifiers, Remains
from memory.text.matching import Mention, counted, mention, rule_for, second_look


class RegisteredClients:
    """Names of clients; a row of one is a digest of its id."""

    store = "names of OAuth clients"
    covers: Mapping[str, tuple[str, ...]] = {"allauth_idp_oidc_client": ("name",)}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        found = [
            (row_of(client), how)
            for client, name, is_own in _clients(tenant_id)
            if (how := _judged(mention(subject.terms, name), is_own=is_own))
        ]
        exact, suspected = (
            tuple(sorted(row for row, how in found if how is wanted)) for wanted in (Mention.EXACT, Mention.SUSPECTED)
        )
        return Holding(self.store, exact, suspected)

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        named = ((row_of(client), name) for client, name, is_own in _clients(tenant_id) if is_own)
        return {row: [name] for row, name in named if row in rows}

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        return {}

    @transaction.atomic
    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        rule = rule_for(ticked=ticked)
        named = [
            client for client, name, _ in _clients(tenant_id) if row_of(client) in rows and rule(subject.terms, name)
        ]
        return int(Client.objects.filter(id__in=named).update(name=""))

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        looks: Iterable[tuple[UUID, Mention]] = (
            (row_of(client), _judged(second_look(subject.terms, name), is_own=is_own))
            for client, name, is_own in _clients(tenant_id)
        )
        return counted(looks, chosen, spared)


def _judged(how: Mention, *, is_own: bool) -> Mention:
    return how if is_own or how is Mention.EXACT else Mention.NONE


def _clients(tenant_id: UUID) -> Iterator[tuple[str, str, bool]]:
    """The id and the name of every client that has one and is not another tenant's alone, and whether it has been
    granted something here."""
    own, others = api_keys.granted_clients(tenant_id)
    for client, name in Client.objects.exclude(name="").order_by("id").values_list("id", "name").iterator():
        if client in own or client not in others:
            yield client, name, client in own


def row_of(client_id: str) -> UUID:
    return UUID(bytes=hashlib.sha256(client_id.encode()).digest()[:16])


REGISTERED_CLIENTS = RegisteredClients()
