"""One entry over HTTP, by the published client: what it is made of, what is refused (R1 to R14, R17 to R19, R106)."""

import re
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import httpx
import pytest
from openintent import OpenIntentClient
from openintent.exceptions import ConflictError, NotFoundError, OpenIntentError, ValidationError

from tests.awaiting import awaited
from tests.openintent.conftest import Served

FIELDS = [
    "id",
    "agent_id",
    "namespace",
    "key",
    "value",
    "memory_type",
    "version",
    "scope",
    "tags",
    "ttl",
    "pinned",
    "priority",
    "sensitivity",
    "curated_by",
    "created_by",
    "created_at",
    "updated_at",
    "expires_at",
]
DEEP: dict[str, Any] = {
    "n": 2**70,
    "minus": -(2**53) - 1,
    "float": 1.5e-7,
    "ünïcode 🦤": {"": [], "nested": [{"a": [None, True, False]}]},
    "text": 'quote " backslash \\ tab \t line \u2028',
    "empty": {},
}


def post(served: Served, agent: str, **body: Any) -> httpx.Response:
    """A create with ``body`` over a sound one; a field that is ``...`` is left out."""
    given = {"namespace": "ns", "key": "k", "value": {"n": 1}} | body
    with served.http(agent) as client:
        return client.post("/api/v1/memory", json={name: value for name, value in given.items() if value is not ...})


def refused(answer: httpx.Response, field: str, status: int = 400) -> None:
    """The answer is a refusal that names the field."""
    body = answer.json()
    assert (answer.status_code, body["error"]) == (status, "VALIDATION_ERROR"), answer.text
    assert body["message"] == body["detail"]
    assert field in [each["field"] for each in body["errors"]], answer.text


def test_the_published_client_makes_reads_changes_and_deletes(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        made = client.create_memory(agent, "billing", "progress", {"done": 23}, tags=["batch"])
        assert (made.version, made.memory_type.value, made.tags) == (1, "working", ["batch"])
        assert client.get_memory(made.id) == made
        changed = client.update_memory(made.id, made.version, value={"done": 24}, tags=["batch", "late"])
        assert (changed.id, changed.version, changed.value) == (made.id, 2, {"done": 24})
        client.delete_memory(made.id)
        with pytest.raises(NotFoundError):
            client.get_memory(made.id)


@pytest.mark.console
def test_the_published_client_does_so_without_blocking(served: Served) -> None:
    agent = served.agent()

    async def lives() -> list[int]:
        async with served.async_client(agent) as client:
            made = await client.create_memory(agent, "billing", "progress", {"done": 23}, memory_type="episodic")
            read = await client.get_memory(made.id)
            changed = await client.update_memory(made.id, read.version, pinned=True)
            await client.delete_memory(made.id)
            return [made.version, read.version, changed.version]

    assert awaited(lives()) == [1, 1, 2]


def test_R1_the_id_is_the_server_s_and_cannot_be_guessed(served: Served) -> None:
    agent = served.agent()
    one, other = (served.remembers(agent, key)["id"] for key in ("a", "b"))
    assert re.fullmatch(r"mem_[0-9a-f]{32}", one)
    assert one != other
    refused(post(served, agent, id="mem_1", key="c"), "id")


def test_R2_whose_it_is_follows_from_the_caller(served: Served) -> None:
    agent, other = served.agent(), served.agent()
    assert served.remembers(agent)["agent_id"] == agent
    answer = post(served, agent, agent_id=other, key="x")
    assert (answer.status_code, answer.json()["error"]) == (403, "ACCESS_DENIED")
    with served.http("ops", role="operator") as client:
        body = {"agent_id": other, "namespace": "ns", "key": "k", "value": {}}
        made = client.post("/api/v1/memory", json=body).json()
    assert (made["agent_id"], made["created_by"]) == (other, "ops")


def test_R2_a_key_bound_to_an_agent_writes_as_that_one_alone(served: Served) -> None:
    agent, other = served.agent(), served.agent()
    with served.http(agent, bound=True) as client:
        del client.headers["X-Agent-ID"]
        body = {"namespace": "ns", "key": "k", "value": {}}
        assert client.post("/api/v1/memory", json=body).json()["agent_id"] == agent
        for more in ({"json": body | {"agent_id": other}}, {"json": body, "headers": {"X-Agent-ID": other}}):
            assert client.post("/api/v1/memory", **more).status_code == 403


def test_R2_without_a_header_the_body_says_who_calls(served: Served) -> None:
    agent = served.agent()
    with served.http() as client:
        made = client.post("/api/v1/memory", json={"agent_id": agent, "namespace": "ns", "key": "k", "value": {}})
    assert (made.status_code, made.json()["agent_id"], made.json()["created_by"]) == (201, agent, agent)


def test_R3_R4_a_namespace_and_a_key_are_texts_of_1_to_255_characters(served: Served) -> None:
    agent, values = served.agent(), ("", "n" * 256, "a\nb", "a\x7fb", 7, None, ["ns"], ...)
    for name, value in product(("namespace", "key"), values):
        refused(post(served, agent, **{name: value}), name)


def test_R3_R4_they_are_free_otherwise(served: Served) -> None:
    agent = served.agent()
    for text in ("billing.invoices", "späße/ 🦤 ", "n" * 255, "../..", "%", "batch"):
        made = served.remembers(agent, text, namespace=text)
        assert (made["namespace"], made["key"]) == (text, text)


@pytest.mark.parametrize("length", [200, 201])
def test_C21_a_shared_namespace_has_200_characters(served: Served, length: int) -> None:
    answer = post(served, served.agent(), namespace=served.agent().ljust(length, "n"), memory_type="semantic")
    assert answer.status_code == {200: 201, 201: 400}[length], answer.text


def test_R5_a_value_comes_back_as_it_was(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        for key, value in (("deep", DEEP), ("none", {}), ("nested", nested(64))):
            made = client.create_memory(agent, "ns", key, value)
            assert made.value == client.get_memory(made.id).value == value


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


@pytest.mark.parametrize("value", ["text", [], [{}], None, 7, True, nested(65), ...], ids=lambda value: str(value)[:20])
def test_R5_a_value_is_an_object_of_at_most_64_levels(served: Served, value: Any) -> None:
    refused(post(served, served.agent(), value=value), "value")


@pytest.mark.parametrize("tier", ["working", "episodic", "semantic"])
def test_R6_an_entry_is_of_one_of_three_tiers(served: Served, tier: str) -> None:
    agent = served.agent()
    assert served.remembers(agent, namespace=agent, memory_type=tier)["memory_type"] == tier


def test_R6_it_is_working_memory_unless_it_says_so(served: Served) -> None:
    agent = served.agent()
    assert served.remembers(agent)["memory_type"] == "working"
    assert served.remembers(agent, "null", memory_type=None)["memory_type"] == "working"
    for wrong in ("procedural", "", "Working", 1, ["working"]):
        refused(post(served, agent, memory_type=wrong), "memory_type")


def test_R7_a_scope_names_a_task_and_an_intent(served: Served) -> None:
    agent = served.agent()
    both = {"task_id": "task_01HXYZ", "intent_id": "intent_01HABC"}
    assert served.remembers(agent, "both", scope=both)["scope"] == both
    assert served.remembers(agent, "one", scope={"task_id": "t"})["scope"] == {"task_id": "t"}
    for number, none in enumerate(({}, None, {"task_id": None})):
        assert served.remembers(agent, f"none{number}", scope=none)["scope"] is None


@pytest.mark.parametrize(
    ("scope", "field"),
    [("task_1", "scope"), ([], "scope"), ({"run_id": "r"}, "scope"), ({"task_id": 1}, "scope.task_id")]
    + [({"intent_id": text}, "scope.intent_id") for text in ("", "i" * 101, "a\nb")],
)
def test_R7_a_scope_is_nothing_else(served: Served, scope: Any, field: str) -> None:
    refused(post(served, served.agent(), scope=scope), field)


def test_R8_tags_keep_their_order_once_each(served: Served) -> None:
    agent = served.agent()
    assert served.remembers(agent, tags=["b", "a", "b", "ä ö", "c" * 128])["tags"] == ["b", "a", "ä ö", "c" * 128]
    assert served.remembers(agent, "none")["tags"] == []
    assert served.remembers(agent, "null", tags=None)["tags"] == []
    assert len(served.remembers(agent, "many", tags=[f"t{n}" for n in range(64)])["tags"]) == 64


@pytest.mark.parametrize(
    "tags", ["a,b", [""], ["a,b"], ["c" * 129], [1], [None], {"a": 1}, ["a\nb"], [f"t{n}" for n in range(65)]], ids=str
)
def test_R8_a_tag_that_no_query_could_find_is_refused(served: Served, tags: Any) -> None:
    refused(post(served, served.agent(), tags=tags), "tags")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("task_lifetime", "task_lifetime"), ("duration:PT24H", "duration:PT24H"), ("P7D", "duration:P7D"), (None, None)],
)
def test_R9_a_lifetime_is_kept_in_its_one_form(served: Served, sent: Any, kept: Any) -> None:
    assert served.remembers(served.agent(), ttl=sent)["ttl"] == kept


@pytest.mark.parametrize(
    "ttl", ["forever", "duration:", "duration:PT0S", "duration:-P1D", "", 3600, ["P7D"], "P" * 500]
)
def test_R9_anything_else_is_no_lifetime(served: Served, ttl: Any) -> None:
    refused(post(served, served.agent(), ttl=ttl), "ttl")


def test_R10_the_version_is_1_and_rises_by_one(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        entry = client.create_memory(agent, "ns", "k", {"n": 0})
        for expected in (1, 2, 3):
            assert entry.version == expected
            entry = client.update_memory(entry.id, entry.version, value={"n": expected})
    refused(post(served, agent, version=7), "version")


def test_R11_an_update_alone_moves_updated_at(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        made = client.create_memory(agent, "ns", "k", {}, memory_type="episodic")
        assert made.updated_at == made.created_at
        read = client.get_memory(made.id)
        assert (read.created_at, read.updated_at) == (made.created_at, made.updated_at)
        changed = client.update_memory(made.id, 1, value={"n": 1})
    assert changed.created_at == made.created_at
    assert changed.updated_at > made.updated_at


def test_R12_an_end_that_is_told_wins_over_a_lifetime(served: Served) -> None:
    agent, end = served.agent(), datetime.now(UTC).replace(microsecond=123456) + timedelta(hours=2)
    assert moment(served.remembers(agent, "both", ttl="duration:PT1H", expires_at=end.isoformat())["expires_at"]) == end
    computed = served.remembers(agent, "ttl", ttl="duration:PT1H")
    assert moment(computed["expires_at"]) == moment(computed["created_at"]) + timedelta(hours=1)
    assert served.remembers(agent, "task", ttl="task_lifetime")["expires_at"] is None


@pytest.mark.parametrize("form", ["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S+00:00", "%Y-%m-%dT%H:%M:%S"])
def test_R12_a_time_is_utc_unless_it_says_otherwise(served: Served, form: str) -> None:
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    assert moment(served.remembers(served.agent(), expires_at=end.strftime(form))["expires_at"]) == end


@pytest.mark.parametrize(
    "end", ["2020-01-01T00:00:00Z", "tomorrow", "", 1893456000, "9999-99-99T00:00:00Z", [], "1" * 99]
)
def test_R12_an_end_in_the_past_or_none_at_all_is_refused(served: Served, end: Any) -> None:
    refused(post(served, served.agent(), expires_at=end), "expires_at")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_R13_what_may_not_be_null_never_is(served: Served) -> None:
    agent = served.agent()
    plain = served.remembers(agent)
    assert {name: plain[name] for name in ("pinned", "priority", "sensitivity", "curated_by", "created_by")} == {
        "pinned": False,
        "priority": "normal",
        "sensitivity": None,
        "curated_by": None,
        "created_by": agent,
    }
    nulls = served.remembers(agent, "nulls", pinned=None, priority=None, sensitivity=None, scope=None, ttl=None)
    assert {name for name in nulls if nulls[name] is None} == {
        "scope",
        "ttl",
        "sensitivity",
        "curated_by",
        "expires_at",
    }
    said = served.remembers(agent, "said", pinned=True, priority="high", sensitivity="internal", curated_by="somebody")
    assert (said["pinned"], said["priority"], said["sensitivity"], said["curated_by"]) == (
        True,
        "high",
        "internal",
        None,
    )


def test_R13_R42_who_wrote_shared_memory_is_the_server_s_to_say(served: Served) -> None:
    agent = served.agent()
    made = served.remembers(agent, namespace=agent, memory_type="semantic", curated_by="somebody")
    assert (made["curated_by"], made["created_by"]) == (agent, agent)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pinned", "yes"),
        ("pinned", 1),
        ("priority", "urgent"),
        ("priority", 2),
        ("sensitivity", "secret"),
        ("created_by", "x"),
        ("created_at", "2026-01-01T00:00:00Z"),
        ("updated_at", "x"),
        ("colour", "red"),
    ],
)
def test_R13_what_is_none_of_its_fields_or_values_is_refused(served: Served, name: str, value: Any) -> None:
    refused(post(served, served.agent(), **{name: value}), name)


def test_R14_every_answer_has_the_full_entry(served: Served) -> None:
    agent = served.agent()
    with served.http(agent) as client:
        made = client.post("/api/v1/memory", json={"namespace": "ns", "key": "k", "value": {}})
        place = made.headers["Location"]
        read = client.get(place)
        changed = client.patch(place, json={"tags": ["x"]}, headers={"If-Match": read.headers["ETag"]})
    assert (made.status_code, read.status_code, changed.status_code) == (201, 200, 200)
    assert place == f"/api/v1/memory/{made.json()['id']}"
    assert read.json() == made.json()
    for answer in (made, read, changed):
        assert list(answer.json())[: len(FIELDS)] == FIELDS
        for name in ("created_at", "updated_at"):
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", answer.json()[name])


def test_R17_a_taken_key_says_what_is_there(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        first = client.create_memory(agent, "ns", "k", {"n": 1})
        client.update_memory(first.id, 1, value={"n": 2})
        with pytest.raises(ConflictError) as told:
            client.create_memory(agent, "ns", "k", {"n": 3}, memory_type="episodic")
        assert told.value.current_version == 2
        body = told.value.response
        assert (body["error"], body["current"]["id"], body["current"]["value"]) == ("KEY_EXISTS", first.id, {"n": 2})
        assert client.get_memory(first.id).value == {"n": 2}
    assert served.remembers(served.agent())["version"] == 1  # another agent's key is its own


def test_R17_a_lapsed_entry_is_in_nobody_s_way(served: Served) -> None:
    agent = served.agent()
    first = served.remembers(agent, expires_at=(datetime.now(UTC) + timedelta(seconds=0.4)).isoformat())
    with served.client(agent) as client:
        while True:
            try:
                client.get_memory(first["id"])
            except NotFoundError:
                break
        assert client.create_memory(agent, "ns", "k", {"n": 2}).version == 1


@pytest.mark.parametrize(("extra", "status"), [(0, 201), (1, 413)])
def test_R18_a_value_has_64_kb(served: Served, extra: int, status: int) -> None:
    value = {"a": "ü" * ((65_536 - len('{"a":""}')) // 2) + "b" * extra}
    assert len(value["a"].encode()) + 8 == 65_536 + extra
    answer = post(served, served.agent(), value=value)
    assert answer.status_code == status, answer.text
    if status == 413:
        body = answer.json()
        assert (body["error"], body["limit"], body["size"]) == ("VALUE_TOO_LARGE", 65_536, 65_537)
        assert "attachment" in body["hint"]


def test_R18_a_change_is_bounded_alike(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        made = client.create_memory(agent, "ns", "k", {})
        with pytest.raises(OpenIntentError) as told:
            client.update_memory(made.id, 1, value={"a": "b" * 65_536})
        assert told.value.status_code == 413
        assert client.get_memory(made.id).version == 1


def test_R18_a_number_that_is_long_when_written_out_counts_so(served: Served) -> None:
    answer = post(served, served.agent(), value={"a": [1e20] * 9000})
    assert (answer.status_code, answer.json()["error"]) == (413, "VALUE_TOO_LARGE")


def test_R19_a_reference_to_an_attachment_is_a_value_like_any_other(served: Served) -> None:
    value = {"attachment_id": "att_01HXYZ", "summary": "47,000 rows", "row_count": 47_000}
    assert served.remembers(served.agent(), value=value)["value"] == value


def test_R106_every_error_is_flat_json_with_its_code(served: Served) -> None:
    agent, other = served.agent(), served.agent()
    entry = served.remembers(agent)
    path = f"/api/v1/memory/{entry['id']}"
    with served.http(agent) as own, served.http(other) as stranger, served.plain() as nobody:
        answers = {
            "UNAUTHENTICATED": (nobody.get(path), 401),
            "ACCESS_DENIED": (stranger.get(path), 403),
            "ENTRY_NOT_FOUND": (own.get("/api/v1/memory/mem_nothing"), 404),
            "METHOD_NOT_ALLOWED": (own.put(path, json={}), 405),
            "UNSUPPORTED_MEDIA_TYPE": (own.post("/api/v1/memory", data={"a": "b"}), 415),
            "PRECONDITION_REQUIRED": (own.patch(path, json={"value": {}}), 428),
            "VERSION_MISMATCH": (own.patch(path, json={"value": {}}, headers={"If-Match": "9"}), 409),
            "VALIDATION_ERROR": (own.patch(path, json={"value": 1}, headers={"If-Match": "1"}), 400),
            "KEY_EXISTS": (own.post("/api/v1/memory", json={"namespace": "ns", "key": "k", "value": {}}), 409),
        }
    for code, (answer, status) in answers.items():
        body = answer.json()
        assert (answer.status_code, body["error"]) == (status, code)
        assert body["message"] == body["detail"]
        assert "lease" not in answer.text.lower()


def test_R106_an_unknown_address_is_json_and_no_redirect(served: Served) -> None:
    paths = ("/api/", "/api/v1", "/api/v1/memory/", "/api/v1/nothing", "/api/v1/memory/a/b", "/api/x?y=%ff")
    with served.http(served.agent()) as client:
        for method, path in product(("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"), paths):
            answer = client.request(method, path, headers={"Accept": "text/html"})
            assert (answer.status_code, answer.json()["error"]) == (404, "ENTRY_NOT_FOUND"), (method, path)


def test_R106_the_client_has_its_own_exception_for_what_is_not_valid(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client, pytest.raises(ValidationError) as told:
        client.create_memory(agent, "ns", "", {})
    assert told.value.errors == [{"field": "key", "message": "This field may not be blank."}]


def test_R108_both_headers_carry_the_key(served: Served) -> None:
    agent, key = served.agent(), served.key()
    entry = served.remembers(agent)
    for headers in ({"X-API-Key": key}, {"Authorization": f"Bearer {key}"}):
        answer = served.plain(**headers, **{"X-Agent-ID": agent}).get(f"/api/v1/memory/{entry['id']}")
        assert (answer.status_code, answer.json()) == (200, entry)


@pytest.mark.console
def test_what_can_be_read_can_be_asked_for_its_head(served: Served) -> None:
    agent = served.agent()
    entry = served.remembers(agent)
    with served.http(agent) as client:
        for path in (f"/api/v1/memory/{entry['id']}", "/api/v1/memory", f"/api/v1/agents/{agent}/memory"):
            whole, head = client.get(path), client.head(path)
            assert (head.status_code, head.content) == (whole.status_code, b"") == (200, b"")
            for name in ("ETag", "X-Total-Count", "Content-Type", "Cache-Control"):
                assert head.headers.get(name) == whole.headers.get(name), name
        assert client.head(f"/api/v1/memory/mem_{'0' * 32}").status_code == 404


def test_an_entry_of_another_tenant_is_not_there(served: Served) -> None:
    agent = served.agent()
    entry = served.remembers(agent)
    with served.client(agent, tenant="globex") as client, pytest.raises(NotFoundError):
        client.get_memory(entry["id"])


def test_the_key_of_a_role_that_only_reads_writes_nothing(served: Served) -> None:
    agent = served.agent()
    with OpenIntentClient(served.url, served.key("viewer"), agent) as client, pytest.raises(OpenIntentError) as told:
        client.create_memory(agent, "ns", "k", {})
    assert (told.value.status_code, told.value.response["requiredScope"]) == (403, "memory:write")
