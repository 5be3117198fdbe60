"""The threads that compute requests: which of them takes the next, what waits, and how they end."""

import asyncio
import subprocess
import sys
import threading
import time

import pytest

from openwop_console.process.threads import Threads
from tests import awaiting

# A forked process, as granian's are, that ends while a thread computes.
ENDING = """
import asyncio, multiprocessing, time
from openwop_console.process.threads import Threads

def compute():
    time.sleep(0.3)
    print("computed", flush=True)

async def begin(threads):
    asyncio.ensure_future(threads.compute(compute))
    await asyncio.sleep(0.1)

def serve():
    asyncio.run(begin(Threads(2, lambda: None)))

child = multiprocessing.get_context("fork").Process(target=serve)
child.start()
child.join()
"""


def test_the_thread_that_became_idle_last_computes_the_next_request() -> None:
    async def one_after_the_other() -> set[int]:
        threads = Threads(40, lambda: None)
        return {await threads.compute(threading.get_ident) for _ in range(60)}

    # A thread may not be idle yet when the next request comes, above all on a busy machine.
    assert len(awaiting.awaited(one_after_the_other())) < 20


def test_what_finds_no_idle_thread_is_computed_in_the_order_in_which_it_came() -> None:
    done: list[int] = []

    async def all_at_once() -> None:
        threads, go_on = Threads(1, lambda: None), threading.Event()
        first = asyncio.ensure_future(threads.compute(go_on.wait, 20))
        others = [asyncio.ensure_future(threads.compute(done.append, number)) for number in range(5)]
        given_up = asyncio.ensure_future(threads.compute(done.append, -1))
        await asyncio.sleep(0.05)
        given_up.cancel()
        assert done == []
        go_on.set()
        await asyncio.gather(first, *others)
        await threads.compute(int)

    awaiting.awaited(all_at_once())
    assert done == [0, 1, 2, 3, 4]


def test_a_failure_is_raised_where_the_result_is_awaited_and_ends_no_thread() -> None:
    async def failing() -> int:
        threads = Threads(1, lambda: None)
        with pytest.raises(ZeroDivisionError):
            await threads.compute(divmod, 1, 0)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await asyncio.wait_for(threads.compute(next, iter(())), 20)
        return int(await threads.compute(int, "7"))

    assert awaiting.awaited(failing()) == 7


def test_threads_end_with_their_owner() -> None:
    async def dropped() -> None:
        await Threads(8, lambda: None).compute(int)

    before = set(threading.enumerate())
    awaiting.awaited(dropped())
    until = time.monotonic() + 20
    while not set(threading.enumerate()) <= before:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_forked_process_completes_what_it_computes_before_it_ends() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "computed\n"
