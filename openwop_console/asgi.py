"""The ASGI application that granian serves."""

import gc
import os

from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.urls import get_resolver

from memory.host import registrations

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openwop_console.settings")


def _application() -> object:
    """Return Django wrapped in the layer that receives bodies and sends answers."""
    gc.disable()  # what is imported stays: the collections that went through it were an eighth of the start
    django = get_wsgi_application()
    gc.disable()  # ``apps`` has enabled it
    get_resolver().url_patterns  # noqa: B018  # imports all views before the first request instead of during it
    registrations.complete()
    for signal in (request_started, request_finished):  # ``memory.host.request_slots`` keeps and closes connections
        signal.disconnect(close_old_connections)
    from openwop_console.process.server import Console  # needs models, which are loaded only now

    console = Console(django)
    gc.freeze()  # as in ``apps``; to collect before would take 90 ms for 1,500 objects
    # A page makes far more objects than the 700 after which the interpreter collects cycles: a tenth of its time.
    gc.set_threshold(10_000)
    gc.enable()
    return console


application = _application()
