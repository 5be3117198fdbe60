"""Proposals over HTTP: lists come in parts that say so, there is an end to everything, labels hold no secret, and who
may not is told that before what the body lacks."""

from typing import Any

import pytest
from django.utils import timezone

from memory.host import audit, ids, vault
from proposals import comments, drafts, rules
from proposals.models import Comment, Proposal, Revision
from tests import building, proposing
from tests.faces.test_proposals_api import EXTENSION, PROPOSALS, Caller, schema, submitted

pytestmark = pytest.mark.django_db
SECRET = "tok-4f9a8b7c6d"
NOBODY_S = f"prop_{'0' * 32}"


def prop(proposal: Proposal) -> str:
    return ids.wire("prop", proposal.id)


@pytest.mark.parametrize("field", ["synthesizerModel", "agentId"])
def test_a_label_with_a_secret_in_it_is_refused_by_its_name_and_stored_nowhere(field: str) -> None:
    vault.store_secret(building.tenant().id, "crm", SECRET, now=timezone.now())
    telling: dict[str, Any] = {field: f"told by {SECRET}"}
    status, refused = submitted(**telling)
    assert status == 400
    assert refused["details"]["errors"] == [{"field": field, "message": "holds a secret"}]
    assert SECRET not in str(refused)
    assert not Proposal.objects.of(building.tenant().id).exists()
    assert submitted(Caller("agent"), **{field: "told by the clerk"})[0] == 201
    assert submitted(Caller("agent", slug="globex"), **telling)[0] == 201


def test_the_list_comes_in_parts_and_says_how_many_there_are() -> None:
    made = [proposing.propose(text=proposing.artifact(templateId=f"t{at}")) for at in range(5)][::-1]
    proposing.propose(building.scope("globex", role="agent"))
    viewer = Caller("viewer")
    status, first = viewer("get", f"{PROPOSALS}?limit=2")
    assert (status, first["total"], first["next"]) == (200, 5, prop(made[1]))
    assert [each["id"] for each in first["proposals"]] == [prop(each) for each in made[:2]]
    for each in first["proposals"]:
        schema("proposal").validate(each)
    _, second = viewer("get", f"{PROPOSALS}?limit=2&after={first['next']}")
    _, last = viewer("get", f"{PROPOSALS}?limit=2&after={second['next']}")
    assert [each["id"] for each in last["proposals"]] == [prop(made[4])]
    assert (last["total"], last["next"]) == (5, None)
    assert viewer("get", f"{PROPOSALS}?limit=5")[1]["next"] is None
    assert viewer("get", f"{PROPOSALS}?state=applied&limit=2")[1] == {"proposals": [], "total": 0, "next": None}
    proposing.applied(text=proposing.artifact(templateId="other", text="Other."))
    assert viewer("get", f"{PROPOSALS}?state=applied&limit=1")[1]["total"] == 1


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "after=x", f"after=run_{'0' * 32}"])
def test_a_part_that_cannot_be_is_refused(query: str) -> None:
    assert Caller("viewer")("get", f"{PROPOSALS}?{query}")[0] == 400


def test_revisions_come_in_parts_the_newest_first() -> None:
    made, author = proposing.propose(), Caller("author")
    for at in range(2, 6):
        assert author("patch", f"{PROPOSALS}/{prop(made)}", {"title": f"Title {at}"})[0] == 200
    url, viewer = f"{EXTENSION}/{prop(made)}/revisions", Caller("viewer")
    _, first = viewer("get", f"{url}?limit=2")
    assert ([each["revision"] for each in first["revisions"]], first["total"], first["next"]) == ([5, 4], 5, 4)
    _, rest = viewer("get", f"{url}?limit=2&before={first['next']}")
    assert [each["revision"] for each in rest["revisions"]] == [3, 2]
    _, last = viewer("get", f"{url}?limit=2&before={rest['next']}")
    assert ([each["revision"] for each in last["revisions"]], last["total"], last["next"]) == ([1], 5, None)
    assert viewer("get", f"{url}?before=1")[1]["revisions"] == []
    for bad in ("limit=51", "limit=0", "before=0", "before=x", "after=1"):
        assert viewer("get", f"{url}?{bad}")[0] == 400
    assert Caller(slug="globex")("get", f"{url}?limit=2")[0] == 404


def test_a_proposal_has_so_many_revisions_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rules.MAX_REVISIONS == 200
    monkeypatch.setattr(rules, "MAX_REVISIONS", 2)
    made, author = proposing.propose(), Caller("author")
    assert author("patch", f"{PROPOSALS}/{prop(made)}", {"title": "Second"})[0] == 200
    for method, path in (("patch", f"{PROPOSALS}/{prop(made)}"), ("post", f"{EXTENSION}/{prop(made)}/revisions")):
        status, refused = author(method, path, {"title": "Third"})
        assert (status, refused["message"]) == (409, "The proposal has 2 revisions; make a new proposal instead.")
    assert Revision.objects.of(made.tenant_id).count() == 2
    assert author("get", f"{EXTENSION}/{prop(made)}")[1]["actions"]["revise"]["allowed"] is False


def test_a_proposal_has_so_many_comments_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert comments.MOST == 2_000
    monkeypatch.setattr(comments, "MOST", 1)
    made, other, author = proposing.propose(), proposing.propose(), Caller("author")
    assert author("post", f"{EXTENSION}/{prop(made)}/comments", {"text": "one"})[0] == 201
    status, refused = author("post", f"{EXTENSION}/{prop(made)}/comments", {"text": "two"})
    assert (status, refused["message"]) == (409, "The proposal has 1 comments; it takes no more.")
    assert Comment.objects.of(made.tenant_id).count() == 1
    assert author("post", f"{EXTENSION}/{prop(other)}/comments", {"text": "one"})[0] == 201


def test_a_tenant_has_so_many_proposals_under_review_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drafts.MAX_UNDER_REVIEW == 5_000
    monkeypatch.setattr(drafts, "MAX_UNDER_REVIEW", 1)
    status, made = submitted()
    assert status == 201
    status, refused = submitted(artifact=proposing.artifact(templateId="two"))
    assert (status, refused["details"]["most"]) == (409, 1)
    assert "decide about some of them first" in refused["message"]
    assert Proposal.objects.of(building.tenant().id).count() == 1
    assert [row.action for row in audit.newest(building.tenant().id)].count("proposal.create") == 1
    assert submitted(Caller("agent", slug="globex"))[0] == 201
    assert Caller()("post", f"{PROPOSALS}/{made['id']}/reject", {"reason": "no"})[0] == 200
    assert submitted(artifact=proposing.artifact(templateId="two"))[0] == 201


BODIES: dict[str, Any] = {
    "empty": {},
    "with what nobody knows": {"approve": True},
    "of another form": [1],
    "no JSON": '{"title": ',
    "a word": "x",
}
DOORS = {
    "create": ("post", EXTENSION, "proposals:create"),
    "revise": ("patch", f"{PROPOSALS}/{{id}}", "proposals:revise"),
    "revisions": ("post", f"{EXTENSION}/{{id}}/revisions", "proposals:revise"),
    "decisions": ("post", f"{EXTENSION}/{{id}}/decisions", "approvals:respond"),
    "comments": ("post", f"{EXTENSION}/{{id}}/comments", "proposals:comment"),
    "reject": ("post", f"{PROPOSALS}/{{id}}/reject", "approvals:respond"),
    "bulk": ("post", f"{EXTENSION}/bulk", "approvals:respond"),
    "rollback": ("post", "/v1/host/console/artifacts/prompt:x@1.0.0/rollback", "proposals:create"),
}


@pytest.mark.parametrize(("method", "path", "needed"), DOORS.values(), ids=DOORS)
def test_who_may_not_is_told_so_whatever_the_body_says(method: str, path: str, needed: str) -> None:
    made = proposing.propose()
    target = prop(made) if "{id}" in path else ""
    for name, body in BODIES.items():
        status, refused = Caller("viewer")(method, path.format(id=prop(made)), body)
        assert (status, refused["details"]) == (403, {"requiredScope": needed}), name
    denied = [row for row in audit.newest(made.tenant_id) if row.action == "authorization.denied"]
    assert [(row.details["requiredScope"], row.target) for row in denied] == [(needed, target)] * len(BODIES)
    for name, body in BODIES.items():
        assert Caller("viewer")(method, path.format(id=NOBODY_S), body)[0] == 403, name


@pytest.mark.parametrize(("method", "path", "needed"), DOORS.values(), ids=DOORS)
def test_who_may_is_told_what_is_wrong_with_the_body(method: str, path: str, needed: str) -> None:
    made = proposing.propose()
    assert Caller()(method, path.format(id=prop(made)), {"approve": True})[0] == 400
    assert not [row for row in audit.newest(made.tenant_id) if row.action == "authorization.denied"]


@pytest.mark.parametrize(("role", "expected"), [("operator", 403), ("owner", 400)])
def test_who_wrote_it_is_told_that_before_what_the_vote_lacks_unless_an_override_is_left(
    role: str, expected: int
) -> None:
    author = Caller(role)
    made = submitted(author)[1]["id"]
    assert Caller("reviewer")("post", f"{PROPOSALS}/{made}/apply")[0] == 202
    status, refused = author("post", f"{EXTENSION}/{made}/decisions", {})
    assert (status, refused["details"].get("rule")) == (expected, "separation-of-duties" if expected == 403 else None)
