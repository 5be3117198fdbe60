"""The administrator's commands: what they print, and the one line with which they refuse."""

import errno
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

import manage as door
from memory.host import access, api_keys, errors, ids, operators, tenancy, vault
from memory.host.models import ApiKey, AuditRecord, Membership, Operator, Secret, Tenant
from openwop_console import passwords
from tests import building, fixtures_console

pytestmark = [pytest.mark.django_db, pytest.mark.engines]


def manage(*words: str, **options: Any) -> str:
    said = StringIO()
    call_command(*words, stdout=said, **options)
    return said.getvalue()


def test_a_key_is_the_only_line_and_opens_its_tenant_once_it_is_made(client: Client) -> None:
    manage("create_tenant", "acme", name="Acme Ltd")
    said = manage("create_api_key", tenant="acme", role="author", agent=["acme.bot"], name="ci")
    assert said.count("\n") == 1
    key = api_keys.key_of(said.strip(), now=timezone.now())
    assert (key.agents, key.name, key.tenant_name) == (("acme.bot",), "ci", "Acme Ltd")
    assert said.strip().split("_", 3)[3] not in key.digest
    assert client.get("/v1/workflows/conformance-noop", HTTP_X_API_KEY=said.strip()).status_code == 200


def test_a_key_belongs_to_the_person_it_was_made_for_and_is_called_after_both(client: Client) -> None:
    rosa = building.operator(role="reviewer", email="rosa@acme.example")
    person = ids.wire("usr", rosa.id)
    said = manage(
        "create_api_key", **{"tenant": "acme", "role": "reviewer", "name": "ci-bot", "for": "Rosa@Acme.example"}
    )
    principal = tenancy.key_principal(said.strip(), now=timezone.now())
    assert (principal.person, principal.owner) == (person, person)
    called = access.names_of(building.tenant().id, [principal.id])
    assert called[principal.id] == "rosa@acme.example by key ci-bot"
    alone = building.scope().principal
    assert alone.person == alone.id, "a key without a person is a service account of its own"
    with pytest.raises(CommandError, match="no active operator 'rosa@globex"):
        manage("create_api_key", **{"tenant": "acme", "role": "viewer", "for": "rosa@globex.example"})


def test_no_tenant_is_created_under_a_name_that_cannot_be_shown() -> None:
    for name in ("x" * 201, "Acme\nGlobex", "a\x1b[31m"):
        with pytest.raises(CommandError, match="name must be at most 200 characters that print"):
            manage("create_tenant", "acme", name=name)
    assert not Tenant.objects.exists()


@pytest.mark.parametrize("named", [{"agent": ["acme\nbot"]}, {"agent": ["x" * 129]}, {"name": "a\x1b[31m"}])
def test_no_key_is_created_under_an_invalid_name(named: dict[str, Any]) -> None:
    building.tenant()
    with pytest.raises(CommandError, match=r"characters that print"):
        manage("create_api_key", tenant="acme", role="agent", **named)
    assert not ApiKey.objects.exists()


def test_a_key_expires_after_days_or_hours_or_at_an_instant_in_either_case() -> None:
    building.tenant()
    for given in ("90d", "12h", "2999-01-31T00:00:00Z", "2999-01-31t02:00:00+02:00", "2999-01-31t00:00:00z"):
        manage("create_api_key", tenant="acme", role="viewer", expires=given)
    days, hours, *instants = ApiKey.objects.order_by("id")
    for key, seconds in ((days, 90 * 86_400), (hours, 12 * 3_600)):
        assert key.expires_at
        assert (key.expires_at - key.created_at).total_seconds() == pytest.approx(seconds, abs=10)
    assert {each.expires_at for each in instants} == {datetime(2999, 1, 31, tzinfo=UTC)}
    for given in ("0d", "7w", "2999-01-31", "2999-02-30T00:00:00Z"):
        with pytest.raises(CommandError, match="is not of the form 90d, 12h or"):
            manage("create_api_key", tenant="acme", role="viewer", expires=given)


def test_a_key_that_cannot_be_shown_is_not_made() -> None:
    class Full(StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    building.tenant()
    with pytest.raises(OSError, match="No space"):
        call_command("create_api_key", tenant="acme", role="viewer", stdout=Full())
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        (errors.Conflict("The run has ended."), "The run has ended."),
        (OperationalError("connection failed:\n  refused"), "The database cannot do that: connection failed: refused"),
        (OSError(errno.ENOSPC, "No space left on device", "web.lock"), "web.lock: No space left on device"),
        (vault.VaultLocked("another key"), "The vault cannot be opened: another key"),
        (KeyboardInterrupt(), 130),
    ],
)
def test_what_an_administrator_can_mend_is_one_line(
    monkeypatch: pytest.MonkeyPatch, problem: BaseException, says: str | int
) -> None:
    def fails(argv: list[str]) -> None:
        raise problem

    monkeypatch.setattr(door, "execute_from_command_line", fails)
    with pytest.raises(SystemExit) as ended:
        door.main()
    assert ended.value.code == says
    monkeypatch.setattr(sys, "argv", ["manage.py", "list_operators", "--traceback"])
    with pytest.raises(SystemExit if isinstance(problem, KeyboardInterrupt) else type(problem)):
        door.main()


@pytest.mark.parametrize("given", ["", "--for=", "agent-\udcff"])
def test_an_argument_that_is_empty_or_no_text_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setattr(sys, "argv", ["manage.py", "create_api_key", "--tenant", "acme", given])
    with pytest.raises(SystemExit, match=r"^An argument is (empty|not UTF-8)\."):
        door.main()


def test_the_demo_is_refused_in_production_and_in_a_tenant_already_in_use(settings: Settings) -> None:
    settings.IN_PRODUCTION = True
    with pytest.raises(CommandError, match="not made in production"):
        manage("seed_demo")
    settings.IN_PRODUCTION = False
    manage("create_tenant", "acme", name="A real customer")
    with pytest.raises(CommandError, match="The tenant acme is not the demo's"):
        manage("seed_demo")
    assert not Operator.objects.exists()


def test_the_key_of_a_deactivated_person_opens_nothing(client: Client) -> None:
    rosa = building.operator(role="viewer", email="rosa@acme.example")
    text = building.key(role="viewer", owner=rosa)
    assert client.get("/v1/workflows/conformance-noop", HTTP_X_API_KEY=text).status_code == 200
    building.deactivate(rosa)
    answer = client.get("/v1/workflows/conformance-noop", HTTP_X_API_KEY=text)
    assert (answer.status_code, answer.json()["error"]) == (401, "key_revoked")


def test_a_revoked_and_an_expired_key_open_nothing(client: Client) -> None:
    acme, now = building.tenant(), timezone.now()
    revoked = api_keys.create_api_key(acme, role="owner", now=now)
    api_keys.revoke_api_key(acme.id, revoked.key_id, now=now)
    expired = api_keys.create_api_key(acme, role="owner", expires_at=now, now=now)
    for made, code in [(revoked, "key_revoked"), (expired, "key_expired")]:
        answer = client.get("/v1/workflows/conformance-noop", HTTP_X_API_KEY=made.text)
        assert (answer.status_code, answer.json()["error"]) == (401, code)


def test_an_operator_signs_in_with_the_password_of_the_variable(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    manage("create_tenant", "acme")
    monkeypatch.setenv("ADA_PASSWORD", building.PASSWORD)
    manage("create_operator", "Ada@Acme.example", tenant="acme", role="viewer", password_env="ADA_PASSWORD")
    answer = client.post("/login", {"login": "ada@acme.example", "password": building.PASSWORD})
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.get("/").status_code == 200


def test_a_person_who_has_yet_to_set_a_password_gets_the_one_that_the_administrator_sets(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else the owner who invited them first could set it by the link, and come in to the other tenant."""
    monkeypatch.setenv("GIVEN", building.PASSWORD)
    building.tenant()
    file, operator = tmp_path / "world.json", {"email": "max@acme.example", "role": "owner"}
    file.write_text(json.dumps({"tenants": [{"slug": "acme", "operators": [operator]}]}))
    for email in ("eva@acme.example", operator["email"]):
        link = operators.invite(building.scope("globex"), email, role="viewer", now=timezone.now())
        if email == operator["email"]:
            with pytest.raises(CommandError, match="set passwordEnv"):
                manage("provision", str(file))
            file.write_text(file.read_text().replace('"role"', '"passwordEnv": "GIVEN", "role"'))
            manage("provision", str(file))
        else:
            with pytest.raises(CommandError, match="no terminal"):
                manage("create_operator", email, tenant="acme", role="owner")
            said = manage("create_operator", email, tenant="acme", role="owner", password_env="GIVEN")
            assert "have" not in said
        assert client.get(f"/set-password/{ids.wire('usr', link.operator.id)}/{link.token}").status_code == 404
        assert client.post("/login", {"login": email, "password": building.PASSWORD}).status_code == 302
        records = AuditRecord.objects.of(building.tenant("globex").id).filter(actor="host")
        assert records.filter(action="operator.password_set", target=ids.wire("usr", link.operator.id)).exists()


def test_a_changed_password_is_on_record_and_ends_the_sessions(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEAK", "password")
    monkeypatch.setenv("GIVEN", building.PASSWORD[::-1])
    rosa = building.operator(email="rosa@acme.example")
    client.post("/login", {"login": rosa.email, "password": building.PASSWORD})
    assert client.get("/memory").status_code == 200
    with pytest.raises(CommandError, match="common"):
        manage("changepassword", rosa.email, password_env="WEAK")
    with pytest.raises(CommandError, match="no operator"):
        manage("changepassword", "eva@acme.example", password_env="GIVEN")
    assert client.get("/memory").status_code == 200
    manage("changepassword", " Rosa@acme.example", password_env="GIVEN")
    assert client.get("/memory").status_code == 302
    assert client.post("/login", {"login": rosa.email, "password": building.PASSWORD[::-1]}).status_code == 302
    (record,) = AuditRecord.objects.filter(action="operator.password_changed")
    assert (record.actor, record.target) == ("host", ids.wire("usr", rosa.id))
    with pytest.raises(CommandError, match="create_operator"):
        manage("createsuperuser")


@pytest.mark.parametrize(
    ("words", "options", "said"),
    [
        (("create_tenant", "Not A Slug"), {}, "lower-case letters"),
        (("create_tenant", "acme"), {}, "already"),
        (("create_api_key",), {"tenant": "nobody", "role": "owner"}, "no tenant 'nobody'"),
        (
            ("create_operator", "x@acme.example"),
            {"tenant": "acme", "role": "viewer", "password_env": "UNSET"},
            "not set",
        ),
        (("create_operator", "no-address"), {"tenant": "acme", "role": "viewer", "password_env": "GOOD"}, "not valid"),
        (
            ("create_operator", "x@acme.example"),
            {"tenant": "acme", "role": "viewer", "password_env": "WEAK"},
            "too short",
        ),
        (("install_workflow", "/nowhere.json"), {"tenant": "acme"}, "cannot be read"),
        (("install_workflow", "pyproject.toml"), {"tenant": "acme"}, "not JSON"),
    ],
)
def test_a_command_that_is_refused_says_so_in_one_line(
    words: tuple[str, ...], options: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    building.tenant("acme")
    monkeypatch.setenv("GOOD", building.PASSWORD)
    monkeypatch.setenv("WEAK", "abc")
    with pytest.raises(CommandError, match=said) as refused:
        manage(*words, **options)
    assert "\n" not in str(refused.value)
    assert Operator.objects.count() == 0


WORLD = {
    "tenants": [
        {
            "slug": "acme",
            "name": "Acme Ltd",
            "operators": [{"email": "ada@acme.example", "role": "owner", "passwordEnv": "ADA_PASSWORD"}],
            "keys": [
                {"name": "ci", "role": "owner", "expires": "90d"},
                {"name": "billing", "role": "agent", "agents": ["billing-01"], "for": "ada@acme.example"},
            ],
        },
        {"slug": "globex"},
    ]
}


def test_a_file_provisions_tenants_operators_and_keys_once(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ADA_PASSWORD", building.PASSWORD)
    file = tmp_path / "world.json"
    file.write_text(json.dumps(WORLD))
    made = [json.loads(line) for line in manage("provision", str(file)).splitlines()]
    assert [(each["tenant"], each["name"], each["role"]) for each in made] == [
        ("acme", "ci", "owner"),
        ("acme", "billing", "agent"),
    ]
    for each in made:
        assert client.get("/v1/workflows/conformance-noop", HTTP_X_API_KEY=each["key"]).status_code == 200
    assert client.post("/login", {"login": "ada@acme.example", "password": building.PASSWORD}).status_code == 302
    assert manage("provision", str(file)) == ""
    assert (Tenant.objects.count(), Operator.objects.count(), ApiKey.objects.count()) == (2, 1, 2)


@pytest.mark.django_db(transaction=True)
def test_passwords_of_a_file_are_computed_before_its_transaction(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path
) -> None:
    settings.PASSWORD_HASHERS = ["openwop_console.passwords.PasswordHasher"]
    behind_others, within = passwords._behind_others, []

    def noted(compute: Callable[[], object]) -> object:
        within.append(connection.in_atomic_block)
        return behind_others(compute)

    monkeypatch.setattr(passwords, "_behind_others", noted)
    monkeypatch.setenv("ADA_PASSWORD", building.PASSWORD)
    ada = {"email": "ada@acme.example", "role": "owner", "passwordEnv": "ADA_PASSWORD"}
    again = {"email": " Ada@ACME.example", "role": "viewer"}
    tenants = [{"slug": "acme", "operators": [ada]}, {"slug": "globex", "operators": [again]}]
    file = tmp_path / "world.json"
    file.write_text(json.dumps({"tenants": tenants}))
    manage("provision", str(file))
    assert within == [False], "once for one person, before the transaction"
    assert Membership.objects.filter(operator=Operator.objects.get()).count() == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tenants": [{"slug": "acme"}, {"slug": "Not A Slug"}]}, "lower-case letters"),
        (
            {"tenants": [{"slug": "acme", "keys": [{"name": "ci", "role": "emperor"}]}]},
            r"\$\.tenants\[0\]\.keys\[0\]\.role",
        ),
        ({"tenants": [{"slug": "acme", "keys": [{"name": "ci", "role": "owner", "expires": "soon"}]}]}, "'soon'"),
        ({"tenants": [{"slug": "acme", "operators": [{"email": "x@acme.example", "role": "owner"}]}]}, "passwordEnv"),
        ({"tenants": [{"slug": "acme", "name": "Ac\tme"}]}, "at most 200 characters that print"),
        ({"tenants": [{"slug": "acme", "keys": [{"name": "c\ni", "role": "owner"}]}]}, "characters that print"),
        (
            {"tenants": [{"slug": "acme", "keys": [{"name": "ci", "role": "agent", "agents": ["x" * 129]}]}]},
            "not the id of",
        ),
        ({"tenant": []}, r"\$"),
    ],
)
def test_a_file_that_cannot_be_provisioned_as_a_whole_changes_nothing(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "world.json"
    file.write_text(json.dumps(change))
    with pytest.raises(CommandError, match=said) as refused:
        manage("provision", str(file))
    assert "\n" not in str(refused.value)
    assert not Tenant.objects.exists()


def test_a_workflow_is_installed_from_a_file_and_an_invalid_one_names_its_fields(tmp_path: Path) -> None:
    building.tenant("acme")
    file = tmp_path / "flow.json"
    file.write_text(json.dumps(building.definition("flow", building.node("a", "core.noop"))))
    assert "workflow:flow@1.0.0 is installed in acme" in manage("install_workflow", str(file), tenant="acme")
    assert building.execute(building.scope(), "flow").status == "completed"
    file.write_text("{}")
    with pytest.raises(CommandError, match=r"\(\$\.edges is required; \$\.id is required; ") as refused:
        manage("install_workflow", str(file), tenant="acme")
    assert str(refused.value).count("$.id is required") == 1


STARTED = """
import sys
from django.core.management import execute_from_command_line
with __import__("contextlib").suppress(SystemExit):
    execute_from_command_line(["manage.py", *sys.argv[1:]])
import openwop_console.management.commands.console
heavy = (
    "httpx jsonschema memory.passes memory.text numpy openwop_console.runtime.nodes psycopg rest_framework.serializers"
)
print([name for name in heavy.split() if name in sys.modules])
from memory.host import erasure, interrupts, node_types, registry
found = (registry.kinds(), erasure.registered(), registry.builtin_ids(), node_types.function_of("core.noop"))
print([bool(each) for each in found])
print(registry.installer_of("agent-pack") is not None, interrupts.resolver_of("core.approvalGate") is not None)
"""


@pytest.mark.only_db("sqlite")  # nothing else of what is imported looks at the engine
def test_a_command_imports_what_it_needs_and_finds_what_apps_bring_once_it_reads_it(tmp_path: Path) -> None:
    with fixtures_console.fresh_database() as database:
        process = fixtures_console.ConsoleProcess(tmp_path / "data", database)
        process.make_tables()
        started = subprocess.run(
            [sys.executable, "-c", STARTED, "list_api_keys", "--tenant", "acme"],
            cwd=settings.BASE_DIR,
            env=process.environment | {"DJANGO_SETTINGS_MODULE": "openwop_console.settings"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert "There is no tenant 'acme'" in started.stderr
    assert started.stdout == "[]\n[True, True, True, True]\nTrue True\n", started.stderr


def test_a_secret_comes_from_standard_input_and_is_rotated(monkeypatch: pytest.MonkeyPatch) -> None:
    building.tenant("acme")
    monkeypatch.setattr("sys.stdin", StringIO("tok-123456789\n"))
    assert "tok" not in manage("set_secret", "crm", tenant="acme")
    assert vault.unseal(Secret.objects.get()) == "tok-123456789"
    assert manage("rotate_vault_key") == "1 secrets are sealed under a fresh key.\n"
    assert vault.unseal(Secret.objects.get()) == "tok-123456789"


def test_an_unknown_role_gives_nothing_and_so_does_a_lookup_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.tenant()
    assert access.scopes_of(acme.id, "usr_nobody") == frozenset()
    key = building.key(role="owner")
    principal = f"key_{api_keys.key_of(key, now=timezone.now()).id.hex}"
    assert "memory:forget" in access.scopes_of(acme.id, principal)
    monkeypatch.setattr(access, "ROLES", {})
    assert access.scopes_of(acme.id, principal) == frozenset()


def test_failed_sign_ins_are_throttled_per_account(client: Client) -> None:
    building.operator(email="ada@acme.example")
    for _ in range(10):
        client.post("/login", {"login": "ada@acme.example", "password": "wrong"})
    answer = client.post("/login", {"login": "ada@acme.example", "password": building.PASSWORD})
    assert answer.status_code in {200, 429}
    assert client.get("/").status_code == 302
