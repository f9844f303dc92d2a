"""The commands that look: show, explain, rules, schema, export, doctor, and every ``--help``."""

from __future__ import annotations

import json
import shutil
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import click
import pytest
from jsonschema import Draft202012Validator

from hermes_build import __version__
from hermes_build.cli import doctoring
from hermes_build.cli.app import app
from hermes_build.compiler.codes import CODES
from hermes_build.compiler.seal import VERSIONS
from tests.command_line import LOCK, PROGRAM, contents, hermes, process, project, spec, write

SETS = """\
name: reading
description: Only looks, never touches.
tools: [read_file]
aliases: [look]
---
name: editing
includes: [file]
excludes: [read_file]
guards: {max_tools: 5}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = project(tmp_path_factory.mktemp("compiled"))
    more = (
        "title: Read a file",
        'emoji: "📖"',
        "aliases: [cat_file]",
        "annotations: {read_only: true, destructive: false}",
        "tags: [disk]",
        "requires: {env: [HOME], platforms: [linux, macos]}",
        "timeout_seconds: 2.5",
        "output_schema: {type: object, properties: {text: {type: string}}}",
    )
    write(
        root,
        {
            "tool_specs/read_file.yaml": spec("read_file", *more),
            "tool_specs/write_file.yaml": spec("write_file"),
            "toolsets/sets.yaml": SETS,
        },
    )
    done = hermes(root, "compile", "--strict")
    assert done.code == 0, done
    return root


@pytest.fixture
def root(compiled: Path, tmp_path: Path) -> Path:
    return shutil.copytree(compiled, tmp_path / "project")


# show


def test_a_text_of_a_stranger_does_not_act_on_the_terminal(root: Path) -> None:
    evil = '"\\e[2J \\u009b31m \\u202e"'
    write(root, {"tool_specs/x.yaml": spec("x", f"title: {evil}", description=evil)})
    for arguments in ([], ["x"], ["x", "file"]):
        done = hermes(root, "show", *arguments)
        assert (done.code, done.err) == (0, "")
        assert all(line.isprintable() for line in done.out.split("\n"))
        assert "<U+202E>" in done.out


def test_the_overview_names_every_toolset_and_tool(compiled: Path) -> None:
    done = hermes(compiled, "show")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "3 toolsets"
    assert "2 tools" in lines
    for name in ("editing", "file", "reading", "read_file", "write_file"):
        # The first character may be a mark: whether a tool can be used here depends on the machine.
        assert any(line[1:].startswith(f" {name} ") for line in lines), name
    assert all(len(line) <= 100 for line in lines)
    assert "    Only looks, never touches." in lines


def test_a_tool_is_shown_as_a_model_sees_it(compiled: Path) -> None:
    environment = {"HOME": "somewhere"}
    done = hermes(compiled, "show", "read_file", env=environment)
    assert done.code == 0
    for line in (
        "  title: Read a file",
        "  emoji: 📖",
        "  aliases: cat_file",
        "  annotations: read_only yes, destructive no",
        "  requires: env HOME, platforms linux, macos",
        "  timeout_seconds: 2.5",
        "  available here: yes",
        '            "default": 10',
    ):
        assert line in done.out.splitlines(), line
    assert "what it returns" in done.out
    assert hermes(compiled, "show", "cat_file", env=environment).out == done.out


def test_a_toolset_is_shown_with_the_reason_for_each_tool(compiled: Path) -> None:
    done = hermes(compiled, "show", "editing", "look")
    assert done.code == 0
    assert "write_file: it comes through `editing` -> `file`" in done.out
    assert "without read_file: `editing` excludes it" in done.out
    assert "reading  (toolsets/sets.yaml:1, 1 tool" in done.out


def test_shown_json_holds_the_same(compiled: Path) -> None:
    everything = json.loads(hermes(compiled, "show", "--json").out)
    assert [(one["kind"], one["name"]) for one in everything] == [
        ("toolset", "editing"),
        ("toolset", "file"),
        ("toolset", "reading"),
        ("tool", "read_file"),
        ("tool", "write_file"),
    ]
    [tool, toolset] = json.loads(hermes(compiled, "show", "read_file", "reading", "--json").out)
    assert tool["schema"]["parameters"]["required"] == ["path"]
    assert tool["source"] == "tool_specs/read_file.yaml:1"
    assert toolset["resolved"] == ["read_file"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "raed_file"], "did you mean `read_file`"),
        (["explain", "raed_file"], "did you mean `read_file`"),
        (["explain", "read_file", "-t", "redaing"], "did you mean `reading`"),
        (["export", "--provider", "mcp", "-t", "redaing"], "did you mean `reading`"),
        (["chekc"], "did you mean `check`"),
    ],
)
def test_an_unknown_name_gets_the_nearest(compiled: Path, arguments: list[str], said: str) -> None:
    done = hermes(compiled, *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err.lower()


@pytest.mark.parametrize(
    "arguments", [["show"], ["explain", "read_file"], ["export", "--provider", "openai"]]
)
def test_a_project_with_errors_cannot_be_looked_at(root: Path, arguments: list[str]) -> None:
    write(root, {"tool_specs/write_file.yaml": spec("write_file", "nonsense: 1")})
    done = hermes(root, *arguments)
    assert (done.code, done.codes) == (2, ["HB1001"])
    assert done.err == "Error: the specs have errors\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["show"],
        ["explain", "read_file"],
        ["export", "--provider", "mcp"],
        ["compile"],
        ["check"],
        ["lint"],
        ["new", "x"],
        ["call", "x"],
        ["import", "json", "-"],
    ],
)
def test_outside_a_project_it_says_how_to_start_one(tmp_path: Path, arguments: list[str]) -> None:
    done = hermes(tmp_path, *arguments)
    assert (done.code, done.out) == (2, "")
    assert "run `hermes-build init`" in done.err
    assert not list(tmp_path.iterdir())


# explain, rules


def test_explain_says_which_toolsets_hold_a_tool_and_why(compiled: Path) -> None:
    done = hermes(compiled, "explain", "cat_file")
    assert done.code == 0
    assert done.out.splitlines() == [
        "`read_file` is not in `editing`: `editing` excludes it (excludes are applied last)",
        "`read_file` is in `file`: its spec names this toolset",
        "`read_file` is in `reading`: `reading` lists it",
    ]
    one = hermes(compiled, "explain", "read_file", "--toolset", "look")
    assert one.out.splitlines() == ["`read_file` is in `reading`: `reading` lists it"]
    assert one.code == 0


def test_explain_follows_an_include_of_everything(root: Path) -> None:
    sets = "name: outer\nincludes: [inner]\n---\nname: inner\nincludes: ['*']\n"
    write(root, {"toolsets/more.yaml": sets})
    assert hermes(root, "explain", "read_file", "-t", "inner").out.endswith(
        '`inner` includes "*", every tool\n'
    )
    assert hermes(root, "explain", "read_file", "-t", "outer").out.endswith(
        "it comes through `outer` -> `inner`, which includes every tool\n"
    )


def test_a_code_is_explained_anywhere_in_either_case(tmp_path: Path) -> None:
    done = hermes(tmp_path, "explain", "hb1103")
    assert done.code == 0
    assert done.out.startswith("# HB1103: default-does-not-fit")
    unknown = hermes(tmp_path, "explain", "HB9999")
    assert (unknown.code, unknown.out) == (2, "")
    assert "no code `HB9999`" in unknown.err


def test_rules_lists_every_code(tmp_path: Path) -> None:
    lines = hermes(tmp_path, "rules").out.splitlines()
    assert [line[:6] for line in lines] == list(CODES)
    rows = json.loads(hermes(tmp_path, "rules", "--json").out)
    assert [row["code"] for row in rows] == list(CODES)
    assert all(set(row) == {"code", "name", "severity", "purpose"} for row in rows)


# schema, export


@pytest.mark.parametrize("which", ["tool", "toolset", "config", "output"])
def test_each_schema_is_printed_anywhere(tmp_path: Path, which: str) -> None:
    done = hermes(tmp_path, "schema", which)
    assert (done.code, done.err) == (0, "")
    Draft202012Validator.check_schema(json.loads(done.out))
    assert hermes(tmp_path, "schema", which + "s").code == 2


def test_reports_fit_the_published_schema(root: Path, tmp_path: Path) -> None:
    validator = Draft202012Validator(json.loads(hermes(tmp_path, "schema", "output").out))
    write(root, {"generated/registry.py": "", "toolsets/more.yaml": "name: 5\nnmae: x\n"})
    reports = [
        json.loads(hermes(root, *command, "--format", "json").out)
        for command in (["check"], ["lint"], ["compile"], ["compile", "--check"])
    ]
    (root / "toolsets/more.yaml").unlink()
    reports.append(json.loads(hermes(root, "check", "--format", "json").out))
    for report in reports:
        validator.validate(report)
        assert report["summary"]["errors"] == len(report["findings"]) > 0


def test_exports_have_the_forms_of_the_providers(compiled: Path) -> None:
    openai = json.loads(hermes(compiled, "export", "--provider", "openai").out)
    assert [one["function"]["name"] for one in openai] == ["read_file", "write_file"]
    assert {one["type"] for one in openai} == {"function"}
    mcp = json.loads(hermes(compiled, "export", "--provider", "mcp", "-t", "look").out)
    [tool] = mcp["tools"]
    assert list(tool) == [
        "name", "title", "description", "inputSchema", "outputSchema", "annotations",
    ]  # fmt: skip
    assert tool["annotations"] == {"readOnlyHint": True, "destructiveHint": False}


@pytest.mark.parametrize(
    ("toolsets", "names"),
    [
        (["reading"], ["read_file"]),
        (["editing"], ["write_file"]),
        (["editing", "reading"], ["read_file", "write_file"]),
        (["all"], ["read_file", "write_file"]),
        (["*"], ["read_file", "write_file"]),
    ],
)
def test_an_export_holds_the_tools_of_its_toolsets(
    compiled: Path, toolsets: list[str], names: list[str]
) -> None:
    options = [word for name in toolsets for word in ("--toolset", name)]
    done = hermes(compiled, "export", "--provider", "openai", *options)
    assert [one["function"]["name"] for one in json.loads(done.out)] == names


def test_an_export_goes_to_a_file(compiled: Path, tmp_path: Path) -> None:
    printed = hermes(compiled, "export", "--provider", "mcp")
    for option in ("-o", "--output"):
        file = tmp_path / f"out{option}.json"
        done = hermes(compiled, "export", "--provider", "mcp", option, str(file))
        assert (done.code, done.out) == (0, "")
        assert file.read_text("utf-8") == printed.out
    lost = hermes(compiled, "export", "--provider", "mcp", "-o", str(tmp_path / "no/out.json"))
    assert lost.code == 2
    assert "cannot be written" in lost.err
    assert hermes(compiled, "export").code == 2
    assert hermes(compiled, "export", "--provider", "nobody").code == 2


# doctor


def test_a_sound_project_is_in_order(compiled: Path) -> None:
    done = hermes(compiled, "doctor")
    assert done.code == 0
    assert done.out.startswith(f"hermes-build {__version__}, Python ")
    assert done.out.endswith("everything is in order\n")
    assert "lock: 2 tools, 3 toolsets" in done.out
    for name in VERSIONS:
        assert f"  {name} " in done.out


def test_the_doctor_works_without_a_project(tmp_path: Path) -> None:
    done = hermes(tmp_path, "doctor")
    assert done.code == 0
    assert "run `hermes-build init`" in done.out


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({LOCK: None}, "there is no readable lock: run `hermes-build compile`"),
        ({LOCK: "<<<<<<<\n"}, "there is no readable lock: run `hermes-build compile`"),
        ({"generated": None}, "generated/ is not there: run `hermes-build compile`"),
        ({"tool_specs": None}, "tool_specs/ is not there: run `hermes-build new TOOL`"),
        ({"pyproject.toml": "[tool.hermes-build]\nspec = 1\n"}, "unknown setting `spec` (HB1401)"),
    ],
)
def test_the_doctor_says_what_is_missing(
    root: Path, damage: dict[str, str | None], said: str
) -> None:
    for path, text in damage.items():
        if text is not None:
            write(root, {path: text})
        elif (root / path).is_dir():
            shutil.rmtree(root / path)
        else:
            (root / path).unlink()
    before = contents(root)
    done = hermes(root, "doctor")
    assert done.code == 1
    assert f"! {said}" in done.out.splitlines()
    assert contents(root) == before


def test_the_doctor_compares_the_generator_with_the_lock(root: Path) -> None:
    text = (root / LOCK).read_text()
    name = VERSIONS[0]
    [line] = [line for line in text.splitlines() if line.split()[1:2] == [name]]
    write(root, {LOCK: text.replace(line, f"{line.rsplit(' ', 1)[0]} 0.1.2")})
    done = hermes(root, "doctor")
    assert done.code == 1
    assert f"the lock was made with {name} 0.1.2" in done.out


def test_the_doctor_names_a_package_that_is_missing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctoring, "version", nothing)
    done = hermes(root, "doctor")
    assert done.code == 1
    assert f"! {VERSIONS[0]} is not installed: reinstall hermes-build" in done.out.splitlines()


@pytest.mark.parametrize("module", ["jinja2", "yaml", "jsonschema_rs", "datamodel_code_generator"])
def test_the_doctor_works_where_a_package_cannot_be_imported(compiled: Path, module: str) -> None:
    program = [PROGRAM[0], "-P", "-c", f"import sys; sys.modules[{module!r}] = None; {PROGRAM[-1]}"]
    done = process(compiled, "doctor", program=program)
    assert (done.code, done.err) == (0, "")


def test_without_libyaml_everything_works_and_the_doctor_says_so(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctoring, "HAS_LIBYAML", False)
    done = hermes(root, "doctor")
    assert done.code == 1
    assert "PyYAML came without libyaml" in done.out
    good = contents(root)
    shutil.rmtree(root / "generated")
    (root / LOCK).unlink()
    hide = "import sys; sys.modules['yaml._yaml'] = None; "
    program = [*PROGRAM[:-1], hide + PROGRAM[-1]]
    slow = process(root, "compile", "--no-cache", program=program)
    assert (slow.code, slow.out) == (0, "")
    assert contents(root) == good
    assert "libyaml" in process(root, "doctor", program=program).out


# --help, --version


def commands() -> list[tuple[list[str], click.Command]]:
    context = click.Context(app)
    found: list[tuple[list[str], click.Command]] = []
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        assert command is not None
        found.append(([name], command))
        if isinstance(command, click.Group):
            found += [([name, inner], one) for inner, one in command.commands.items()]
    return found


@pytest.mark.parametrize(("words", "command"), commands(), ids=lambda one: str(one))
def test_every_help_mentions_every_option_and_argument(
    tmp_path: Path, words: list[str], command: click.Command
) -> None:
    done = hermes(tmp_path, *words, "--help")
    assert (done.code, done.err) == (0, "")
    assert hermes(tmp_path, *words, "-h").out == done.out
    text = " ".join(done.out.split())
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, (words, parameter.name)
            for option in parameter.opts:
                assert option in text, (words, option)
        else:
            assert parameter.make_metavar(click.Context(command)) in text
    assert command.help


def test_the_documents_mention_every_command() -> None:
    root = Path(__file__).parents[1]
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    missing: list[list[str]] = []
    for words, _ in commands():
        if f"`{words[0]}" not in text and f"hermes-build {' '.join(words)}" not in text:
            missing.append(words)
    assert not missing


def test_help_lists_every_command_with_its_purpose(tmp_path: Path) -> None:
    done = hermes(tmp_path, "--help")
    assert done.code == 0
    lines = done.out.split("Commands:\n")[1].splitlines()
    listed = [line.split()[0] for line in lines if line[2:3] > " "]
    assert listed == app.list_commands(click.Context(app))
    assert hermes(tmp_path, "--version").out == f"hermes-build, version {__version__}\n"


def test_nothing_at_all_shows_the_help(tmp_path: Path) -> None:
    done = hermes(tmp_path)
    assert done.code == 2
    assert "Usage: hermes-build" in done.out + done.err
