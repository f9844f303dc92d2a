"""Asks for one stub, and reads what was written."""

from __future__ import annotations

import ast
import sys
import types
from typing import Any

from hermes_build.compiler.emit.naming import Kind
from hermes_build.compiler.emit.stubs import Stub, StubRequest, make_stubs

KINDS: tuple[Kind, ...] = ("typed-dict", "pydantic")


def thing(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def stub(schema: dict[str, Any], output: Any = None, kind: Kind = "typed-dict") -> Stub:
    return make_stubs([StubRequest("tool_x", schema, output)], kind)["tool_x"]


def load(text: str) -> dict[str, Any]:
    # Types are looked up in the module that a class names as its own.
    module = sys.modules["generated_stub"] = types.ModuleType("generated_stub")
    exec(compile(text, "<stub>", "exec"), module.__dict__)
    return module.__dict__


def hints(one: Stub, name: str | None = None) -> dict[str, Any]:
    """Return the types of a class's keys as written; a functional class's as their repr."""
    for node in ast.parse(one.text).body:
        if isinstance(node, ast.ClassDef) and node.name == (name or one.args):
            return {
                each.target.id: ast.unparse(each.annotation)
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            }
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == (name or one.args):
            assert isinstance(node.value, ast.Call)
            shape = node.value.args[1]
            assert isinstance(shape, ast.Dict)
            return {
                ast.literal_eval(key): ast.unparse(value)
                for key, value in zip(shape.keys, shape.values, strict=True)
                if key is not None
            }
    raise AssertionError(f"no class {name or one.args} in\n{one.text}")
