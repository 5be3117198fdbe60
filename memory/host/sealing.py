"""What the vault seals with: AES-256-GCM under data keys, which are wrapped by ``OPENWOP_SECRET_KEY``. No database."""

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from memory.host.models import VaultKey

NONCE = 12


class VaultLocked(RuntimeError):
    """No configured key opens the vault: ``OPENWOP_SECRET_KEY`` is not the one it was sealed with."""


class SealTampered(VaultLocked):
    """The key is there, and what is stored is not what was sealed under it for that row."""


def unwrap(key: VaultKey) -> bytes:
    """The data key; raises ``VaultLocked`` when no configured key opens it."""
    for wrapping_key in wrapping_keys():
        try:
            return opened(wrapping_key, bytes(key.wrapped), key.id.bytes)
        except InvalidTag:
            continue
    raise VaultLocked("the vault was sealed with another OPENWOP_SECRET_KEY")


def wrapping_keys() -> list[bytes]:
    """The keys that wrap data keys: the first wraps, all open."""
    configured = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return [
        HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"openwop-console vault").derive(text.encode())
        for text in configured
    ]


def seal(key: bytes, plaintext: bytes, binding: bytes) -> bytes:
    """The text, sealed for one row."""
    nonce = os.urandom(NONCE)
    return nonce + AESGCM(key).encrypt(nonce, plaintext, binding)


def opened(key: bytes, sealed: bytes, binding: bytes) -> bytes:
    """The text of ``seal``; raises ``InvalidTag`` when it was sealed under another key, for another row, or changed."""
    if len(sealed) < NONCE:
        raise InvalidTag
    return AESGCM(key).decrypt(sealed[:NONCE], sealed[NONCE:], binding)


def new_key() -> bytes:
    """A data key, not wrapped yet."""
    return AESGCM.generate_key(256)
