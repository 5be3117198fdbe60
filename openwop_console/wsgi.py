"""What granian serves."""

import os

from django.core.wsgi import get_wsgi_application

from openwop_console.turns import Application, taking_turns

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openwop_console.settings")


def _application() -> Application:
    """The console, one request at a time; what waits in it ends when the process is asked to end."""
    console = get_wsgi_application()
    from openwop_console.runtime import notifier  # only now are the models there that it stands on

    notifier.hear_of_the_end()
    return taking_turns(console)


application = _application()
