"""Faults between schemas and handlers that somebody reported: here neither can leave the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.faults.world import World, compiled, spec, thing, yaml

SCHEMA = {
    **thing(
        query={"type": "string", "description": "What to look for"},
        limit={"type": "integer", "description": "How many", "default": 5},
        tags={"type": "array", "items": {"type": "string"}, "description": "Which"},
    ),
    "required": ["query"],
}
BY_NAME = '@registry.handler("tool_x")\n'
TYPED = "@tool_x.implements\n"
REGISTER = "\n\nregistry.register(name='tool_x', handler=handler)\n"

SHAPES = {
    "hermes-agent#64025 a plain dict": (BY_NAME, "def handler(args, **context):", "args", ""),
    "an annotated dict": (BY_NAME, "def handler(given: dict, **context):", "given", ""),
    "another name": (BY_NAME, "def handler(params):", "params", ""),
    "typed": (TYPED, "def handler(args: tool_x.Args, **context):", "dict(args)", ""),
    "keywords": (
        BY_NAME,
        "def handler(*, query, limit=5, tags=None, **context):",
        "{'query': query, 'limit': limit, **({'tags': tags} if tags else {})}",
        "",
    ),
    "positions": (
        BY_NAME,
        "def handler(query: str, limit: int = 5, tags: list | None = None):",
        "{'query': query, 'limit': limit, **({'tags': tags} if tags else {})}",
        "",
    ),
    "hermes's call": ("", "def handler(args, **context):", "args", REGISTER),
    "async": (BY_NAME, "async def handler(args, **context):", "args", ""),
    "a partial": (
        "",
        "def inner(extra, args, **context):",
        "args",
        "\n\nimport functools\n\n\nhandler = functools.partial(inner, 1)\n" + REGISTER.lstrip("\n"),
    ),
    "an object": (
        "",
        "class Handler:\n    def __call__(self, args, **context):",
        "args",
        "\n\nhandler = Handler()\n" + REGISTER.lstrip("\n"),
    ),
}


def source(decorator: str, head: str, value: str, tail: str) -> dict[str, str]:
    indent = "        " if head.startswith("class") else "    "
    return {
        "h": "from {generated}.registry import registry\nfrom {generated}.tools import tool_x\n\n\n"
        f"{decorator}{head}\n{indent}return {{'got': {value}}}\n{tail}"
    }


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_argument_arrives_in_every_shape(
    tmp_path: Path, shape: tuple[str, str, str, str]
) -> None:
    """After hermes-agent#64025: what is published is the schema, never a signature."""
    world = compiled(tmp_path, spec(SCHEMA, handler=None), handlers=source(*shape))
    assert not world.errors
    definition = world.registry.get_schema("tool_x")
    assert definition is not None and definition["parameters"] == SCHEMA
    world.registry.load()
    assert world.call("tool_x", {"query": "a"}) == {"got": {"query": "a", "limit": 5}}
    args = {"query": "a", "limit": 2, "tags": ["x"]}
    assert world.call("tool_x", args, task_id="t") == {"got": args}


DRIFT = {
    "hermes-agent#64025 one catch-all": (BY_NAME, "def handler(**given):", "given", ""),
    "hermes-agent#32376 required there and not here": (
        BY_NAME,
        "def handler(query, limit, tags):",
        "query",
        "",
    ),
    "optional there and not here": (
        BY_NAME,
        "def handler(query='x', limit=5, tags=None):",
        "1",
        "",
    ),
    "another default": (BY_NAME, "def handler(query, limit=6, tags=None):", "query", ""),
    "another name": (BY_NAME, "def handler(query, limits=5, tags=None):", "query", ""),
    "one more": (BY_NAME, "def handler(query, unit, limit=5, tags=None):", "query", ""),
    "one less": (BY_NAME, "def handler(query, limit=5):", "query", ""),
    "by position alone": (BY_NAME, "def handler(query, limit=5, tags=None, /):", "query", ""),
    "a dict, and what nobody passes": (BY_NAME, "def handler(args: dict, unit):", "args", ""),
    "a generator": (BY_NAME, "def handler(args):\n    yield 1\n", "args", ""),
}


@pytest.mark.parametrize("shape", DRIFT.values(), ids=DRIFT)
def test_a_handler_that_would_lose_arguments_is_refused(
    tmp_path: Path, shape: tuple[str, str, str, str]
) -> None:
    world = compiled(tmp_path, spec(SCHEMA, handler=None), handlers=source(*shape))
    error = world.call("tool_x", {"query": "a"})["error"]
    assert "SchemaDriftError" in error and "HB3007" in error


MAGIC = ["args", "kwargs", "self", "cls", "_path", "_", "name", "handler", "context", "task_id",
         "registry", "async_", "type", "id", "v__args", "tool_x", "function"]  # fmt: skip


def magic_schema() -> dict[str, Any]:
    return {**thing(**{name: {"type": "string"} for name in MAGIC}), "required": MAGIC[:1]}


@pytest.mark.parametrize("shape", ["plain", "typed", "keyword"])
def test_no_name_of_a_parameter_is_magic(tmp_path: Path, shape: str) -> None:
    """After langchain#35796, openai-agents-python#4107."""
    rest = ", ".join(f"{name}=None" for name in MAGIC[1:])
    head, value = {
        "plain": ("def handler(given: dict):", "given"),
        "typed": ("def handler(given: tool_x.Args):", "dict(given)"),
        "keyword": (
            f"def handler(args, {rest}):",
            "{name: one for name, one in locals().items() if one is not None}",
        ),
    }[shape]
    decorator = TYPED if shape == "typed" else BY_NAME
    world = compiled(
        tmp_path, spec(magic_schema(), handler=None), handlers=source(decorator, head, value, "")
    )
    assert not world.errors
    world.registry.load()
    args = {name: f"of {name}" for name in MAGIC}
    assert world.call("tool_x", args, task_id="not this one", other=1) == {"got": args}
    # Context never stands in for an argument that a model left out.
    assert world.call("tool_x", {"args": "x"}, task_id="not this one") == {"got": {"args": "x"}}


BARE: dict[str, tuple[dict[str, Any], set[str]]] = {
    "agency-agents#717 a bare schema": (
        {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
        {"HB1001", "HB1003"},
    ),
    "agency-agents#717 no parameters": ({"name": "tool_x", "description": "Does."}, {"HB1003"}),
    "a whole definition": (
        {"type": "function", "function": {"name": "tool_x", "parameters": {"type": "object"}}},
        {"HB1001", "HB1003"},
    ),
    "another protocol's name": (
        {"name": "tool_x", "description": "Does.", "inputSchema": {"type": "object"}},
        {"HB1001", "HB1003"},
    ),
    "another provider's name": (
        {"name": "tool_x", "description": "Does.", "input_schema": {"type": "object"}},
        {"HB1001", "HB1003"},
    ),
    "properties beside parameters": (
        {"name": "tool_x", "description": "Does.", "parameters": {"type": "object"},
         "required": ["q"]},
        {"HB1001"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("value", "codes"), BARE.values(), ids=BARE)
def test_a_spec_that_would_lose_its_parameters_is_refused(
    tmp_path: Path, value: dict[str, Any], codes: set[str]
) -> None:
    world = compiled(tmp_path, yaml(value))
    assert world.made.tree is None
    assert codes <= set(world.errors)


def failing(tmp_path: Path, body: str) -> World:
    handler = (
        "import asyncio\nfrom {generated}.registry import registry\n\n\n"
        "class Odd(Exception):\n    def __str__(self):\n        raise ValueError('no text')\n\n\n"
        f"{BY_NAME}def handler(args, **context):\n    {body}\n"
    )
    return compiled(tmp_path, spec(handler=None), handlers={"h": handler})


@pytest.mark.parametrize(
    "body",
    [
        "raise SystemExit(3)",
        "import sys; sys.exit()",
        "raise asyncio.CancelledError",
        "raise Odd",
        "raise GeneratorExit",
        "raise RecursionError",
        "raise MemoryError",
        "return {'a': float('nan')}",
        "return {'a': float('inf')}",
        "return {'a': {1, 2}}",
        "return {('a', 'b'): 1}",
        "return b'bytes'",
        "return None",
        "return 42",
        "return asyncio.sleep(0)",
        "return object()",
        "return (x for x in [])",
        "a = []; a.append(a); return a",
    ],
)
def test_whatever_a_handler_does_a_call_answers_in_json(tmp_path: Path, body: str) -> None:
    """After hermes-agent#19814: the contract is kept at the door, and nothing escapes."""
    answer = failing(tmp_path, body).call("tool_x")
    assert isinstance(answer, dict) and isinstance(answer["error"], str)
