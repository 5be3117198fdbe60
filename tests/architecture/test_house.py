"""The house rules, checked against the source: one place for each thing (docs/architecture.md)."""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import MISSING, fields
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection, models

from memory.host import errors, events
from memory.host.models import TenantFK, TenantOwned
from openwop_console import errors as error_table

ROOT = Path(settings.BASE_DIR)
OURS = ("host", "memory", "proposals", "runtime")
SHARED = {"HostTimer", "Tenant", "Operator", "OperatorSession", "Throttle", "VaultKey"}
OUR_MODELS: list[Any] = [model for model in apps.get_models() if model._meta.app_label in OURS]
# A reading of a protocol where it is silent or contradicts itself, also in the name of a test.
CODE = re.compile(r"(?:\b|(?<=_))[RCK]\d{1,3}(?=\b|_)")
TENANT_OWNED = [model for model in OUR_MODELS if issubclass(model, TenantOwned)]


@cache
def sources() -> list[Path]:
    """Every module of the project but tests and migrations."""
    return [
        path
        for package in ("memory", "proposals", "openwop_console")
        for path in (ROOT / package).rglob("*.py")
        if "migrations" not in path.parts
    ]


@cache
def text_of(path: Path) -> str:
    return path.read_text()


def places(pattern: str) -> set[str]:
    """The modules whose code has ``pattern``."""
    return {path.relative_to(ROOT).as_posix() for path in sources() if re.search(pattern, text_of(path))}


def refusals() -> list[type[errors.Refusal]]:
    found, waiting = [], [errors.Refusal]
    while waiting:
        waiting += (kinds := waiting.pop().__subclasses__())
        found += kinds
    return found


def vocabulary() -> list[type[events.Event]]:
    kinds = [kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, events.Event)]
    return [kind for kind in kinds if kind is not events.Event]


def home_of(writer: str) -> Path:
    """The module of that name, or the one of its package that has the name of the writer."""
    path = ROOT / writer.replace(".", "/")
    if not path.is_dir():
        return path.with_suffix(".py")
    [home] = [each for each in sorted(path.glob("*.py")) if f'WRITER = "{writer}"' in text_of(each)]
    return home


def test_every_model_has_chosen_who_writes_it_and_that_module_exists() -> None:
    for model in OUR_MODELS:
        path = home_of(model.writer)
        assert path.exists(), f"{model.__name__} is written by {model.writer}, which is not there"
        assert f'WRITER = "{model.writer}"' in text_of(path)


def test_a_writer_name_is_spelled_in_its_own_module_and_in_the_models_alone() -> None:
    for model in OUR_MODELS:
        if model.__name__ not in {"Operator", "OperatorSession"}:  # Django's own code saves these
            spelled = places(rf'"{re.escape(model.writer)}"')
            home = home_of(model.writer).relative_to(ROOT).as_posix()
            assert {place for place in spelled if "/models" not in place} == {home}


def test_a_tenant_owned_table_has_the_tenant_first_in_keys_constraints_and_indexes() -> None:
    for model in TENANT_OWNED:
        assert model._meta.pk.columns[0] == "tenant_id", model
        for index in model._meta.indexes:
            first = index.fields[0] if index.fields else index.expressions[0].name
            assert first == "tenant", index.name
        for constraint in model._meta.constraints:
            if isinstance(constraint, models.UniqueConstraint):
                assert constraint.fields[0] == "tenant", constraint.name


def test_every_link_between_tenant_owned_tables_is_a_key_of_the_database() -> None:
    for model in TENANT_OWNED:
        linked = {
            field.from_fields[1]
            for field in model._meta.get_fields()
            if isinstance(field, models.ForeignObject) and not isinstance(field, models.ForeignKey)
        }
        kept = {constraint.column for constraint in model._meta.constraints if isinstance(constraint, TenantFK)}
        assert linked <= kept, model
        for field in model._meta.get_fields():
            if isinstance(field, models.ForeignKey):
                assert field.related_model.__name__ in SHARED, f"{field} is a plain key to a tenant's table"


def test_every_table_of_ours_is_a_tenant_s_or_known_to_be_shared() -> None:
    assert {model.__name__ for model in OUR_MODELS if not issubclass(model, TenantOwned)} == SHARED


@pytest.mark.parametrize(
    ("pattern", "only"),
    [
        (r"(?<!class )\bMemoryScope\(", "memory/host/tenancy.py"),
        (r"(?<!class )\bTenantScope\(", "memory/host/tenancy.py"),
        (r"(?<!class )\bPrincipal\(", "memory/host/tenancy.py"),
        (r"INTO host_runevent|(?<!class )\bRunEvent\(", "memory/host/event_log.py"),
        (r"(?<!class )\bAuditRecord\(", "memory/host/audit.py"),
        (r"(?<!class )\bAuditCheckpoint\(", "memory/host/audit_chain.py"),
        (r"(?<!class )\bAuthorizationDecided\(|authorization\.denied", "memory/host/denials.py"),
        (r"Ed25519PrivateKey", "memory/host/signing.py"),
        (r"INTO memory_memoryentry|(?<!class )\bMemoryEntry\(", "memory/ledger/entries.py"),
        (r"(?<!class )\bInstallation\(", "memory/host/registry.py"),
        (r"(?<!class )\bRun\($|(?<!class )\bRun\(\n", "memory/host/runs.py"),
        (r"AESGCM\(", "memory/host/vault.py"),
    ],
)
def test_a_thing_happens_in_its_one_place(pattern: str, only: str) -> None:
    assert places(pattern) == {only}


@cache
def test_a_module_of_node_types_is_imported_by_its_app() -> None:
    """An app registers node types by importing their modules: one that it forgets would be unknown, without a word."""
    written = [ROOT / place for place in places(r"(?m)^@node_type\(")]
    assert len(written) >= 5
    for path in written:
        app = next(folder / "apps.py" for folder in path.parents if (folder / "apps.py").exists())
        assert re.search(rf"\b{path.stem}\b", app.read_text()), f"{app} does not import {path.stem}"


def modules_called(name: str) -> list[Path]:
    return [each for each in sources() if each.stem == name or (each.stem, each.parent.name) == ("__init__", name)]


@cache
def names_in(path: Path) -> set[str]:
    """What a reader may call by the name of the module: what is defined or imported in it, and its own modules."""
    found = {each.stem for each in path.parent.glob("*.py")} if path.stem == "__init__" else set()
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return found


def is_there(reference: str) -> bool:
    """Whether ``module.name``, of a module of ours, leads to something."""
    module, name = reference.rsplit(".", 1)
    homes = modules_called(module.rpartition(".")[2])
    is_module = bool(modules_called(name)) or (ROOT / reference.replace(".", "/")).is_dir()
    return not homes or is_module or any(name in names_in(home) for home in homes)


def test_what_a_docstring_or_a_comment_refers_to_is_there() -> None:
    """Files by their names, and ``module.name`` in double backticks. A type of event looks the same."""
    folders = [
        ROOT / each
        for each in ("docs", "examples", "memory", "openwop_console", "proposals", "static", "tests", "tools")
    ]
    files = {path.name for path in [*ROOT.iterdir(), *(each for folder in folders for each in folder.rglob("*.*"))]}
    types, lost = {getattr(kind, "type", "") for kind in vocabulary()}, {}
    for path in [*sources(), *(ROOT / "tools").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        text = text_of(path) if "tests" not in path.parts else text_of(path).partition("\n")[0]
        named = set(re.findall(r"[\w-]+\.(?:md|py)\b", text)) - files - {"MEMORY-INDEX.md"}
        called = (
            set(re.findall(r"``((?:(?:memory|openwop_console|proposals)[\w.]+|[a-z_]+)\.\w+)(?:\(\))?``", text))
            - files
            - types
        )
        if missing := named | {each for each in called if not is_there(each)}:
            lost[path.relative_to(ROOT).as_posix()] = missing
    assert not lost, lost


def test_the_code_of_a_reading_is_that_of_a_test() -> None:
    """R47, C19 or K22 in a docstring is said in full by the tests that have the code."""
    known = {code for path in (ROOT / "tests").rglob("*.py") for code in CODE.findall(text_of(path))}
    lost = {path.relative_to(ROOT).as_posix(): set(CODE.findall(text_of(path))) - known for path in sources()}
    assert not any(lost.values()), {place: codes for place, codes in lost.items() if codes}


def test_no_name_of_a_module_is_bound_twice() -> None:
    """The second would change what the first is for those who have read it alone."""
    found = {}
    for path in sources():
        bound = Counter(name for node in ast.parse(text_of(path)).body for name in names_bound(node))
        found[path.relative_to(ROOT).as_posix()] = sorted(name for name, times in bound.items() if times > 1)
    assert {place: names for place, names in found.items() if names} == {}


def names_bound(node: ast.stmt) -> list[str]:
    """The names that a statement of a module binds; an overload of a function tells of the one that follows."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [] if any(ast.unparse(each) == "overload" for each in node.decorator_list) else [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    parts = [part for each in targets for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return [part.id for part in parts if isinstance(part, ast.Name) and part.id != "_"]


# Packages, and modules, that write SQL by hand.
HOT = ("memory/adapter/", "memory/ledger/", "memory/host/event_log.py")


def test_sql_is_written_by_hand_in_the_adapter_the_ledger_and_the_log_alone() -> None:
    written = {place for place in places(r"\.execute(many)?\(") if not place.startswith(("tools/bench/", *HOT))}
    assert written <= {
        "memory/host/immutability.py",  # the triggers of migrations
        "memory/host/models/base.py",  # what a row's ``save`` writes, built from its fields
        "memory/host/sql.py",  # hands the statements of the three to the driver
        "openwop_console/management/commands/migrate.py",  # the lock under which hosts migrate
        "memory/host/clock.py",  # what time the database has
        "memory/host/wakeups.py",  # NOTIFY and LISTEN
        "openwop_console/sqlite/base.py",  # how long a connection waits for a lock
        "openwop_console/postgresql/__init__.py",  # the pool's check of a connection
    } | places(r"(execution|super\(\))\.execute\(")
    once = {"memory/host/vault.py", "memory/host/access.py"}  # statements of the ORM, written once
    assert {place for place in places(r"\bsql\.rows\(") if not place.startswith(HOT)} <= once


EDGES = (
    "/views",
    "/api/",
    "tasks.py",
    "management/",
    "middleware.py",
    "sign_in/",
    "scheduler.py",
    "process/queue.py",
    "host/clock.py",  # whose clock counts
    "host/sessions.py",  # Django asks for a session, and does not say when
    "health.py",  # asked by probes, and by django-q2
    "streams.py",  # its notifier is a thread of its own
    "demo/",
    "templatetags/",
    "seams/",
)


def test_the_clock_is_read_at_the_edges_alone() -> None:
    read = places(r"timezone\.now\(\)|datetime\.now\(|time\.time\(\)")
    assert {place for place in read if not any(edge in place for edge in EDGES)} == set()


def test_every_refusal_has_a_status_and_a_code_of_its_own_or_its_parent_s() -> None:
    assert len(refusals()) > 50
    for refusal in refusals():
        assert 400 <= error_table.answer_of(refusal).status <= 599, refusal
        assert refusal.code not in {"", errors.Refusal.code}, refusal


def test_a_refusal_is_caught_nowhere_but_at_the_doors() -> None:
    names = "|".join(["Refusal", *(kind.__name__ for kind in refusals())])
    caught = places(rf"except \(?[^\n]*\b({names})\b")
    assert caught <= {
        "openwop_console/middleware.py",
        "openwop_console/mcp/tools.py",  # a refusal is the result of its tool, for the model to read
        "openwop_console/mcp/views.py",  # and of a resource an error of JSON-RPC
        "openwop_console/process/server.py",  # a body that was not read: the middleware answers
        "openwop_console/management/base.py",
        "memory/openintent/api/http.py",  # raised again after the permission was asked
        "openwop_console/runtime/node_execution.py",  # a node that was refused has failed
        "openwop_console/runtime/schedules.py",  # a firing that was refused is on record
        "openwop_console/runtime/heartbeat_evaluation.py",  # a tick of a principal that lost its right has that outcome
        "memory/passes/orders.py",  # a pass that was refused has that outcome
        "memory/embeddings.py",  # without an endpoint a search goes by words
        "memory/forget/execution.py",  # a preview that was asked to stop has lapsed
        "proposals/learning/findings.py",  # a draft that cannot be installed is counted
        "openwop_console/runtime/nodes.py",  # a probe whose secret is not there yet brings its own
        "memory/entry_selection.py",  # an entry that cannot be changed any more is skipped and counted
        "memory/entry_files.py",  # a line of a file that was refused has that result
        "memory/host/pages.py",  # a form that was refused is shown again
        "memory/host/vault.py",  # a principal that is refused opens no user secret, and the log says why
        "openwop_console/test_seams/governance.py",  # a denial is an outcome that the suite asks for
        "openwop_console/test_seams/identity.py",  # what is not there is told apart, for the suite alone
    }


def test_an_event_has_no_field_that_could_hold_content() -> None:
    content = {
        "content",
        "text",
        "value",
        "body",
        "inputs",
        "outputs",
        "artifact",
        "rationale",
        "comment",
        "reason",
    }
    assert len(vocabulary()) > 40
    for kind in vocabulary():
        assert kind.__dataclass_params__.frozen, kind  # type: ignore[attr-defined]
        names = {field.name for field in fields(kind)}
        assert not names & content or kind is events.AuthorizationDecided, kind


def required_of(kind: type[events.Event]) -> set[str]:
    """What the contract requires of the payload of such an event; nothing where it has no schema for it."""
    schema = json.loads(text_of(ROOT / "tests/contracts/run-event-payloads.schema.json"))
    named = schema["$defs"]["_typeIndex"]["properties"].get(getattr(kind, "type", ""), {}).get("$ref", "")
    return set(schema["$defs"][named.rpartition("/")[2]].get("required", [])) if named else set()


def test_an_event_always_has_what_its_contract_requires() -> None:
    """In a field without a default; that of the thoughts of an agent is empty, since the log holds no text."""
    lacking, required = {}, set()
    for kind in vocabulary():
        always = {field.name for field in fields(kind) if field.default is MISSING and field.name not in kind.beside}
        served = {kind.wire_names.get(name) or camelized(name) for name in always}
        required |= {kind.type} if required_of(kind) else set()
        if left := required_of(kind) - served:
            lacking[kind.type] = left
    assert lacking == {"agent.reasoned": {"reasoning"}}
    assert events.payload_of(events.AgentReasoned("private.acme.triage"))["reasoning"] == ""
    assert {"approval.overridden", "memory.written", "cap.breached", "node.failed"} <= required


def camelized(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def test_no_two_modules_need_each_other_type_checking_and_local_imports_counted() -> None:
    modules = {module_of(path): path for path in sources()}
    needs: dict[str, set[str]] = {}
    for name, path in modules.items():
        named = {f"{module}.{each}" for module, each in froms_in(text_of(path))}
        needs[name] = {each if each in modules else each.rpartition(".")[0] for each in named} & modules.keys() - {name}
    assert needs["memory.openintent.namespaces"] >= {"memory.openintent.access", "memory.host.ids"}
    assert len(list(TopologicalSorter(needs).static_order())) == len(modules)  # CycleError names a circle


# To read them as text takes a thirtieth of the time of parsing; in a module that holds programs it finds theirs too.
FROM = re.compile(r"^[ \t]*from ([\w.]+) import (\([^)]*\)|[^\n#]+)", re.MULTILINE)
IMPORT = re.compile(r"^[ \t]*import ([\w.]+)", re.MULTILINE)


def froms_in(text: str) -> Iterator[tuple[str, str]]:
    """Each ``from module import name`` of a text, wherever it stands."""
    for module, names in FROM.findall(text):
        for each in re.sub(r"#.*", "", names).strip("() \n").split(","):
            if name := each.partition(" as ")[0].strip():
                yield module, name


def test_an_import_is_read_in_whatever_form_it_is_written() -> None:
    text = "from a.b import (\n    c,  # why, then\n    d as e,\n)\nif x:\n    from f import g, h  # no\n"
    assert list(froms_in(text)) == [("a.b", "c"), ("a.b", "d"), ("f", "g"), ("f", "h")]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_the_house_has_no_shed() -> None:
    sheds = {"services", "utils", "helpers", "common", "misc"}
    assert [path for path in sources() if path.stem in sheds] == []


def foreign_keys() -> list[tuple[str, tuple[str, ...]]]:
    """Every key of a table of ours that points at another: by the models, and by the database's own catalog."""
    by_models = {
        (model._meta.db_table, tuple(str(each.column) for each in field.local_related_fields))
        for model in OUR_MODELS
        for field in model._meta.get_fields()
        if isinstance(field, models.ForeignObject) and not field.auto_created
    }
    ours = ("host_", "memory_", "proposals_", "runtime_")  # those without a model, too
    by_catalog: set[tuple[str, tuple[str, ...]]] = set()
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(
                'SELECT m.name, f.id, f."from" FROM sqlite_master m, pragma_foreign_key_list(m.name) f '
                "WHERE m.type = 'table' ORDER BY m.name, f.id, f.seq"
            )
        else:
            cursor.execute(
                "SELECT c.conrelid::regclass::text, c.conname, a.attname FROM pg_constraint c "
                "CROSS JOIN unnest(c.conkey) WITH ORDINALITY AS k(attnum, place) JOIN pg_attribute a "
                "ON a.attrelid = c.conrelid AND a.attnum = k.attnum WHERE c.contype = 'f' ORDER BY 1, 2, k.place"
            )
        found: dict[tuple[str, Any], list[str]] = {}
        for table, key, column in cursor.fetchall():
            found.setdefault((table, key), []).append(column)
        by_catalog = {(table, tuple(columns)) for (table, _), columns in found.items() if table.startswith(ours)}
    return sorted(by_models | by_catalog)


def index_columns(table: str) -> list[list[str]]:
    """The columns of each index of a table, in order; of partial ones those alone that leave out empty links."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(
                "SELECT l.name, i.name FROM pragma_index_list(%s) l, pragma_index_info(l.name) i LEFT JOIN "
                "sqlite_master m ON m.name = l.name WHERE l.partial = 0 OR "
                "m.sql LIKE '%% WHERE \"' || i.name || '\" IS NOT NULL' OR m.sql LIKE '%% IS NOT NULL' "
                "ORDER BY l.name, i.seqno",
                [table],
            )
        else:
            cursor.execute(
                "SELECT x.indexrelid, a.attname FROM pg_index x CROSS JOIN unnest(x.indkey::int[]) WITH ORDINALITY "
                "AS k(attnum, place) JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.attnum "
                "WHERE x.indrelid = %s::regclass AND (x.indpred IS NULL "
                "OR pg_get_expr(x.indpred, x.indrelid) LIKE '%% IS NOT NULL)') ORDER BY 1, k.place",
                [table],
            )
        found: dict[Any, list[str]] = {}
        for index, column in cursor.fetchall():
            found.setdefault(index, []).append(column)
    return list(found.values())


@pytest.mark.engines
@pytest.mark.django_db
def test_every_link_of_a_tenant_begins_an_index_so_that_removing_a_row_reads_no_others() -> None:
    keys = foreign_keys()
    assert ("memory_entrytag", ("tenant_id", "id")) in keys
    indexes = {table: index_columns(table) for table, _ in keys}
    missing = [
        f"{table} {columns}"
        for table, columns in keys
        if not any(
            {*index[: len(begin)]} == begin
            for begin in ({*columns}, {"tenant_id", *columns})
            for index in indexes[table]
        )
    ]
    assert not missing, "\n".join(missing)


# What decides by the engine, and tests that use the database past the models.
FORKS = r"is_postgres\(|\.vendor\b|RunSQL"
BY_HAND = r"only_db\(|connection\.(?:vendor|cursor)|is_postgres\("
BETWEEN_TRANSACTIONS = r"transaction=True"
BROWSER = r"playwright"


def imported(path: Path) -> set[str]:
    """The names of the modules that a module imports, as paths in the tree."""
    text = path.read_text()
    names = {*IMPORT.findall(text)}
    for module, name in froms_in(text):
        names |= {module, f"{module}.{name}"}
    return {name.replace(".", "/") + ".py" for name in names}


def has_its_engines(statements: list[ast.expr]) -> bool:
    return bool(re.search(r"mark\.(engines|only_db)", " ".join(ast.unparse(each) for each in statements)))


def between_transactions(path: Path) -> list[str]:
    """The tests of a module that commit, and run on one engine alone."""
    tree = ast.parse(path.read_text())
    of_all = [each.value for each in tree.body if isinstance(each, ast.Assign) and "pytestmark" in ast.unparse(each)]
    if has_its_engines(of_all):
        return []
    tests = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")]
    return [
        each.name
        for each in tests
        if re.search(BETWEEN_TRANSACTIONS, " ".join(map(ast.unparse, [*of_all, *each.decorator_list])))
        and not has_its_engines(each.decorator_list)
    ]


def test_what_differs_by_engine_is_tested_on_both() -> None:
    """A module that reaches such code marks at least one test of it, and every test that commits."""
    forks = places(FORKS)
    assert {"memory/host/sql.py", "memory/ledger/index.py"} <= forks
    unmarked = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        text, place = path.read_text(), path.relative_to(ROOT).as_posix()
        black_box = path.parent.name == "conformance"  # knows the host by its doors alone
        unsaid = "mark.engines" not in text and not black_box
        if unsaid and (re.search(BY_HAND, text) or imported(path) & forks):
            unmarked.append(place)
        if re.search(BETWEEN_TRANSACTIONS, text) and not re.search(BROWSER, text):
            unmarked += [f"{place}::{name}" for name in between_transactions(path)]
    assert unmarked == [], "mark these with pytest.mark.engines"
