"""What Python shows and reads of a space: its tracebacks, its source, and its data."""

from __future__ import annotations

import importlib
import inspect
import linecache
import logging
import pkgutil
import sys
import traceback
from importlib.resources import as_file
from pathlib import Path

import pytest

from hermes_build.bundle.format import roots_of
from hermes_build.bundle.isolation import Space
from tests.bundle.spaces import Memory, opened, space


def test_a_folder_of_data_alone_is_imported_and_read_inside_of_the_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = tmp_path / "nsp" / "dd" / "q.txt"
    host.parent.mkdir(parents=True)
    host.write_text("the host's")
    monkeypatch.syspath_prepend(tmp_path)
    lines = """\
        import nsp
        from importlib.resources import files
        found = files("nsp").joinpath("dd/q.txt").read_text()
        again = files(nsp).joinpath("dd/q.txt").read_text()
        """
    sources: dict[str, str | bytes] = {"nsp/dd/q.txt": b"its own", "tool.py": lines}
    one = Space(Memory(sources), roots_of(Memory(sources).names()), "v1", path="/nowhere/a.hermes")
    opened.append(one)
    tool = one.import_module("tool")
    assert (tool.found, tool.again) == ("its own", "its own")


def test_tracebacks_name_the_file_in_the_bundle_and_show_its_line() -> None:
    one = space(
        {
            "pack/__init__.py": "",
            "pack/m.py": "def fail():\n    raise ValueError('no')  # here\n",
            "pack/bad.py": "def f(:\n",
        },
        path="/nowhere/agent.hermes",
    )
    with pytest.raises(ValueError) as caught:
        one.import_module("pack.m").fail()
    text = "".join(traceback.format_exception(caught.value))
    file = str(Path("/nowhere/agent.hermes/program/pack/m.py"))
    assert f'File "{file}", line 2, in fail' in text
    assert "raise ValueError('no')  # here" in text
    linecache.checkcache()
    assert linecache.getline(file, 1) == "def fail():\n"
    with pytest.raises(SyntaxError) as wrong:
        one.import_module("pack.bad")
    assert wrong.value.filename == file.replace("m.py", "bad.py")
    one.close()
    assert file not in linecache.cache


def test_two_versions_at_one_path_show_lines_of_their_own() -> None:
    def failing(word: str) -> dict[str, str | bytes]:
        return {
            "pack/__init__.py": "",
            "pack/m.py": f"def fail():\n    raise ValueError  # {word}\n",
        }

    for one, word in [(space(failing(w), w), w) for w in ("old", "new")]:
        with pytest.raises(ValueError) as caught:
            one.import_module("pack.m").fail()
        assert f"# {word}" in "".join(traceback.format_exception(caught.value))


def test_source_and_loggers_and_reloading_work() -> None:
    one = space(
        {
            "pack/__init__.py": "",
            "pack/m.py": """
                import logging
                log = logging.getLogger(__name__)
                def f():
                    '''Söme words.'''
                    log.warning("said")
                count = globals().get("count", 0) + 1
                """,
        }
    )
    m = one.import_module("pack.m")
    assert inspect.getsource(m.f).endswith('log.warning("said")\n')
    assert "Söme" in inspect.getsource(m)
    assert inspect.getfile(m) == m.__file__ and inspect.getmodule(m.f) is m
    assert m.log is logging.getLogger(one.private("pack.m"))
    assert importlib.reload(m).count == 2


def test_source_in_another_encoding_is_read() -> None:
    text = "# -*- coding: latin-1 -*-\nword = 'caf\xe9'\n"
    one = space({"pack/__init__.py": "", "pack/m.py": text.encode("latin-1")})
    m = one.import_module("pack.m")
    assert m.word == "café" and "café" in inspect.getsource(m)


def test_data_is_read_through_resources_and_pkgutil() -> None:
    one = space(
        {
            "pack/__init__.py": "",
            "pack/data/words.txt": "Wörter",
            "pack/data/sub/more.bin": b"\x00\xff",
            "other.py": "",
            "pack/m.py": """
                import pkgutil
                from importlib import resources
                from importlib.resources import files
                text = files(__package__).joinpath("data", "words.txt").read_text("utf-8")
                by_name = (files("pack") / "data/words.txt").read_bytes()
                legacy = pkgutil.get_data("pack", "data/words.txt")
                own = pkgutil.get_data(__package__, "data/sub/more.bin")
                data = resources.files("pack.data")
                """,
        }
    )
    m = one.import_module("pack.m")
    assert m.text == "Wörter" and m.by_name == m.legacy == "Wörter".encode()
    assert m.own == b"\x00\xff"
    assert sorted(place.name for place in m.data.iterdir()) == ["sub", "words.txt"]
    assert (m.data / "sub").is_dir() and not (m.data / "sub").is_file()
    assert not (m.data / "nothing").is_dir() and not (m.data / "nothing").is_file()
    with as_file(m.data / "sub" / "more.bin") as path:
        assert path.read_bytes() == b"\x00\xff"
    with (m.data / "words.txt").open(encoding="utf-8") as file:
        assert file.read() == "Wörter"
    with pytest.raises(FileNotFoundError):
        (m.data / "nothing").read_bytes()
    with pytest.raises(IsADirectoryError):
        (m.data / "sub").read_bytes()
    with pytest.raises(NotADirectoryError):
        list((m.data / "words.txt").iterdir())
    with pytest.raises(ValueError, match="mode"):
        (m.data / "words.txt").open("w")
    assert not m.data.joinpath("../../../hermes-build.lock").is_file()
    with pytest.raises(OSError):
        pkgutil.get_data(one.private("pack"), "../../hermes-build.lock")


def test_opening_by_file_name_fails_as_for_any_archive(tmp_path: Path) -> None:
    archive = tmp_path / "agent.hermes"
    archive.write_bytes(b"PK")
    source = "def read():\n    return open(__file__).read()\n"
    one = space({"pack/__init__.py": "", "pack/m.py": source}, path=str(archive))
    with pytest.raises(NotADirectoryError if sys.platform != "win32" else OSError):
        one.import_module("pack.m").read()
