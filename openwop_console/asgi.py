"""What granian serves."""

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from memory.host import registrations

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openwop_console.settings")


def _application() -> object:
    """Django, and in front of it what reads bodies and sends answers."""
    django = get_wsgi_application()
    get_resolver().url_patterns  # noqa: B018  # brings all views, before the first request instead of in it
    registrations.complete()
    from openwop_console.process.server import Console  # only now are the models there that it stands on

    gc.collect()
    gc.freeze()  # as in ``apps``
    # A page makes far more objects than the 700 after which the interpreter looks for cycles: a tenth of its time.
    gc.set_threshold(10_000)
    return Console(django)


application = _application()
