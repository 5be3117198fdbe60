"""Page 14, the approval policies: what holds in words, asking for a change, and the second person who confirms it."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.host import ids
from proposals import lifecycle, policies
from proposals.models import PolicyChange
from tests import building, proposing
from tests.pages.conftest import SignIn, body_of

pytestmark = pytest.mark.django_db
PROMPT = "prompt-template"
URL = f"/settings/approval/{PROMPT}"
UNCHANGED = "One approval by reviewers, operators or owners; expires after 14 days; owners may override."
WANTED: dict[str, Any] = {
    "based_on": 0,
    "quorum": 2,
    "eligible_roles": ["operator", "owner"],
    "lasts": 36,
    "unit": "hour",
    "override_roles": [],
    "reason": "two pairs of eyes",
}


@pytest.fixture
def oda() -> Client:
    """Oda, who owns Acme too."""
    browser = Client()
    browser.force_login(building.operator(email="oda@acme.example"))
    return browser


def waiting() -> list[PolicyChange]:
    return policies.list_waiting(building.scope())


def address(change: PolicyChange, verb: str) -> str:
    return f"/settings/approval/changes/{ids.wire('chg', change.id)}/{verb}"


def test_settings_tell_the_policy_of_every_kind_and_lead_to_each(ada: Client) -> None:
    proposing.policy("automation", quorum=2)
    shown = body_of(ada.get("/settings"))
    for kind in ("agent-pack", "workflow-chain-pack", PROMPT, "automation"):
        assert f"/settings/approval/{kind}" in shown
    assert shown.count(UNCHANGED) == 3
    assert "2 approvals by reviewers, operators or owners; expires after 14 days; owners may override." in shown
    assert "waits for a second person" not in shown


def test_a_change_is_asked_for_by_one_and_confirmed_by_another_in_plain_forms(ada: Client, oda: Client) -> None:
    shown = body_of(ada.get(URL))
    assert "Default policy; it has never been changed" in shown
    assert "It takes effect when another person who manages policies confirms it." in shown
    answer = ada.post(URL, WANTED, follow=True)
    shown = body_of(answer)
    assert answer.redirect_chain == [(URL, 302)]
    assert "The change is pending until another person confirms it." in shown
    assert "Approvals needed: 1 → 2" in shown
    assert "Expires after: 14 days → 36 hours" in shown
    assert "You can&#x27;t confirm your own change." in shown
    assert "Withdraw" in shown
    [change] = waiting()
    assert "waits for a second person" in body_of(oda.get("/settings"))
    shown = body_of(oda.get(URL))
    assert "two pairs of eyes" in shown
    assert "ada.owner@acme.example" in shown
    assert "Refuse it" in shown
    shown = body_of(oda.post(address(change, "confirm"), follow=True))
    assert "The change is confirmed." in shown
    assert "2 approvals by operators or owners; expires after 36 hours; no role may override" in shown
    assert "oda@acme.example" in shown
    assert ada.get(f"{URL}?format=json").json()["number"] == 1


def test_who_asked_may_take_it_back_and_another_may_refuse_it(ada: Client, oda: Client) -> None:
    for browser, words in ((ada, "withdrawn"), (oda, "refused")):
        ada.post(URL, WANTED)
        [change] = waiting()
        shown = body_of(browser.post(address(change, "refuse"), follow=True))
        assert f"The change is {words}. The policy is unchanged." in shown
    assert (waiting(), policies.policy_of_kind(building.tenant().id, PROMPT).number) == ([], 0)


def test_the_history_has_what_was_asked_for_and_how_it_ended(ada: Client, oda: Client) -> None:
    for browser, verb in ((ada, "refuse"), (oda, "refuse"), (oda, "confirm")):
        ada.post(URL, WANTED)
        [change] = waiting()
        browser.post(address(change, verb))
    shown = " ".join(body_of(ada.get(URL)).partition('id="history"')[2].split())
    ends = [shown.index(words) for words in ("confirmed by", ">refused<", ">withdrawn<")]
    assert ends == sorted(ends)
    assert shown.count("Approvals needed: 1 → 2") == 3
    assert shown.count("never in force") == 2
    assert "oda@acme.example" in shown
    globex = policies.list_decisions(building.scope("globex"), PROMPT)
    assert globex == []


def test_who_asked_and_confirms_it_all_the_same_is_forbidden(ada: Client, oda: Client) -> None:
    ada.post(URL, WANTED)
    [change] = waiting()
    answer = ada.post(address(change, "confirm"))
    assert answer.status_code == 403
    assert "confirm your own change" in body_of(answer)
    assert waiting() == [change]


def test_alone_the_change_is_in_force_at_once_and_the_page_says_so_before_and_after(ada: Client) -> None:
    assert "No other person can confirm it" in body_of(ada.get(URL))
    shown = body_of(ada.post(URL, WANTED, follow=True))
    assert "The policy is changed. No other person could confirm it" in shown
    assert "made alone" in shown


def test_what_is_wrong_stands_on_the_form_with_what_was_typed(ada: Client) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"quorum": 0}, "Approvals needed: must be at least 1"),
        ({"eligible_roles": []}, "Who votes: is required"),
        ({"eligible_roles": ["viewer"]}, "is not one of the choices"),
        ({"lasts": 91, "unit": "day"}, "which is a minute to 90 days"),
        ({"lasts": 59, "unit": "second"}, "which is a minute to 90 days"),
        ({"lasts": 2**31 - 1, "unit": "day"}, "which is a minute to 90 days"),
        ({"unit": "fortnight"}, "is not one of the choices"),
        ({"reason": "x" * 501}, "must have at most 500 characters; it has 501"),
    ]
    for change, words in wrong:
        answer = ada.post(URL, WANTED | {"reason": "kept <b>words</b>"} | change)
        shown = body_of(answer)
        assert answer.status_code == 422, change
        assert words in shown, change
        assert "error-summary" in shown, change
        assert "reason" in change or "kept &lt;b&gt;words&lt;/b&gt;" in shown, change
        assert waiting() == [], change


def test_a_change_that_changes_nothing_is_no_change(ada: Client) -> None:
    same = {"quorum": 1, "eligible_roles": ["reviewer", "operator", "owner"], "lasts": 14, "unit": "day"}
    answer = ada.post(URL, WANTED | same | {"override_roles": ["owner"]})
    assert answer.status_code == 422
    assert "is as it was" in body_of(answer)


def test_a_policy_that_changed_while_it_was_read_is_a_conflict_and_nothing_is_recorded(
    ada: Client, oda: Client
) -> None:
    proposing.policy(quorum=3)
    stale = ada.post(URL, WANTED)
    assert stale.status_code == 409
    assert "Version 1 of this policy is the current one" in body_of(stale)
    assert waiting() == []
    ada.post(URL, WANTED | {"based_on": 1})
    [change] = waiting()
    second = oda.post(URL, WANTED | {"based_on": 1})
    assert second.status_code == 409
    assert "waits already" in body_of(second)
    oda.post(address(change, "confirm"))
    late = oda.post(address(change, "refuse"))
    assert late.status_code == 409
    assert "has been decided already" in body_of(late)
    assert policies.policy_of_kind(change.tenant_id, PROMPT).number == 2


def test_everybody_reads_a_policy_and_who_may_not_change_it_is_told_which_permission(
    sign_in: SignIn, ada: Client
) -> None:
    building.scope()
    ada.post(URL, WANTED)
    [change] = waiting()
    for role in ["viewer", "author", "reviewer", "operator"]:
        browser = sign_in(role=role)
        shown = body_of(browser.get(URL))
        assert "policies:manage" in shown, role
        assert "Confirm the change" not in shown, role
        assert "Request this change" not in shown, role
        for url, form in ((URL, WANTED), (address(change, "confirm"), {}), (address(change, "refuse"), {})):
            answer = browser.post(url, form)
            assert answer.status_code == 403, url
            assert "policies:manage" in body_of(answer), role
        assert waiting() == [change], role


def test_another_tenant_has_its_own_policies_and_finds_no_change_of_acme_s(sign_in: SignIn, ada: Client) -> None:
    building.scope()
    ada.post(URL, WANTED)
    [change] = waiting()
    gil = sign_in("globex")
    assert "Default policy; it has never been changed" in body_of(gil.get(URL))
    for verb in ("confirm", "refuse"):
        assert gil.post(address(change, verb)).status_code == 404
        assert gil.post(f"/settings/approval/changes/chg_0/{verb}").status_code == 404
        assert gil.get(address(change, verb)).status_code == 405
    for unknown in ("rule", "%00", "<script>"):
        assert gil.get(f"/settings/approval/{unknown}").status_code == 404
        assert gil.post(f"/settings/approval/{unknown}", WANTED).status_code == 404
    assert waiting() == [change]


def test_a_hostile_reason_is_text(ada: Client, oda: Client) -> None:
    ada.post(URL, WANTED | {"reason": '<script>alert(1)</script><a hx-get="/x">\u202eevil'})
    [change] = waiting()
    for _ in range(2):
        shown = body_of(oda.get(URL))
        assert "&lt;script&gt;alert(1)" in shown
        assert '<a hx-get="/x">' not in shown
        assert "\u202e" not in shown
        oda.post(address(change, "confirm"))


def test_needs_you_has_the_changes_that_wait_for_me_and_none_that_i_asked_for(
    sign_in: SignIn, ada: Client, oda: Client
) -> None:
    assert 'id="policies"' not in body_of(ada.get("/"))
    ada.post(URL, WANTED)
    assert 'id="policies"' not in body_of(ada.get("/"))
    shown = body_of(oda.get("/"))
    assert "Approval of prompt-template" in shown
    assert URL in shown
    assert ada.get("/?format=json").json()["policyChanges"] == []
    assert len(oda.get("/?format=json").json()["policyChanges"]) == 1
    assert 'id="policies"' not in body_of(sign_in(role="operator").get("/"))


def test_an_override_is_an_anomaly_for_everybody_for_two_weeks_and_not_for_another_tenant(
    sign_in: SignIn, ada: Client
) -> None:
    made = proposing.propose(title="<i>Hotfix</i>")
    gate = proposing.opened(made)
    seen: dict[str, Any] = {"revision": gate.revision, "sha256": gate.sha256, "reason": "incident 42"}
    assert "was overridden" not in body_of(ada.get("/"))
    lifecycle.override(building.scope(), made.id, **seen, now=timezone.now())
    for browser in (ada, sign_in(role="viewer")):
        shown = body_of(browser.get("/"))
        assert "Approval of &lt;i&gt;Hotfix&lt;/i&gt; was overridden" in shown
        assert f"/proposals/{ids.wire('prop', made.id)}/history" in shown
    assert ada.get("/?format=json").json()["overridden"] == [ids.wire("prop", made.id)]
    assert "Hotfix" not in body_of(sign_in("globex").get("/"))
    later = timezone.now() + timedelta(days=14)
    assert not lifecycle.recent_overrides(building.scope(), since=later - timedelta(days=14))


def test_a_host_without_gates_says_what_its_policies_are_still_for(ada: Client, settings: Settings) -> None:
    settings.OPENWOP_PROPOSALS_ACTIVATION = "direct-rbac"
    for url in ("/settings", URL):
        assert "installs proposals directly" in body_of(ada.get(url))


def test_the_form_shows_a_policy_that_no_unit_but_seconds_tells_whole(ada: Client) -> None:
    proposing.policy(expires_s=90_061)
    shown = body_of(ada.get(URL))
    assert 'value="90061"' in shown
    assert '<option value="second" selected>' in shown
    assert policies.length(90_061) == "90,061 seconds"
