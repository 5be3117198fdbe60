"""The host's Ed25519 signatures over audit checkpoints and receipts, and keyed digests of content that could be
guessed.

Each purpose has its own key, derived from ``OPENWOP_SECRET_KEY`` and the purpose alone, so all hosts with one secret
sign alike and no key is stored. Webhooks are signed with the secret of their subscription, where they are sent.
``OPENWOP_SECRET_KEY_FALLBACKS`` still verify their signatures but sign nothing.
"""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from functools import cache
from uuid import UUID

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

from memory.host.json_types import JSONObject

CHECKPOINTS = "openwop-console audit checkpoints"
BACKUPS = "openwop-console backups"
RECEIPTS = "openwop-console forget receipts"
REQUESTS = "openwop-console request bodies"
STATES = "openwop-console observed states"


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature as base64, and the id of its key."""

    text: str
    key_id: str


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key: its 32 raw bytes as base64; ``key_id`` is the start of their SHA-256.

    ``spki`` is the same key as SubjectPublicKeyInfo in DER, base64 (RFC 8410), as OpenWOP publishes it.
    """

    text: str
    key_id: str
    spki: str


def sign(purpose: str, document: JSONObject) -> Signature:
    """Sign the JCS form (RFC 8785) of ``document`` with the first configured key."""
    return sign_bytes(purpose, rfc8785.dumps(document))


def sign_bytes(purpose: str, message: bytes) -> Signature:
    """Sign exactly these bytes with the first configured key."""
    key = _keys(purpose)[0]
    return Signature(base64.b64encode(key.sign(message)).decode(), _public(key).key_id)


def verifies(purpose: str, document: JSONObject, signature: str, key_id: str = "") -> bool:
    """Whether a configured key made the signature over exactly this document; with ``key_id`` only that key counts."""
    try:
        form = rfc8785.dumps(document)
    except ValueError:
        return False
    return verifies_bytes(purpose, form, signature, key_id)


def verifies_bytes(purpose: str, message: bytes, signature: str, key_id: str = "") -> bool:
    """Whether a configured key made the signature over exactly these bytes; with ``key_id`` only that key counts."""
    try:
        raw = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    candidates = [key for key in _keys(purpose) if key_id in ("", _public(key).key_id)]
    return any(_fits(key, raw, message) for key in candidates)


def digests(purpose: str, tenant_id: UUID, content: bytes) -> tuple[str, ...]:
    """Return keyed digests of ``content``, which cannot be guessed without the secret; the current secret's first.

    They are the same for the same content of one tenant on every host with that secret; the others recognise digests
    stored before the secret was changed.
    """
    short = hashlib.sha256(content).digest()
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    keys = [
        hmac.new(secret.encode(), purpose.encode() + tenant_id.bytes, hashlib.sha256).digest() for secret in secrets
    ]
    return tuple(hmac.new(key, short, hashlib.sha256).hexdigest() for key in keys)


def public_keys(purpose: str) -> list[PublicKey]:
    """Return the keys that verify this host's signatures; the one that signs is first."""
    return [_public(key) for key in _keys(purpose)]


def _fits(key: Ed25519PrivateKey, signature: bytes, message: bytes) -> bool:
    try:
        key.public_key().verify(signature, message)
    except InvalidSignature:
        return False
    return True


@cache
def _public(key: Ed25519PrivateKey) -> PublicKey:
    raw = key.public_key().public_bytes_raw()
    spki = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return PublicKey(
        base64.b64encode(raw).decode(), hashlib.sha256(raw).hexdigest()[:16], base64.b64encode(spki).decode()
    )


def _keys(purpose: str) -> list[Ed25519PrivateKey]:
    return [_derived(purpose, text) for text in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]


@cache
def _derived(purpose: str, secret: str) -> Ed25519PrivateKey:
    seed = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=purpose.encode()).derive(secret.encode())
    return Ed25519PrivateKey.from_private_bytes(seed)
