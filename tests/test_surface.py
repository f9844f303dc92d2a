"""What a project declares as a whole: at least one tool, under names that can stand in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import hermes, project, spec, write


@pytest.mark.parametrize(
    ("text", "codes"),
    [("", ["HB0012", "HB1007"]), ("~\n", ["HB0012", "HB1007"]), ("$defs: {}\n", ["HB1007"])],
)
@pytest.mark.parametrize("command", ["compile", "check", "lint"])
def test_specs_that_declare_no_tool_are_no_surface(
    tmp_path: Path, text: str, codes: list[str], command: str
) -> None:
    root = project(tmp_path)
    write(root, {"tool_specs/empty.yaml": text})
    done = hermes(root, command, "--format", "concise")
    assert (done.code, sorted(done.codes)) == (1, codes)
    assert not (root / "generated").exists()


def test_a_file_that_cannot_be_read_is_not_also_an_empty_surface(tmp_path: Path) -> None:
    root = write(project(tmp_path), {"tool_specs/a.yaml": "name: [\n"})
    assert hermes(root, "check", "--format", "concise").codes == ["HB0002"]


def test_null_beside_a_spec_is_a_warning_alone(tmp_path: Path) -> None:
    root = write(project(tmp_path), {"tool_specs/a.yaml": spec("a") + "---\n~\n"})
    done = hermes(root, "check", "--no-import", "--format", "concise")
    assert "tool_specs/a.yaml:13:1: warning[HB0012]" in done.out
    assert "HB1007" not in done.out


@pytest.mark.parametrize("name", ["__init__", "__INIT__", "__path__", "__name__", "__main__"])
def test_a_name_that_python_keeps_for_itself_cannot_be_a_tool(tmp_path: Path, name: str) -> None:
    root = project(tmp_path, "a")
    write(root, {"tool_specs/b.yaml": spec(name)})
    assert hermes(root, "compile", "--format", "concise").codes == ["HB1006"]


@pytest.mark.parametrize("name", ["_", "__", "____", "__private", "class", "registry", "tools"])
def test_other_odd_names_are_modules_like_any(tmp_path: Path, name: str) -> None:
    root = project(tmp_path, name)
    assert hermes(root, "compile").code == 0
    done = hermes(root, "call", name, '{"path": "x"}')
    assert "handler" in done.out + done.err


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("fetch-url", "fetch_url", "meet in one module name"),
        ("fetch_url", "Fetch_Url", "differ only in case"),
        ("Fetch-Url", "fetch_url", "differ only in case, and in `-` for `_`"),
    ],
)
def test_confusable_names_are_told_apart_exactly(
    tmp_path: Path, one: str, other: str, why: str
) -> None:
    root = project(tmp_path, one)
    write(root, {"tool_specs/z.yaml": spec(other)})
    done = hermes(root, "lint", "--format", "concise")
    assert f"{why}\n" in done.out


def test_an_alias_that_is_taken_is_called_an_alias(tmp_path: Path) -> None:
    root = write(
        project(tmp_path),
        {
            "tool_specs/a.yaml": spec("same", "aliases: [other]"),
            "tool_specs/b.yaml": spec("b", "aliases: [same]"),
            "tool_specs/c.yaml": spec("c", "aliases: [other]"),
        },
    )
    out = hermes(root, "lint").out
    assert "`same` is the name of a tool and an alias of the tool `b`" in out
    assert "`other` is an alias of the tool `same` and an alias of the tool `c`" in out
    assert "^^^^ an alias of a tool here" in out
    assert "---- the name of a tool here" in out
