"""The calls of a program are taken from any thread or fork, and no flood or nonsense stops them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from handlers.agents.switchboard import LARGEST, MOST_AT_ONCE, MOST_CONNECTIONS
from hermes_build.runtime.plugins import Plugin
from tests.handlers.coding import output

pytestmark = pytest.mark.usefixtures("two_files")
RAW = """
import json, os, socket, hermes_tools
def connect():
    end = socket.socket(socket.AF_UNIX)
    end.connect(os.path.join(os.path.dirname(hermes_tools.__file__), "socket"))
    return end
def frame(data):
    return len(data).to_bytes(4) + data
"""


def test_threads_and_forks_have_connections_of_their_own(plugin: Plugin) -> None:
    def echo(args: dict[str, Any], **context: Any) -> str:
        return f"<{args['text']}>"

    schema = {
        "description": "Echo.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    }
    plugin.register("echo", "echoing", schema, echo)
    text = output(
        "import os, sys\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from hermes_tools import echo\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    print(*pool.map(lambda n: echo(text=str(n)), range(12)))\n"
        "print(echo(text='before'))\n"
        "if os.fork() == 0:\n"
        "    print(echo(text='child'))\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "print(echo(text='parent'))\n",
        granted=("echoing", "code_execution"),
    )
    numbers = " ".join(f"<{number}>" for number in range(12))
    assert text.splitlines() == [numbers, "<before>", "<child>", "<parent>"]


def test_calls_of_many_threads_wait_for_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_CODE_CALLS", "100")
    many = 40
    assert MOST_AT_ONCE < many < MOST_CONNECTIONS
    text = output(
        "import threading\n"
        "from hermes_tools import read_file\n"
        f"together = threading.Barrier({many})\n"
        "found = []\n"
        "def work():\n"
        "    read_file(path='a.txt')\n"
        "    together.wait()  # every connection is open by now, and stays so\n"
        "    found.append(read_file(path='a.txt'))\n"
        f"threads = [threading.Thread(target=work) for _ in range({many})]\n"
        "for one in threads: one.start()\n"
        "for one in threads: one.join()\n"
        "print(len(found))\n",
    )
    assert text == f"{many}\n"


def test_a_thread_too_many_is_told_so_and_may_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_CODE_CALLS", "10000")
    text = output(
        f"{RAW}\n"
        "from hermes_tools import ToolError, read_file\n"
        "read = frame(json.dumps({'tool': 'read_file', 'arguments': {'path': 'a.txt'}}).encode())\n"
        f"ends = [connect() for _ in range({MOST_CONNECTIONS})]\n"
        "for end in ends:\n"
        "    end.sendall(read)\n"
        "    end.recv(1)  # it is answered, and so connected\n"
        "try: read_file(path='a.txt')\n"
        "except ToolError as error: print(error)\n"
        "for end in ends: end.close()\n"
        "while True:\n"
        "    try: print('first file' in read_file(path='a.txt')); break\n"
        "    except ToolError: pass\n",
    )
    told, then = text.splitlines()
    assert f"from {MOST_CONNECTIONS} threads and processes at once, and does" in told
    assert then == "True"


def test_a_request_that_is_too_large_is_refused_and_the_next_is_answered() -> None:
    text = output(
        "from hermes_tools import ToolError, read_file, call\n"
        "for _ in range(3):\n"
        f"    try: call('write_file', path='c.txt', content='x' * {2 * LARGEST})\n"
        "    except ToolError as error: print(error)\n"
        "    print('first file' in read_file(path='a.txt'))\n"
    )
    assert text == f"A request may have {LARGEST:,} bytes.\nTrue\n" * 3


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (b"\xff\xff\xff\xff" + b"x" * 1000, "4,194,304 bytes"),
        (b"\x00\x00\x00\x03{{{", "no request"),
        (b"\x00\x00\x00\x02[]", "no request"),
        (b"\x00\x00\x00\x00", "no request"),
        (b"\x00\x01\x00\x00" + b"[" * 65536, "no request"),
    ],
    ids=["huge", "no-json", "list", "empty", "deep"],
)
def test_what_is_no_request_is_refused_and_the_tools_go_on(sent: bytes, answered: str) -> None:
    text = output(
        f"{RAW}\nend = connect(); end.sendall(bytes.fromhex({sent.hex()!r}))\n"
        "print(end.recv(1000)[4:].decode())\n"
        "print('first' in hermes_tools.read_file('a.txt'))\n"
    )
    assert answered in text
    assert text.endswith("True\n")


def test_many_connections_half_requests_and_unread_answers_hold_nothing_up() -> None:
    text = output(
        f"{RAW}\n"
        "ends = [connect() for _ in range(10)]\n"
        "for end in ends[:5]: end.sendall(b'\\x00\\x10\\x00')\n"
        "read = frame(json.dumps({'tool': 'read_file', 'arguments': {'path': 'a.txt'}}).encode())\n"
        "for end in ends[5:]:\n"
        "    end.setblocking(False)\n"
        "    try:\n"
        "        for _ in range(10_000): end.send(read)\n"
        "    except OSError: pass\n"
        "many = []\n"
        "try:\n"
        "    for _ in range(200): many.append(connect())\n"
        "except OSError: pass\n"
        "print('done', len(many) > 0)\n"
    )
    assert text == "done True\n"


def test_calls_that_are_under_way_end_with_the_program(root: Path, plugin: Plugin) -> None:
    happened: list[str] = []

    async def handler(args: dict[str, Any], **context: Any) -> str:
        (root / "begun").touch()
        try:
            await asyncio.Event().wait()
        finally:
            happened.append("cancelled")
        return ""

    schema = {"description": "Wait.", "parameters": {"type": "object", "properties": {}}}
    plugin.register("wait_for_ever", "waiting", schema, handler, is_async=True)
    code = (
        f"{RAW}\n"
        "import time\n"
        "end = connect()\n"
        "end.sendall(frame(json.dumps({'tool': 'wait_for_ever', 'arguments': {}}).encode()))\n"
        "while not os.path.exists('begun'): time.sleep(0.01)\n"
        "print('off')\n"
    )
    assert output(code, granted=("waiting", "code_execution")) == "off\n"
    assert happened == ["cancelled"]
