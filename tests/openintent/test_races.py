"""Several client processes against a console with two web workers: what may happen once happens once (R46, R98).

Some 150 rounds in a thorough run, 60 in a quick one. No round may ever see a status of 500 and more.
"""

from __future__ import annotations

import json
import multiprocessing
from collections import Counter
from collections.abc import Iterator
from multiprocessing.pool import Pool
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.budgets import THOROUGH

if TYPE_CHECKING:  # the client processes import this module, and Django is not set up in them
    from tests.openintent.conftest import Served

pytestmark = [pytest.mark.console, pytest.mark.engines]
CLIENTS = 4
# Rounds of a race.
MANY, SOME, FEW = (25, 20, 15) if THOROUGH else (10, 8, 6)
Call = tuple[str, str, str, Any, dict[str, str]]
Answer = tuple[int, Any]

_clients: list[httpx.Client] = []


def _open(url: str, key: str) -> None:
    """What each process does once: a client of its own, with its own connection."""
    _clients.append(httpx.Client(base_url=url, headers={"X-API-Key": key}, timeout=60))


def _send(call: Call) -> Answer:
    method, path, agent, body, headers = call
    given: dict[str, Any] = {"content": json.dumps(body)} if body is not None else {}
    answer = _clients[0].request(
        method, path, headers={"X-Agent-ID": agent, "Content-Type": "application/json", **headers}, **given
    )
    return answer.status_code, answer.json()


class Racers:
    """Client processes that send at once."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def send(self, *calls: Call) -> list[Answer]:
        """The answers, in the order of the calls; none of them a failure of the host."""
        answers = self.pool.map(_send, calls, chunksize=1)
        assert max(status for status, _ in answers) < 500, answers
        return answers


@pytest.fixture(scope="module")
def racers(served_by_console: Served) -> Iterator[Racers]:
    processes = multiprocessing.get_context("spawn")
    with processes.Pool(CLIENTS, _open, (served_by_console.url, served_by_console.key())) as pool:
        yield Racers(pool)


def create(agent: str, key: str, **more: Any) -> Call:
    return "POST", "/api/v1/memory", agent, {"namespace": "ns", "key": key, "value": {"n": 1}, **more}, {}


def batch(agent: str, *items: dict[str, Any]) -> Call:
    entries = [{"namespace": "ns", "value": {"n": 2}, **each} for each in items]
    return "POST", "/api/v1/memory/batch", agent, {"entries": entries}, {}


def update(agent: str, entry: dict[str, Any], value: dict[str, Any]) -> Call:
    return "PATCH", f"/api/v1/memory/{entry['id']}", agent, {"value": value}, {"If-Match": str(entry["version"])}


def remove(agent: str, entry: dict[str, Any]) -> Call:
    return "DELETE", f"/api/v1/memory/{entry['id']}", agent, None, {}


def listed(served: Served, agent: str) -> list[Any]:
    with served.client(agent) as client:
        return list(client.list_memory(agent, limit=1000))


def statuses(answers: list[Answer]) -> Counter[int]:
    return Counter(status for status, _ in answers)


def test_R15_one_of_many_creates_of_a_key_makes_it(served: Served, racers: Racers) -> None:
    agent = served.agent()
    for number in range(MANY):
        tier = ("working", "episodic")[number % 2]
        answers = racers.send(*[create(agent, f"k{number}", memory_type=tier)] * CLIENTS)
        assert statuses(answers) == {201: 1, 409: CLIENTS - 1}
        assert {body["error"] for status, body in answers if status == 409} == {"KEY_EXISTS"}
        assert {body["current_version"] for status, body in answers if status == 409} == {1}
    assert len(listed(served, agent)) == MANY


def test_R16_one_of_many_agents_makes_a_shared_key(served: Served, racers: Racers) -> None:
    space, agents = served.agent("space"), [served.agent() for _ in range(CLIENTS)]
    for number in range(FEW):
        place = {"memory_type": "semantic", "namespace": f"{space}-{number}" if number % 3 == 0 else space}
        answers = racers.send(*(create(agent, f"k{number}", **place) for agent in agents))
        assert statuses(answers)[201] == 1, answers
        assert set(statuses(answers)) <= {201, 403, 409}


def test_R46_one_of_many_updates_of_a_version_wins(served: Served, racers: Racers) -> None:
    agent = served.agent()
    entry = served.remembers(agent)
    for number in range(MANY):
        answers = racers.send(*(update(agent, entry, {"by": client, "n": number}) for client in range(CLIENTS)))
        assert statuses(answers) == {200: 1, 409: CLIENTS - 1}
        assert {body["error"] for status, body in answers if status == 409} == {"VERSION_MISMATCH"}
        entry = next(body for status, body in answers if status == 200)
        assert {body["current_version"] for status, body in answers if status == 409} == {entry["version"]}
    assert entry["version"] == MANY + 1


def test_R98_one_of_many_creates_has_the_last_place_of_a_task(served: Served, racers: Racers) -> None:
    agents = [served.agent() for _ in range(CLIENTS)]
    with served.client(agents[0]) as client:
        intent = client.create_intent("race", "race")
        for number in range(SOME):
            task = client.create_task(intent.id, "t", memory_policy={"max_entries": 2})
            within = {"scope": {"task_id": task.id}}
            served.remembers(agents[0], f"first-{number}", **within)
            answers = racers.send(*(create(agent, f"k{number}", **within) for agent in agents))
            assert statuses(answers) == {201: 1, 429: CLIENTS - 1}
            refused = [body for status, body in answers if status == 429]
            assert {body["error"] for body in refused} == {"CAPACITY_EXCEEDED"}
            assert {(body["current_count"], body["max_capacity"]) for body in refused} == {(2, 2)}


def test_R98_an_agent_never_keeps_more_than_it_may(served: Served, racers: Racers) -> None:
    agent = served.agent()
    given = {"memory_type": "episodic", "scope": {"intent_id": guarded(served, agent, 3)}}
    for number in range(SOME):
        answers = racers.send(*(create(agent, f"k{number}-{client}", **given) for client in range(CLIENTS)))
        assert statuses(answers) == {201: CLIENTS}
        assert len(listed(served, agent)) == 3


def guarded(served: Served, agent: str, most: int) -> str:
    """An intent whose coordinator lets the agent keep so many episodic entries."""
    with served.client(agent) as client:
        intent = client.create_intent("race", "race")
        task = client.create_task(intent.id, "t")
        client.update_task(task.id, task.version, status="running", assigned_agent=agent)
        rails = {"max_episodic_memory_per_agent": most}
        client.create_coordinator_lease(intent_id=intent.id, agent_id=agent, guardrails=rails)
    return str(intent.id)


def test_R100_batches_and_single_entries_exclude_each_other(served: Served, racers: Racers) -> None:
    agent = served.agent()
    for number in range(SOME):
        one, two, three = (f"{name}{number}" for name in "abc")
        answers = racers.send(
            batch(agent, {"key": one}, {"key": two}, {"key": three}),
            batch(agent, {"key": three}, {"key": two}, {"key": one}),
            create(agent, two),
            create(agent, three),
        )
        made = [status for status, _ in answers[:2] if status == 200]
        singles = [key for key, (status, _) in zip((two, three), answers[2:], strict=True) if status == 201]
        held = {each.key for each in listed(served, agent)} & {one, two, three}
        assert (len(made), set(singles)) in [(1, set()), (0, held)], answers
        assert held == ({one, two, three} if made else set(singles))


def test_R100_batches_of_many_streams_and_evictions_never_wait_for_each_other(served: Served, racers: Racers) -> None:
    agents = [served.agent() for _ in range(2)]
    intents = [guarded(served, agent, 4) for agent in agents]
    for number in range(FEW):
        calls = []
        for client in range(CLIENTS):
            agent = agents[client % 2]
            places = [{"memory_type": "episodic", "scope": {"intent_id": intent}} for intent in intents]
            items = [{"key": f"k{number}-{client}-{at}", **place} for at, place in enumerate(places)]
            calls.append(batch(agent, *(items if client < 2 else items[::-1])))
            calls.append(create(agent, f"s{number}-{client}", **places[(client + 1) % 2]))
        assert set(statuses(racers.send(*calls))) <= {200, 201}
    assert [len(listed(served, agent)) for agent in agents] == [4, 4]


def test_R96_a_deletion_and_an_update_leave_one_truth(served: Served, racers: Racers) -> None:
    agent = served.agent()
    for number in range(FEW):
        entry = served.remembers(agent, f"k{number}")
        answers = racers.send(
            update(agent, entry, {"n": 2}), remove(agent, entry), update(agent, entry, {"n": 3}), remove(agent, entry)
        )
        assert statuses(answers[1::2]) == {200: 1, 404: 1}
        assert sum(status == 200 for status, _ in answers[::2]) <= 1
        assert {status for status, _ in answers[::2]} <= {200, 404, 409}
        assert listed(served, agent) == []
