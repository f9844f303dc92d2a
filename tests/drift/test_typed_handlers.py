"""A handler with types takes the arguments of its own tool, made from the schema as it is now."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime.errors import LoadError, SchemaDriftError
from tests.runtime_program import tool, write_program


def typed(tmp_path: Path, body: str, **fields: Any) -> Any:
    """A program with the tools ``a`` and ``b``, whose module ``m`` handles them."""
    source = (
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING, Any, TypedDict\n"
        "from {generated}.tools import a, b\nfrom {generated}.registry import registry\n" + body
    )
    tools = [tool("a", module="m", **fields), tool("b", module="m", **fields)]
    return write_program(tmp_path, tools, handlers={"m": source})


def found_in(program: Any) -> list[tuple[str, str]]:
    try:
        program.registry.load()
    except SchemaDriftError as error:
        assert not isinstance(error, LoadError), error
        return [(one.tool, one.kind) for one in error.mismatches]
    return []


GOOD_B = "@b.implements\ndef good(args: b.Args) -> str: return ''\n"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("@a.implements\ndef f(args: a.Args, **context: Any): return ''\n", []),
        ("@a.implements()\ndef f(args: a.Args, *, task_id=None): return ''\n", []),
        ("@a.implements\ndef f(args): return ''\n", []),
        ("@a.implements\ndef f(args: dict[str, Any]): return ''\n", []),
        ("@a.implements\ndef f(*, path, offset=1, limit=500): return ''\n", []),
        ("@registry.handler('a')\ndef f(args: a.Args): return ''\n", []),
        ("@a.implements\ndef f(args: b.Args): return ''\n", ["args-class"]),
        ("@registry.handler('a')\ndef f(args: b.Args): return ''\n", ["args-class"]),
        (
            "class Mine(TypedDict):\n    path: str\n@a.implements\ndef f(args: Mine): return ''\n",
            ["args-class"],
        ),
        (
            "@a.implements(check_fn=lambda: True)\ndef f(args: a.Args): return ''\n",
            ["check-surplus"],
        ),
        ("@a.implements\nasync def f(args: a.Args, other): return ''\n", ["surplus-parameter"]),
        ("@a.implements\ndef f(args: Unknown): return ''\n", []),
        ("@registry.handler('a')\ndef f(args: a.Unknown): return ''\n", []),
        ("@registry.handler('a')\ndef f(args: UnknownArgs): return ''\n", ["args-class"]),
        ("@a.implements\ndef f(args: a.Args, x): return ''\n", ["surplus-parameter"]),
        ("", ["missing"]),
    ],
    ids=itertools.count(),
)
def test_a_typed_handler_takes_this_tools_arguments(
    tmp_path: Path, body: str, found: list[str]
) -> None:
    program = typed(tmp_path, body + GOOD_B)
    assert found_in(program) == [("a", kind) for kind in found]


def test_arguments_made_from_another_schema_are_refused(tmp_path: Path) -> None:
    body = "@a.implements\ndef f(args: a.Args): return ''\n"
    body += "@registry.handler('b')\ndef g(args: b.Args): return ''\n"
    program = typed(tmp_path, body)
    for name in ("a", "b"):
        path = tmp_path / program.package / "tools" / f"{name}.py"
        path.write_text(path.read_text().replace(tool(name)["digest"], "0" * 64))
    assert found_in(program) == [("a", "args-digest"), ("b", "args-digest")]
