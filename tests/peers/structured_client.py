"""Calls tools with an output schema as a client that checks results by it: `structured_client.py MODE URL`.

MODE is as for `mcp_client.py`. The client raises an error for a result that does not fit. What it got is printed as
JSON.
"""

import asyncio
import json
import sys

from mcp import Client

CALLS = [
    ("shop__stock", {"count": "3"}),
    ("shop__stock", {"count": "20000"}),
    ("shop__stock", {"count": "200000"}),
    ("shop__prices", {"count": "3"}),
]


async def main():
    mode, url = sys.argv[1:]
    async with Client(url, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        calls = []
        for name, arguments in CALLS:
            result = await client.call_tool(name, arguments)
            structure = result.structured_content
            linked = any(block.type == "resource_link" for block in result.content)
            calls.append([bool(result.is_error), None if structure is None else len(structure["items"]), linked])
        stock = tools["shop__stock"]
        has_schema = {name: tool.output_schema is not None for name, tool in tools.items() if name.startswith("shop")}
        told = {"revision": client.protocol_version, "title": stock.title, "has_schema": has_schema, "calls": calls}
        print(json.dumps(told))


asyncio.run(main())
