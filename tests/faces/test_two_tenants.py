"""Acme's owner at every address of the API with Globex's own ids: as if nothing were there, and nothing has changed."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import transaction
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings

from memory.host.models import TenantOwned
from tests import building
from tests.peopled import BODIES, MAKERS, UNKNOWN, Route, World, routes, sound_body

pytestmark = pytest.mark.django_db
ROUTES = [route for route in routes() if route.parameters]
# A name of one's own: what is written or removed under it is the caller's, whoever else has such a name.
OWN_NAMES = {"putMcpServer", "putSecret", "deleteSecret", "writeWorkspaceFile", "installAgent"}
# Whoever holds the token may: that is what it is for.
BY_TOKEN = {"interrupts/token"}
# The same words in every tenant: what they lead to is the caller's own.
EVERYBODYS = {"approval-policies/kind"}
TABLES: list[Any] = [model for model in apps.get_models() if issubclass(model, TenantOwned)]


@pytest.fixture(scope="module")
def worlds(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, World]]:
    """Acme, and Globex with a row of each kind, made once; each test undoes what it did to them."""
    with django_db_blocker.unblock(), transaction.atomic():
        made = {slug: World(slug) for slug in ("acme", "globex")}
        for route in ROUTES:
            route.real(made["globex"])
        yield made
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def rows_of_globex(worlds: dict[str, World], django_db_blocker: DjangoDbBlocker) -> dict[str, list[dict[str, Any]]]:
    """What each test finds there when it begins."""
    with django_db_blocker.unblock():
        return everything_of(worlds["globex"])


@pytest.fixture
def acme(worlds: dict[str, World]) -> World:
    return worlds["acme"]


@pytest.fixture
def globex(worlds: dict[str, World]) -> World:
    return worlds["globex"]


@pytest.fixture(autouse=True)
def seams_are_open(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """And do not wait: no worker will come."""
    settings.OPENWOP_TEST_SEAM_ENABLED = True
    monkeypatch.setattr("openwop_console.test_seams.runs.PATIENCE_S", 0)
    monkeypatch.setattr("openwop_console.test_seams.runs.DISPATCH_WAIT_S", 0)


def everything_of(world: World) -> dict[str, list[dict[str, Any]]]:
    """Every row of the tenant, in every table."""
    return {model.__name__: list(model.objects.of(world.scope.tenant_id).order_by("pk").values()) for model in TABLES}


def said(answer: Any, *own: str) -> tuple[int, str]:
    """An answer without what differs by nature: the ids that were asked for, and correlation ids."""
    text = answer.content.decode()
    for each in sorted(own, key=len, reverse=True):
        text = text.replace(each, "<asked>")
    return answer.status_code, re.sub(r"err_[0-9a-f]{32}", "<correlation>", text)


def test_what_is_globex_s_is_not_there_for_acme_and_stays_as_it_was(
    acme: World, globex: World, rows_of_globex: dict[str, list[dict[str, Any]]]
) -> None:
    for route in ROUTES:
        if (BY_TOKEN | EVERYBODYS) & set(route.parameters.values()):
            continue
        with transaction.atomic():
            is_not_there(acme, globex, route)
            if any(told.name in OWN_NAMES for told in route.operations.values()):
                # Acme has something of its own by that name now, which the next route would find.
                assert everything_of(globex) == rows_of_globex, route
                transaction.set_rollback(True)
    assert everything_of(globex) == rows_of_globex


def is_not_there(acme: World, globex: World, route: Route) -> None:
    """Acme gets the same answer for what Globex has as for what does not exist."""
    theirs, nobodys = route.real(globex), route.unknown()
    for method, told in route.operations.items():
        foreign = acme.ask(method, "/" + route.address(theirs), sound_body(told, theirs))
        unknown = acme.ask(method, "/" + route.address(nobodys), sound_body(told, nobodys))
        if told.name in OWN_NAMES:
            assert foreign.status_code == unknown.status_code, told.name
        else:
            assert foreign.status_code == 404, f"{told.name}: {foreign.content.decode()}"
            assert said(foreign, *theirs.values()) == said(unknown, *nobodys.values()), told.name
            assert dict(foreign.items()).keys() == dict(unknown.items()).keys(), told.name


def test_the_ids_of_the_sweep_are_real_ones(globex: World) -> None:
    """Or else a 404 would prove nothing: Globex's own owner is answered otherwise, and the unknown ids are unknown."""
    for route in ROUTES:
        route.real(globex)
    for route in ROUTES:
        with building.undone():
            for method, told in sorted(route.operations.items(), reverse=True):  # DELETE comes last
                answer = globex.ask(method, "/" + route.address(route.real(globex)), BODIES.get(told.name))
                assert answer.status_code != 404, f"{told.name}: {answer.content.decode()}"
                if method == "GET":
                    unknown = globex.ask(method, "/" + route.address(route.unknown()))
                    assert unknown.status_code in {404, 401}, told.name


def test_every_parameter_has_a_maker_and_an_unknown_of_its_form() -> None:
    every = [*ROUTES, *routes(faces=("api/",))]
    found = {known for route in every for known in route.parameters.values()}
    for route in every:
        for known in route.parameters.values():
            assert known in MAKERS, f"/{route.pattern}: add {known!r} to MAKERS and UNKNOWN in tests/peopled.py"
    assert set(MAKERS) == set(UNKNOWN) == found


@pytest.mark.engines
def test_an_id_of_globex_in_a_query_or_a_body_finds_nothing(acme: World, globex: World) -> None:
    run_id, unknown = f"run_{globex.run.id.hex}", "run_" + "0" * 32
    for url in ("/v1/host/console/memory?runId={}", "/v1/host/console/memory?after={}"):
        foreign, nobodys = acme.ask("GET", url.format(run_id)), acme.ask("GET", url.format(unknown))
        assert said(foreign, run_id) == said(nobodys, unknown)
    bulk = "/v1/runs:bulk-cancel"
    foreign, nobodys = (acme.ask("POST", bulk, {"runIds": [each]}) for each in (run_id, unknown))
    assert said(foreign, run_id) == said(nobodys, unknown)
    assert foreign.json()["results"][0]["ok"] is False
    confirm = {"subject": "somebody", "reason": "r"}
    for preview in (globex.forget, UNKNOWN["forget/forget_id"]):
        answer = acme.ask("POST", "/v1/host/console/forget", {**confirm, "previewId": preview})
        assert answer.status_code == 404
    workflow = {"workflowId": globex.run.workflow_id}
    assert acme.ask("POST", "/v1/runs", workflow).status_code == 404
    assert acme.ask("POST", "/v1/runs", {"workflowId": "conformance-noop", "tenantId": "globex"}).status_code == 403


def test_a_list_of_acme_holds_nothing_of_globex(acme: World, globex: World) -> None:
    marks = [globex.entry, globex.scope.tenant_id.hex, str(globex.run.id.hex), globex.proposal.id.hex, "globex"]
    for route in routes():
        if not route.parameters and "GET" in route.operations:
            answer = acme.ask("GET", f"/{route.pattern}")
            assert answer.status_code == 200, route.pattern
            assert not [mark for mark in marks if mark in answer.content.decode()], route.pattern


def test_the_same_idempotency_key_of_two_tenants_is_two_requests(acme: World, globex: World) -> None:
    first, second = (
        world.ask("POST", "/v1/runs", BODIES["createRun"], HTTP_IDEMPOTENCY_KEY="k") for world in (acme, globex)
    )
    assert first.json()["runId"] != second.json()["runId"]
    assert building.tenant("acme").id != building.tenant("globex").id
