"""The app "console": the management commands, and the setup of every process of a console."""

import gc
import os
from typing import Any

from django.apps import AppConfig
from django.conf import settings

from memory.host import clock
from memory.host.json_types import JSONObject
from openwop_console.process import supervisor


class ConsoleConfig(AppConfig):
    """The top layer of the project."""

    name = "openwop_console"
    label = "console"

    def __init__(self, *given: Any) -> None:
        """Set the clock before any model is imported: one whose default is the time as Django tells it would otherwise
        differ from its migration."""
        super().__init__(*given)
        if not settings.IN_TESTS:
            clock.follow_database()

    def ready(self) -> None:
        """Register discovery's document for the apps below, and tie a console's child process to that console."""
        from memory.host import event_log, registrations

        registrations.provide_capabilities(_discovery_document)
        registrations.defer(self._register)
        if settings.OPENWOP_TELEMETRY:
            event_log.on_append(_tell_telemetry)
        if "OPENWOP_PROCESS" in os.environ:
            supervisor.tie_descendants()
        # Imported modules stay: each collection that scanned them took 80 ms of a transaction, or of the event loop.
        gc.freeze()
        gc.enable()  # disabled by ``manage.py``

    def _register(self) -> None:
        """The names of OAuth clients take part in a forget."""
        from memory.host import erasure
        from openwop_console.oauth import clients

        erasure.register(clients.REGISTERED_CLIENTS)


def _tell_telemetry(*appended: Any) -> None:
    from openwop_console import telemetry  # commands that append nothing avoid importing its libraries

    telemetry.follow(*appended)


def _discovery_document() -> JSONObject:
    from openwop_console import discovery  # it imports half of the product, which most commands do without

    return discovery.document()
