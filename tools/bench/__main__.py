"""``python -m tools.bench``: Django is set up before the rows, which use its models, are imported."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openwop_console.settings")
django.setup()

from tools.bench.command import Command  # noqa: E402

Command().run_from_argv(["make", "bench", *sys.argv[1:]])
