"""OAuth rules: which clients may register, what their tokens are for, and the principal of a token.

A token names a person and a client. It opens only what this person has granted this client: a key of theirs in one
tenant (``memory.host.key_management``). When the grant ends, its tokens open nothing, whatever lifetime they have left.
"""

import re
import secrets as random_secrets
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.idp.oidc import models as library
from allauth.idp.oidc.adapter import DefaultOIDCAdapter, get_adapter
from allauth.idp.oidc.models import Client, Token
from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, JsonResponse

from memory.host import api_keys, ids, key_management, pages, tenancy
from memory.host.errors import Invalid, Unauthenticated
from memory.host.models import ApiKey
from memory.host.tenancy import Principal, TenantScope
from openwop_console.passwords import RandomSecretHasher

RESOURCE = "/mcp"
SCOPE = "mcp"
GRANTS = (Client.GrantType.AUTHORIZATION_CODE, Client.GrantType.REFRESH_TOKEN)
# After this time an unused registration is deleted; the client can register again.
UNUSED = timedelta(days=1)
# The bound of registrations without a token, which need no login and may come from many networks. When it is reached,
# those of more than ``UNUSED_IN_A_FLOOD`` ago make room.
MOST_UNUSED, UNUSED_IN_A_FLOOD = 10_000, timedelta(hours=1)
MOST_URIS, LONGEST_URI = 10, 500
# The library hashes the secrets of clients like passwords, and has no setting to change that (decision 0115).
library.make_password = partial(make_password, hasher=RandomSecretHasher.algorithm)
# A refresh token's list of the digests that were presented for it and its predecessors, and its largest length.
SPENT, MOST_SPENT = "spent", 100
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
# The characters allowed in an address that a page's policy names in a header.
PLAIN_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._~:/?&=%@!$()+\[\]-]*")
# Schemes that a browser handles itself; any other that is not of the web belongs to a program.
NO_PROGRAMS = frozenset({"about", "blob", "data", "file", "filesystem", "ftp", "javascript", "vbscript", "ws", "wss"})


class Adapter(DefaultOIDCAdapter):  # type: ignore[misc]  # allauth is untyped
    """Configure django-allauth: one scope, one resource, and what a client may register."""

    scope_display = {SCOPE: "use the tools of this console"}

    def generate_client_secret(self) -> str:
        """Use only characters that a form and the HTTP Basic header encode alike, since some clients encode others."""
        return random_secrets.token_urlsafe(48)

    def get_issuer(self) -> str:
        return pages.public_url(self.request)

    def validate_client_registration(self, *, client: Any, client_metadata: object, **_: object) -> None:
        """Give a client what clients of ``/mcp`` need, whatever it asked for; refuse bad redirects and unprintable
        names."""
        uris = client.get_redirect_uris()
        if len(uris) > MOST_URIS or not all(map(is_redirect, uris)):
            explanation = "Redirects go to https, to a program's own scheme, or by plain http to this machine only."
            raise ImmediateHttpResponse(
                JsonResponse({"error": "invalid_redirect_uri", "error_description": explanation}, status=400)
            )
        if not client.name.isprintable():
            raise ValidationError("client_name holds a character that cannot be shown.")
        client.data = None  # unverified metadata is not stored
        client.set_scopes([SCOPE])
        client.set_default_scopes([SCOPE])
        client.set_grant_types(list(GRANTS))
        client.set_response_types([Client.ResponseType.CODE])

    def validate_resource_uris(self, *, uris: list[str], **_: object) -> None:
        if not is_for_us(self.request, uris):
            raise ValidationError("This host issues tokens only for its own MCP address.")


def is_redirect(uri: str) -> bool:
    """Return whether ``uri`` may be a redirect: plain http only to this machine (OAuth 2.1, 2.3.1)."""
    if len(uri) > LONGEST_URI or not PLAIN_URI.fullmatch(uri):
        return False
    try:
        parts = urlsplit(uri)
        host = parts.hostname or ""
        parts.port  # noqa: B018  # raises when it is not a port
    except ValueError:
        return False
    if parts.username is not None or parts.scheme in NO_PROGRAMS:
        return False
    return bool(host) and (parts.scheme != "http" or host in LOOPBACK)


def require_registered(client_id: str, uri: str) -> None:
    """Refuse an address that does not exactly match one that the client registered (OAuth 2.1, 2.3.1); for a program on
    this machine, the port may differ (8.4.2)."""
    client = Client.objects.filter(id=client_id).first()
    if client is None or _without_port(uri) not in map(_without_port, client.get_redirect_uris()):
        raise Invalid("The client asked to be sent back to an address that it did not register.")


def _without_port(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.scheme != "http" or parts.hostname not in LOOPBACK:
        return uri
    return urlunsplit(parts._replace(netloc=parts.netloc.removesuffix(f":{parts.port}")))


def form_target(uri: str) -> str:
    """Return the ``form-action`` source that allows a page's form to redirect to ``uri``."""
    parts: SplitResult = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in {"http", "https"} else f"{parts.scheme}:"


def is_for_us(request: HttpRequest, resources: list[str]) -> bool:
    """Return whether all of ``resources`` are this host's MCP address.

    An empty list passes, since this host issues tokens for nothing else.
    """
    own = {f"{pages.public_url(request)}{RESOURCE}", f"{request.scheme}://{request.get_host()}{RESOURCE}"}
    return set(resources) <= own


def principal_of(request: HttpRequest, text: str, *, now: datetime) -> Principal:
    """Return the principal of a key, or of a token for this address with a valid grant; raises ``Unauthenticated``."""
    if text.startswith("owk_"):
        return tenancy.key_principal(text, now=now)
    token = Token.objects.lookup(Token.Type.ACCESS_TOKEN, text)
    if token is None or not token.user_id or not is_for_us(request, token.get_resources()):
        raise Unauthenticated
    return tenancy.grant_principal(token.user_id, token.client_id, now=now)


def may_refresh(text: str, *, now: datetime) -> bool:
    """Return whether the grant of a refresh token is valid; an ended grant's tokens are deleted."""
    token = Token.objects.lookup(Token.Type.REFRESH_TOKEN, text)
    if token is None:
        return True  # the server rejects it itself
    if api_keys.grant_of(token.user_id, token.client_id, now=now):
        return True
    _end_tokens(token.user_id, token.client_id)
    return False


def lock_client(client_id: str) -> None:
    """Lock the client's row until the transaction ends, so that its codes and tokens are presented one at a time."""
    Client.objects.select_for_update(no_key=True).filter(id=client_id).first()


def spent_before(refresh: str) -> list[str]:
    """Return the digests of what was presented for a refresh token and its predecessors."""
    token = Token.objects.lookup(Token.Type.REFRESH_TOKEN, refresh) if refresh else None
    return list((token.data or {}).get(SPENT, ())) if token else []


def settle(given: dict[str, object], presented: str, before: list[str], *, now: datetime) -> bool:
    """Store in the new refresh token what was presented for it; False, and no tokens, when the grant has ended."""
    token = Token.objects.lookup(Token.Type.REFRESH_TOKEN, given["refresh_token"])
    if token is None or not api_keys.grant_of(token.user_id, token.client_id, now=now):
        if token is not None:
            _end_tokens(token.user_id, token.client_id)
        return False
    spent = [*before, get_adapter().hash_token(presented)][-MOST_SPENT:]
    token.data = {**(token.data or {}), SPENT: spent}
    token.save(update_fields=["data"])
    return True


def end_if_spent(client_id: str, presented: str) -> None:
    """Delete the tokens issued from a code or refresh token that is presented again, since it or its successor was
    stolen (RFC 9700, 4.14.2)."""
    digest = get_adapter().hash_token(presented)
    for token in Token.objects.valid().filter(client_id=client_id, type=Token.Type.REFRESH_TOKEN):
        if digest in (token.data or {}).get(SPENT, ()):
            _end_tokens(token.user_id, client_id)


def find_token(text: str) -> Any:
    """Return the access or refresh token with this text, valid or not; None where there is none."""
    kinds = (Token.Type.ACCESS_TOKEN, Token.Type.REFRESH_TOKEN)
    return Token.objects.by_value(text).filter(type__in=kinds).first()


def revoke_token(token: Any) -> None:
    """End a token that its client revokes, whatever kind it said that it is, and with a refresh token the access tokens
    (RFC 7009, 2.1)."""
    token.delete()
    if token.type == Token.Type.REFRESH_TOKEN:
        _end_tokens(token.user_id, token.client_id)


@transaction.atomic
def grant(scope: TenantScope, client: Any, *, now: datetime) -> None:
    """Record the person's consent as a grant, and delete the tokens of an older grant to this client."""
    key_management.grant(scope, client_id=client.id, name=name_of(client), now=now)
    _end_tokens(_person(scope), client.id)


@transaction.atomic
def revoke(scope: TenantScope, key_id: Any, *, now: datetime) -> ApiKey:
    """End the grant and its tokens at once."""
    row = key_management.revoke_grant(scope, key_id, now=now)
    _end_tokens(row.owner_id, row.client_id)
    return row


def name_of(client: Any) -> str:
    return str(client.name) or f"client {client.id[:8]}"


def has_room(*, now: datetime) -> bool:
    """Return whether another client may register."""
    idle = Client.objects.filter(token=None)
    is_full = bool(idle.order_by().values_list("id")[MOST_UNUSED - 1 : MOST_UNUSED])
    return not is_full or bool(idle.filter(created_at__lte=now - UNUSED_IN_A_FLOOD).delete()[0])


def sweep(*, now: datetime) -> int:
    """Delete expired tokens, and clients registered more than a day ago that have none; return the number."""
    gone, _ = Token.objects.filter(expires_at__lte=now).delete()
    idle = Client.objects.filter(created_at__lte=now - UNUSED, token=None)
    return int(gone + idle.delete()[0])


def _end_tokens(person: object, client_id: str) -> None:
    Token.objects.filter(user_id=person, client_id=client_id).delete()


def _person(scope: TenantScope) -> Any:
    return ids.parse("usr", scope.principal.id)
