"""``test-seam-unauthenticated``: no seam answers somebody it does not know, whether seams are open or shut."""

import pytest

from tests.conformance.conftest import Host

PROBED = ["test/mock-ai/program", "governance/approval-gate", "packs/install-gate", "subrun/attest"]
ADVISED = {401, 403, 404, 405, 501}


@pytest.mark.parametrize("seam", PROBED)
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer anonymous"}], ids=["anonymous", "unknown"])
def test_a_seam_is_closed_to_whom_it_does_not_know(
    host: Host, seamed: Host, seam: str, headers: dict[str, str]
) -> None:
    for each in (host, seamed):
        for method in ("GET", "POST"):
            answer = each.stranger.request(method, f"/v1/host/sample/{seam}", headers=headers)
            assert answer.status_code in ADVISED


@pytest.mark.parametrize("seam", ["governance/approval-gate", "authorization/decide", "identity/cross-workspace-read"])
def test_a_seam_that_is_shut_is_not_there(host: Host, seam: str) -> None:
    with host.client() as client:
        assert client.post(f"/v1/host/sample/{seam}", json={}).status_code == 404
        assert client.get("/v1/host/sample/identity/owned-run").status_code == 404
