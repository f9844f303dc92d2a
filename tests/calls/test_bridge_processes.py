"""Handlers and the processes that they run in: interrupts, forks, and the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

LONG = 60.0
"""Seconds that no test takes: a limit for what would otherwise wait for ever."""


def run(code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *flags, "-c", code], capture_output=True, text=True, timeout=LONG * 2
    )


INTERRUPTED = """
import asyncio, os, signal, threading, time
from hermes_build.runtime.bridge import invoke

cancelled = threading.Event()

async def handler(arguments):
    os.kill(os.getpid(), signal.SIGINT)
    try:
        await asyncio.sleep(100)
    except asyncio.CancelledError:
        cancelled.set()
        raise

def sleeper(arguments):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(100)

try:
    invoke(handler, {}, {}, True, LIMIT)
except KeyboardInterrupt:
    print("interrupted", cancelled.wait(50))
try:
    invoke(sleeper, {}, {}, False, 100)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX here")
@pytest.mark.parametrize("limit", ["None", "100"])
def test_an_interrupt_cancels_the_coroutine_and_comes_out(limit: str) -> None:
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    done = run(INTERRUPTED.replace("LIMIT", limit))
    assert (done.stdout, done.stderr) == ("interrupted True\ninterrupted\n", "")


FORKED = """
import asyncio, gc, os, signal
from hermes_build.runtime import loops
from hermes_build.runtime.bridge import invoke

loops.PATIENCE = 1000  # a loop without a thread is not found out by waiting

async def handler(arguments):
    await asyncio.sleep(0)
    return arguments

def calls():
    async def inside():
        return invoke(handler, "loop", {}, True, 60)
    gc.collect()
    return [asyncio.run(inside()), invoke(str, "thread", {}, False, 60)]

async def forks(arguments):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        print(calls(), flush=True)
        os._exit(0)
    os.waitpid(child, 0)

calls()
child = os.fork()
if child == 0:
    signal.alarm(60)  # a process that waits for ever is ended
    print(calls(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
invoke(forks, {}, {}, True, None)
print(calls(), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_handlers_run_in_a_forked_process_too() -> None:
    done = run(FORKED, "-W", "default", "-W", "ignore::DeprecationWarning")
    assert (done.stdout, done.stderr) == ("['loop', 'thread']\n" * 3, "")


ENDING = """
import asyncio, threading, time
from hermes_build.runtime.bridge import invoke

began = threading.Barrier(2)

async def stubborn(arguments):
    began.wait()
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass

async def waiting(arguments):
    asyncio.get_running_loop().call_soon(began.wait)
    await asyncio.Event().wait()

def hanging(arguments):
    began.wait()
    time.sleep(1000)

def late(handler, is_async):
    try:
        invoke(handler, {}, {}, is_async, 0.01)
    except TimeoutError:
        print("late")

late(lambda arguments: time.sleep(1000), False)
late(lambda arguments: asyncio.sleep(1000), True)
for handler, is_async in ((hanging, False), (stubborn, True), (waiting, True)):
    limit = None if is_async else 1000
    threading.Thread(target=invoke, args=(handler, {}, {}, is_async, limit), daemon=True).start()
    began.wait()
print("end")
"""


def test_the_interpreter_ends_promptly_and_quietly_while_handlers_run() -> None:
    done = run(ENDING, "-W", "default")
    assert (done.returncode, done.stdout, done.stderr) == (0, "late\nlate\nend\n", "")


def test_calls_of_sync_handlers_need_no_asyncio() -> None:
    code = (
        "import sys\n"
        "from hermes_build.runtime.bridge import invoke\n"
        "assert invoke(str, 1, {}, False, None) == invoke(str, 1, {}, False, 60) == '1'\n"
        "print('asyncio' in sys.modules)"
    )
    assert run(code).stdout == "False\n"
