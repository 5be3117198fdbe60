"""Where a console may listen."""

import socket

import pytest

from openwop_console.process import bind_address
from openwop_console.process.bind_address import Address

# The database has no part in this.
pytestmark = [pytest.mark.only_db("sqlite"), pytest.mark.engines]


@pytest.mark.parametrize(
    ("text", "address", "url"),
    [
        ("127.0.0.1:8000", Address("127.0.0.1", 8000), "http://127.0.0.1:8000/"),
        ("localhost:80", Address("localhost", 80), "http://localhost:80/"),
        ("0.0.0.0:9000", Address("0.0.0.0", 9000), "http://127.0.0.1:9000/"),
        ("[::1]:8000", Address("::1", 8000), "http://[::1]:8000/"),
        ("[::]:8000", Address("::", 8000), "http://[::1]:8000/"),
    ],
)
def test_an_address_is_a_host_and_a_port_and_its_url_leads_there_from_here(text, address, url):
    assert bind_address.parse(text) == address
    assert address.url == url


@pytest.mark.parametrize(
    "text", ["", "8000", ":8000", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", "::1:8000", "a b:1"]
)
def test_anything_else_is_no_address(text):
    with pytest.raises(bind_address.NotAnAddress, match="HOST:PORT"):
        bind_address.parse(text)


def test_an_address_on_which_somebody_listens_is_taken_even_if_they_would_share_it():
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()

        with pytest.raises(bind_address.AddressTaken, match="in use"):
            bind_address.require_free(Address("127.0.0.1", other.getsockname()[1]))


def test_an_address_that_this_machine_has_not_cannot_be_listened_on():
    with pytest.raises(bind_address.AddressTaken, match="cannot listen on"):
        bind_address.require_free(Address("192.0.2.1", 8000))


def test_nobody_answers_where_nobody_listens():
    with socket.socket() as idle:
        idle.bind(("127.0.0.1", 0))

        assert not bind_address.answers(Address("127.0.0.1", idle.getsockname()[1]))
