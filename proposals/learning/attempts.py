"""What is tried and may be refused: a draft that this host would not install is counted, and is no error."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from django.db import transaction

from memory.host.errors import Refusal

Made = TypeVar("Made")


def attempt(act: Callable[[], Made]) -> tuple[Made | None, str]:
    """What ``act`` came to; or None and the code it was refused with, and nothing of it stands."""
    return ask(partial(_as_one, act))


def _as_one(act: Callable[[], Made]) -> Made:
    with transaction.atomic():
        return act()


def ask(act: Callable[[], Made]) -> tuple[Made | None, str]:
    """The same for what writes nothing and may take its time: no transaction is open meanwhile."""
    try:
        return act(), ""
    except Refusal as refusal:
        return None, refusal.code
