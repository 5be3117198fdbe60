"""Middleware that does something for a page and nothing for a face, which has neither a session nor markup.

A request of a face passes it by. What faces need as well stands in ``settings.MIDDLEWARE`` as it comes.
"""

from collections.abc import Callable
from typing import Any

from csp.middleware import CSPMiddleware
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django_htmx.middleware import HtmxMiddleware
from whitenoise.middleware import WhiteNoiseMiddleware

from openwop_console import errors

GetResponse = Callable[[HttpRequest], HttpResponse]


def only(middleware: Callable[[GetResponse], Any]) -> Callable[[GetResponse], GetResponse]:
    """The same middleware for pages; none of these has a hook beside its call."""

    def around(get_response: GetResponse) -> GetResponse:
        of_page = middleware(get_response)

        def answer(request: HttpRequest) -> HttpResponse:
            is_page = errors.face_of(request.path) == "page"
            response: HttpResponse = of_page(request) if is_page else get_response(request)
            return response

        return answer

    return around


class HtmlCompression(GZipMiddleware):
    """Compresses HTML that was asked for by GET (the decision: docs/decisions/0073-compressed-pages.md)."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_html = response.get("Content-Type", "").startswith("text/html")
        return super().process_response(request, response) if is_html and request.method == "GET" else response


static_files = only(WhiteNoiseMiddleware)
compression = only(HtmlCompression)
content_policy = only(CSPMiddleware)
sessions = only(SessionMiddleware)
authentication = only(AuthenticationMiddleware)
messages = only(MessageMiddleware)
htmx = only(HtmxMiddleware)
