"""Prompt templates as a kind of artifact (RFC 0027): runs resolve the template itself, so it has no parts."""

from memory.host.installing import Document, Installer
from proposals.models import Kind


def _named(document: Document) -> tuple[str, str]:
    return document["templateId"], document["version"]


INSTALLER = Installer(Kind.PROMPT_TEMPLATE, _named)
