"""``hermes-build call``: one tool, as an agent would call it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.command_line import handler, hermes, process, project, spec, write


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bodies = {
        "read_file": (),
        "answer": ('return {"limit": args["limit"], "text": "für 👋"}  # type: ignore',),
        "fail": ("raise ValueError('no such file')",),
        "leave": ("raise SystemExit(7)",),
        "print_too": ("print('noise')", "return 'signal'"),
        "deep": ("return '{\"a\":' * 9_000 + '1' + '}' * 9_000",),
    }
    files = {"handlers/__init__.py": "", "tool_specs/outside.yaml": spec("outside")}
    for name, body in bodies.items():
        files[f"tool_specs/{name}.yaml"] = spec(name, handler="self")
        files[f"handlers/{name}.py"] = handler(name, *body)
    files["tool_specs/later.yaml"] = spec("later", "aliases: [soon]", handler="self")
    files["handlers/later.py"] = handler("later").replace("def handler", "async def handler")
    files["tool_specs/broken.yaml"] = spec("broken", handler="self")
    files["handlers/broken.py"] = "1 / 0\n" + handler("broken")
    root = write(project(tmp_path_factory.mktemp("compiled")), files)
    done = hermes(root, "compile")
    assert done.code == 0, done
    return root


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        (["read_file", '{"path": "x"}'], "x 10\n"),
        (["read_file", '{"path": "x", "limit": 3}'], "x 3\n"),
        (["later", '{"path": "x"}'], "x 10\n"),
        (["soon", '{"path": "x"}'], "x 10\n"),
        (["print_too", '{"path": "x"}'], "noise\nsignal\n"),
    ],
)
def test_a_result_is_printed_as_a_model_reads_it(
    compiled: Path, arguments: list[str], out: str
) -> None:
    done = hermes(compiled, "call", *arguments)
    assert (done.code, done.out) == (0, out)


def test_a_result_that_is_data_is_printed_as_json(compiled: Path) -> None:
    done = hermes(compiled, "call", "answer", '{"path": "x"}')
    assert done.code == 0
    assert json.loads(done.out) == {"limit": 10, "text": "für 👋"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["read_file"], '"path" is a required property'),
        (["read_file", '{"path": 1}'], "path: must be text, but is 1"),
        (["read_file", '{"path": "x", "mode": 1}'], "'mode' was unexpected"),
        (["read_file", "[]"], "must be a JSON object"),
        (["nobody", "{}"], "Unknown tool"),
        (["outside", '{"path": "x"}'], "outside"),
        (["fail", '{"path": "x"}'], "no such file"),
        (["leave", '{"path": "x"}'], "SystemExit: 7"),
        (["broken", '{"path": "x"}'], "ZeroDivisionError"),
    ],
)
def test_a_failure_is_printed_as_a_model_reads_it(
    compiled: Path, arguments: list[str], said: str
) -> None:
    done = hermes(compiled, "call", *arguments)
    assert done.code == 1
    assert said in json.loads(done.out)["error"]


@pytest.mark.parametrize("text", ["{", "path=x", "", '{"path": "x"}}', "[" * 100_000])
def test_arguments_that_are_no_json_decide_nothing(compiled: Path, text: str) -> None:
    done = hermes(compiled, "call", "read_file", text)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Error: the arguments are not JSON: ")


def test_arguments_that_are_no_json_are_shown_shortened_beside_an_example(compiled: Path) -> None:
    done = hermes(compiled, "call", "read_file", "{path: " + "x" * 1000 + "}")
    assert done.code == 2
    assert "they arrived as '{path: xxx" in done.err and "x..." in done.err
    assert """'{"name": "Ada"}'""" in done.err
    assert len(done.err) < 400


@pytest.mark.parametrize("words", [["{path:", "x}"], ["{path:", "x,", "limit:", "3}"]])
def test_json_that_the_shell_split_is_told_as_such(compiled: Path, words: list[str]) -> None:
    done = hermes(compiled, "call", "read_file", *words)
    assert (done.code, done.out) == (2, "")
    assert "the shell split the JSON" in done.err
    assert """`hermes-build call read_file '{"name": "Ada"}'`""" in done.err
    assert "bundle" not in done.err.partition("Error: ")[2]


def test_a_name_that_stands_twice_in_one_object_decides_nothing(compiled: Path) -> None:
    done = hermes(compiled, "call", "read_file", '{"path": "x", "path": "y"}')
    assert (done.code, done.out) == (2, "")
    assert "the name 'path' stands twice" in done.err


def test_a_word_without_quotes_is_neither_arguments_nor_a_bundles_tool(
    compiled: Path, tmp_path: Path
) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path)}
    for folder, said in (
        (compiled, "the arguments are not JSON"),
        (tmp_path, "no hermes-build project"),
    ):
        done = process(folder, "call", "read_file", "Ada", env=env)
        assert (done.code, done.out) == (2, "")
        assert said in done.err
        assert "no bundle `read_file` is installed" in done.err


def test_an_answer_of_deep_json_is_printed_like_any_other(compiled: Path) -> None:
    done = hermes(compiled, "call", "deep", '{"path": "x"}')
    assert (done.code, done.out[:5], done.err) == (0, '{"a":', "")


def test_arguments_are_read_from_standard_input_as_utf8(compiled: Path) -> None:
    text = json.dumps({"path": "Grüße 👋"}, ensure_ascii=False).encode()
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for arguments in (text, b"\xef\xbb\xbf" + text):
        assert hermes(compiled, "call", "read_file", "-", input=arguments).out == "Grüße 👋 10\n"
    assert process(compiled, "call", "read_file", "-", input=text, env=env).out == "Grüße 👋 10\n"
    done = hermes(compiled, "call", "read_file", "-", input=b"\xff{}")
    assert (done.code, done.out) == (2, "")


def test_a_project_can_be_called_from_elsewhere(compiled: Path, tmp_path: Path) -> None:
    done = hermes(tmp_path, "call", "read_file", '{"path": "x"}', "-C", str(compiled))
    assert (done.code, done.out) == (0, "x 10\n")


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        (None, "", "run `hermes-build compile`"),
        ("generated/catalogue.jsonl", "", "hermes-build compile"),
        ("generated/registry.py", "def (\n", "hermes-build compile"),
        ("generated/registry.py", "registry = 1 / 0\n", "hermes-build compile"),
        ("generated/registry.py", "", "hermes-build compile"),
    ],
    ids=["not compiled", "empty catalogue", "no Python", "raises", "empty"],
)
def test_a_registry_that_cannot_be_opened_decides_nothing(
    compiled: Path, tmp_path: Path, path: str | None, text: str, said: str
) -> None:
    root = shutil.copytree(compiled, tmp_path / "project")
    if path is None:
        shutil.rmtree(root / "generated")
    else:
        write(root, {path: text})
    done = hermes(root, "call", "read_file", '{"path": "x"}')
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err


CONFLICT = "<<<<<<< HEAD\nregistry = 1\n=======\nregistry = 2\n>>>>>>> theirs\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("generated/registry.py", CONFLICT),
        ("generated/__init__.py", CONFLICT),
        ("generated/tools/__init__.py", CONFLICT),
        ("generated/tools/read_file.py", CONFLICT),
        ("generated/registry.py", "registry = (\n"),
        ("generated/registry.py", "\0"),
    ],
)
def test_a_generated_file_that_is_no_python_is_named_with_what_mends_it(
    compiled: Path, tmp_path: Path, path: str, text: str
) -> None:
    root = write(shutil.copytree(compiled, tmp_path / "project"), {path: text})
    done = hermes(root, "call", "read_file", '{"path": "x"}')
    assert (done.code, done.out) == (2, "")
    last = done.err.splitlines()[-1]
    assert last.startswith("Error: `generated") and "` cannot be parsed" in last
    assert last.endswith("run `hermes-build compile`")
    if text != "\0":
        assert f"`{path}` cannot be parsed (line " in last


@pytest.mark.parametrize("keep", [0.9, 0.5, 0.1])
def test_a_truncated_catalogue_decides_nothing(compiled: Path, tmp_path: Path, keep: float) -> None:
    root = shutil.copytree(compiled, tmp_path / "project")
    path = root / "generated" / "catalogue.jsonl"
    content = path.read_bytes()
    for cut in (int(len(content) * keep), content.rindex(b"\n", 0, int(len(content) * keep)) + 1):
        path.write_bytes(content[:cut])
        for tool in ("read_file", "answer", "nobody"):
            done = hermes(root, "call", tool, '{"path": "x"}')
            assert (done.code, done.out) == (2, "")
            assert "run `hermes-build compile`" in done.err.lower()
            assert "Traceback" not in done.err


def test_a_handler_that_is_no_python_is_not_a_fault_of_the_generated_files(
    compiled: Path, tmp_path: Path
) -> None:
    root = shutil.copytree(compiled, tmp_path / "project")
    write(root, {"handlers/read_file.py": CONFLICT})
    done = hermes(root, "call", "read_file", '{"path": "x"}')
    assert done.code == 1
    assert "handlers/read_file.py:1" in json.loads(done.out)["error"]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_numbers_that_json_does_not_know_are_refused(compiled: Path, number: str) -> None:
    done = hermes(compiled, "call", "read_file", f'{{"path": "x", "limit": {number}}}')
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"Error: the arguments are not JSON: {number} is ")


def test_an_unknown_tool_that_a_spec_declares_gets_the_command_to_run(
    compiled: Path, tmp_path: Path
) -> None:
    root = shutil.copytree(compiled, tmp_path / "project")
    write(root, {"tool_specs/fresh.yaml": spec("fresh", "aliases: [new]")})
    for name in ("fresh", "new"):
        done = hermes(root, "call", name)
        assert done.code == 1
        assert "Unknown tool" in json.loads(done.out)["error"]
        assert done.err == (
            f"hint: tool_specs/fresh.yaml:1 declares `{name}`, and is not compiled yet: "
            "run `hermes-build compile`\n"
        )
    assert hermes(root, "call", "nobody").err == ""
    write(root, {"tool_specs/broken.yaml": "name: ["})
    assert "the specs have errors" in hermes(root, "call", "fresh").err
