"""Door x role x state x mode: every cell is tried for real, and has its expected answer in the tables below.

A door that is found in the code and not in the tables fails, and so does a role, a state, an action or a mode. After a
refusal nothing has changed, and of a denial there is one record.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import get_resolver, reverse
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings

from memory.host import access
from openwop_console import settings as project
from openwop_console.management.commands import proposal as command
from proposals import policies, rules, urls
from proposals.models import Decision, State
from tests import building, proposing
from tests.budgets import THOROUGH
from tests.peopled import routes
from tests.proposals import doors
from tests.proposals.doors import (
    BOUND,
    NOBODY,
    REASON,
    STATES,
    WRITER,
    Answer,
    Everything,
    Send,
    Who,
    World,
    page,
    rest,
    shell,
)

pytestmark = pytest.mark.django_db

# The doors: each tells which actions it carries out, and how they are sent

SAMPLE, CONSOLE = "host/sample/proposals/{id}", "host/console/proposals/{id}"
POLICIES = "host/console/approval-policies"


def seen(**more: Any) -> doors.Body:
    return lambda world, state, who: {**world.standing[state], **more}


def decision(word: str, **more: Any) -> doors.Body:
    return seen(decision=word, reason=REASON, **more)


def same(**data: Any) -> doors.Body:
    return lambda world, state, who: data


def bulk(action: str) -> doors.Body:
    return lambda world, state, who: {"action": action, "ids": [world.wire(state)], "reason": REASON}


def revision(**more: Any) -> doors.Body:
    return lambda world, state, who: {
        "title": "From the table",
        "expectedRevision": world.standing[state]["revision"],
        **more,
    }


def resume(**value: Any) -> doors.Body:
    return same(resumeValue={"reason": REASON, **value})


NEW = {"kind": "prompt-template", "artifact": {**proposing.TEMPLATE, "templateId": "doors.new"}}
REST: dict[str, dict[str, Send]] = {
    "createProposal": {"create": rest("POST", "host/console/proposals", same(**NEW))},
    "reviseProposal": {"revise": rest("PATCH", SAMPLE, same(title="From the table"))},
    "archiveProposal": {"archive": rest("DELETE", SAMPLE)},
    "applyProposal": {"apply": rest("POST", f"{SAMPLE}/apply")},
    "rejectProposal": {"reject": rest("POST", f"{SAMPLE}/reject", same(reason=REASON))},
    "decideProposal": {
        "grant": rest("POST", f"{CONSOLE}/decisions", decision("granted")),
        "veto": rest("POST", f"{CONSOLE}/decisions", decision("rejected")),
        "request changes": rest("POST", f"{CONSOLE}/decisions", decision("changes-requested")),
        "override": rest("POST", f"{CONSOLE}/decisions", decision("granted", override=True)),
    },
    "withdrawProposal": {"withdraw": rest("POST", f"{CONSOLE}/withdraw")},
    "addRevision": {
        "revise": rest("POST", f"{CONSOLE}/revisions", revision()),
        "revise and void": rest("POST", f"{CONSOLE}/revisions", revision(voidGate=True)),
    },
    "addComment": {"comment": rest("POST", f"{CONSOLE}/comments", same(text=REASON))},
    "endProposals": {
        "reject in bulk": rest("POST", "host/console/proposals/bulk", bulk("reject")),
        "archive in bulk": rest("POST", "host/console/proposals/bulk", bulk("archive")),
    },
    "orderSynthesis": {"look": rest("POST", "host/console/synthesis", same())},
    "stopSynthesis": {"stop a look": rest("POST", "host/console/synthesis/{look}/stop")},
    "changeApprovalPolicy": {"change a policy": rest("PUT", f"{POLICIES}/workflow-chain-pack", same(quorum=2))},
    "confirmApprovalPolicyChange": {"confirm a policy": rest("POST", f"{POLICIES}/changes/{{change}}/confirm")},
    "refuseApprovalPolicyChange": {"refuse a policy": rest("POST", f"{POLICIES}/changes/{{change}}/refuse")},
    "rollBackArtifact": {"roll back": rest("POST", "host/console/artifacts/{ref}/rollback", same())},
    "disableArtifact": {"disable": rest("POST", "host/console/artifacts/{ref}:disable", same(reason=REASON))},
    "enableArtifact": {"enable": rest("POST", "host/console/artifacts/{ref}:enable", same(reason=REASON))},
}
INTERRUPTS: dict[str, dict[str, Send]] = {
    "granted": {"grant": rest("POST", "runs/{run}/interrupts/gate", resume(decision="granted"))},
    "rejected": {"veto": rest("POST", "runs/{run}/interrupts/gate", resume(decision="rejected"))},
    "changes-requested": {
        "request changes": rest("POST", "runs/{run}/interrupts/gate", resume(decision="changes-requested"))
    },
    "override": {"override": rest("POST", "runs/{run}/interrupts/gate", resume(decision="granted", override=True))},
}
PAGES: dict[str, dict[str, Send]] = {
    "proposals-look": {"look": page("proposals/look", same())},
    "proposals-end": {
        "reject in bulk": page("proposals/end", doors.chosen("reject")),
        "archive in bulk": page("proposals/end", doors.chosen("archive")),
    },
    "proposals-filter": {"save a filter": page("proposals/filters", same(name="mine", query="state=draft"))},
    "proposals-filter-remove": {"remove a filter": page("proposals/filters/{saved}/remove", same())},
    "proposal-ask": {"apply": page("proposals/{id}/ask", seen())},
    "proposal-decide": {
        "grant": page("proposals/{id}/decide", decision("granted")),
        "veto": page("proposals/{id}/decide", decision("rejected")),
        "request changes": page("proposals/{id}/decide", decision("changes-requested")),
    },
    "proposal-withdraw": {"withdraw": page("proposals/{id}/withdraw", seen())},
    "proposal-reject": {"reject": page("proposals/{id}/reject", seen(reason=REASON))},
    "proposal-archive": {"archive": page("proposals/{id}/archive", same(reason=REASON))},
    "proposal-roll-back": {
        "roll back": page("proposals/{id}/roll-back", lambda world, state, who: {"ref": world.ref(state)})
    },
    "proposal-revise": {
        "revise": page("proposals/{id}/revise", seen(title="From the table")),
        "revise and void": page("proposals/{id}/revise", seen(title="From the table", voids_gate="on")),
    },
    "proposal-override": {
        "override": page(
            "proposals/{id}/override",
            lambda world, state, who: {**world.standing[state], "typed": world.wire(state), "reason": REASON},
        )
    },
    "proposal-comment": {"comment": page("proposals/{id}/comment", same(text=REASON))},
    "approval-policy": {
        "change a policy": page(
            "settings/approval/workflow-chain-pack",
            same(based_on=0, quorum=2, eligible_roles=["reviewer", "owner"], lasts=3, unit="day"),
        )
    },
    "approval-change-confirm": {"confirm a policy": page("settings/approval/changes/{change}/confirm", same())},
    "approval-change-refuse": {"refuse a policy": page("settings/approval/changes/{change}/refuse", same())},
}
NAMED = ("--revision", "{revision}", "--sha256", "{sha256}")
COMMAND: dict[str, dict[str, Send]] = {
    "ask": {"apply": shell("ask", "{id}")},
    "approve": {"grant": shell("approve", "{id}", *NAMED)},
    "request-changes": {"request changes": shell("request-changes", "{id}", *NAMED, "--reason", REASON)},
    "veto": {"veto": shell("veto", "{id}", *NAMED, "--reason", REASON)},
    "override": {"override": shell("override", "{id}", *NAMED, "--reason", REASON)},
    "withdraw": {"withdraw": shell("withdraw", "{id}")},
    "revise": {
        "revise": shell("revise", "{id}", "--title", "From the table"),
        "revise and void": shell("revise", "{id}", "--title", "From the table", "--void-gate"),
    },
    "reject": {"reject": shell("reject", "{id}", "--reason", REASON)},
    "archive": {"archive": shell("archive", "{id}")},
    "comment": {"comment": shell("comment", "{id}", "--text", REASON)},
    "rollback": {"roll back": shell("rollback", "{ref}")},
}
SURFACES = {"rest": REST, "interrupts": INTERRUPTS, "pages": PAGES, "command": COMMAND}
BY_KEY = {"rest", "interrupts"}

# Who may: action -> the permission it needs, and the roles that have it

GATED, DIRECT = "approval-gate", rules.DIRECT
HOLDERS: dict[str, set[str]] = {
    "proposals:read": {"viewer", "author", "agent", "reviewer", "operator", "owner"},
    "proposals:create": {"author", "agent", "operator", "owner"},
    "proposals:revise": {"author", "operator", "owner"},
    "proposals:comment": {"author", "reviewer", "operator", "owner"},
    "proposals:request-activation": {"reviewer", "operator", "owner"},
    "proposals:activate": {"owner"},
    "approvals:respond": {"reviewer", "operator", "owner"},
    "approvals:override": {"owner"},
    "policies:manage": {"owner"},
    "artifacts:manage": {"operator", "owner"},
    "passes:run": {"operator", "owner"},
}
NEEDS: dict[str, str] = {
    "create": "proposals:create",
    "roll back": "proposals:create",
    "revise": "proposals:revise",
    "revise and void": "proposals:revise",
    "archive": "proposals:revise",
    "archive in bulk": "proposals:revise",
    "comment": "proposals:comment",
    "apply": "proposals:request-activation",
    "apply directly": "proposals:activate",
    "uninstall": "proposals:activate",
    "withdraw": "proposals:request-activation",
    "grant": "approvals:respond",
    "veto": "approvals:respond",
    "request changes": "approvals:respond",
    "reject": "approvals:respond",
    "reject in bulk": "approvals:respond",
    "override": "approvals:override",
    "look for the run": "approvals:respond",
    "look": "passes:run",
    "stop a look": "passes:run",
    "change a policy": "policies:manage",
    "confirm a policy": "policies:manage",
    "refuse a policy": "policies:manage",
    "disable": "artifacts:manage",
    "enable": "artifacts:manage",
    "save a filter": "proposals:read",
    "remove a filter": "proposals:read",
}
NEVER_BY_AN_AGENT = {
    "grant", "veto", "request changes", "override", "reject", "reject in bulk", "uninstall", "apply directly",
    "change a policy", "confirm a policy", "refuse a policy",
}  # fmt: skip
NEVER_BY_WHO_WROTE_IT = {"grant", "veto", "request changes"}
# A page that shows what it is about before anything else asks for the permission to read it first.
LOOKS_FIRST = {
    "proposal-roll-back", "proposal-revise", "approval-change-confirm", "approval-change-refuse",
}  # fmt: skip
ROLES = {*access.ROLES, NOBODY, WRITER}

# What comes of it: action -> state -> how the proposal and its gate stand afterwards

CONFLICT, MISSING, SAME, MORE = "409", "404", "same", "more"
UNDER_REVIEW = ("draft", "revised", "waiting", "granted", "expired")
INSTALLED = ("applied", "uninstallable", "superseded")
OVER = ("rejected", "archived")


# A proposal's state is nothing to these: they are tried once for everybody.
STATELESS = {
    "create", "look", "stop a look", "change a policy", "confirm a policy", "refuse a policy",
    "save a filter", "remove a filter",
}  # fmt: skip
# Who may depends on no state, and what comes of it on no role; and the mode changes nothing but what `apply` does. So a
# quick run tries the owner in each state, others in one where the action is open to who may and, since a right is
# asked for before the state is looked at, who has no role in one where it is not; and beside `apply` it tries one state
# in the second mode. `make test-all` tries everybody in each.
EVERYBODY_IN = ("draft", "waiting", "applied")
# What these two are beside being applied shows in a few actions alone.
SHOWS_IN = {"uninstallable": {"archive", "archive in bulk"}, "superseded": {"roll back", "archive", "apply"}}


def is_tried(surface: str, action: str, who: Who, state: str, mode: str) -> bool:
    """Whether the cell says anything that another one does not say."""
    if not THOROUGH and who.role not in asked_at(surface, action):
        return False
    if action in STATELESS:
        return state == State.DRAFT and (THOROUGH or mode == GATED or who.role == access.OWNER)
    if not THOROUGH and not is_sampled(surface, action, who, state, mode):
        return False
    if who.role == WRITER and action not in NEVER_BY_WHO_WROTE_IT:
        return False
    return action in SHOWS_IN.get(state, {action})


def asked_at(surface: str, action: str) -> set[str]:
    """The roles that a quick run tries. A refusal says which right is asked for, and who has it is the same everywhere
    (``test_the_tables_know_every_role_state_action_and_mode``): one role of those who have it, one of the others, and
    the two ends. By key also who wrote it, and these with a key that is bound to an agent."""
    turn, holders = list(NEEDS).index(action), HOLDERS[NEEDS[action]] - {access.OWNER}
    others = set(access.ROLES) - holders - {access.OWNER}
    found = {access.OWNER, NOBODY, *(sorted(each)[turn % len(each)] for each in (holders, others) if each)}
    return found | {WRITER} | {role + BOUND for role in found} if surface in BY_KEY else found


def is_sampled(surface: str, action: str, who: Who, state: str, mode: str) -> bool:
    """Whether a quick run tries the cell. Pages and shell call what the API calls: of the states in which that refuses
    an action they try the owner in one."""
    refused = {CONFLICT, MISSING}
    is_open = OUTCOMES[action][state] not in refused
    first = next((each for each in EVERYBODY_IN if (OUTCOMES[action][each] not in refused) == is_open), "")
    if mode == DIRECT and action != "apply":
        return who.role == access.OWNER and is_open and state == first
    if who.role == access.OWNER:
        closed = [
            each for each in STATES if OUTCOMES[action][each] in refused and action in SHOWS_IN.get(each, {action})
        ]
        one = closed[list(NEEDS).index(action) % len(closed)] if closed else ""
        return surface in BY_KEY or is_open or state == one
    return state == first and (is_open or who.role == NOBODY)


def cells(default: str = CONFLICT, **named: str) -> dict[str, str]:
    return {state: named.get(state, default) for state in STATES}


def of(states: tuple[str, ...], outcome: str) -> dict[str, str]:
    return dict.fromkeys(states, outcome)


OUTCOMES: dict[str, dict[str, str]] = {
    "create": cells(MORE),
    "comment": cells(MORE),
    "look": cells(MORE),
    "stop a look": cells(MORE),
    "change a policy": cells(MORE),
    "confirm a policy": cells(MORE),
    "refuse a policy": cells(MORE),
    "save a filter": cells(MORE),
    "remove a filter": cells(MORE),
    "disable": cells(MISSING, applied=MORE, uninstallable=MORE, superseded=CONFLICT),
    "enable": cells(MISSING, applied=SAME, uninstallable=SAME, superseded=CONFLICT),
    "roll back": cells(MISSING, superseded=MORE, applied=CONFLICT, uninstallable=CONFLICT),
    "revise": cells(draft="revised/-", revised="revised/-"),
    "revise and void": cells(**of(UNDER_REVIEW, "revised/-")),
    "apply": cells(
        draft="draft/open",
        revised="revised/open",
        waiting=SAME,
        granted=SAME,
        expired="draft/open",
        **of(INSTALLED, SAME),
    ),
    "apply directly": cells(
        draft="applied/-", revised="applied/-", waiting=SAME, granted=SAME, expired="applied/-", **of(INSTALLED, SAME)
    ),
    "grant": cells(waiting="draft/granted"),
    "override": cells(waiting="draft/granted"),
    "veto": cells(waiting="draft/-"),
    "request changes": cells(waiting="draft/-"),
    "withdraw": cells(waiting="draft/-", granted="draft/-", expired="draft/-"),
    "reject": cells(**of(UNDER_REVIEW, "rejected/-"), rejected=SAME),
    "reject in bulk": cells(**of(UNDER_REVIEW, "rejected/-"), rejected=SAME),
    "archive": cells(**of(UNDER_REVIEW, "archived/-"), rejected="archived/-", archived=SAME),
    "archive in bulk": cells(**of(UNDER_REVIEW, "archived/-"), rejected="archived/-", archived=SAME),
    "uninstall": cells(uninstallable="archived/-"),
    "look for the run": cells(MISSING),
}
# A person who ends what somebody else has ended meanwhile is told so; a program's second call changes nothing.
ENDED_MEANWHILE = {("reject", "rejected"), ("archive", "archived")}
WITHOUT_A_RUN = ("draft", "revised", "rejected", "archived")


def meant(surface: str, action: str, state: str, mode: str) -> str:
    """The action as the tables call it, in this state and mode."""
    if surface == "interrupts" and state in WITHOUT_A_RUN:
        return "look for the run"
    if action == "archive" and state == "uninstallable":
        return "uninstall"
    return "apply directly" if action == "apply" and mode == DIRECT else action


def outcome(surface: str, action: str, state: str) -> str:
    return CONFLICT if surface == "pages" and (action, state) in ENDED_MEANWHILE else OUTCOMES[action][state]


def denial(door: str, action: str, who: Who) -> dict[str, str] | None:
    """Which 403 this is, or None when it is none."""
    role = "operator" if who.role == WRITER else who.role.removesuffix(BOUND)
    if door in LOOKS_FIRST and role not in HOLDERS["proposals:read"]:
        return {"requiredScope": "proposals:read"}
    if role not in HOLDERS[NEEDS[action]]:
        return {"requiredScope": NEEDS[action]}
    if who.role.endswith(BOUND) and action in NEVER_BY_AN_AGENT:
        return {"rule": rules.AGENTS_NEVER_VOTE}
    if who.role.endswith(BOUND) and action in {"disable", "enable"}:
        return {"rule": "agent-binding"}
    if who.role == WRITER and action in NEVER_BY_WHO_WROTE_IT:
        return {"rule": rules.SEPARATION_OF_DUTIES}
    return None


# Trying them


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """Built once; each cell undoes what it did there."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield World()
        transaction.set_rollback(True)


@pytest.mark.parametrize("surface", SURFACES)
def test_every_door_answers_everybody_in_every_state_as_the_tables_say_in_both_modes(
    world: World, surface: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In this order: a module that is loaded for the first time here must not keep the other one for good.
    for render in ("openwop_console.errors.render", "django.shortcuts.render"):
        monkeypatch.setattr(render, doors.undrawn)
    wrong = []
    for mode in (GATED, DIRECT):
        settings.OPENWOP_PROPOSALS_ACTIVATION = mode
        wrong += [f"{mode}: {problem}" for state in STATES for problem in problems_in(world, surface, state, mode)]
    assert not wrong, f"{len(wrong)} cells\n" + "\n".join(wrong[:40])


def problems_in(world: World, surface: str, state: str, mode: str) -> list[str]:
    """Every cell of this state, tried, and what was wrong with it."""
    found = []
    with building.undone():
        if state == "uninstallable":
            proposing.policy(uninstall_on_archive=True)
        before = world.everything()
        for door, actions in SURFACES[surface].items():
            for action, send in actions.items():
                called = meant(surface, action, state, mode)
                for who in (
                    each for each in standing_at(surface, world) if is_tried(surface, action, each, state, mode)
                ):
                    refused = denial(door, called, who)
                    expected = "403" if refused else outcome(surface, called, state)
                    with building.undone():
                        problem = judged(world, state, send(world, who, state), expected, refused, before)
                    found += [f"{door} / {action} / {who.role} / {state}: {problem}"] if problem else []
    return found


def standing_at(surface: str, world: World) -> list[Who]:
    """Keys at the API; people at the pages and in the shell."""
    return [who for who in world.people.values() if (who.key if surface in BY_KEY else who.email)]


def judged(
    world: World, state: str, answer: Answer, expected: str, refused: dict[str, str] | None, before: Everything
) -> str:
    """What is wrong with an answer and what it left, compared with its cell; or nothing."""
    said = expected if expected in {CONFLICT, MISSING, "403"} else "ok"
    if answer.said != said:
        return f"answered {answer.said} {answer.words} instead of {said}"
    told = {name: answer.details[name] for name in ("requiredScope", "rule") if name in answer.details}
    if refused and told != refused:
        return f"was refused for {told} instead of {refused}"
    now, proposal = world.everything(), world.proposals[state]
    stays = said != "ok" or expected == SAME
    if now.is_as(before) != stays:
        return "something changed" if stays else "nothing changed"
    wanted = before.stands(proposal) if stays or expected == MORE else expected
    if now.stands(proposal) != wanted:
        return f"left {now.stands(proposal)} instead of {wanted}"
    denials = now.denials - before.denials
    return "" if denials == (1 if refused else 0) else f"left {denials} denials on record"


# The tables cover what there is


def test_the_doors_of_the_api_are_those_of_the_url_configuration() -> None:
    found = {
        told.name
        for route in routes()
        for method, told in route.operations.items()
        if method != "GET" and route.view.__module__.startswith("proposals.")
    }
    assert found == set(REST), "a door of the API has no row in REST"


def test_the_doors_of_the_pages_are_those_that_take_a_form() -> None:
    browser = Client()
    browser.force_login(building.operator())
    found = set()
    for pattern in urls.urlpatterns:
        values = dict.fromkeys(pattern.pattern.converters, "prop_" + "0" * 32)
        if browser.post(reverse(pattern.name, kwargs=values)).status_code != 405:
            found.add(pattern.name)
    assert found == set(PAGES), "a page with a form has no row in PAGES"


def test_the_pages_of_proposals_all_stand_in_their_own_configuration() -> None:
    own = {pattern.callback for pattern in urls.urlpatterns}
    assert own
    strays = [
        view
        for view in _views(get_resolver().url_patterns)
        if getattr(view, "__module__", "").startswith("proposals.views") and view not in own
    ]
    assert strays == []


def _views(patterns: Any) -> list[Any]:
    nested = [getattr(each, "url_patterns", None) for each in patterns]
    return [
        view
        for each, inner in zip(patterns, nested, strict=True)
        for view in (_views(inner) if inner is not None else [each.callback])
    ]


def test_the_doors_of_interrupts_and_of_the_command_are_all_there_are() -> None:
    assert set(INTERRUPTS) == {*Decision.values, "override"}
    assert set(COMMAND) == set(command.ACTS), "an action of the command has no row in COMMAND"


def test_the_tables_know_every_role_state_action_and_mode() -> None:
    assert set(access.ROLES) <= ROLES
    assert set(access.ROLES) - set().union(*HOLDERS.values()) == {"auditor"}
    for scope, roles in HOLDERS.items():
        assert roles == set(policies.roles_with(scope)), scope
    assert set(State.values) <= set(STATES)
    assert set(NEEDS) == set(OUTCOMES)
    assert all(set(outcomes) == set(STATES) for outcomes in OUTCOMES.values())
    tried_actions = {action for surface in SURFACES.values() for actions in surface.values() for action in actions}
    assert tried_actions == set(NEEDS) - {"apply directly", "uninstall", "look for the run"}
    assert set(rules.NEXT_STATES) == {
        "revise", "apply", "decide", "override", "withdraw", "reject", "archive", "uninstall", "comment",
    }  # fmt: skip
    assert set(rules.SCOPES) | {"apply"} == set(rules.NEXT_STATES) | {"create"}


def test_the_host_knows_no_third_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    for mode in (GATED, DIRECT):
        monkeypatch.setenv("OPENWOP_PROPOSALS_ACTIVATION", mode)
        assert project._one_of("OPENWOP_PROPOSALS_ACTIVATION", GATED, DIRECT) == mode
    source = project.BASE_DIR / "openwop_console" / "settings.py"
    assert f'_one_of("OPENWOP_PROPOSALS_ACTIVATION", "{GATED}", "{DIRECT}")' in source.read_text()
