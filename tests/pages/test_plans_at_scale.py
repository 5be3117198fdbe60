"""What every list and page asks of a large ledger: no table that grows is read whole, and no order of a page is made by
sorting one. PostgreSQL plans with its own statistics and everything that it may use."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from psycopg.sql import Literal
from pytest_django import DjangoDbBlocker

from memory import adapter, ledger_search
from memory.addresses import Address, Tier
from memory.host import audit, ids, sql
from memory.host.models import Run
from memory.ledger.entries import AddressedValue
from memory.ledger_search import LedgerFilter
from memory.openintent import entries, queries
from memory.openintent.access import Caller
from memory.openintent.queries import Wanted
from tests import building
from tests.budgets import THOROUGH

pytestmark = [pytest.mark.django_db, pytest.mark.engines]
# More than any number of rows at which the ledger reads another way: 50,000, and 20,000 of half of them.
SIZE = 100_000 if THOROUGH else 60_000
ME, TASK, AGENT = "agent-1", "task_1", "private.acme.triage"
GROWING = ("memory_memoryentry", "memory_entryaddress", "memory_entrytag")
LISTED = "/api/v1/agents/agent-1/memory?limit=50"
PAGES = (
    "/",
    "/agents",
    "/agents/private.acme.triage",
    "/agents/private.acme.triage/memory",
    "/agents/private.acme.triage/archives",
    "/memory",
    "/memory?state=retired",
    "/memory?state=all",
    "/memory?agent=agent-1",
    "/memory?node=node-1",
    "/memory?by=key-1",
    "/memory?by=key_nobody",
    "/memory/reach?by=key-1&state=all",
    "/memory?ref=notes",
    "/memory?tag=common",
    "/memory?tag=rare",
    "/memory?subject=nobody",
    "/memory?age=24h",
    "/memory?age=24h&tag=common",
    "/memory?until=2026-01-01&agent=agent-1",
    "/memory?tier=working",
    "/memory?tier=semantic",
    "/memory?namespace=ns-1",
    "/memory?namespace=ns-1&tier=semantic",
    "/memory?sensitivity=confidential",
    "/memory?tier=working&tag=common",
    "/memory?tier=episodic&agent=agent-1",
    "/runs",
    "/runs?status=unfinished",
    "/retention",
    "/commitments",
    "/archives",
    "/nights",
    "/audit",
    "/proposals",
    "/forget",
    LISTED,
    f"{LISTED}&memory_type=working",
    f"{LISTED}&memory_type=episodic",
    f"{LISTED}&namespace=ns-1",
    f"{LISTED}&namespace=nowhere",
    f"{LISTED}&tags=common,rare",
    f"{LISTED}&tags=common,half",
    f"{LISTED}&scope.task_id={TASK}",
    "/api/v1/memory?memory_type=semantic&limit=50",
    "/api/v1/memory?memory_type=semantic&namespace=ns-1&limit=50",
)
OFTEN = (
    "/memory",
    "/memory?state=retired",
    "/memory?agent=agent-1",
    "/memory?by=key-1",
    "/memory?tag=common",
    "/memory?age=24h",
    "/memory?tier=working",
    "/memory?sensitivity=confidential",
    "/memory?subject=nobody",
    "/memory?until=2026-01-01&agent=agent-1",
    "/memory?q=entry+77&order=newest",
    LISTED,
    f"{LISTED}&tags=common,rare",
    f"{LISTED}&tags=common,half",
    f"{LISTED}&scope.task_id={TASK}",
)


def _numbers(size: int) -> str:
    if sql.is_postgres():
        return f"SELECT n FROM generate_series(1, {size}) AS n"
    return f"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {size}) SELECT n FROM c"


def fill(run: Run, size: int = SIZE) -> None:
    """Every second entry is OpenIntent's, in the memory of 100 agents; one in a hundred is retired."""
    numbers = _numbers(size)
    digits = "lpad(to_hex(n), 32, '0')::uuid" if sql.is_postgres() else "printf('%%032x', n)"
    number = "n::text" if sql.is_postgres() else "CAST(n AS TEXT)"
    group = "(n %% 100)::text" if sql.is_postgres() else "CAST(n %% 100 AS TEXT)"
    place = f"CASE WHEN n %% 2 = 0 THEN 'notes' ELSE 'openintent/working/agent-' || {group} || '/-' END"
    tenant, at, key = sql.key(run.tenant_id), sql.time_parameter(timezone.now()), sql.key(run.id)
    false = "FALSE" if sql.is_postgres() else "0"
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memory_memoryentry (tenant_id, id, memory_ref, content, search_text, tags, subject, position, "
            "run_id, node_id, agent_id, principal, created_at, retired_at, retired_reason, tokens, sha256, redactions, "
            f"secret_shapes) SELECT %s, {digits}, {place}, '{{}}', 'entry ' || {number}, '[\"common\"]', '', n, %s, "
            f"'node-' || {group}, 'agent-' || {group}, 'key-' || {group}, %s, CASE WHEN n %% 100 = 4 THEN %s END, "
            f"'', 3, '', 0, 0 FROM ({numbers}) AS numbered",
            [tenant, key, at, at],
        )
        cursor.execute(
            "INSERT INTO memory_ledgerhead (tenant_id, id, position, entries, retired) VALUES (%s, %s, %s, 0, 0) "
            "ON CONFLICT (tenant_id, id) DO UPDATE SET position = excluded.position",
            [tenant, tenant, size],
        )
        cursor.execute(
            "INSERT INTO memory_entryaddress (tenant_id, id, tier, agent_id, namespace, key, version, task_id, "
            "intent_id, pinned, priority, sensitivity, ttl, created_by, curated_by, created_at, updated_at, "
            f"accessed_at, size, hidden) SELECT %s, {digits}, "
            "CASE WHEN n %% 10 = 1 THEN 'semantic' ELSE 'working' END, "
            f"'agent-' || {group}, 'ns-' || {group}, {number}, 1, "
            f"CASE WHEN n %% 1000 = 101 THEN '{TASK}' ELSE '' END, '', {false}, 1, '', '', '', '', %s, %s, %s, 2, "
            f"{false} FROM ({numbers}) AS numbered WHERE n %% 2 = 1",
            [tenant, at, at, at],
        )
        for tag, every in (("common", 1), ("half", 2), ("rare", 1000)):
            cursor.execute(
                f"INSERT INTO memory_entrytag (tenant_id, id, tag) SELECT %s, {digits}, %s "
                f"FROM ({numbers}) AS numbered WHERE n %% {every} = {0 if every == 1 else 1}",
                [tenant, tag],
            )


def analyze() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE" if sql.is_postgres() else "SELECT 1")


def fill_log(tenant_id: UUID) -> None:
    """Ten acts on each of 10,000 entries, by a hundred people, of a hundred kinds."""
    text = "::text" if sql.is_postgres() else ""
    kinds = {"usr": "n %% 100", "act": "n / 100 %% 100", "mem": "n / 10", "req": "n / 5"}
    actor, action, target, request = (f"'{what}_' || ({n}){text}" for what, n in kinds.items())
    digits = "lpad(to_hex(n), 32, '0')::uuid" if sql.is_postgres() else "printf('%%032x', n)"
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO host_auditrecord (tenant_id, id, seq, occurred_at, actor, action, target, request_id, "
            f"details, prev_hash, entry_hash) SELECT %s, {digits}, n + 1000, %s, {actor}, {action}, {target}, "
            f"{request}, '{{}}', '', '' "
            f"FROM ({_numbers(SIZE)}) AS numbered",
            [sql.key(tenant_id), sql.time_parameter(timezone.now())],
        )
        cursor.execute("ANALYZE" if sql.is_postgres() else "SELECT 1")


def explained(statements: list[tuple[str, Any]]) -> list[tuple[str, str]]:
    explain = "EXPLAIN" if sql.is_postgres() else "EXPLAIN QUERY PLAN"
    found = []
    with connection.cursor() as cursor:
        for statement, given in statements:
            cursor.execute(f"{explain} {statement}", given)
            found.append((statement, "\n".join(str(row[-1]) for row in cursor.fetchall())))
    return found


def faults(statement: str, plan: str) -> list[str]:
    """Where a statement reads a growing table, or all that a tenant has of it, from one end to the other; or sorts it.

    A page may begin at an end of an index of the tenant, and what is known to be short may be sorted: on SQLite it says
    so itself, PostgreSQL expects about as many rows as a total is counted to.
    """
    tables = "|".join(GROWING)
    if sql.is_postgres():
        whole = [] if "LIMIT" in statement else re.findall(rf"Seq Scan on (?:{tables})\b.*", plan)
        return whole + [
            rows for rows in re.findall(r"Sort  \(.*rows=(\d+)", plan) if int(rows) > 1.1 * adapter.console.COUNTED
        ]
    found = re.findall(rf"SCAN (?:{tables})\b.*", plan)
    if "LIMIT" not in statement:
        return found + re.findall(rf"SEARCH (?:{tables})\b[^\n]*\(tenant_id=\?\)$", plan, re.MULTILINE)
    is_short = "MATERIALIZED" in statement or "memory_pass" in statement
    return found + ([] if is_short else re.findall("TEMP B-TREE FOR ORDER BY", plan))


@pytest.mark.parametrize("size", [0, 20_000])
def test_an_address_leads_to_its_entries_in_order_and_beside_a_tag_to_the_same(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Whether an address is had by more entries than are listed, or by fewer; SQLite chooses without statistics."""
    monkeypatch.setattr("memory.adapter.console.FEW", size)
    scope, now = building.scope("globex"), timezone.now()
    for number in range(6):
        place = Address(Tier.SEMANTIC if number % 2 else Tier.WORKING, ME, f"ns-{number % 3}", f"key-{number}")
        given = AddressedValue(replace(place, sensitivity="internal" if number > 2 else ""), {}, ("common",))
        entries.create(Caller(building.scope("globex", "agent"), ME), given, now=now)
    cases: tuple[tuple[dict[str, Any], str, str], ...] = (
        ({"tier": "semantic"}, "531", "memory_address_tier_order"),
        ({"namespace": "ns-1"}, "41", "memory_address_name_order"),
        ({"namespace": "ns-1", "tier": "semantic"}, "1", "memory_address_name_order"),
        ({"sensitivity": "internal"}, "543", "memory_address_class_order"),
        ({"sensitivity": "internal", "namespace": "ns-2", "tier": "semantic"}, "5", "memory_address_class_order"),
    )
    besides: tuple[dict[str, Any], ...] = ({}, {"tag": "common"}, {"agent": ME})
    for wanted, keys, index in cases:
        for beside in besides:
            with CaptureQueriesContext(connection) as sent:
                page = ledger_search.ledger_page(scope, LedgerFilter(**wanted, **beside), now=now)
            assert "".join(each.address.key[-1] for each in page.entries if each.address) == keys, (wanted, beside)
            assert page.total == len(keys)
            led = [each["sql"] for each in sent if "memory_entryaddress" in each["sql"] and "LIMIT" in each["sql"]]
            if not sql.is_postgres():
                assert index in explained([(led[0], None)])[0][1], (wanted, beside)


def prepare_at_once() -> None:
    driver: Any = connection.connection
    driver.prepare_threshold, driver.prepared_max = 0, 1000


def planned_without_values() -> list[tuple[str, str]]:
    """The statements of this connection that PostgreSQL plans without their values by now, and how."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, statement, parameter_types FROM pg_prepared_statements WHERE generic_plans > 0")
        asked = [each for each in cursor.fetchall() if each[1].startswith(("SELECT", "WITH"))]
        assert asked
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        found = []
        for name, statement, types in asked:
            nothing = f"({', '.join(['NULL'] * len(types))})" if types else ""
            cursor.execute(f"EXPLAIN EXECUTE {name}{nothing}")
            found.append((statement, "\n".join(row[0] for row in cursor.fetchall())))
    return found


@pytest.mark.only_db("postgres")
def test_a_ref_and_a_node_that_no_entry_has_are_looked_for_by_index() -> None:
    with connection.cursor() as cursor:
        for column in ("memory_ref", "node_id"):  # as where all entries have one of two
            cursor.execute(f"ALTER TABLE memory_memoryentry ALTER COLUMN {column} SET (n_distinct = 2)")
    globex = building.scope("globex")
    fill(building.open_run(globex), 5000)
    analyze()
    prepare_at_once()
    for _ in range(8):
        assert not adapter.passes.has_memory(building.ref(globex, "nowhere"))
        assert not adapter.console.has_observed_write(globex, node_id="nowhere")
    assert not [plan for _, plan in planned_without_values() if "Seq Scan on memory_memoryentry" in plan]


@pytest.mark.only_db("postgres")
def test_tags_of_a_tenant_that_is_in_no_statistics_yet_lead_to_its_entries_one_by_one() -> None:
    """PostgreSQL expects one row of it, and would compare each entry with each tag: 2,000 with 3,000 here."""
    fill(building.open_run(building.scope("initech")), 2000)
    analyze()
    fill(building.open_run(building.scope("globex")), 2000)
    caller = Caller(building.scope("globex", "operator"), ME)
    asked: list[tuple[str, Any]] = []

    def note(execute: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
        asked.append((statement, parameters))
        return execute(statement, parameters, many, context)

    for wanted in (
        Wanted(agent_id=ME, tags=("rare", "common")),
        Wanted(memory_type=Tier.SEMANTIC, tags=("half", "common")),
        Wanted(agent_id=ME, tags_any=("rare", "half")),
    ):
        with connection.execute_wrapper(note):
            assert queries.page(caller, wanted, now=timezone.now()).total
    for statement, given in asked:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", given)
            ((plan,),) = cursor.fetchall()
        assert rows_looked_at(plan[0]["Plan"]) < 20_000, (statement, plan)


def rows_looked_at(plan: Any) -> float:
    dropped = sum(plan.get(f"Rows Removed by {each}", 0) for each in ("Filter", "Join Filter"))
    return (plan["Actual Rows"] + dropped) * plan["Actual Loops"] + sum(map(rows_looked_at, plan.get("Plans", ())))


def test_the_newest_proposals_of_an_agent_are_read_from_their_index(ada: Client) -> None:
    building.install_agent("acme", {"agentId": AGENT})
    with CaptureQueriesContext(connection) as sent, connection.cursor() as cursor:
        if sql.is_postgres():
            cursor.execute("SET LOCAL enable_seqscan = off")
        assert ada.get(f"/agents/{AGENT}/proposals").status_code == 200
        asked = [each["sql"] for each in sent if f"'{AGENT}'" in each["sql"] and "proposals_proposal" in each["sql"]]
        plans = [plan for _, plan in explained([(each.replace("%", "%%"), None) for each in asked])]
    led = r"Index Cond:.*\bagent_id\b" if sql.is_postgres() else r"\(tenant_id=\? AND agent_id=\?"
    assert plans
    for plan in plans:
        assert re.search(led, plan), plan
        assert not re.search("TEMP B-TREE FOR ORDER BY|Sort", plan), plan


# The rows of these are in Acme until the module ends. In whatever order they run, tests that fill a ledger of their own
# do so in another tenant.


@pytest.fixture(scope="module")
def log(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A large audit log, made once: each test undoes what it did there."""
    with django_db_blocker.unblock(), transaction.atomic():
        fill_log(building.tenant().id)
        yield
        transaction.set_rollback(True)


@pytest.mark.usefixtures("log")
def test_a_filter_of_the_audit_log_is_answered_by_its_index_in_order(ada: Client) -> None:
    """Both the page and the count of what matches."""
    ada.get("/audit")  # looking is on record once in a while
    both = "actor" if sql.is_postgres() else r"action=\? AND actor"
    for query, column in (
        ("actor=usr_3", "actor"),
        ("action=act_3", "action"),
        ("target=mem_44", "target"),
        ("target=mem_44&actor=usr_3", "target"),
        ("target=mem_44&action=act_4&since=2026-01-01", "target"),
        ("actor=usr_3&since=2026-01-01", "actor"),
        ("request=req_44", "request_id"),
        ("request=req_44&actor=usr_20", "request_id"),
        ("actor=usr_3&action=act_3", both),
    ):
        with CaptureQueriesContext(connection) as sent:
            assert ada.get(f"/audit?{query}").status_code == 200
        value = query.partition("=")[2].partition("&")[0]
        asked = [each["sql"] for each in sent if "host_auditrecord" in each["sql"] and f"'{value}'" in each["sql"]]
        assert len(asked) == 2, query
        led = rf"Index Cond:.*\b{column}\b" if sql.is_postgres() else rf"\(tenant_id=\? AND {column}=\?"
        for statement, plan in explained([(each.replace("%", "%%"), None) for each in asked]):
            assert re.search(led, plan), (statement, plan)
            assert not re.search("TEMP B-TREE FOR ORDER BY|Seq Scan", plan), (statement, plan)


@pytest.mark.usefixtures("log")
def test_the_records_of_a_run_and_of_its_questions_are_read_by_their_targets(ada: Client) -> None:
    """They are few, and sorted: SQLite would rather read the log in order."""
    nodes = [building.node(f"gate-{number}", "core.approvalGate") for number in range(9)]
    building.install("acme", building.definition("asks", *nodes) | {"edges": []})
    run = building.execute(building.scope(), "asks")
    wire = ids.wire("run", run.id)
    ada.get("/audit")
    for query in ("", "&before=40000", "&actor=usr_3", "&action=act_3&since=2026-01-01", "&result=denied"):
        with CaptureQueriesContext(connection) as sent:
            assert ada.get(f"/audit?target={wire}{query}").status_code == 200
        asked = [each["sql"] for each in sent if "host_auditrecord" in each["sql"] and f"'{wire}'" in each["sql"]]
        assert len(asked) == 2, query
        led = r"Index Cond:.*\btarget\b" if sql.is_postgres() else r"\(tenant_id=\? AND target=\?"
        for statement, plan in explained([(each.replace("%", "%%"), None) for each in asked]):
            assert re.search(led, plan), (statement, plan)
            assert not re.search(r"Seq Scan|host_audit_time|\(tenant_id=\?( AND seq<\?)?\)", plan), (statement, plan)


@pytest.mark.usefixtures("log")
def test_a_family_of_actions_is_read_from_the_index_an_action_at_a_time(ada: Client) -> None:
    for action in ("deed.done", "deed.undone"):
        audit.append(building.tenant().id, actor="host", action=action, now=timezone.now())
    ada.get("/audit")
    with CaptureQueriesContext(connection) as sent:
        assert "of 2 records" in ada.get("/audit?action=deed").content.decode()
    asked = [each["sql"] for each in sent if "host_auditrecord" in each["sql"] and "'deed." in each["sql"]]
    names = [each["sql"] for each in sent if "RECURSIVE" in each["sql"] and "host_auditrecord" in each["sql"]]
    assert (len(asked), len(names)) == (3, 2)
    for statement, plan in explained([(each.replace("%", "%%"), None) for each in (*asked, *names)]):
        assert re.search(r"host_audit_(of|actor)_action", plan), (statement, plan)
        assert not re.search("TEMP B-TREE FOR ORDER BY|Seq Scan|SCAN host_auditrecord", plan), (statement, plan)


@pytest.mark.usefixtures("log")
def test_refused_acts_are_read_from_an_index_of_their_own(ada: Client) -> None:
    ada.get("/audit")
    for result in ("denied", "failed"):
        with CaptureQueriesContext(connection) as sent, connection.cursor() as cursor:
            if sql.is_postgres():
                cursor.execute("SET LOCAL enable_seqscan = off")
            assert ada.get(f"/audit?result={result}").status_code == 200
        asked = [each["sql"] for each in sent if "host_auditrecord" in each["sql"] and "$.outcome" in each["sql"]]
        asked = asked or [each["sql"] for each in sent if "->> 'outcome'" in each["sql"]]
        assert len(asked) == 2, result
        for statement, plan in explained([(each.replace("%", "%%"), None) for each in asked]):
            assert "host_audit_refused" in plan, (statement, plan)
            assert not re.search("TEMP B-TREE FOR ORDER BY|Seq Scan", plan), (statement, plan)


@pytest.fixture(scope="module")
def ledger(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A large ledger, made once: each test undoes what it did there."""
    with django_db_blocker.unblock(), transaction.atomic():
        fill(building.open_run(building.scope()))
        analyze()
        if sql.is_postgres():  # checked now, or no test could change the table
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        yield
        transaction.set_rollback(True)


def statements_of(path: str, operator: Client, agent: dict[str, Any]) -> list[tuple[str, Any]]:
    """The statements and their parameters that one page, or one API request, sends to the database."""
    asked: list[tuple[str, Any]] = []

    def note(execute: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
        asked.append((statement, parameters))
        return execute(statement, parameters, many, context)

    client, given = (Client(), agent) if path.startswith("/api/") else (operator, {})
    with connection.execute_wrapper(note):
        assert client.get(path, **given).status_code == 200, path
    return asked


@pytest.mark.usefixtures("ledger")
def test_no_page_of_a_large_ledger_reads_it_whole_or_sorts_it(ada: Client) -> None:
    building.install_agent("acme", {"agentId": AGENT, "persona": "Triage", "modelClass": "general"})
    with connection.cursor() as cursor:
        cursor.execute("UPDATE memory_memoryentry SET agent_id = %s WHERE agent_id = 'agent-7'", [AGENT])
    analyze()
    headers = building.headers(role="agent") | {"HTTP_X_AGENT_ID": ME}
    wrong = []
    for path in PAGES:
        asked = statements_of(path, ada, headers)
        about = [
            each for each in asked if each[0].startswith(("SELECT", "WITH")) and any(t in each[0] for t in GROWING)
        ]
        for statement, plan in explained(about):
            wrong += [f"{path}: {fault}\n{statement[:400]}\n{plan}" for fault in faults(statement, plan)]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.only_db("postgres")
@pytest.mark.usefixtures("ledger")
def test_a_page_that_is_asked_for_often_reads_no_ledger_whole(ada: Client) -> None:
    """From the sixth time on PostgreSQL plans a statement of a connection without its values, where that looks no more
    expensive to it; here as long as nothing has been vacuumed."""
    headers = building.headers(role="agent") | {"HTTP_X_AGENT_ID": ME}
    prepare_at_once()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pg_class SET relallvisible = 0 WHERE relname = ANY(%s)", [list(GROWING)])
        for path in OFTEN:
            client, given = (Client(), headers) if path.startswith("/api/") else (ada, {})
            for _ in range(7):
                assert client.get(path, **given).status_code == 200, path
    wrong = [
        f"{statement}\n{plan}"
        for statement, plan in planned_without_values()
        if re.search(rf"Seq Scan on (?:{'|'.join(GROWING)})\b", plan)
    ]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.only_db("postgres")
@pytest.mark.usefixtures("ledger")
def test_few_entries_of_a_tag_or_a_run_are_read_alone_however_common_others_are(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where PostgreSQL plans for any tag, and takes it for a common one; and of a run that states its origin."""
    monkeypatch.setattr("memory.adapter.openintent.FEW", (100, 200))  # as few of these tags as 20,000 are of millions
    own, *others = (building.open_run(building.scope()) for _ in range(21))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE memory_memoryentry SET run_id = %s WHERE position <= 3", [own.id])
        # A sample has to see that there is more than one run.
        spread = [(run.id, 100 * number, 100 * number + 99) for number, run in enumerate(others, 1)]
        cursor.executemany("UPDATE memory_memoryentry SET run_id = %s WHERE position BETWEEN %s AND %s", spread)
        cursor.execute(
            "INSERT INTO memory_entryorigin (tenant_id, id, entry_id, run_id, sequence, current, system, run_ref, "
            "thread_id, node, more) SELECT tenant_id, id, id, run_id, position, TRUE, 'a', '', '', '', '{}' "
            "FROM memory_memoryentry WHERE position <= 3"
        )
        cursor.execute(
            "INSERT INTO memory_entrytag (tenant_id, id, tag) SELECT tenant_id, id, 'oldest' FROM memory_memoryentry "
            "WHERE position <= 50"
        )
    analyze()
    prepare_at_once()
    headers = building.headers(role="agent") | {"HTTP_X_AGENT_ID": ME}
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    for path in ("/memory?tag=oldest", f"/memory?run={ids.wire('run', own.id)}", f"{LISTED}&tags=common,oldest"):
        asked = statements_of(path, ada, headers)
        for statement, values in asked:
            if statement.startswith(("SELECT", "WITH")) and any(table in statement for table in GROWING):
                looked_at, plan = looked_at_without_values(statement, values or ())
                assert looked_at < SIZE / 4, f"{path}: {looked_at:,.0f} rows\n{statement}\n{plan}"


def looked_at_without_values(statement: str, values: Sequence[Any]) -> tuple[float, Any]:
    """How many rows the statement that this connection has prepared looks at with these values, and its plan."""
    first, *parts = statement.split("%s")
    text = (first + "".join(f"${at}{part}" for at, part in enumerate(parts, 1))).replace("%%", "%")
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM pg_prepared_statements WHERE statement = %s", [text])
        (name,) = cursor.fetchone()
        given = ", ".join(Literal(each).as_string(connection.connection) for each in values)
        cursor.execute(
            f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {name}{f'({given})' if given else ''}".replace("%", "%%")
        )
        ((plan,),) = cursor.fetchall()
    return rows_looked_at(plan[0]["Plan"]), plan
