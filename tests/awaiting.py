"""Coroutines from tests that are none: on a thread of their own, since a browser's loop may be running in this one."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Found = TypeVar("Found")


def awaited(work: Coroutine[Any, Any, Found]) -> Found:
    """What ``work`` comes to."""
    with ThreadPoolExecutor(max_workers=1) as aside:
        return aside.submit(asyncio.run, work).result()
