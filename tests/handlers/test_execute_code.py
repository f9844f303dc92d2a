"""Programs call granted tools and no others, and whatever they do, they end and leave nothing."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from generated.registry import registry
from handlers.agents.granting import DELEGATE, EXECUTE
from hermes_build.runtime.plugins import Plugin
from tests.handlers.calling import call
from tests.handlers.coding import PATIENCE, output, run

pytestmark = pytest.mark.usefixtures("two_files")
CODING = ("file", "terminal", "code_execution", "planning")


@pytest.fixture
def hook() -> Iterator[Callable[[str, Callable[..., Any]], None]]:
    """Registers hooks that end with the test."""
    added: list[Callable[..., Any]] = []

    def add(name: str, function: Callable[..., Any]) -> None:
        registry.hooks.add(name, function)
        added.append(function)

    yield add
    for function in added:
        registry.hooks.unregister(function)


def is_gone(pid: int) -> bool:
    """Whether a process has ended, waited for; one that is not reaped by its parent has, too."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False


def test_a_program_calls_tools_and_prints_what_it_made_of_them() -> None:
    answer = run(
        "from hermes_tools import read_file, search_files\n"
        "found = search_files(pattern='*.txt', target='files')\n"
        "for path in found['results']:\n"
        "    print(path, 'first' in read_file(path=path))\n"
    )
    assert answer["output"] == "a.txt True\nb.txt False\n"
    assert (answer["exit_code"], answer["tool_calls"]) == (0, 3)
    assert answer["duration_seconds"] >= 0
    assert "note" not in answer


def test_arguments_are_taken_by_place_too() -> None:
    assert "2|" not in output("import hermes_tools as h; print(h.read_file('a.txt', 1, limit=1))")
    assert "two values" in output(
        "import hermes_tools as h\n"
        "try: h.read_file('a.txt', path='b.txt')\n"
        "except TypeError as error: print(error)\n"
    )


def test_the_module_has_the_granted_tools_that_are_available_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    granted = (*CODING, "vision", "delegation")
    names = json.loads(output("import json, hermes_tools as h; print(json.dumps(h.__all__))"))
    assert set(names) == {"ToolError", "call", *registry.session(["file"]).names}
    all_of_them = json.loads(
        output("import json, hermes_tools as h; print(json.dumps(h.__all__))", granted=granted)
    )
    # `vision_analyze` is granted and needs a key; the other three are never handed on.
    assert set(all_of_them) == {"ToolError", "call", *registry.session(list(CODING)).names} - {
        "execute_code",
        "clarify",
    }


@pytest.mark.parametrize("tool", ["terminal", EXECUTE, DELEGATE, "clarify", "no_such_tool"])
def test_a_tool_that_is_not_granted_is_refused(tool: str) -> None:
    text = output(
        f"import hermes_tools as h\n"
        f"print(hasattr(h, {tool!r}))\n"
        f"try: h.call({tool!r}, command='id')\n"
        f"except h.ToolError as error: print(error)\n",
        granted=("file", "code_execution", "delegation", "clarify"),
    )
    assert text.startswith("False\n")
    assert "not in this session" in text or "Unknown tool" in text


def test_a_tool_that_fails_raises_what_it_says() -> None:
    text = output(
        "import hermes_tools as h\n"
        "try: h.read_file(path='none.txt')\n"
        "except h.ToolError as error: print(error, sorted(error.details))\n"
    )
    assert "none.txt" in text and "'error'" in text


def test_hooks_see_each_call_and_may_block_it(hook: Any) -> None:
    seen: list[tuple[Any, ...]] = []

    def block(tool_name: str, args: dict[str, Any]) -> dict[str, str] | None:
        if args.get("path") == "b.txt":
            return {"action": "block", "message": "b.txt is not for you"}
        return None

    def see(tool_name: str, tool_call_id: str, session_id: str, status: str) -> None:
        seen.append((tool_name, tool_call_id, session_id, status))

    hook("pre_tool_call", block)
    hook("post_tool_call", see)
    text = output(
        "import hermes_tools as h\n"
        "h.read_file(path='a.txt')\n"
        "try: h.read_file(path='b.txt')\n"
        "except h.ToolError as error: print(error)\n"
        "try: h.call('terminal', command='id')\n"
        "except h.ToolError: pass\n"
    )
    assert "b.txt is not for you" in text
    assert seen == [
        ("read_file", "call_1.1", "s1", "ok"),
        ("read_file", "call_1.2", "s1", "blocked"),
        ("terminal", "call_1.3", "s1", "error"),
        ("execute_code", "call_1", "s1", "ok"),
    ]


def test_calls_beyond_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_CODE_CALLS", "2")
    text = output(
        "import hermes_tools as h\n"
        "for _ in range(3):\n"
        "    try: h.read_file(path='a.txt'); print('read')\n"
        "    except h.ToolError as error: print(error)\n"
    )
    assert text.splitlines()[:2] == ["read", "read"]
    assert "2 tool calls" in text.splitlines()[2]


def test_names_of_the_module_itself_are_not_a_tools_to_take(plugin: Plugin) -> None:
    schema = {"description": "Trap.", "parameters": {"type": "object", "properties": {}}}
    for name in ("call", "json", "two-words"):
        plugin.register(name, "traps", schema, lambda args, **context: "trapped")
    text = output(
        "import hermes_tools as h\n"
        "print(h.call('call'), h.call('json'), h.call('two-words'), h.json.dumps([]))\n",
        granted=("traps", "code_execution"),
    )
    assert text == "trapped trapped trapped []\n"


def test_an_error_of_the_program_is_shown_with_its_line() -> None:
    answer = run("print('before')\n1 / 0\n")
    assert answer["exit_code"] == 1
    assert answer["output"].startswith("before\n")
    assert 'code.py", line 2' in answer["output"] and "ZeroDivisionError" in answer["output"]
    assert "SyntaxError" in run("def broken(:")["output"]
    assert run("import sys; sys.exit(7)")["exit_code"] == 7


def test_it_runs_in_the_workspace_without_credentials_and_without_input(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    text = output(
        "import os, sys, hermes_tools\n"
        "print(os.getcwd())\n"
        "print([n for n in os.environ if 'KEY' in n], repr(sys.stdin.read()), 'é')\n"
    )
    assert text == f"{root}\n[] '' é\n"


def test_its_folder_is_private_and_gone_afterwards() -> None:
    text = output(
        "import os, hermes_tools\n"
        "folder = os.path.dirname(hermes_tools.__file__)\n"
        "print(folder, oct(os.stat(folder).st_mode & 0o777))\n"
    )
    folder, mode = text.split()
    assert mode == "0o700"
    assert not os.path.exists(folder)


def test_a_deep_temporary_folder_does_not_keep_it_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("deep" * 30)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    assert output("from hermes_tools import read_file; print('first' in read_file('a.txt'))") == (
        "True\n"
    )
    assert not list(deep.iterdir())


def test_time_is_up_for_a_program_that_ignores_the_request_and_all_that_it_started(
    root: Path,
) -> None:
    answer = run(
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = os.fork()\n"
        "if child: open('pids', 'w').write(f'{os.getpid()} {child}')\n"
        "print('still here')\n"
        "time.sleep(600)\n",
        timeout=1,
    )
    assert answer["timed_out"] is True
    assert answer["exit_code"] == 124
    assert "ended after 1 s" in answer["note"]
    if (root / "pids").exists():  # on a busy machine a second may be too short even for that
        assert all(is_gone(int(pid)) for pid in (root / "pids").read_text().split())


def test_what_a_program_leaves_behind_is_ended_with_it(root: Path) -> None:
    answer = run(
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid)\n"
    )
    assert "left behind" in answer["note"]
    assert is_gone(int(answer["output"]))


def test_a_flood_of_output_is_cut_in_the_middle() -> None:
    answer = run("print('begin')\nfor n in range(30): print('x' * 100_000)\nprint('end')")
    assert len(answer["output"]) < 60_000
    assert answer["output"].startswith("begin\n") and answer["output"].endswith("end\n")
    assert answer["omitted_bytes"] > 2_900_000


def test_cancelling_the_call_ends_the_program(root: Path) -> None:
    code = "import os, time\nopen('pid', 'w').write(f'{os.getpid()}\\n')\ntime.sleep(600)\n"

    async def cancelled() -> int:
        session = registry.session(["code_execution"])
        task = asyncio.create_task(session.acall("execute_code", {"code": code}))
        while not ((root / "pid").exists() and (root / "pid").read_text().endswith("\n")):
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return int((root / "pid").read_text())

    assert is_gone(asyncio.run(asyncio.wait_for(cancelled(), PATIENCE)))


def test_without_a_session_a_program_has_all_tools_but_three(root: Path) -> None:
    code = "import hermes_tools as h; print(h.__all__, 'second' in h.read_file('b.txt'))"
    answer = json.loads(call("execute_code", json.dumps({"code": code}), {}))
    assert answer["exit_code"] == 0
    assert answer["output"].endswith("True\n")
    assert "'terminal'" in answer["output"]
    for name in (EXECUTE, DELEGATE, "clarify"):
        assert f"'{name}'" not in answer["output"]


def test_where_no_program_can_be_run_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_CODE_CALLS", "0")
    assert "HERMES_CODE_CALLS" in run("print(1)")["error"]
    monkeypatch.setenv("HERMES_WORKSPACE", "/no/such/folder")
    assert "workspace" in run("print(1)")["error"]
