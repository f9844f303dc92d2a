"""A process that is forked in the midst of anything has registries that work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")

STORM = """
import faulthandler, logging, os, signal, sys, threading, time, warnings
from pathlib import Path
from hermes_build.runtime import ToolRegistry
from tests.contract.programs import offer, says, several

warnings.simplefilter("ignore")
logging.disable()
registry = several(Path(sys.argv[1]))
plugin = registry.plugin("storm")
registry.hooks
session = registry.session(deferred=["web"])
done = False

def registering(number):
    plugin.register(**offer(f"x{number}", check_fn=lambda: True))
    plugin.deregister(f"x{number}")

def in_batches(number):
    with registry.batch():
        plugin.register(**offer(f"y{number}"))
        plugin.deregister(f"y{number}")

def hooking(number):
    hook = lambda tool_name: None
    registry.hooks.add("pre_tool_call", hook)
    registry.hooks.unregister(hook)

def listing(number):
    registry.availability.invalidate()
    session.definitions()

def searching(number):
    session.call("tool_search", {"query": "fetch"})

def reading(number):
    registry.find("read")

def storm(work):
    number = 0
    while not done:
        number += 1
        work(number)

def everything():
    # Whatever a program does.
    assert registry.call("read", {}) == "read"
    mine = registry.plugin("child")
    mine.register(**offer("mine", check_fn=lambda: True))
    assert registry.call("mine", {}) == session.call("mine", {}) == "mine ran"
    mine.deregister("mine")
    assert "Unknown tool" in registry.call("mine", {})
    with registry.batch():
        mine.register(**offer("mine"))
    registry.hooks.add("post_tool_call", lambda tool_name: None)
    assert session.call("mine", {}) == "mine ran"
    assert "mine" in [one["function"]["name"] for one in session.definitions()]
    assert "fetch" in session.call("tool_search", {"query": "fetch"})
    assert registry.session(["file"]).call("write", {}) == "write"
    registry.availability.invalidate()
    # What was half changed at the fork is changed, or is not: what is listed can be called.
    for name in registry.get_all_tool_names():
        assert "Unknown tool" not in registry.call(name, {}), name
    mine.close()

sys.setswitchinterval(1e-5)
# What is imported by now is not just being imported at a fork, which Python cannot mend.
everything()
works = [registering, in_batches, hooking, listing, searching, reading]
for work in works:
    work(0)
for work in works:
    threading.Thread(target=storm, args=(work,), daemon=True).start()
status = 0
for number in range(int(sys.argv[2])):
    time.sleep(0.003)
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(60)  # a child that waits for ever is ended
            faulthandler.dump_traceback_later(50, exit=True)
            everything()
            os._exit(0)
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
        os._exit(1)
    status = os.waitpid(pid, 0)[1]
    if status:
        break
done = True
os._exit(int(status != 0))
"""


def test_a_child_that_is_forked_in_a_storm_of_threads_calls_and_changes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STORM, str(tmp_path), "20"]
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
