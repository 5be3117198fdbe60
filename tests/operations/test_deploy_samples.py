"""The samples of docs/deploy say what this release understands."""

import re
import shlex
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import load_command_class

from openwop_console import errors

ROOT = Path(settings.BASE_DIR)
SAMPLES = ROOT / "docs" / "deploy"


@pytest.mark.parametrize("part", ["web", "worker"])
def test_a_unit_starts_its_part_of_the_console_and_waits_for_it_to_end(part: str) -> None:
    unit = (SAMPLES / f"openwop-console-{part}.service").read_text()
    (start,) = re.findall(r"^ExecStart=\S+/python manage\.py (.+)$", unit, re.MULTILINE)
    name, *options = shlex.split(start)
    parser = load_command_class("openwop_console", name).create_parser("manage.py", name)
    assert parser.parse_args(options).only == part
    assert re.search(r"^KillMode=mixed$", unit, re.MULTILINE), "the children are told by their console"


def test_every_variable_of_the_sample_is_one_that_the_settings_read() -> None:
    named = re.findall(r"^([A-Z_]+)=", (SAMPLES / "console.env").read_text(), re.MULTILINE)
    read = (ROOT / "openwop_console" / "settings.py").read_text()
    assert "OPENWOP_SECRET_KEY" in named
    assert [name for name in named if f'"{name}"' not in read] == []


def test_the_proxy_refuses_every_client_in_the_clear_and_sends_what_the_console_trusts() -> None:
    proxy = (SAMPLES / "nginx.conf").read_text()
    (refused,) = re.findall(r"location ~ (\S+) \{ return 403; \}", proxy)
    for prefix in errors.FACES:
        assert re.match(refused, f"{prefix}x"), prefix
    assert not re.match(refused, "/login")
    for header in ("X-Forwarded-Proto $scheme", "X-Forwarded-For $proxy_add_x_forwarded_for", "Host $host"):
        assert f"proxy_set_header {header};" in proxy


def test_the_licence_is_the_one_that_the_package_names() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    assert 'license = "Apache-2.0"' in (ROOT / "pyproject.toml").read_text()
