"""A client of the Model Context Protocol: it writes one entry and finds it again."""

import os

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

URL, KEY = os.environ["OPENWOP_URL"].rstrip("/"), os.environ["OPENWOP_API_KEY"]


async def main() -> None:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}) as http,
        Client(streamable_http_client(f"{URL}/mcp", http_client=http)) as client,
    ):
        origin = {"system": "mcp-client", "threadId": "chat-1", "node": "note", "step": 1}
        note = {"memoryRef": "notes", "content": "Marlow prefers letters to calls", "origin": origin}
        written = await client.call_tool("memory_write", note)
        print(written.structured_content)
        found = await client.call_tool("memory_search", {"query": "letters or calls", "limit": 1})
        print(found.structured_content)


anyio.run(main)
