#!/usr/bin/env python3
"""The administrator's door: ``manage.py <command>``."""

import gc
import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from environs import EnvError


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
        if not given or (given.startswith("--") and given.endswith("=")):
            sys.exit("An argument is empty. Leave the option out, or give it a value.")
        if not given.isascii() and any("\ud800" <= char <= "\udfff" for char in given):
            sys.exit("An argument is not UTF-8.")
    if sys.stdout is None:
        os._exit(1)
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115, PTH123


def _explained(problem: Exception) -> str:
    """What is wrong, in one line; empty for a fault of the program."""
    from django.db import DataError, InterfaceError, OperationalError

    from memory.host.errors import Refusal
    from memory.host.vault import VaultLocked

    words = " ".join(str(problem).split())
    if isinstance(problem, Refusal):
        return problem.in_words
    if isinstance(problem, OperationalError | InterfaceError | DataError):
        return f"The database cannot do that: {words}"
    if isinstance(problem, VaultLocked):
        return f"The vault cannot be opened: {words}"
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.filename or 'The disk'}: {problem.strerror}"
    return "The input is not UTF-8." if isinstance(problem, UnicodeError) else ""


if __name__ == "__main__":
    main()
