"""``hermes-build compile``: what it writes, what it compares, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import (
    LOCK,
    PROGRAM,
    ages,
    contents,
    handler,
    hermes,
    process,
    project,
    spec,
    write,
)

GENERATED = [
    "generated/__init__.py",
    "generated/catalogue.jsonl",
    "generated/registry.py",
    "generated/tools/__init__.py",
    "generated/tools/read_file.py",
    "generated/tools/write_file.py",
]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = project(tmp_path_factory.mktemp("compiled"), "read_file", "write_file")
    assert hermes(root, "compile").code == 0
    return root


@pytest.fixture
def root(compiled: Path, tmp_path: Path) -> Path:
    """A compiled project of two tools, to change at will."""
    return shutil.copytree(compiled, tmp_path / "project")


def edit(root: Path, path: str, old: str, new: str) -> None:
    text = (root / path).read_text()
    assert old in text
    (root / path).write_text(text.replace(old, new))


# What is written


def test_a_first_compile_writes_the_package_and_the_lock(tmp_path: Path) -> None:
    root = project(tmp_path, "read_file", "write_file")
    before = set(contents(root))
    done = hermes(root, "compile")
    assert (done.code, done.out) == (0, "")
    assert done.err == "compiled 2 tools and 1 toolset: wrote 6 files and the lock, 0 unchanged\n"
    assert sorted(set(contents(root)) - before) == [*GENERATED, LOCK]


def test_an_unchanged_project_is_not_written_again(root: Path) -> None:
    before = ages(root)
    done = hermes(root, "compile")
    assert (done.code, done.out) == (0, "")
    assert done.err == "compiled 2 tools and 1 toolset: wrote 0 files, 6 unchanged\n"
    assert ages(root) == before


def test_an_edit_touches_only_what_comes_from_it(root: Path) -> None:
    before = ages(root)
    edit(root, "tool_specs/read_file.yaml", "limit: {", "lines: {")
    done = hermes(root, "compile")
    assert done.err == "compiled 2 tools and 1 toolset: wrote 3 files and the lock, 3 unchanged\n"
    changed = {path for path, age in ages(root).items() if age != before[path]}
    assert changed == {
        "tool_specs/read_file.yaml",
        "generated/tools/read_file.py",
        "generated/catalogue.jsonl",
        "generated/registry.py",
        LOCK,
    }


def test_the_module_of_a_deleted_spec_is_deleted(root: Path) -> None:
    (root / "tool_specs/write_file.yaml").unlink()
    done = hermes(root, "compile")
    wrote = "wrote 2 files and the lock, removed 1, 3 unchanged"
    assert done.err == f"compiled 1 tool and 1 toolset: {wrote}\n"
    assert not (root / "generated/tools/write_file.py").exists()
    assert "write_file" not in (root / LOCK).read_text()


def test_another_output_package_leaves_nothing_of_the_old_one(root: Path) -> None:
    write(root, {"pyproject.toml": '[tool.hermes-build]\noutput = "agent.made"\n'})
    assert hermes(root, "compile").code == 0
    assert (root / "agent/made/tools/read_file.py").is_file()
    assert not list((root / "generated").rglob("*.py"))
    assert hermes(root, "check", "--no-import").code == 0


def test_nothing_is_written_while_there_are_errors(root: Path) -> None:
    before = contents(root)
    edit(root, "tool_specs/read_file.yaml", "type: integer", "type: whole")
    edit(root, "tool_specs/write_file.yaml", "a file", "any file")
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (1, ["HB1114"])
    assert done.err == "more checks follow once these are mended\nnothing was written\n"
    after = contents(root)
    assert all(after[path] == before[path] for path in [*GENERATED, LOCK])


def test_a_project_without_specs_is_an_error(root: Path) -> None:
    for path in root.glob("tool_specs/*"):
        path.unlink()
    before = contents(root)
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (1, ["HB1007"])
    assert contents(root) == before


def test_warnings_are_printed_and_fail_only_when_strict(root: Path) -> None:
    edit(root, "tool_specs/read_file.yaml", ", default: 10", ", default: ten")
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (0, ["HB1103"])
    assert "wrote 3 files" in done.err
    strict = hermes(root, "compile", "--strict")
    assert (strict.code, strict.codes) == (1, ["HB1103"])
    report = json.loads(hermes(root, "compile", "--format", "json").out)
    assert [one["code"] for one in report["findings"]] == ["HB1103"]


def test_the_json_report_is_printed_even_when_it_is_empty(root: Path) -> None:
    done = hermes(root, "compile", "--format", "json")
    assert done.code == 0
    assert json.loads(done.out)["findings"] == []


def test_the_project_is_found_from_below_and_by_option(root: Path, tmp_path: Path) -> None:
    inside = root / "deep/inside"
    inside.mkdir(parents=True)
    assert "6 unchanged" in hermes(inside, "compile").err
    assert "6 unchanged" in hermes(tmp_path, "compile", "-C", "project").err
    assert "6 unchanged" in hermes(tmp_path, "compile", "--project", str(inside)).err


# Things in the way


def test_a_file_of_somebody_else_is_never_replaced(tmp_path: Path) -> None:
    root = project(tmp_path, "read_file")
    write(root, {"generated/tools/read_file.py": "mine = 1\n"})
    before = contents(root)
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (1, ["HB5003"])
    assert contents(root) == before
    assert hermes(root, "compile", "--check").codes.count("HB5003") == 1


def test_a_file_edited_by_hand_is_named_and_overwritten(root: Path) -> None:
    before = contents(root)
    edit(root, "generated/tools/read_file.py", "TypedDict", "Dict")
    done = hermes(root, "compile")
    assert (done.code, done.out) == (0, "")
    assert "generated/tools/read_file.py had been edited by hand" in done.err
    assert contents(root) == before


def test_a_lock_with_a_merge_conflict_is_reported_and_written_anew(root: Path) -> None:
    good = contents(root)
    lines = (root / LOCK).read_text().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if "write_file" in line)
    block = "".join(lines[at:])
    conflict = (
        f"<<<<<<< ours\n{block}=======\n{block.replace('write_file', 'gone')}>>>>>>> theirs\n"
    )
    write(root, {LOCK: "".join(lines[:at]) + conflict})
    for arguments in (["compile", "--check"], ["compile", "--locked"], ["check"]):
        done = hermes(root, *arguments)
        assert done.code == 1, arguments
        assert "HB5005" in done.codes, arguments
        assert "hermes-build compile" in done.out
    assert hermes(root, "compile").code == 0
    assert contents(root) == good


def test_files_that_only_a_conflicting_lock_names_are_still_ours(root: Path) -> None:
    lines = (root / LOCK).read_text().splitlines(keepends=True)
    (root / "tool_specs/write_file.yaml").unlink()
    write(root, {LOCK: "<<<<<<< ours\n" + "".join(lines) + "=======\n>>>>>>> theirs\n"})
    assert hermes(root, "compile").code == 0
    assert not (root / "generated/tools/write_file.py").exists()
    assert hermes(root, "check").code == 0


def test_a_missing_lock_is_written_again(root: Path) -> None:
    good = contents(root)
    (root / LOCK).unlink()
    check = hermes(root, "compile", "--check")
    assert (check.code, check.codes) == (1, ["HB5004"])
    assert hermes(root, "compile").err.endswith("wrote the lock, 6 unchanged\n")
    assert contents(root) == good


# --check, --diff, --locked


def test_check_is_clean_on_a_fresh_project(root: Path) -> None:
    before = ages(root)
    done = hermes(root, "compile", "--check")
    assert (done.code, done.err) == (0, "")
    assert done.out == "Found nothing to report in 2 files.\n"
    assert ages(root) == before


def test_check_names_all_that_differs_and_the_command_that_mends_it(root: Path) -> None:
    edit(root, "tool_specs/read_file.yaml", "limit: {", "lines: {")
    write(root, {"tool_specs/patch.yaml": spec("patch")})
    (root / "tool_specs/write_file.yaml").unlink()
    before = contents(root)
    done = hermes(root, "compile", "--check", "--format", "concise")
    assert done.code == 1
    found = {tuple(line.split(" ")[:2]) for line in done.out.splitlines()}
    assert {(place.split(":")[0], code) for place, code in found} == {
        ("generated/catalogue.jsonl", "error[HB5001]"),
        ("generated/registry.py", "error[HB5001]"),
        ("generated/tools/patch.py", "error[HB5002]"),
        ("generated/tools/read_file.py", "error[HB5001]"),
        ("generated/tools/write_file.py", "error[HB5009]"),
        (LOCK, "error[HB5004]"),
    }
    full = hermes(root, "compile", "--check").out
    assert full.count("run `hermes-build compile`") == len(found)
    for said in ("tool patch", "tool write_file", "tool read_file"):
        assert said in full.replace("`", "")
    assert contents(root) == before


@pytest.mark.parametrize("change", ["edit", "add", "delete", "none"])
def test_a_diff_applied_is_a_compile(root: Path, tmp_path: Path, change: str) -> None:
    if change == "edit":
        edit(root, "tool_specs/read_file.yaml", "limit: {", "lines: {")
        edit(root, "generated/tools/write_file.py", "TypedDict", "Dict")
    elif change == "add":
        write(root, {"tool_specs/patch.yaml": spec("patch")})
    elif change == "delete":
        (root / "tool_specs/write_file.yaml").unlink()
    before = contents(root)
    done = hermes(root, "compile", "--diff")
    assert (done.code, done.err) == (int(change != "none"), "")
    assert contents(root) == before
    if change == "none":
        assert done.out == ""
        return
    other = shutil.copytree(root, tmp_path / "other")
    apply = ["git", "apply", "--unsafe-paths", "--whitespace=nowarn", "-"]
    subprocess.run(apply, cwd=other, input=done.out.encode(), check=True)
    assert hermes(root, "compile").code == 0
    assert contents(other) == contents(root)


def test_a_diff_is_followed_by_what_it_cannot_show(root: Path) -> None:
    write(root, {"tool_specs/patch.yaml": spec("patch"), "generated/tools/patch.py": "mine\n"})
    edit(root, "tool_specs/read_file.yaml", ", default: 10", ", default: ten")
    done = hermes(root, "compile", "--diff")
    assert done.code == 1
    assert "+++ b/generated/catalogue.jsonl" in done.out
    assert done.codes == ["HB1103", "HB5003"]
    clash = hermes(root, "compile", "--diff", "--format", "json")
    assert (clash.code, clash.out) == (2, "")


def test_locked_writes_what_leaves_the_lock_as_it_is(root: Path) -> None:
    good = contents(root)
    assert hermes(root, "compile", "--locked").code == 0
    (root / "generated/tools/read_file.py").unlink()
    edit(root, "generated/registry.py", "frozen", "thawed")
    assert hermes(root, "compile", "--locked").code == 0
    assert contents(root) == good


def test_locked_takes_a_lock_with_other_line_ends(root: Path) -> None:
    text = (root / LOCK).read_bytes().replace(b"\n", b"\r\n")
    write(root, {LOCK: text})
    assert hermes(root, "compile", "--locked").code == 0
    assert (root / LOCK).read_bytes() == text


@pytest.mark.parametrize("state", ["stale", "missing", "damaged", "of another tool"])
def test_locked_refuses_to_change_the_lock(root: Path, state: str) -> None:
    text = (root / LOCK).read_text()
    if state == "stale":
        edit(root, "tool_specs/read_file.yaml", "a file", "any file")
    elif state == "missing":
        (root / LOCK).unlink()
    elif state == "damaged":
        write(root, {LOCK: text[:-40]})
    else:
        write(root, {LOCK: "[[package]]\n"})
    before = contents(root)
    done = hermes(root, "compile", "--locked")
    assert done.code == 1
    assert done.codes == ["HB5004" if state in ("stale", "missing") else "HB5005"]
    assert contents(root) == before
    assert "wrote" not in done.err
    if state == "stale":
        assert "read_file" in done.out


# Settings that change what is written


def test_pydantic_models_are_models(root: Path) -> None:
    write(root, {"pyproject.toml": '[tool.hermes-build]\nmodels = "pydantic"\n'})
    done = hermes(root, "compile")
    assert (done.code, done.out) == (0, "")
    program = (
        "from generated.tools.read_file import Args\n"
        "print(Args(path='x').model_dump(), Args.model_validate({'path': 'y', 'limit': 3}).limit)\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert shown.stdout == "{'path': 'x', 'limit': 10} 3\n"
    assert hermes(root, "check").code == 0


def test_a_package_inside_src_compiles_checks_and_runs(tmp_path: Path) -> None:
    settings = (
        'source = "src"\noutput = "agent.generated"\nhandlers = ["agent.tools"]\n'
        'specs = "agent/specs"\ntoolsets = "agent/sets"\n'
    )
    root = project(
        tmp_path,
        settings=settings,
        **{
            "agent/specs/read_file.yaml": spec("read_file", handler="self"),
            "agent/sets/all.yaml": "name: everything\nincludes: ['*']\n",
            "src/agent/__init__.py": "",
            "src/agent/tools/__init__.py": "",
            "src/agent/tools/read.py": handler("read_file", output="agent.generated"),
        },
    )
    assert hermes(root, "compile", "--strict").code == 0
    assert (root / "src/agent/generated/tools/read_file.py").is_file()
    assert not (root / "agent/generated").exists()
    assert hermes(root, "check").code == 0
    called = hermes(root, "call", "read_file", '{"path": "x"}')
    assert (called.code, called.out) == (0, "x 10\n")


def test_handlers_may_be_one_module_or_several_packages(tmp_path: Path) -> None:
    names = ("read_file", "write_file", "patch")
    files = {f"tool_specs/{name}.yaml": spec(name, handler="self") for name in names}
    files["pyproject.toml"] = '[tool.hermes-build]\nhandlers = ["handlers", "agent.more"]\n'
    files["handlers.py"] = handler("read_file")
    files["agent/more/deep/one.py"] = handler("write_file")
    files["agent/more/two.py"] = handler("patch")
    root = write(tmp_path, files)
    assert hermes(root, "compile").code == 0
    assert hermes(root, "check").code == 0
    lock = (root / LOCK).read_text()
    assert all(one in lock for one in ("handlers", "agent.more.deep.one", "agent.more.two"))
    assert hermes(root, "call", "write_file", '{"path": "x"}').out == "x 10\n"
    write(root, {"pyproject.toml": '[tool.hermes-build]\nhandlers = ["handlers", "agent.mare"]\n'})
    assert "HB3009" in hermes(root, "compile").codes


def test_settings_of_their_own_come_before_those_in_pyproject(root: Path) -> None:
    write(root, {"hermes-build.toml": 'output = "made"\n'})
    assert hermes(root, "compile").code == 0
    assert (root / "made/registry.py").is_file()


def test_mistakes_in_the_settings_are_findings(root: Path) -> None:
    before = contents(root)
    write(root, {"hermes-build.toml": 'modles = "pydantic"\n'})
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (1, ["HB1401"])
    assert "models" in done.out
    for arguments in (["new", "x"], ["import", "json", "-"], ["call", "read_file"]):
        refused = hermes(root, *arguments, input="[]")
        assert (refused.code, refused.codes) == (2, ["HB1401"]), arguments
    (root / "hermes-build.toml").unlink()
    assert contents(root) == before


# Templates


def template(name: str) -> str:
    return (Path(__file__).parents[1] / "templates" / name).read_text()


def test_a_template_of_the_project_replaces_the_built_in_one(root: Path) -> None:
    before = contents(root)
    text = "# Ours since 2024.\n" + template("tool.py.jinja")
    write(root, {"templates/tool.py.jinja": text})
    stale = hermes(root, "compile", "--check")
    assert stale.code == 1
    assert "HB5004" in stale.codes
    assert hermes(root, "compile").code == 0
    assert (root / "generated/tools/read_file.py").read_text().startswith("# Ours since 2024.\n")
    assert hermes(root, "check").code == 0
    (root / "templates/tool.py.jinja").unlink()
    assert hermes(root, "compile").code == 0
    assert contents(root) == before


@pytest.mark.parametrize(
    ("name", "text", "code", "line"),
    [
        ("tool.py.jinja", "{% for x in %}\n", "HB5007", 1),
        ("tool.py.jinja", "# One\n{{ nonsense }}\n", "HB5007", 2),
        ("tool.py.jinja", "\n\n{{ name.__class__.__mro__ }}\n", "HB5007", 3),
        ("registry.py.jinja", b"\xff\xfe", "HB5007", 1),
        ("package.py.jinja", "{{ docstring | docstring }}\n{{ docstring.x }}", "HB5007", 2),
        ("package.py.jinja", "\n{{ docstring.encode('no such') }}", "HB5007", 2),
        ("package.py.jinja", "\n{% include 'package.py.jinja' %}", "HB5007", 2),
        ("tool.py.jinja", "import os\nos.system('true')\n", "HB5006", None),
        ("tool.py.jinja", "def (\n", "HB5006", None),
        ("registry.py.jinja", "registry = eval('1')\n", "HB5006", None),
        ("package.py.jinja", "import os\n", "HB5006", None),
    ],
)
def test_a_broken_template_is_a_finding_and_writes_nothing(
    root: Path, name: str, text: str | bytes, code: str, line: int | None
) -> None:
    write(root, {f"templates/{name}": text})
    before = contents(root)
    done = hermes(root, "compile", "--no-cache", "--format", "concise")
    assert (done.code, done.codes) == (1, [code])
    if line is not None:
        assert done.out.startswith(f"templates/{name}:{line}:")
    assert contents(root) == before


def test_a_template_that_is_no_file_is_a_finding(root: Path) -> None:
    place = root / "templates/tool.py.jinja"
    place.mkdir(parents=True)
    assert hermes(root, "compile").codes == ["HB5007"]
    place.rmdir()
    os.mkfifo(place)
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (1, ["HB5007"])
    assert "it is not a file" in done.out
    assert str(root) not in done.out


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        ("generated", ["HB5003"]),
        (LOCK, ["HB5005"]),
        (".hermes-build", ["HB5008"]),
        ("tool_specs", ["HB0001", "HB1007"]),
        ("toolsets", ["HB0001"]),
    ],
)
def test_a_file_for_a_folder_and_a_folder_for_a_file_are_findings(
    root: Path, path: str, codes: list[str]
) -> None:
    if (root / path).is_dir():
        shutil.rmtree(root / path)
    if path == LOCK:
        (root / LOCK).unlink()
        (root / LOCK).mkdir()
    else:
        write(root, {path: "a file\n"})
    done = hermes(root, "compile")
    assert (done.code, sorted(done.codes)) == (1, codes)
    assert "move" in done.out or path in ("tool_specs", "toolsets")
    assert hermes(root, "check").code == int(path != ".hermes-build")
    assert hermes(root, "doctor").code in (0, 1)


# What a machine remembers


def test_without_the_cache_nothing_is_remembered(tmp_path: Path) -> None:
    root = project(tmp_path, "read_file")
    assert hermes(root, "compile", "--no-cache").code == 0
    assert not (root / ".hermes-build/memory.json").exists()
    good = contents(root)
    assert hermes(root, "compile").code == 0
    assert (root / ".hermes-build/memory.json").exists()
    assert contents(root) == good


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"stamp": 1}', None])
def test_a_damaged_memory_is_an_empty_one(root: Path, damage: bytes | None) -> None:
    good = contents(root)
    memory = root / ".hermes-build/memory.json"
    if damage is None:
        rows = json.loads(memory.read_bytes())
        rows["declared"] = {path: [] for path in rows["declared"]}
        rows["stubs"] = {}
        damage = json.dumps(rows).encode()
    memory.write_bytes(damage)
    done = hermes(root, "compile")
    assert (done.code, done.out) == (0, "")
    assert contents(root) == good


def test_a_second_compile_waits_for_the_first(root: Path) -> None:
    from filelock import FileLock

    with FileLock(root / ".hermes-build/compile.lock"):
        waiting = subprocess.Popen(
            [*PROGRAM, "compile"], cwd=root, stderr=subprocess.PIPE, text=True
        )
        assert waiting.stderr
        line = waiting.stderr.readline()
        assert line == "another hermes-build is writing here; waiting for it\n"
        assert waiting.poll() is None
    assert waiting.communicate(timeout=60)[1].startswith("compiled 2 tools")
    assert waiting.returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [["--jobs", "0"], ["--watch", "--check"], ["--watch", "--diff"], ["--nonsense"], ["surplus"]],
)
def test_wrong_usage_decides_nothing(root: Path, arguments: list[str]) -> None:
    before = ages(root)
    done = hermes(root, "compile", *arguments)
    assert (done.code, done.out) == (2, "")
    assert "Error: " in done.err
    assert ages(root) == before


def test_a_real_process_compiles_like_this_one(tmp_path: Path, compiled: Path) -> None:
    root = project(tmp_path, "read_file", "write_file")
    done = process(root, "compile")
    assert (done.code, done.out) == (0, "")
    assert contents(root) == contents(compiled)
