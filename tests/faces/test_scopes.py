"""Only permissions that a door checks are advertised."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

pytestmark = pytest.mark.django_db
SCOPE = re.compile(r'"([a-z]+:[a-z-]+(?:[ |][a-z]+:[a-z-]+)*)"')
NO_DOORS = ("memory/host/access.py", "openwop_console/views.py")  # what roles hold, and what a page calls it


def checked_in_source() -> set[str]:
    """The permissions that the code names anywhere but where roles are put together and shown."""
    found: set[str] = set()
    for folder in ("memory", "openwop_console", "proposals"):
        for path in Path(settings.BASE_DIR, folder).rglob("*.py"):
            if not str(path).endswith(NO_DOORS):
                found |= {scope for text in SCOPE.findall(path.read_text()) for scope in re.split("[ |]", text)}
    return found


def test_every_permission_that_discovery_names_is_checked_by_some_door(client: Client) -> None:
    roles = client.get("/.well-known/openwop").json()["authorization"]["roles"]
    advertised = {scope for role in roles for scope in role["scopes"]}
    assert advertised - checked_in_source() == set()
