"""Documents that never change in a process: computed once, and checked as ever."""

from collections.abc import Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application
from django.test.client import RequestFactory

from openwop_console.precomputed import answering_again

DISCOVERY = "/.well-known/openwop"


class Counting:
    """Django, with a count of how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.django = get_wsgi_application()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self.asked += 1
        return self.django(environ, start_response)


def ask(application: Any, path: str = DISCOVERY, method: str = "GET", **environ: Any) -> tuple[str, dict, bytes]:
    told: list[Any] = []
    request = RequestFactory().generic(method, path, **environ).environ
    body = b"".join(application(request, lambda status, headers, exc_info=None: told.extend((status, dict(headers)))))
    return told[0], told[1], body


def test_the_second_answer_is_the_first_byte_for_byte_and_django_is_not_asked() -> None:
    django = Counting()
    application = answering_again(django)
    first = ask(application)
    assert ask(application) == first
    assert (django.asked, first[0]) == (1, "200 OK")
    assert first[1]["Cache-Control"] == "public, max-age=300"
    assert first[1]["X-Content-Type-Options"] == "nosniff"


def test_a_client_that_has_it_is_told_so() -> None:
    application = answering_again(Counting())
    etag = ask(application)[1]["ETag"]
    status, headers, body = ask(application, HTTP_IF_NONE_MATCH=etag)
    assert (status, body, headers["ETag"]) == ("304 Not Modified", b"", etag)
    assert "Content-Length" not in headers


def test_a_host_we_do_not_serve_is_refused_every_time() -> None:
    application = answering_again(Counting())
    ask(application)
    for _ in range(2):
        assert ask(application, HTTP_HOST="evil.example")[0].startswith("400")


def test_other_paths_methods_and_queries_go_through() -> None:
    django = Counting()
    application = answering_again(django)
    ask(application)
    assert ask(application, method="POST")[0].startswith("405")
    assert ask(application, f"{DISCOVERY}?x=1")[0].startswith("200")
    assert ask(application, "/healthz")[2] == b"ok\n"
    assert django.asked == 4
