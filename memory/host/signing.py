"""The host's Ed25519 signatures: over audit checkpoints and over receipts, each with a key of its own.

A key follows from ``OPENWOP_SECRET_KEY`` and its purpose alone, so all hosts with one secret sign alike and no key is
stored. ``OPENWOP_SECRET_KEY_FALLBACKS`` still verify what they signed and sign nothing any more.
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

CHECKPOINTS = "openwop-console audit checkpoints"
RECEIPTS = "openwop-console forget receipts"


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature as base64, and which key made it."""

    text: str
    key_id: str


@dataclass(frozen=True, slots=True)
class PublicKey:
    """What anybody verifies with: the 32 raw bytes of the key as base64; ``key_id`` is the start of their SHA-256."""

    text: str
    key_id: str


def sign(purpose: str, document: dict[str, Any]) -> Signature:
    """The signature over the JCS form (RFC 8785) of ``document``, by the first configured key."""
    key = _keys(purpose)[0]
    return Signature(base64.b64encode(key.sign(rfc8785.dumps(document))).decode(), _public(key).key_id)


def verifies(purpose: str, document: dict[str, Any], signature: str, key_id: str = "") -> bool:
    """Whether a configured key made the signature over exactly this document; with ``key_id`` only that key counts."""
    try:
        raw = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    candidates = [key for key in _keys(purpose) if key_id in ("", _public(key).key_id)]
    return any(_fits(key, raw, rfc8785.dumps(document)) for key in candidates)


def public_keys(purpose: str) -> list[PublicKey]:
    """The keys whose signatures this host stands by; the one it signs with is the first."""
    return [_public(key) for key in _keys(purpose)]


def _fits(key: Ed25519PrivateKey, signature: bytes, message: bytes) -> bool:
    try:
        key.public_key().verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _public(key: Ed25519PrivateKey) -> PublicKey:
    raw = key.public_key().public_bytes_raw()
    return PublicKey(base64.b64encode(raw).decode(), hashlib.sha256(raw).hexdigest()[:16])


def _keys(purpose: str) -> list[Ed25519PrivateKey]:
    return [_derived(purpose, text) for text in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]


@cache
def _derived(purpose: str, secret: str) -> Ed25519PrivateKey:
    seed = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=purpose.encode()).derive(secret.encode())
    return Ed25519PrivateKey.from_private_bytes(seed)
