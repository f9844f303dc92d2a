"""The process that reads a page cannot hang, take all memory, see secrets or spoil other pages."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from handlers.web import reader
from handlers.web.extract import Terms, Wish, extract
from tests.handlers.web_pages import SENTENCE, article, page, pages
from tests.handlers.web_server import Server, response


def parser(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """Let the process that reads HTML import this module in place of its parser."""
    (folder / "trafilatura.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(folder))


def test_a_parser_that_hangs_is_ended_with_its_call(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    source = f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()) + '.')\n"
    parser(tmp_path, monkeypatch, source + "time.sleep(600)\n")
    server.answers["/a"] = response(article("Hangs", SENTENCE))

    async def cancelled() -> None:
        terms = Terms(private=True, read_seconds=600)
        task = asyncio.create_task(extract([f"{server.url}/a"], Wish(), terms))
        while not (pid.exists() and pid.read_text().endswith(".")):
            assert not task.done()
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text().strip(".")), 0)


def test_a_parser_that_is_brought_down_costs_one_page(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parser(tmp_path, monkeypatch, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    server.answers |= {
        "/a": response(article("Falls", SENTENCE)),
        "/b": response("stands", "text/plain"),
    }
    first, second = pages(f"{server.url}/a", f"{server.url}/b")
    assert "brings down the program that parses it" in first["error"]
    assert second["content"] == "stands"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to its memory")
def test_a_parser_that_wants_all_memory_gets_no_more_than_its_share(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is asked for is never touched, so that the test itself needs none of it."""
    wrote = tmp_path / "wrote"
    source = f"""
import mmap
try:
    mmap.mmap(-1, {reader.MOST_MEMORY})
    answer = "given"
except (MemoryError, OSError):
    answer = "refused"
open({str(wrote)!r}, "w").write(answer)
"""
    parser(tmp_path, monkeypatch, source)
    server.answers["/a"] = response(article("Hungry", SENTENCE))
    assert SENTENCE in page(f"{server.url}/a")["content"]
    assert wrote.read_text() == "refused"


def test_the_process_that_reads_a_page_sees_no_secrets(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A module on PYTHONPATH that is imported in place of a parser writes down what it can see."""
    source = f"open({str(tmp_path / 'seen')!r}, 'w').write(json.dumps(dict(os.environ)))\n"
    parser(tmp_path, monkeypatch, f"import json, os\n{source}")
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret")
    server.answers["/a"] = response(article("Seen", SENTENCE))
    assert SENTENCE in page(f"{server.url}/a")["content"]
    seen = json.loads((tmp_path / "seen").read_text())
    assert "PYTHONPATH" in seen and "TAVILY_API_KEY" not in seen


def test_a_page_that_takes_too_long_to_read_is_given_up(server: Server) -> None:
    server.answers["/a"] = response(article("Slow", SENTENCE))
    found = page(f"{server.url}/a", terms=Terms(private=True, read_seconds=0.001))
    assert "took longer than 0.001 seconds" in found["error"]
