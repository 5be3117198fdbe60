"""Write the answer of every route to a folder, so that two commits can be compared with ``diff -r``.

    python -m tools.record_answers /tmp/before      # then check out the other commit
    python -m tools.record_answers /tmp/after && diff -r /tmp/before /tmp/after

A tenant with one row of each kind (``tests/peopled.py``) is made in a test database, at a fixed time. Each operation of
both protocols and of the host extension is called with the tenant's own ids and with unknown ones, and each page with
GET, as page, fragment, JSON and CSV. What a call changes is rolled back. Chance is seeded: ids and tokens are the same.
"""

import os
import random
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

FOLDER = "RECORD_ANSWERS_IN"
AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
# Of a page's address: the parameter, and where ``peopled.MAKERS`` has such a row.
OF_PAGES = {
    "archives/arc_id": "archives/archive_id",
    "changes/change_id": "changes/change_id",
    "commitments/cmt_id": "commitments/commitment_id",
    "memory/mem_id": "memory/memory_id",
    "namespaces/name": "openintent namespaces/name",
    "operators/operator_id": "operators/operator_id",
    "proposals/prop_id": "proposals/proposal_id",
    "approval/kind": "approval-policies/kind",
    "workflow-files/intent_id": "openintent intents/intent_id",
    "workspace/path": "files/path",
}
TAB = "<slug:tab>"
# Filters of lists, by the page's pattern.
OF_LISTS = {
    "memory": (
        "agent=nobody.here&state=all&age=7d",
        "tag=red&ref=notes&subject=ada",
        "q=tag%3Ared+owl&order=newest&state=retired",
        "q=memory",
        "run=run_x&node=write&tier=working&namespace=shared&sensitivity=public&system=crm&thread=t-1",
        "since=2026-03-01&until=2026-03-02&node=write",
        "state=unknown",
        "column=tags&columns=1",
    ),
    "memory/views": ("tag=red&state=all&age=7d",),
    "memory/export": ("tag=red&age=24h&until=2026-03-02",),
    "proposals": (
        "show=mine&state=draft&state=proposed&kind=agent-pack&age=7d",
        "q=a&synthesizer=x&duplicate=no&purpose=new&gate=waiting",
        "agent=acme.bot",
    ),
    "proposals/filters": ("state=draft&kind=agent-pack&q=a",),
    "runs": ("status=completed&agent=a&started=x", "status=failed", "age=7d"),
    "commitments": ("state=armed",),
    "audit": ("action=run.create&since=2026-03-01",),
}
WITHOUT_END = ("text/event-stream",)


class Chance:
    """What ids, keys and tokens are drawn from: the same in every process, and begun anew for each call."""

    def __init__(self) -> None:
        self.source = random.Random(0)  # noqa: S311
        self.made = 0

    def bytes(self, size: int) -> bytes:
        return self.source.randbytes(size)

    def uuid7(self) -> UUID:
        self.made += 1
        return UUID(int=int(AT.timestamp() * 1000) << 80 | 7 << 76 | 2 << 62 | self.made)

    def begin(self, number: int) -> None:
        self.source.seed(number)
        self.made = number << 32


def written(answer: Any) -> str:
    """Status, headers and body."""
    head = [str(answer.status_code), *sorted(f"{name}: {value}" for name, value in answer.items())]
    if answer.get("Content-Type", "").startswith(WITHOUT_END):
        return "\n".join(head)
    if answer.streaming and not answer.is_async:
        return "\n".join([*head, "", b"".join(answer.streaming_content).decode(errors="backslashreplace")])
    return "\n".join([*head, "", "" if answer.streaming else answer.content.decode(errors="backslashreplace")])


def open_calls() -> Iterator[tuple[str, str]]:
    """File name and address of what anyone may read."""
    for address in (".well-known/openwop", ".well-known/openintent.json", ".well-known/openintent-compat.json"):
        yield re.sub(r"\W+", "-", address), f"/{address}"
    for address in (
        ".well-known/oauth-protected-resource",
        ".well-known/oauth-authorization-server",
        "v1/openapi.json",
    ):
        yield re.sub(r"\W+", "-", address), f"/{address}"


def api_calls(world: Any) -> Iterator[tuple[str, str, str, object]]:
    """File name, method, address and body of every operation, with own ids and with unknown ones."""
    from tests import peopled

    for route in peopled.routes(faces=("v1/", "api/", ".well-known/")):
        for method, operation in route.operations.items() if hasattr(route.view, "cls") else ():
            for whose, values in (("own", route.real(world)), ("unknown", route.unknown())):
                query = peopled.QUERIES.get(operation.name, "")
                address = f"/{route.address(values)}{query}"
                yield f"{method}-{operation.name}-{whose}", method, address, peopled.sound_body(operation, values)


def _value(values: dict[str, str], found: re.Match[str]) -> str:
    return values[found[1]]


def page_calls(world: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """File name, address and headers of every page that has a row to show."""
    from memory.views.agents import PARTS
    from tests import peopled
    from tests.faces.test_query_parameters import page_routes

    for pattern in page_routes():
        parameters = {name: f"{segment}/{name}" for segment, name in peopled.PARAMETER.findall(pattern)}
        names = {name: OF_PAGES.get(known, known) for name, known in parameters.items()}
        if not set(names.values()) <= set(peopled.MAKERS):
            continue
        values = {name: peopled.MAKERS[known](world) for name, known in names.items()}
        for shown in [pattern.replace(TAB, each) for each in PARTS] if TAB in pattern else [pattern]:
            address = "/" + re.sub(r"<(?:\w+:)?(\w+)>", partial(_value, values), shown)
            name = re.sub(r"\W+", "-", shown) or "home"
            yield f"page-{name}", address, {}
            yield f"page-{name}-fragment", address, {"HTTP_HX_REQUEST": "true"}
            yield f"page-{name}-json", f"{address}?format=json", {}
            yield f"page-{name}-csv", f"{address}?format=csv", {}
            for number, query in enumerate(OF_LISTS.get(pattern, ())):
                yield f"page-{name}-{number}", f"{address}?{query}", {}
                yield f"page-{name}-{number}-fragment", f"{address}?{query}", {"HTTP_HX_REQUEST": "true"}


@pytest.mark.django_db
def test_record(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import time_machine
    from django.db import transaction
    from django.test import Client

    from tests import building
    from tests.peopled import World

    folder = Path(os.environ[FOLDER])
    folder.mkdir(parents=True, exist_ok=True)
    settings.OPENWOP_TEST_SEAM_ENABLED = True
    monkeypatch.setattr("openwop_console.test_seams.runs.PATIENCE_S", 0)
    chance = Chance()
    monkeypatch.setattr("random._urandom", chance.bytes)
    monkeypatch.setattr("os.urandom", chance.bytes)
    monkeypatch.setattr("memory.host.ids.uuid7", chance.uuid7)
    with time_machine.travel(AT, tick=False):
        world = World("acme")
        browser = Client(raise_request_exception=False)
        browser.force_login(building.operator("acme"))
        calls: list[tuple[str, Any]] = [
            (name, partial(world.ask, method, address, body)) for name, method, address, body in api_calls(world)
        ]
        calls += [(name, partial(browser.get, address)) for name, address in open_calls()]
        calls += [(name, partial(browser.get, address, **headers)) for name, address, headers in page_calls(world)]
        for number, (name, call) in enumerate(calls, 1):
            chance.begin(number)
            with transaction.atomic():
                text = written(call())
                transaction.set_rollback(True)
            (folder / f"{name}.txt").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    # A fixed seed of hashes: the order of the methods in Allow comes from a set.
    known = {FOLDER: str(Path(sys.argv[1]).absolute()), "PYTHONHASHSEED": "0"}
    options = ["-q", "-p", "no:cacheprovider", f"--override-ini=python_files={Path(__file__).name}", __file__]
    os.execve(sys.executable, [sys.executable, "-m", "pytest", *options], os.environ | known)  # noqa: S606
