"""Secrets and paths of this machine are found in every file that is taken in, whatever its form."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_build.compiler.bundling.judging import find_in_data, find_paths
from hermes_build.compiler.bundling.places import machine_places
from hermes_build.compiler.diagnostics import Diagnostic, Findings
from tests.bundling.programs import codes, made, program
from tests.command_line import hermes, spec

SECRET = "hunter" + "2"
LINE = f'password = "{SECRET}"\n'
SETTINGS = {"pyproject.toml": '[tool.hermes-build]\nbundle-data = ["handlers/data/*"]\n'}
LARGE = 3 << 20


def found(data: bytes, *places: str, path: str = "a.bin") -> list[Diagnostic]:
    findings = Findings()
    find_in_data({path: data}, places, findings)
    return list(findings)


@pytest.mark.parametrize(
    "data",
    [
        b"\0\1\2" + LINE.encode() + b"\0",
        LINE.encode("utf-16"),
        LINE.encode("utf-16-le"),
        LINE.encode("utf-16-be"),
        b"\1" + LINE.encode("utf-16-le"),
        b"\1" + LINE.encode("utf-16-be"),
        f"Größe: {LINE}".encode("utf-16"),
        b"x\n" * (LARGE // 2) + LINE.encode(),
        "x\n".encode("utf-16-le") * (LARGE // 4) + LINE.encode("utf-16-le"),
        LINE.encode() + b"\0" * LARGE,
    ],
)
def test_a_secret_is_refused_in_data_of_any_form_and_size(tmp_path: Path, data: bytes) -> None:
    root = program(tmp_path, {**SETTINGS, "handlers/data/a.bin": data})
    (one,) = made(root).findings
    assert (one.code, one.span and one.span.path) == ("HB8110", "handlers/data/a.bin")
    assert SECRET not in one.message


def test_what_lies_across_two_pieces_is_found_once_wherever_it_lies() -> None:
    edge = 1 << 20
    starts = {edge - back - more for back in (0, 4096, 8192) for more in (-1, 0, 9, 10, 15, 22)}
    for before in sorted(starts):
        data = b"\0" * before + LINE.encode() + b"\0" * 9000
        (one,) = found(data)
        assert f"(at byte {before + len('password = ') + 1:,})" in one.message
        wide = b"\0" * before + LINE.encode("utf-16-le") + b"\0" * 9000
        assert len(found(wide)) == 1


def test_in_a_large_text_a_secret_has_its_line_and_its_column(tmp_path: Path) -> None:
    row = "ein Größenmaß ist kein Geheimnis\n"
    count = LARGE // len(row.encode())
    (one,) = found((row * count + "ü " + LINE).encode())
    assert one.span is not None
    assert (one.span.line, one.span.column) == (count + 1, len('ü password = "') + 1)
    root = program(tmp_path, {**SETTINGS, "handlers/data/a.txt": row * count + LINE})
    done = hermes(root, "bundle", "--no-deps-lock")
    assert done.code == 1 and SECRET not in done.out + done.err
    assert f"handlers/data/a.txt:{count + 1}:" in done.out


def test_no_report_shows_the_lines_of_what_is_no_text(tmp_path: Path) -> None:
    root = program(tmp_path, {**SETTINGS, "handlers/data/a.bin": LINE.encode("utf-16")})
    done = hermes(root, "bundle", "--no-deps-lock")
    shown = (done.out + done.err).replace("\0", "").replace("␀", "")
    assert done.code == 1 and "handlers/data/a.bin" in shown
    assert SECRET not in shown and "password =" not in shown


def test_of_many_secrets_in_one_file_some_are_told() -> None:
    assert 1 < len(found((LINE * 100).encode(), path="a.txt")) <= 20


def test_a_large_file_is_never_held_whole() -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(24):
            yield b"\1\2" * (1 << 19)

    tracemalloc.start()
    find_in_data({"a.bin": pieces}, (), Findings())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 << 20


@pytest.mark.parametrize(
    "path", ["handlers/words.py", "handlers/data/a.json", "handlers/data/b.bin"]
)
def test_a_path_of_this_machine_is_refused_in_code_and_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    home, own = tmp_path / "home/ada", tmp_path / "folders/x1"
    for folder in (home, own):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(own))
    monkeypatch.setattr(tempfile, "tempdir", None)
    root = tmp_path / "src/p"
    end = "\0" * path.endswith(".bin")
    for number, place in enumerate((root, home, own)):
        text = f'WORD = "{place}/a"\n{end}'
        more = {"handlers/data/c.txt": "", path: text}
        (one,) = made(program(root, {**SETTINGS, **more})).findings
        assert (one.code, one.span and one.span.path) == ("HB8109", path), number
        assert f"`{place}`" in one.message


def test_other_absolute_paths_are_the_programs_own_business(tmp_path: Path) -> None:
    text = (
        'WORD = "/etc/hosts", "/usr/bin/env", "/tmp/x", "/root/.ssh", "/var/tmp", "/home/ada/x"\n'
        f'NEAR = "{tmp_path}er", "{tmp_path}-1", "x{tmp_path}"\n'
    )
    assert codes(program(tmp_path, {"handlers/words.py": text})) == []
    usual = spec("tell", handler="self", description="Tell what is in /home/ada/notes of people.")
    assert codes(program(tmp_path, {"tool_specs/tell.yaml": usual})) == ["HB8109"]


def test_a_path_is_reported_once_where_one_place_lies_in_another(tmp_path: Path) -> None:
    text = f'WORD = "file://{tmp_path}/deep/p/a", "in {tmp_path}/deep."\n'
    findings = Findings()
    places = (str(tmp_path / "deep" / "p"), str(tmp_path / "deep"))
    find_paths(places, {}, {"a.py": text.encode()}, {}, findings)
    assert [one.message.rpartition(": ")[2] for one in findings] == [f"`{one}`" for one in places]


@pytest.mark.parametrize("text", [r"C:\Users\ada\p\x", r"c:\\users\\Ada\\p", "C:/Users/ada/p/x"])
def test_a_path_of_windows_is_found_however_it_is_written(text: str) -> None:
    findings = Findings()
    find_paths((r"C:\Users\ada\p",), {}, {"a.json": text.encode()}, {}, findings)
    assert [one.code for one in findings] == ["HB8109"]


def test_places_that_many_machines_have_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/root")
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    assert machine_places("/srv") == ()
    monkeypatch.setenv("HOME", "/home/user")
    monkeypatch.setattr(tempfile, "tempdir", "/var/tmp")
    assert machine_places("/srv/agent") == ("/srv/agent",)
    monkeypatch.setenv("HOME", "/home/ada")
    assert machine_places("/home/ada/agent") == ("/home/ada/agent", "/home/ada")


def test_the_settings_can_say_that_it_is_none(tmp_path: Path) -> None:
    settings = (
        '[tool.hermes-build]\nbundle-data = ["handlers/data/*"]\n'
        '[[tool.hermes-build.lint.ignore]]\ncode = "HB8110"\n'
        'files = "handlers/data/*"\nreason = "of the manual"\n'
    )
    more: dict[str, str | bytes] = {"pyproject.toml": settings}
    more["handlers/data/a.bin"] = LINE.encode("utf-16")
    assert codes(program(tmp_path, more)) == []
