"""What ``show`` and ``doctor`` say of tools that cannot be used here, and of broken handlers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hermes_build.cli import doctoring
from tests.command_line import contents, handler, hermes, project, spec, write

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz012345"


def checked(name: str, *body: str) -> str:
    """A handler module whose check function has the given body."""
    lines = "".join(f"    {line}\n" for line in body)
    return (
        "import os\n"
        "from typing import Any\n\n"
        "from generated.tools import " + name + "\n"
        "from hermes_build.runtime.errors import Unavailable\n\n\n"
        f"def ready() -> bool:\n{lines}\n\n"
        f"@{name}.implements(check_fn=ready)\n"
        f"def handler(args: {name}.Args, **context: Any) -> str:\n"
        "    return ''\n"
    )


def compiled(root: Path, **tools: tuple[str, str | None]) -> Path:
    """Write and compile a project of tools, each with its ``requires`` and its handler, if any."""
    project(root)
    for name, (requires, source) in tools.items():
        kind = "external" if source is None else "self"
        more = [f"requires: {requires}"] if requires else []
        write(root, {f"tool_specs/{name}.yaml": spec(name, *more, handler=kind)})
        if source is not None:
            write(root, {f"handlers/{name}.py": source, "handlers/__init__.py": ""})
    done = hermes(root, "compile")
    assert done.code == 0, done
    return root


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(
        tmp_path_factory.mktemp("availability"),
        free=("", None),
        keyed=("{env: [HB_KEY], any_env: [HB_ONE, HB_OTHER]}", None),
        probed=(
            "{env: [HB_MODE], check: true}",
            checked(
                "probed",
                "print('a check may print')",
                "if os.environ['HB_MODE'] != 'interactive':",
                "    raise Unavailable('HB_MODE is not interactive:\\n start with -i')",
                "return True",
            ),
        ),
    )


@pytest.fixture
def root(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HB_KEY", "HB_ONE", "HB_OTHER", "HB_MODE"):
        monkeypatch.delenv(name, raising=False)
    return shutil.copytree(original, tmp_path / "project")


def shown(root: Path, *arguments: str) -> dict[str, Any]:
    done = hermes(root, "show", "--json", *arguments)
    assert done.code == 0, done
    found = [one for one in json.loads(done.out) if one["kind"] == "tool"]
    return {one["name"]: (one["available"], one["missing"]) for one in found}


# show


def test_the_overview_marks_what_cannot_be_used_here(root: Path) -> None:
    lines = hermes(root, "show").out.splitlines()
    assert any(line.startswith("  free    ") for line in lines)
    assert any(line.startswith("! keyed   ") for line in lines)
    assert any(line.startswith("! probed  ") for line in lines)
    assert any("3 tools, about" in line and "2 unavailable here" in line for line in lines)
    assert lines[-1].startswith("! ")
    assert "hermes-build show TOOL" in lines[-1]


def test_where_all_is_there_nothing_is_marked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HB_KEY", "HB_OTHER"):
        monkeypatch.setenv(name, SECRET)
    (root / "tool_specs/probed.yaml").unlink()
    text = hermes(root, "show").out
    assert "unavailable" not in text
    assert not [line for line in text.splitlines() if line.startswith(("!", "?"))]


def test_a_tools_page_says_what_to_do_and_never_a_value(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = hermes(root, "show", "keyed").out.splitlines()
    at = lines.index("  available here: no")
    assert lines[at + 1 : at + 3] == ["    set HB_KEY", "    set HB_ONE or HB_OTHER"]
    monkeypatch.setenv("HB_KEY", SECRET)
    done = hermes(root, "show", "keyed")
    assert "    set HB_KEY" not in done.out.splitlines()
    assert SECRET not in done.out + done.err
    assert "  available here: yes" in hermes(root, "show", "free").out.splitlines()


def test_a_toolsets_page_marks_its_tools(root: Path) -> None:
    lines = hermes(root, "show", "file").out.splitlines()
    assert "2 unavailable here" in lines[0]
    assert [line[:2] for line in lines if line[2:].startswith(("free", "keyed", "probed"))] == [
        "  ", "! ", "! ",
    ]  # fmt: skip


def test_without_probe_no_handler_is_imported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HB_MODE", "batch")
    write(root, {"handlers/probed.py": "raise SystemExit('imported')\n"})
    assert shown(root)["probed"] == (None, [])
    text = hermes(root, "show").out
    assert "\n? probed" in text
    assert text.endswith("? its check function decides: `hermes-build show --probe` asks it\n")
    assert "which `--probe` asks" in hermes(root, "show", "probed").out


def test_probe_asks_check_functions_and_shows_their_reason(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HB_MODE", "batch")
    reason = "HB_MODE is not interactive:\n start with -i"
    assert shown(root, "--probe") == {
        "free": (True, []),
        "keyed": (False, ["set HB_KEY", "set HB_ONE or HB_OTHER"]),
        "probed": (False, [reason]),
    }
    text = hermes(root, "show", "probed", "--probe").out
    assert "\n    HB_MODE is not interactive: start with -i\n" in text
    monkeypatch.setenv("HB_MODE", "interactive")
    assert shown(root, "--probe")["probed"] == (True, [])


def test_a_module_that_fails_to_import_is_the_reason_of_its_tools(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HB_MODE", "interactive")
    write(root, {"handlers/probed.py": "import hb_no_such_module\n"})
    available, [reason] = shown(root, "--probe")["probed"]
    assert available is False
    assert "handlers.probed" in reason
    assert "hb_no_such_module" in reason


def test_a_check_that_ends_the_process_is_named_and_the_rest_is_shown(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HB_MODE", "x")
    write(root, {"handlers/probed.py": checked("probed", "os._exit(7)")})
    found = hermes(root, "show", "--json", "--probe")
    assert found.code == 0
    assert "asking whether `probed` is available ended the process with exit code 7" in found.err
    assert shown(root, "--probe")["free"] == (True, [])
    available, [reason] = shown(root, "--probe")["probed"]
    assert available is False
    assert "exit code 7" in reason


def test_a_check_that_never_answers_is_given_up(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HB_MODE", "x")
    write(root, {"handlers/probed.py": checked("probed", "import time", "time.sleep(600)")})
    for patience in (2.0, 10.0, 60.0):  # a busy machine needs longer to come to the check
        monkeypatch.setattr(doctoring, "PATIENCE", patience)
        done = hermes(root, "show", "--json", "--probe")
        if "`probed`" in done.err:
            break
    said = f"asking whether `probed` is available did not end within {patience:.0f} seconds"
    assert said in done.err
    [probed] = [one for one in json.loads(done.out) if one["name"] == "probed"]
    assert probed["available"] is False
    assert "did not end within" in probed["missing"][0]


def test_a_tool_that_is_not_compiled_yet_cannot_be_asked(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, {"tool_specs/new.yaml": spec("new", "requires: {check: true}")})
    assert shown(root, "--probe")["new"] == (None, [])
    shutil.rmtree(root / "generated")
    done = hermes(root, "show", "--probe")
    assert (done.code, done.out) == (2, "")
    assert "run `hermes-build compile`" in done.err


def test_a_program_that_cannot_be_asked_at_all_is_an_error(root: Path) -> None:
    write(root, {"generated/registry.py": "raise RuntimeError('edited by hand')\n"})
    done = hermes(root, "show", "--probe")
    assert (done.code, done.out) == (2, "")
    assert "edited by hand" in done.err


def test_a_reason_of_a_stranger_does_not_act_on_the_terminal(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HB_MODE", "x")
    evil = r"raise Unavailable('\x1b[2J \x9b31m \u202e')"
    write(root, {"handlers/probed.py": checked("probed", evil)})
    for arguments in (["show", "--probe", "probed"], ["doctor"]):
        done = hermes(root, *arguments)
        assert all(line.isprintable() for line in done.out.split("\n")), arguments
        assert "<U+202E>" in done.out


# doctor


def test_the_doctor_lists_what_tools_lack_and_finds_no_fault_in_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HB_KEY", SECRET)
    monkeypatch.setenv("HB_MODE", "batch")
    before = contents(root)
    done = hermes(root, "doctor")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    at = lines.index("  tools: 3, 2 unavailable here")
    assert lines[at + 1 :] == [
        "    keyed: set HB_ONE or HB_OTHER",
        "    probed: HB_MODE is not interactive: start with -i",
        "everything is in order",
    ]
    assert SECRET not in done.out
    assert contents(root) == before


def test_the_doctor_says_that_all_tools_are_available(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HB_KEY", "x")
    monkeypatch.setenv("HB_ONE", "x")
    monkeypatch.setenv("HB_MODE", "interactive")
    done = hermes(root, "doctor")
    assert (done.code, done.err) == (0, "")
    assert "  tools: 3, all available here" in done.out.splitlines()


def test_a_module_that_fails_to_import_is_an_ill_that_names_the_lost_tools(tmp_path: Path) -> None:
    source = handler("one") + handler("two").replace("def handler", "def handler_two")
    compiled(tmp_path, one=("", source), two=("", ""), three=("", handler("three")))
    (tmp_path / "handlers/two.py").unlink()
    write(tmp_path, {"handlers/one.py": "import hb_no_such_module\n" + source})
    done = hermes(tmp_path, "doctor")
    assert done.code == 1
    [ill] = [line for line in done.out.splitlines() if line.startswith("! ")]
    assert ill.startswith("! `handlers.one` fails to import: ModuleNotFoundError")
    assert "lost with it: `one`, `two`" in ill
    assert ill.endswith("(HB3008)")
    assert done.out.endswith("1 to look at\n")


def test_a_handler_that_does_not_fit_its_spec_is_an_ill(tmp_path: Path) -> None:
    compiled(tmp_path, one=("", handler("one")))
    other = handler("one").replace("args: one.Args", "*, path: str, limit: int = 11")
    write(tmp_path, {"handlers/one.py": other})
    done = hermes(tmp_path, "doctor")
    assert done.code == 1
    assert "the default of `limit` is 11" in done.out


def test_a_check_that_ends_the_process_is_an_ill(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HB_MODE", "x")
    write(root, {"handlers/probed.py": checked("probed", "os.abort()")})
    done = hermes(root, "doctor")
    assert done.code == 1
    assert "! asking whether `probed` is available ended the process" in done.out


def test_a_program_that_cannot_be_imported_is_one_ill(root: Path) -> None:
    write(root, {"generated/registry.py": "raise RuntimeError('edited by hand')\n"})
    done = hermes(root, "doctor")
    assert done.code == 1
    [ill] = [line for line in done.out.splitlines() if line.startswith("! ")]
    assert "edited by hand" in ill


def rewriting(name: str, *body: str) -> str:
    """A handler module whose overrides have the given body."""
    return (
        checked(name, *body)
        .replace("check_fn=ready", "dynamic_schema_overrides=ready")
        .replace("-> bool", "-> dict[str, Any]")
    )


DYNAMIC = "{}\ndynamic: [/description]"


def test_the_doctor_tries_the_schemas_that_a_program_rewrites(tmp_path: Path) -> None:
    compiled(
        tmp_path,
        fine=(DYNAMIC, rewriting("fine", "return {'description': 'As it is now.'}")),
        plain=(DYNAMIC, handler("plain")),
        hosted=(DYNAMIC, None),
    )
    done = hermes(tmp_path, "doctor")
    assert (done.code, done.err) == (0, "")
    assert "  schemas that the program rewrites: 1, all as specs allow" in done.out.splitlines()


BROKEN = {
    "raises": (f"raise RuntimeError('{SECRET}')", "it raised RuntimeError"),
    "renames": ("return {'name': 'other'}", "it changes /name"),
    "goes beyond": ("return {'parameters': {'type': 'object'}}", "it changes /parameters"),
    "no dict": ("return 'text'", "it returned str, not a dict"),
}


@pytest.mark.parametrize(("body", "why"), BROKEN.values(), ids=BROKEN)
def test_a_schema_that_cannot_be_rewritten_is_an_ill(tmp_path: Path, body: str, why: str) -> None:
    compiled(tmp_path, one=(DYNAMIC, rewriting("one", body)))
    done = hermes(tmp_path, "doctor")
    assert done.code == 1
    [ill] = [line for line in done.out.splitlines() if line.startswith("! ")]
    assert ill.startswith("! the dynamic_schema_overrides of `one` are passed over")
    assert why in ill
    assert SECRET not in done.out
    assert "  schemas that the program rewrites: 1, 1 passed over" in done.out.splitlines()


def test_a_handler_with_overrides_that_fails_to_import_is_one_ill(tmp_path: Path) -> None:
    compiled(tmp_path, one=(DYNAMIC, rewriting("one", "return {}")))
    write(tmp_path, {"handlers/one.py": "import hb_no_such_module\n" + rewriting("one", "pass")})
    done = hermes(tmp_path, "doctor")
    [ill] = [line for line in done.out.splitlines() if line.startswith("! ")]
    assert "hb_no_such_module" in ill


def test_overrides_that_end_the_process_are_an_ill(tmp_path: Path) -> None:
    compiled(tmp_path, one=(DYNAMIC, rewriting("one", "os.abort()")))
    done = hermes(tmp_path, "doctor")
    assert done.code == 1
    assert "! asking whether `one` is available ended the process" in done.out
