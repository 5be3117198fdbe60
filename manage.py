#!/usr/bin/env python3
"""The administrator's door: ``manage.py <command>``."""

import gc
import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from environs import EnvError


def main() -> None:
    """Run the command; a setting that is wrong is one line on stderr, not a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openwop_console.settings")
    gc.disable()  # until the apps are ready: what is imported stays
    try:
        execute_from_command_line(sys.argv)
    except (EnvError, ImproperlyConfigured) as wrong:
        sys.exit(f"Settings: {' '.join(str(wrong).split())}")


if __name__ == "__main__":
    main()
