"""Pages are compressed when they are read; forms, files and the APIs are not."""

import gzip
from typing import Any

import pytest
from django.test import Client

from tests import building
from tests.pages.conftest import body_of

pytestmark = pytest.mark.django_db
GZIP: Any = {"HTTP_ACCEPT_ENCODING": "gzip, deflate, br"}


def test_a_page_is_a_fraction_of_its_size_on_the_wire(ada: Client) -> None:
    building.remember("acme", *(f"note {number}" for number in range(20)))
    plain, small = ada.get("/memory"), ada.get("/memory", **GZIP)
    assert "Content-Encoding" not in plain
    assert small["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in small["Vary"]
    assert "note 19" in gzip.decompress(small.content).decode()
    assert len(small.content) < len(plain.content) / 4


def test_what_a_form_is_answered_with_is_not_compressed(ada: Client) -> None:
    answer = ada.post("/forget", {"identifiers": ""}, **GZIP)
    assert answer["Content-Type"].startswith("text/html")
    assert "Content-Encoding" not in answer


def test_files_and_apis_are_not_compressed(ada: Client) -> None:
    answer = ada.get("/memory?format=csv", **GZIP)
    assert "Content-Encoding" not in answer
    assert body_of(answer).startswith("id,")
    listed = Client().get("/v1/host/console/runs", **building.headers(), **GZIP)
    assert listed.status_code == 200
    assert "Content-Encoding" not in listed
