"""After modelcontextprotocol/typescript-sdk#1143: what a spec describes, the model reads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hermes_build
from hermes_build.compiler.emit.exports import PROVIDERS
from tests.command_line import hermes, project, write

PLACES = [
    "the tool",
    "text",
    "a list",
    "an item",
    "an item's property",
    "an object",
    "a property within",
    "a branch",
    "another branch",
    "a definition",
    "a property of a definition",
    "beside a reference",
    "any other property",
    "text, in two\nlines, with a \\ and “quotes”",
]
SPEC = f"""\
name: t
description: {PLACES[0]}
handler: external
parameters:
  type: object
  properties:
    text: {{type: string, description: {PLACES[1]}}}
    list:
      type: array
      description: {PLACES[2]}
      items:
        type: object
        description: {PLACES[3]}
        properties: {{n: {{type: integer, description: {PLACES[4]}}}}}
    object:
      type: object
      description: {PLACES[5]}
      properties: {{n: {{type: integer, description: {PLACES[6]}}}}}
    either:
      anyOf:
        - {{type: string, description: {PLACES[7]}}}
        - {{type: integer, description: {PLACES[8]}}}
    one: {{$ref: "#/$defs/thing", description: {PLACES[11]}}}
    odd: {{type: string, description: {json.dumps(PLACES[13])}}}
  additionalProperties: {{type: integer, description: {PLACES[12]}}}
  $defs:
    thing:
      type: object
      description: {PLACES[9]}
      properties: {{n: {{type: integer, description: {PLACES[10]}}}}}
"""
PROGRAM = """
import json
from generated.registry import registry
session, deferring = registry.session(), registry.session(deferred=["t"])
print(json.dumps({
    "definitions": session.definitions(),
    "one definition": registry.get_definition("t"),
    "the listing": json.loads(session.definitions_json()),
    "the search": json.loads(deferring.call("tool_describe", {"name": "t"})),
}))
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("described")
    project(root)
    sets = "name: s\ndescription: A set.\ntools: [t]\n"
    write(root, {"tool_specs/t.yaml": SPEC, "toolsets/s.yaml": sets})
    done = hermes(root, "compile")
    assert done.code == 0, done
    return root


def descriptions(value: Any) -> set[str]:
    """Every description anywhere within a JSON value."""
    if isinstance(value, list):
        return {one for part in value for one in descriptions(part)}
    if not isinstance(value, dict):
        return set()
    own = {value["description"]} if isinstance(value.get("description"), str) else set()
    return own.union(*map(descriptions, value.values()))


def test_every_description_reaches_the_model(compiled: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=compiled,
        env={"PYTHONPATH": f"{compiled}:{Path(hermes_build.__file__).parent.parent}"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    for way, value in json.loads(done.stdout).items():
        assert descriptions(value) == set(PLACES), way


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_description_reaches_an_export(compiled: Path, provider: str) -> None:
    done = hermes(compiled, "export", "--provider", provider)
    assert done.code == 0, done
    assert descriptions(json.loads(done.out)) >= set(PLACES)
