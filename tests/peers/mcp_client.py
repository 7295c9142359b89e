"""Drives a served app with a client that others have written: `mcp_client.py LIBRARY MODE TRANSPORT TARGET...`.

LIBRARY is `mcp` or `fastmcp`. MODE is `auto`, or `legacy` for the handshake of before 2026-07-28. TRANSPORT is `stdio`, with a
command behind it, or `http`, with a URL. The environment names, as `STARTED`, the file with the process that a slow call has
started. What came of each step is printed as one JSON document.
"""

import asyncio
import json
import os
import sys

from mcp_types import ElicitResult

PATIENCE_SECONDS = 30

library, mode, transport, *target = sys.argv[1:]
asked = []


def answer(message):
    """What the user says: yes to all but what is about a refund."""
    asked.append(message.splitlines()[0])
    return ElicitResult(action="decline" if "refund" in message else "accept", content=None)


async def wait_until(holds, what):
    async def wait():
        while not holds():
            await asyncio.sleep(0.02)

    try:
        await asyncio.wait_for(wait(), PATIENCE_SECONDS)
    except TimeoutError:
        raise SystemExit(f"waited in vain for {what}") from None


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def text_of(result):
    return "".join(block.text for block in result.content if block.type == "text")


async def drive(call, list_tools, read_resource, revision):
    """All steps, each with the functions of the library."""
    told = {"revision": revision, "tools": [tool.name for tool in await list_tools()]}
    found = await call("search_tools", {"query": "what an item costs"})
    told["found"] = json.loads(text_of(found))["results"][0].split("(")[0]
    told["called"] = text_of(await call(told["found"], {"item": "lamp"}))
    told["executed"] = text_of(await call("execute_tool", {"name": "shop.price", "params": {"item": "lamp"}}))
    wrong = await call("shop.price", {})
    told["wrong"] = [wrong.is_error, json.loads(text_of(wrong))["kind"]]
    told["approved"] = text_of(await call("shop.order", {"item": "lamp"}))
    denied = await call("shop.refund", {"item": "lamp"})
    told["denied"] = [denied.is_error, json.loads(text_of(denied))["kind"]]
    told["asked"] = asked

    slow = asyncio.ensure_future(call("shop.slow", {}))
    started = os.environ["STARTED"]
    await wait_until(lambda: os.path.exists(started), "the slow call")
    with open(started) as file:
        process = int(file.read())
    told["running"] = is_alive(process)
    slow.cancel()
    try:
        await slow
        told["cancelled"] = False
    except asyncio.CancelledError:
        told["cancelled"] = True
    await wait_until(lambda: not is_alive(process), "the end of what was cancelled")
    told["afterwards"] = text_of(await call("shop.price", {"item": "lamp"}))

    large = await call("shop.catalogue", {})
    link = next(block for block in large.content if block.type == "resource_link")
    first = await read_resource(str(link.uri))
    second = await read_resource(f"{link.uri}?page=2")
    told["large"] = {
        "is_bounded": len(text_of(large)) < 50_000,
        "resource": [contents.text for contents in first][0].count("lamp") > 100,
        "next": "lamp" in [contents.text for contents in second][0],
    }
    handle = str(link.uri).rsplit("/", 1)[1]
    told["large"]["handle"] = "lamp" in text_of(await call("read_result", {"handle": handle, "page": 2}))
    return told


async def with_mcp():
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    async def elicited(_context, params):
        return answer(params.message)

    server = target[0]
    if transport == "stdio":
        server = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
    async with Client(server, mode=mode, elicitation_callback=elicited) as client:

        async def list_tools():
            return (await client.list_tools()).tools

        async def read_resource(uri):
            return (await client.read_resource(uri)).contents

        return await drive(client.call_tool, list_tools, read_resource, client.protocol_version)


async def with_fastmcp():
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async def elicited(message, _type, _params, _context):
        return answer(message)

    server = target[0]
    if transport == "stdio":
        server = StdioTransport(target[0], target[1:], env=dict(os.environ), keep_alive=False)
    async with Client(server, mode=mode, elicitation_handler=elicited) as client:
        return await drive(client.call_tool_mcp, client.list_tools, client.read_resource, client.protocol_version)


print(json.dumps(asyncio.run(with_mcp() if library == "mcp" else with_fastmcp())))
