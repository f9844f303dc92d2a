"""A stub of an odd schema is importable and typed, and depends on its tool alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_build.compiler.emit.naming import Kind
from hermes_build.compiler.emit.stubs import Stub, StubRequest, make_stubs
from tests.stubs.odd_schemas import HONEST, ODD, requests
from tests.stubs.written import KINDS, hints, load


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ODD)
def test_an_odd_schema_has_an_importable_stub_without_problems(
    made: dict[Kind, dict[str, Stub]], name: str, kind: Kind
) -> None:
    one = made[kind][name]
    assert one.problems == ()
    space = load(one.text)
    assert one.args in space
    assert one.result is None or one.result in space
    if kind == "typed-dict":
        assert {line.split()[1] for line in one.imports} == {"typing"}


def test_all_stubs_pass_strict_type_checking(
    made: dict[Kind, dict[str, Stub]], tmp_path: Path
) -> None:
    for kind, stubs in made.items():
        folder = tmp_path / f"kind_{kind.replace('-', '_')}"
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        for name, one in stubs.items():
            (folder / f"t_{name.replace('-', '_')}.py").write_text(one.text, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir=c"]
    done = subprocess.run(
        [
            *command,
            f"--cache-dir={tmp_path / 'cache'}",
            "-p",
            "kind_typed_dict",
            "-p",
            "kind_pydantic",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_depends_on_its_tool_alone(made: dict[Kind, dict[str, Stub]], kind: Kind) -> None:
    bad = [StubRequest(f"bad_{name}", schema) for name, (schema, _) in HONEST.items()]
    mixed = [*bad[:5], *reversed(requests()), *bad[5:]]
    together = make_stubs(mixed, kind, jobs=2)
    for name, one in made[kind].items():
        assert together[name] == one
    for request in requests()[:8]:
        assert make_stubs([request], kind)[request.name] == made[kind][request.name]


def test_a_text_does_not_depend_on_the_hash_seed(made: dict[Kind, dict[str, Stub]]) -> None:
    code = (
        "import sys, json\n"
        "from hermes_build.compiler.emit.stubs import StubRequest, make_stubs\n"
        "asked = [StubRequest(*one) for one in json.load(sys.stdin)]\n"
        "print(json.dumps([one.text for one in make_stubs(asked, 'typed-dict').values()]))"
    )
    asked = [(one.name, one.parameters, one.output_schema) for one in requests()]
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(asked),
        env=os.environ | {"PYTHONHASHSEED": "42"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [one.text for one in made["typed-dict"].values()]


def test_root_names_follow_from_the_tools_name(made: dict[Kind, dict[str, Stub]]) -> None:
    stubs = made["typed-dict"]
    assert (stubs["plain"].args, stubs["plain"].result) == ("PlainArgs", "PlainResult")
    assert stubs["no_args"].result is None
    assert stubs["with-dash"].args == "WithDashArgs"
    assert stubs["x"].args == "XArgs"
    assert stubs["x_input"].args == "XInputArgs"
    # The tail of every module imports a class of this name.
    assert stubs["tool"].result == "ToolResult2"


def test_keys_reach_the_class_as_they_are(made: dict[Kind, dict[str, Stub]]) -> None:
    keys = {*ODD["keys"][0]["properties"], "undeclared"}
    one = made["typed-dict"]["keys"]
    assert hints(one).keys() == keys
    made_class = load(one.text)[one.args]
    assert made_class.__total__ is True
    assert set(made_class.__annotations__) == keys
    model = load(made["pydantic"]["keys"].text)["KeysArgs"]
    assert {
        name if field.alias is None else field.alias for name, field in model.model_fields.items()
    } == keys
