"""``manage.py bench``: every row is printed, from a database of its own."""

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings

TINY = ["--quick", "--engine", "sqlite", "--largest", "1000", "--rounds", "1", "--calls", "3"]


def bench(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENWOP_", "DATABASE_"))}
    environment = kept | {"OPENWOP_ENV": "test", "OPENWOP_DATA_DIR": str(folder)}
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)


def test_the_bench_prints_every_row_and_leaves_the_configured_database_alone(tmp_path: Path) -> None:
    ended = bench(tmp_path, *TINY)
    assert ended.returncode == 0, ended.stderr
    rows = [line.split()[0] for line in ended.stdout.splitlines() if " sqlite " in line]
    assert rows == ["B5", "B5", "B6", "B7", "B8", "B24"]
    assert "Only the ratios count" in ended.stdout
    assert not list(tmp_path.rglob("*.sqlite3*"))


def test_a_row_that_is_not_there_is_refused(tmp_path: Path) -> None:
    ended = bench(tmp_path, *TINY, "--rows", "B5,B99")
    assert ended.returncode == 1
    assert "There is no row 'B99'" in ended.stderr
