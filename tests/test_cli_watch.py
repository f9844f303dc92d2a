"""``hermes-build compile --watch``, in a real process."""

from __future__ import annotations

import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import LOCK, PROGRAM, contents, handler, hermes, project, spec, write

PATIENCE = 30


class Watching:
    """A running ``compile --watch``, of which everything it prints is kept."""

    def __init__(self, root: Path) -> None:
        self.lines: queue.Queue[str] = queue.Queue()
        self.running = subprocess.Popen(
            [*PROGRAM, "compile", "--watch", "--format", "concise"],
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.running.stdout
        for line in self.running.stdout:
            self.lines.put(line.rstrip("\n"))

    def until(self, said: str = "watching for changes") -> list[str]:
        """The lines up to the one that begins with ``said``."""
        found = []
        while True:
            line = self.lines.get(timeout=PATIENCE)
            if line.startswith(said):
                return found
            found.append(line)

    def end(self) -> int:
        self.running.send_signal(signal.SIGINT)
        return self.running.wait(timeout=PATIENCE)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path / "project", "read_file")


@pytest.fixture
def watching(root: Path) -> Iterator[Watching]:
    one = Watching(root)
    yield one
    one.running.kill()
    one.running.communicate()


def test_each_edit_is_compiled_and_a_broken_one_keeps_the_last_good_output(
    root: Path, watching: Watching
) -> None:
    [first] = watching.until()
    assert first == "compiled 1 tool and 1 toolset: wrote 5 files and the lock, 0 unchanged"

    write(root, {"tool_specs/patch.yaml": spec("patch")})
    [added] = watching.until()
    assert added == "compiled 2 tools and 1 toolset: wrote 3 files and the lock, 3 unchanged"
    good = contents(root)

    write(root, {"tool_specs/patch.yaml": spec("patch", "nonsense: 1")})
    finding, note, end = watching.until()
    assert note == "more checks follow once these are mended"
    assert finding.startswith("tool_specs/patch.yaml:12:1: error[HB1001] ")
    assert end == "nothing was written"
    now = contents(root)
    assert all(now[path] == good[path] for path in good if not path.startswith("tool_specs/"))

    (root / "tool_specs/patch.yaml").unlink()
    [mended] = watching.until()
    wrote = "wrote 2 files and the lock, removed 1, 3 unchanged"
    assert mended == f"compiled 1 tool and 1 toolset: {wrote}"
    assert watching.end() == 0


def test_folders_settings_and_handlers_are_watched_too(root: Path, watching: Watching) -> None:
    watching.until()
    write(root, {"toolsets/sets.yaml": "name: more\nincludes: [file]\n"})  # a folder that is new
    assert watching.until()[-1].startswith("compiled 1 tool and 2 toolsets")
    write(root, {"templates/package.py.jinja": "# Ours.\n{{ docstring | docstring }}\n"})
    assert watching.until()[-1].startswith("compiled 1 tool and 2 toolsets: wrote 2 files")
    write(root, {"tool_specs/read_file.yaml": spec("read_file", handler="self")})
    assert "HB3009" in watching.until()[0]
    write(root, {"handlers.py": handler("read_file")})  # neither a spec nor below a folder
    assert watching.until()[-1].startswith("compiled 1 tool and 2 toolsets")
    assert b"handlers" in (root / LOCK).read_bytes()

    # An editor that moves the old settings away first: for a moment there is no project.
    settings = root / "pyproject.toml"
    settings.rename(root.parent / "away")
    [gone] = watching.until()
    assert gone.startswith(f"no hermes-build project at {root} or above it: ")
    write(root, {"pyproject.toml": '[tool.hermes-build]\nmodels = "pydantic"\n'})
    assert watching.until()[-1].startswith("compiled 1 tool and 2 toolsets: wrote 1 file")
    assert watching.end() == 0


def test_what_a_compile_writes_does_not_wake_it(tmp_path: Path) -> None:
    # Specs whose folder begins with the output package's name are sources all the same.
    root = project(tmp_path, settings='specs = "generated_specs"\nhandlers = []\n')
    write(root, {"generated_specs/read_file.yaml": spec("read_file")})
    watching = Watching(root)
    try:
        watching.until()
        write(root, {"generated/tools/read_file.py": "edited = 1\n", "notes.txt": "not ours\n"})
        write(root, {"generated_specs/patch.yaml": spec("patch")})
        # Two wakes would compile twice: the second writes nothing.
        assert len(watching.until()) == 2
        with pytest.raises(queue.Empty):
            watching.lines.get(timeout=1)
        assert watching.end() == 0
    finally:
        watching.running.kill()
        watching.running.communicate()


def test_the_exit_code_is_that_of_the_last_compile(root: Path, watching: Watching) -> None:
    watching.until()
    write(root, {"tool_specs/patch.yaml": "name: 5\n"})
    watching.until()
    assert watching.end() == 1
    assert hermes(root, "compile").code == 1
