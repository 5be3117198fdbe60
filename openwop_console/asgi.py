"""What granian serves."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openwop_console.settings")


def _application() -> object:
    """Django, and in front of it what reads bodies and sends answers."""
    django = get_wsgi_application()
    from openwop_console.serving import Console  # only now are the models there that it stands on

    return Console(django)


application = _application()
