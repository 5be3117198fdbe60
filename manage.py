#!/usr/bin/env python3
"""The administrator's door: ``manage.py <command>``."""

import errno
import gc
import os
import sys

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from environs import EnvError

DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO)


def main() -> None:
    """Run the command. What an administrator can mend is one line on stderr; ``--traceback`` shows more."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openwop_console.settings")
    gc.disable()  # until the apps are ready: what is imported stays
    _require_usable(sys.argv)
    try:
        execute_from_command_line(sys.argv)
    except (EnvError, ImproperlyConfigured) as wrong:
        sys.exit(f"Settings: {' '.join(str(wrong).split())}")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left of the output goes nowhere
        sys.exit(1)
    except Exception as problem:
        explained = _explained(problem)
        if "--traceback" in sys.argv or not explained:
            raise
        sys.exit(explained)


def _require_usable(argv: list[str]) -> None:
    """Refuse arguments that are no text, or empty, which an unset variable of a shell is; and a closed output."""
    for given in argv[2:]:
        if not given or (given.startswith("--") and given.find("=") == len(given) - 1):
            sys.exit("An argument is empty. Leave the option out, or give it a value.")
        if not given.isascii() and any("\ud800" <= char <= "\udfff" for char in given):
            sys.exit("An argument is not UTF-8.")
    if sys.stdout is None:
        sys.exit("The standard output is closed.")
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115, PTH123


def _explained(problem: Exception) -> str:
    """What is wrong, in one line; empty for a fault of the program."""
    if not apps.ready or sys.argv[1:2] in (["shell"], ["qcluster"]):
        return ""
    from memory.host.errors import Refusal
    from memory.host.vault import VaultLocked
    from openwop_console.errors import is_unavailable

    words = " ".join(str(problem).split())
    if isinstance(problem, Refusal):
        return problem.in_words
    if isinstance(problem, OSError) and problem.errno in DISK:
        return f"{problem.filename or 'The disk'}: {problem.strerror}"
    if is_unavailable(problem):
        return f"The database cannot do that: {words}"
    if isinstance(problem, VaultLocked):
        return f"The vault cannot be opened: {words}"
    return "The standard input is not UTF-8." if isinstance(problem, UnicodeDecodeError) else ""


if __name__ == "__main__":
    main()
