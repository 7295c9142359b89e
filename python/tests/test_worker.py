"""What the worker promises to the runtime, over its pipes."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any, Callable

from conftest import SOURCE, Client, Write

Connect = Callable[..., Client]


def names(listing: Any) -> list[str]:
    return [tool["name"] for tool in listing["tools"]]


def test_every_file_is_imported_and_one_that_fails_names_its_line(write: Write, connect: Connect) -> None:
    write("tools/__init__.py", '"""Works with reports."""\n')
    write("tools/a.py", '''
        from toolcrib import tool

        @tool
        def one():
            """Is one."""
            return 1
        ''')
    write("tools/b.py", "import json\nfrom toolcrib import tool\n\nimport nowhere_at_all\n")
    write("tools/c.py", "def broken(:\n")
    write("tools/d.py", "import sys\nsys.exit(3)\n")
    write("tools/e.py", '''
        from toolcrib import tool
        from modules.reports.tools.a import one

        @tool("one")
        def another():
            """Is another."""

        @tool
        def nameless(): pass
        ''')
    write("tools/f-g.py", "")
    client = connect()
    assert (client.hello["protocol"], client.hello["name"]) == (1, "reports")
    listing = client.listing()
    assert (names(listing), listing["description"]) == (["one"], "Works with reports.")
    reasons = {reject["name"]: (reject["kind"], reject["reason"]) for reject in listing["rejected"]}
    assert reasons["b.py"][1] == ("modules/reports/tools/b.py:4: ModuleNotFoundError: No module named "
                                  "'nowhere_at_all'")
    assert reasons["c.py"][0] == "syntax" and "modules/reports/tools/c.py:1: SyntaxError" in reasons["c.py"][1]
    assert reasons["d.py"][1] == "modules/reports/tools/d.py:2: SystemExit: 3"
    # Python 3.9 counts from the function, later versions from the decorator.
    place, _, reason = reasons["e.py"][1].partition(": ")
    assert place in ("modules/reports/tools/e.py:9", "modules/reports/tools/e.py:10")
    assert reason.startswith("DeclarationError: the tool `nameless` has no description")
    assert "cannot be the name of a module" in reasons["f-g.py"][1]
    assert len(reasons) == 5
    client.close()


def test_a_file_beside_the_module_does_not_hide_a_standard_module(
    write: Write, connect: Connect, tmp_path: pathlib.Path
) -> None:
    write("tools/a.py", """
        import colorsys
        import json
        import helpers
        from toolcrib import tool

        @tool
        def look():
            \"\"\"Looks.\"\"\"
            return [hasattr(colorsys, "rgb_to_hsv"), hasattr(json, "loads"), helpers.HERE]
        """)
    # The worker itself imports the second one, which versions before 3.11 find in the folder.
    for name in ("colorsys", "json") if sys.version_info >= (3, 11) else ("colorsys",):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong one')\n")
    (tmp_path / "helpers.py").write_text("HERE = True\n")
    assert connect().result("look")["value"] == [True, True, True]


def test_a_file_does_not_take_the_place_of_the_folder_of_a_module(
    write: Write, connect: Connect, tmp_path: pathlib.Path
) -> None:
    folder = write("tools/a.py", "")
    for path in (tmp_path / "modules.py", folder.parent / "reports.py", folder / "tools.py"):
        path.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
        [reject] = connect().listing()["rejected"]
        assert "is another module already" in reject["reason"] and path.name in reject["reason"], reject
        path.unlink()
    assert not (tmp_path / "ran").exists()


def test_programs_that_tools_start_import_what_is_beside_them(write: Write, connect: Connect) -> None:
    folder = write("tools/a.py", """
        import os, pathlib, subprocess, sys
        from toolcrib import tool

        @tool
        def start():
            \"\"\"Starts a script.\"\"\"
            script = pathlib.Path(__file__).parent.parent / "script.py"
            return subprocess.check_output([sys.executable, str(script)], text=True)
        """)
    (folder / "script.py").write_text("import beside\nprint(beside.NAME, end='')\n")
    (folder / "beside.py").write_text("NAME = 'beside'\n")
    assert connect().result("start")["value"] == "beside"


def test_two_tools_of_one_name_are_one_and_a_reject(write: Write, connect: Connect) -> None:
    for name in ("a", "b"):
        write(f"tools/{name}.py", f'from toolcrib import tool\n@tool("same")\ndef {name}():\n    """Is {name}."""\n')
    listing = connect().listing()
    assert [tool["description"] for tool in listing["tools"]] == ["Is a."]
    assert listing["rejected"] == [{
        "name": "same", "kind": "duplicate",
        "reason": "modules/reports/tools/b.py:2: the module already has a tool `same`; rename one of them",
    }]


def test_a_folder_without_tools_is_a_reject(tmp_path: pathlib.Path, connect: Connect) -> None:
    (tmp_path / "modules" / "reports").mkdir(parents=True)
    [reject] = connect().listing()["rejected"]
    assert reject["kind"] == "unreadable" and "has no folder `tools`" in reject["reason"]


def test_what_tools_and_their_programs_print_does_not_break_the_protocol(write: Write, connect: Connect) -> None:
    write("tools/noisy.py", '''
        import os, subprocess, sys
        from toolcrib import tool

        print("imported")

        @tool
        def noisy():
            """Prints."""
            print("printed")
            os.write(1, b"written\\n")
            subprocess.run(["echo", "a program"])
            return sys.stdin.read()
        ''')
    client = connect()
    assert client.result("noisy") == {"type": "result", "id": 1, "value": ""}
    said = client.close()
    assert all(text in said for text in ("imported", "printed", "written", "a program")), said


def test_the_context_of_a_call_is_filled_in(write: Write, connect: Connect) -> None:
    write("tools/a.py", '''
        from toolcrib import tool

        @tool
        def ask(*, context: dict):
            """Asks."""
            return [context["conversation_id"], context["user"], context["message_id"], context["project"],
                    context["scope"]]
        ''')
    context = {"conversation": "c-1", "user": "ada", "scope": {"project": 7, "user": "root"}}
    result = connect().result("ask", {}, context)
    assert result["value"] == ["c-1", "ada", None, 7, {"project": 7, "user": "root"}]


def test_an_identifier_that_is_not_known_hides_no_entry_of_the_scope(write: Write, connect: Connect) -> None:
    write("tools/a.py", '''
        from toolcrib import tool

        @tool
        def ask(*, context: dict):
            """Asks."""
            return [context[name] for name in ("thread_id", "thread", "message_id", "user", "run_key", "agent_id")]
        ''')
    scope = {"thread_id": "t-7", "message_id": "m-7", "user": "root", "run_key": "r-7"}
    context = {"thread": None, "user": "ada", "message": "m-1", "run_key": None, "scope": scope}
    assert connect().result("ask", {}, context)["value"] == ["t-7", None, "m-1", "ada", "r-7", None]


def test_a_tool_with_a_schema_and_a_context_of_its_own_is_served(write: Write, connect: Connect) -> None:
    write("models.py", '''
        class Report:
            def __init__(self, id, title):
                self.id, self.title, self.status = id, title, "draft"

            @classmethod
            def get(cls, report_id):
                return cls(report_id, "Sales") if report_id == 1 else None
        ''')
    write("tools/records.py", '''
        from __future__ import annotations

        import asyncio

        from toolcrib import tool

        from modules.reports.models import Report

        @tool(
            "get-report",
            title="Get report",
            description="Load one report owned by the reports module.",
            input_schema={
                "type": "object",
                "properties": {
                    "report_id": {"type": "integer"},
                },
                "required": ["report_id"],
            },
        )
        async def get_report(report_id: int, *, sdk, context: dict | None = None):
            row = Report.get(report_id)
            if row is None:
                return {"status": "error", "error": "not_found"}

            return {
                "status": "ok",
                "report": {
                    "id": row.id,
                    "title": row.title,
                    "status": row.status,
                },
            }

        @tool("wait-seconds", description="Wait briefly.")
        async def wait_seconds(seconds: float) -> dict | None:
            await asyncio.sleep(seconds)
            return {"status": "ok", "waited": seconds}
        ''')
    client = connect()
    listing = client.listing()
    assert (names(listing), listing["rejected"]) == (["get-report", "wait-seconds"], [])
    report = {"id": 1, "title": "Sales", "status": "draft"}
    assert client.result("get-report", {"report_id": 1})["value"] == {"status": "ok", "report": report}
    assert client.result("get-report", {"report_id": 2})["value"] == {"status": "error", "error": "not_found"}
    assert client.result("wait-seconds", {"seconds": 0})["value"] == {"status": "ok", "waited": 0}
    client.close()


def test_failures_are_told_as_what_they_are(write: Write, connect: Connect) -> None:
    write("tools/a.py", '''
        import sys
        from toolcrib import tool, ToolError

        @tool
        def expected():
            """Fails as expected."""
            return {"status": "error", "error": "not_found"}

        @tool
        def named():
            """Fails with a kind."""
            raise ToolError("no such report", kind="not_found", hint="list them first")

        @tool
        async def faulty():
            """Is wrong."""
            raise ValueError("bad value")

        @tool
        def leaving():
            """Leaves."""
            sys.exit(1)

        @tool
        def unsendable():
            """Returns what is no JSON."""
            return object()

        @tool
        def large():
            """Returns much."""
            return "x" * 5000
        ''')
    client = connect(limits={"line_bytes": 4000})
    assert client.result("expected")["value"] == {"status": "error", "error": "not_found"}
    assert client.result("named")["error"] == {
        "kind": "not_found", "message": "no such report", "hint": "list them first"}
    error = client.result("faulty")["error"]
    assert error["kind"] == "tool_failed"
    first, place, code = error["message"].splitlines()
    assert first == "`faulty` raised ValueError: bad value"
    assert "tools/a.py" in place and code == '    raise ValueError("bad value")'
    assert "raised SystemExit: 1" in client.result("leaving")["error"]["message"]
    assert "a value of the type `object` is not JSON" in client.result("unsendable")["error"]["message"]
    assert "at most 4000 are sent; return less" in client.result("large")["error"]["message"]
    assert client.result("none")["error"]["kind"] == "unavailable"
    client.close()


SLOW = '''
    import asyncio, threading, time
    from toolcrib import tool

    gate = threading.Barrier(3)

    @tool
    async def sleep(seconds: float, *, sdk):
        """Sleeps."""
        sdk.progress(1, 2, "sleeping")
        await asyncio.sleep(seconds)
        return "awake"

    @tool
    def meet(*, sdk):
        """Waits for two others."""
        gate.wait(10)
        return "met"

    @tool
    def until_cancelled(*, sdk):
        """Works until nobody wants it any more."""
        sdk.progress(0)
        while not sdk.cancelled:
            time.sleep(0.01)
        return "never told"
    '''


def test_calls_run_side_by_side(write: Write, connect: Connect) -> None:
    write("tools/a.py", SLOW)
    client = connect()
    client.call(1, "sleep", {"seconds": 30})
    assert client.receive() == {"type": "progress", "id": 1, "done": 1, "total": 2, "message": "sleeping"}
    for number in (2, 3, 4):
        client.call(number, "meet")
    results = [client.receive() for _ in range(3)]
    assert sorted(result["id"] for result in results) == [2, 3, 4]
    assert {result["value"] for result in results} == {"met"}
    assert "sleeping" not in client.close()


def test_a_cancelled_call_ends(write: Write, connect: Connect) -> None:
    write("tools/a.py", SLOW)
    client = connect()
    for number, tool in ((1, "sleep"), (2, "until_cancelled")):
        client.call(number, tool, {"seconds": 60} if tool == "sleep" else {})
        assert client.receive()["type"] == "progress"
        client.send({"type": "cancel", "id": number})
        result = client.receive()
        assert result["id"] == number
        assert result.get("error", {}).get("kind", "cancelled") == "cancelled"
    client.send({"type": "cancel", "id": 99})
    client.close()


def test_the_end_of_the_input_ends_calls_in_order(write: Write, connect: Connect) -> None:
    write("tools/a.py", '''
        import asyncio, atexit, sys
        from toolcrib import tool

        atexit.register(lambda: print("left", file=sys.stderr))

        @tool
        async def wait(*, sdk):
            """Waits, and tidies up."""
            sdk.progress(0)
            try:
                await asyncio.sleep(60)
            finally:
                print("tidied")
        ''')
    client = connect()
    client.call(1, "wait")
    assert client.receive()["type"] == "progress"
    said = client.close()
    assert said.splitlines() == ["tidied", "left"]


def test_a_request_that_its_call_does_not_wait_for_is_dropped(write: Write, connect: Connect) -> None:
    write("tools/a.py", '''
        import asyncio
        from toolcrib import tool

        @tool
        async def hasty(*, sdk):
            """Does not wait."""
            asked = asyncio.ensure_future(sdk.run_tool("notes.add"))
            await asyncio.sleep(0)
            return asked.done()
        ''')
    client = connect()
    client.call(1, "hasty")
    request = client.receive()
    assert (request["type"], client.receive()) == ("request", {"type": "result", "id": 1, "value": False})
    client.send({"type": "reply", "id": request["id"], "value": 1})
    assert client.result("hasty")["type"] == "request"


def test_tools_call_tools_through_the_runtime(write: Write, connect: Connect) -> None:
    write("tools/a.py", '''
        from toolcrib import tool, ToolError

        @tool
        def plain(*, sdk):
            """Calls others."""
            tools = sdk.list_tools("notes")
            return [tools[0].qualified_name, sdk.get_tool("notes.add").description, sdk.run_tool("notes.add", {"n": 1})]

        @tool
        async def denied(*, sdk):
            """Calls what it may not."""
            try:
                await sdk.run_tool("notes.drop")
            except ToolError as error:
                return [error.kind, error.message]
        ''')
    client = connect()
    add = {"name": "add", "namespace": "notes", "description": "Adds.", "parameters": {}, "metadata": {}}
    client.call(5, "plain")
    for method, params, value in (
        ("list_tools", {"module": "notes", "user_selectable_only": True}, [add]),
        ("get_tool", {"name": "notes.add"}, add),
        ("run_tool", {"name": "notes.add", "arguments": {"n": 1}}, 42),
    ):
        request = client.receive()
        assert (request["type"], request["call"]) == ("request", 5)
        assert (request["method"], request["params"]) == (method, params)
        client.send({"type": "reply", "id": request["id"], "value": value})
    assert client.receive() == {"type": "result", "id": 5, "value": ["notes::add", "Adds.", 42]}

    client.call(6, "denied")
    request = client.receive()
    client.send({"type": "reply", "id": request["id"], "error": {"kind": "denied", "message": "may not be used"}})
    assert client.receive()["value"] == ["denied", "may not be used"]
    client.close()


def test_the_tools_can_be_listed_by_hand(write: Write, tmp_path: pathlib.Path) -> None:
    write("tools/a.py", "from toolcrib import tool\n@tool\ndef a():\n    'Is a.'\n")
    listed = subprocess.run([sys.executable, "-m", "toolcrib.worker", "--list", "modules/reports"], cwd=tmp_path,
                            env={"PYTHONPATH": str(SOURCE)}, check=True, capture_output=True)
    assert names(json.loads(listed.stdout)) == ["a"]


def test_a_module_elsewhere_is_imported_from_beside_itself(write: Write, tmp_path: pathlib.Path) -> None:
    write("models.py", "TITLE = 'Sales'\n")
    folder = write("tools/a.py", '''
        from reports.models import TITLE
        from toolcrib import tool
        from ..models import TITLE as SAME

        @tool(description=TITLE + SAME)
        def a(): ...
        ''')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    listed = subprocess.run([sys.executable, "-m", "toolcrib.worker", "--list", str(folder)], cwd=elsewhere,
                            env={"PYTHONPATH": str(SOURCE)}, check=True, capture_output=True)
    assert json.loads(listed.stdout)["tools"][0]["description"] == "SalesSales"
