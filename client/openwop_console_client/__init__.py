"""Memory as RFC-0015 describes it to its users: ``client.memory``, ``ctx.memory``, and errors that carry the state."""

from openwop_console_client.attaching import AsyncClient, Client, WithAsyncMemory, WithMemory, install
from openwop_console_client.entries import Entries, Entry
from openwop_console_client.errors import (
    MemoryAccessError,
    MemoryAuthenticationError,
    MemoryCapacityError,
    MemoryConflictError,
    MemoryInvalidError,
    MemoryNotFoundError,
    MemoryUnavailableError,
    TaskClosedError,
)
from openwop_console_client.memory import AsyncMemory, AsyncTaskMemory, Memory, TaskMemory, current_task

__all__ = [
    "AsyncClient",
    "AsyncMemory",
    "AsyncTaskMemory",
    "Client",
    "Entries",
    "Entry",
    "Memory",
    "MemoryAccessError",
    "MemoryAuthenticationError",
    "MemoryCapacityError",
    "MemoryConflictError",
    "MemoryInvalidError",
    "MemoryNotFoundError",
    "MemoryUnavailableError",
    "TaskClosedError",
    "TaskMemory",
    "WithAsyncMemory",
    "WithMemory",
    "current_task",
    "install",
]
