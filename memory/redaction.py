"""Redaction of secrets (SR-1), and masking of what a workflow declares ``sensitive``.

A text of a run is redacted by the secrets that the run has resolved; a text without a run, by every secret of the
tenant. The matching itself is in ``text.redactor``. A masked value is found in every form that a text may hold it in,
and as a number.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any
from uuid import UUID

from memory import addresses
from memory.host import vault
from memory.host.errors import Invalid
from memory.host.json_types import JSONMapping, JSONObject
from memory.host.models import Run, Secret
from memory.host.vault import Versions
from memory.text.encodings import forms_of
from memory.text.redactor import Redacted, Redactor, automaton_of, rewrite_marks, scrub

NOTHING = Redactor(())
KEPT = 256

_built: dict[Versions, Redactor] = {}
# What a run had resolved when this process last asked.
_last_known: dict[tuple[UUID, UUID], Versions] = {}


def for_run(tenant_id: UUID, run_id: UUID) -> Redactor:
    """Return the redactor of everything that this run writes, in whichever process."""
    versions = vault.versions_known_to(tenant_id, run_id)
    if len(_last_known) >= KEPT:
        _last_known.clear()
    _last_known[tenant_id, run_id] = versions
    if not versions:
        return NOTHING
    return _built.get(versions) or _build(vault.known_to(tenant_id, run_id))


def last_for_run(tenant_id: UUID, run_id: UUID) -> tuple[Redactor, Versions] | None:
    """Return the redactor that ``for_run`` gave last in this process, and the versions of its secrets, without asking.

    The run may have resolved more since, so the statement that stores what is redacted with it must also compare the
    versions. None when this process has not asked yet.
    """
    versions = _last_known.get((tenant_id, run_id))
    redactor = None if versions is None else _built.get(versions) if versions else NOTHING
    return None if versions is None or redactor is None else (redactor, versions)


def for_tenant(tenant_id: UUID) -> Redactor:
    """Return the redactor of titles, rationales, reasons and artifacts: every secret of the tenant."""
    return for_versions(tenant_id, vault.versions_held_by(tenant_id))


def for_versions(tenant_id: UUID, versions: Versions) -> Redactor:
    """The same, for who has asked for the ``versions`` of the tenant's secrets, which are in the order of their ids."""
    if not versions:
        return NOTHING
    return _built.get(versions) or _build(vault.held_by(tenant_id))


def finder_for(tenant_id: UUID, versions: Versions) -> Callable[[str], bool]:
    """Return whether a text holds one of the secrets, for ``vault.require_plain``."""
    redact = for_versions(tenant_id, versions).redact
    return lambda text: redact(text).count > 0


def require_plain_agent(tenant_id: UUID, named: str) -> None:
    """Refuse the agent that a request comes in the name of when its id holds a secret, which is not repeated."""
    if named and for_tenant(tenant_id).redact(named).count:
        problem = {"field": "X-Agent-ID", "message": addresses.NEVER_AN_ID}
        raise Invalid("No agent may have that name.", errors=[problem])


def for_derived(tenant_id: UUID) -> Callable[[str], Redacted]:
    """Return the redactor of derived text: every secret of the tenant, then anything that has the shape of one; old
    marks are rewritten. What was redacted in a source stays redacted in what is made of it (RFC 0012 D, SR-1
    carry-forward)."""
    redactor = for_tenant(tenant_id)

    def redact(text: str) -> Redacted:
        known = redactor.redact(rewrite_marks(text))
        shaped = scrub(known.text)
        return Redacted(shaped.text, known.count + shaped.count)

    return redact


def _versions(secrets: list[Secret]) -> Versions:
    return tuple((secret.id, secret.version) for secret in secrets)


def _build(secrets: list[Secret]) -> Redactor:
    """Build the redactor once for each set of secrets and versions; a rotation or a new value makes another set."""
    if len(_built) >= KEPT:
        _built.clear()
    return _built.setdefault(_versions(secrets), Redactor([(secret.name, vault.unseal(secret)) for secret in secrets]))


MASK = "[MASKED]"
MOST_MASKED, MOST_LETTERS = 1_000, 100_000  # values of sensitive variables that are looked for, and their characters
# The parts of a question that a run may fill in; the rest is in the workflow's definition.
FROM_INPUTS = (
    "title",
    "description",
    "questions",
    "timeoutMs",
    "artifactId",
    "artifactType",
    "artifactData",
    "correlation",
    "payload",
)
SHOWN_MASKED = {*FROM_INPUTS, "exchanges"}


def without_sensitive(values: Mapping[str, object], definition: Mapping[str, object]) -> JSONObject:
    """Mask the values that the workflow declares ``sensitive``."""
    masked = {each["name"] for each in _sensitive(definition)}
    return {name: MASK if name in masked else value for name, value in values.items()}


def _sensitive(definition: JSONMapping) -> list[JSONObject]:
    return [each for each in definition["variables"] if each.get("sensitive")]


class Mask:
    """Masks the values of one run's sensitive variables wherever they occur; build it once per run.

    When they are more than can be looked for, every text and number is masked.
    """

    def __init__(self, definition: Mapping[str, object], *values: Mapping[str, object]) -> None:
        """``values`` are the run's inputs and variables; what a variable begins with is in the definition."""
        declared = _sensitive(definition)
        defaults = {each["name"]: each.get("defaultValue") for each in declared}
        leaves = [leaf for held in (defaults, *values) for name in defaults for leaf in _leaves(held.get(name))]
        self._numbers = {leaf for leaf in leaves if not isinstance(leaf, str)}
        self._texts = {leaf if isinstance(leaf, str) else json.dumps(leaf) for leaf in leaves} - {""}
        # A client may bring hundreds of thousands, and each page that shows a question looks for them.
        self._all = len(self._texts) > MOST_MASKED or sum(map(len, self._texts)) > MOST_LETTERS

    def data(self, asked: Mapping[str, object]) -> JSONObject:
        """Mask what an interrupt asks; only what a run may have brought into it can hold a variable."""
        return {name: self.value(given) if name in SHOWN_MASKED else given for name, given in asked.items()}

    def value(self, given: object) -> Any:
        """Mask every occurrence in a JSON value, in the values of objects as well."""
        if not self._texts:
            return given
        if isinstance(given, str):
            return MASK if self._all else self._text(given)
        if isinstance(given, list):
            return [self.value(item) for item in given]
        if isinstance(given, dict):
            return {name: self.value(item) for name, item in given.items()}
        if given is None or isinstance(given, bool):
            return given
        return MASK if self._all or given in self._numbers else given

    def _text(self, text: str) -> str:
        parts, at = [], 0
        for _, start, end in sorted(
            self._forms.find_matches_as_indexes(text, overlapping=True), key=lambda hit: hit[1:]
        ):
            if start >= at:
                parts += [text[at:start], MASK]
            at = max(at, end)
        return "".join([*parts, text[at:]])

    @cached_property
    def _forms(self) -> Any:
        """Find each form wherever it begins, so that no part of one is left where two overlap."""
        return automaton_of(sorted({form for text in self._texts for form in forms_of(text)}))


def _leaves(value: Any) -> Iterator[str | int | float]:
    """Yield the texts and numbers in a JSON value; a boolean says too little to be recognised."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)
    elif value is not None and not isinstance(value, bool):
        yield value


def mask_of_run(run: Run) -> Mask:
    """Return the mask of the sensitive variables of ``run``."""
    return Mask(json.loads(run.definition.text), run.inputs, run.variables)
