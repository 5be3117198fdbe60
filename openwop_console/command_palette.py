"""The command palette: what typed words lead to: the page of an id, a page of the console, or a search. Reads only."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from memory import adapter, agents, artifact_stops, commitments, ledger_search
from memory.forget import holds, plans
from memory.host import access, ids, key_management, operators, pages, registrations, runs, webhooks
from memory.host.models import ApiKey, Installation, Run
from memory.host.tenancy import TenantScope
from memory.ledger_search import LedgerFilter
from memory.passes import archives, orders
from proposals import review
from proposals.models import UNDER_REVIEW, Proposal

OF_A_KIND = 5


@dataclass(frozen=True, slots=True)
class Place:
    """A destination; ``what`` is its kind."""

    label: str
    what: str
    url: str


@dataclass(frozen=True, slots=True)
class Section:
    """A page of the console, with its search words; ``scope`` is the permission needed to see it."""

    label: str
    name: str
    scope: str
    words: str = ""

    def answers(self, words: list[str]) -> bool:
        """Return whether each of ``words`` is the beginning of a word of this section."""
        own = f"{self.label} {self.words}".casefold().split()
        return all(any(each.startswith(word) for each in own) for word in words)


SECTIONS = (
    Section("Needs you", "needs-you", "manifest:read", "home start votes"),
    Section("Agents", "agents", "agents:read", "health degraded"),
    Section("Memory", "memory", "memory:read", "ledger entries search"),
    Section("Runs", "runs", "runs:read", "workflows trail failed"),
    Section("Passes", "nights", "memory:read", "last night report consolidation distillation"),
    Section("Archives", "archives", "memory:read", "dreams distillation"),
    Section("Consolidation", "consolidation", "memory:read", "passes merges night schedules"),
    Section("Possible duplicates", "look-alikes", "memory:read", "passes pairs merge"),
    Section("Commitments", "commitments", "memory:read", "reminders armed"),
    Section("Proposals", "proposals", "proposals:read", "inbox review vote"),
    Section(
        "Installed", "installed", "artifacts:read", "prompts agents chains automations schedules disable stop roll back"
    ),
    Section("Retention", "retention", "memory:read", "expiry growth policy nights"),
    Section("Namespaces", "namespaces", "agents:manage", "openintent"),
    Section("Workspace files", "workspace", "workspace:read"),
    Section("Workflow files", "workflow-files", "agents:manage", "import yaml"),
    Section("Import memory", "memory-imports", "agents:manage", "upload jsonl mem0 langgraph"),
    Section("Export entries", "memory-export", "memory:read", "download csv jsonl"),
    Section("Forget a subject", "forget", "memory:forget", "erase gdpr"),
    Section("Legal holds", "forget-holds", "memory:forget", "keep court evidence"),
    Section("Audit", "audit", "audit:read", "log chain verify"),
    Section("Settings", "settings", "manifest:read", "roles permissions approval policies"),
    Section("Operators", "operators", "operators:manage", "people invite roles sessions password"),
    Section("API keys", "keys", "keys:manage", "tokens credentials rotate revoke"),
    Section("Connect an agent", "connect", "manifest:read", "client sdk langgraph mcp curl examples"),
    Section("Secrets", "secrets", "secrets:manage", "vault credentials"),
    Section("Webhooks", "webhooks", "webhooks:manage", "deliveries events"),
    Section("Health", "host-health", "passes:run", "workers queue disk database slow status"),
    Section("API reference", "api", "manifest:read", "openapi"),
    Section("Glossary", "glossary", "manifest:read", "words terms meaning help"),
    Section("Run a consolidation", "consolidation", "passes:run", "pass now merge"),
    Section("Distill a memory", "archives-distill", "passes:run", "pass now archive"),
)


def search_for(words: str) -> str:
    """Return the address of a search of memory."""
    return f"{reverse('memory')}?{urlencode({'q': words})}"


def suggestions(scope: TenantScope, words: str, *, now: datetime) -> list[Place]:
    """Return the places that the words may mean, best match first and a search of memory last; every section without
    words."""
    own = words.casefold().split()
    answering = [each for each in SECTIONS if scope.can(each.scope) and each.answers(own)]
    answering.sort(key=lambda each: not each.label.casefold().startswith(words.casefold()))
    sections = [Place(each.label, "page", reverse(each.name)) for each in answering]
    if not own:
        return sections
    exact = find_address(scope, words, now=now)
    found = [Place(words, "open", exact)] if exact else []
    found += [*sections[:OF_A_KIND], *_installed(scope, words), *_proposals(scope, words), *_keys(scope, words)]
    if scope.can("memory:read"):
        found.append(Place(words, "search memory", search_for(words)))
    return found


def _installed(scope: TenantScope, words: str) -> list[Place]:
    if not scope.can("artifacts:read"):
        return []
    rows = Installation.objects.of(scope.tenant_id).filter(superseded_at=None, name__icontains=words)
    found = rows.order_by("kind", "name").values_list("name", "kind", "ref")[:OF_A_KIND]
    return [Place(name, kind, reverse("artifact", args=[ref])) for name, kind, ref in found]


def _proposals(scope: TenantScope, words: str) -> list[Place]:
    """Return the proposals under review whose title contains the words, newest first."""
    if not scope.can("proposals:read"):
        return []
    rows = Proposal.objects.of(scope.tenant_id).filter(state__in=UNDER_REVIEW, title__icontains=words)
    found = rows.order_by("-id").values_list("id", "title")[:OF_A_KIND]
    return [Place(title, "proposal", reverse("proposal", args=[ids.wire("prop", row)])) for row, title in found]


def _keys(scope: TenantScope, words: str) -> list[Place]:
    """Return the API keys whose name contains the words, newest first."""
    if not scope.can("keys:manage"):
        return []
    rows = ApiKey.objects.of(scope.tenant_id).filter(name__icontains=words).order_by("-id")
    found = [ids.wire("key", row) for row in rows.values_list("id", flat=True)[:OF_A_KIND]]
    names, listed = access.names_of(scope.tenant_id, found), reverse("keys")
    return [Place(names[key], "API key", f"{listed}?{urlencode({LISTED_BY['keys']: key})}") for key in found]


def find_address(scope: TenantScope, words: str, *, now: datetime) -> str:
    """Return the address of the id, agent, node or ref that ``words`` name; "" when this principal may see none."""
    for page, argument, find in _candidates(scope, words, now):
        if pages.is_there(find):
            name, _, field = page.partition("?")
            wanted = field or LISTED_BY.get(name)
            return f"{reverse(name)}?{urlencode({wanted: argument})}" if wanted else reverse(name, args=[argument])
    return ""


def _candidates(scope: TenantScope, words: str, now: datetime) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Yield the pages that ``words`` may name: the name of the address, perhaps with the field of its filter, the
    argument, and a check that it exists."""
    wire_id = words.lower()
    prefix = wire_id.partition("_")[0]
    if prefix in FINDERS and (found := ids.parse(prefix, wire_id)):
        name, find = FINDERS[prefix]
        yield name, wire_id, lambda: find(scope, found, now)
        return
    if "@" in words:
        yield "artifact", words, lambda: artifact_stops.find(scope, words)
    yield (
        "agent",
        words,
        lambda: scope.can("agents:read") and agents.entry(scope, words, registrations.advertised_capabilities()),
    )
    of_node = LedgerFilter(node=words, state="all")
    yield "memory?node", words, lambda: ledger_search.ledger_page(scope, of_node, size=1, now=now).entries
    if "/" in words:  # a ref without a slash is a word like any other
        of_ref = LedgerFilter(memory_ref=words, state="all")
        yield "memory?ref", words, lambda: ledger_search.ledger_page(scope, of_ref, size=1, now=now).entries


def _find_run(scope: TenantScope, run_id: UUID, now: datetime) -> Run:
    scope.check("runs:read")
    return runs.find(scope.tenant_id, run_id)


LISTED_BY = {"keys": "id", "operators": "id"}  # pages that show it as a list of what matches
FINDERS: dict[str, tuple[str, Callable[[TenantScope, UUID, datetime], object]]] = {
    "arc": ("archive", lambda scope, found, now: archives.get_archive(scope, found)),
    "cmt": ("commitment", lambda scope, found, now: commitments.lifecycle.find(scope, found, now=now)),
    "fgt": ("forget-request", lambda scope, found, now: plans.find(scope, found)),
    "hld": ("forget-hold", lambda scope, found, now: holds.find(scope, found)),
    "key": ("keys", lambda scope, found, now: key_management.find(scope, found, now=now)),
    "mem": ("memory-entry", lambda scope, found, now: adapter.console.find_entry(scope, found, now=now)),
    "pass": ("pass", lambda scope, found, now: orders.find(scope, found)),
    "prop": ("proposal", lambda scope, found, now: review.find(scope, found)),
    "run": ("run", _find_run),
    "usr": ("operators", lambda scope, found, now: operators.find(scope, found)),
    "whk": ("webhook", lambda scope, found, now: webhooks.find(scope, found)),
}
