"""The cross-check of each handler against its spec, at import."""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime.errors import HandlerImportError, LoadError, SchemaDriftError
from hermes_build.runtime.registry import ToolRegistry
from tests.runtime_program import READ_FILE, tool, write_program

EMPTY = {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., ToolRegistry]:
    """Make a registry of one external tool ``t``."""

    def make(parameters: Any = None, **fields: Any) -> ToolRegistry:
        fields.setdefault("handler", "external")
        return write_program(tmp_path, [tool("t", parameters, **fields)]).registry

    return make


def kinds(registry: ToolRegistry, handler: Any, name: str = "t", **claims: Any) -> list[str]:
    """The kinds of mismatch that registering gives."""
    try:
        registry.register(name, handler=handler, **claims)
    except SchemaDriftError as error:
        return [one.kind for one in error.mismatches]
    return []


def plain(args: dict[str, Any], **context: Any) -> str:
    return ""


async def coroutine(args: dict[str, Any], **context: Any) -> str:
    return ""


class Callee:
    def __call__(self, args: dict[str, Any]) -> str:
        return ""

    def method(self, args: dict[str, Any], **context: Any) -> str:
        return ""


class AsyncCallee:
    async def __call__(self, args: dict[str, Any]) -> str:
        return ""


@functools.wraps(plain)
def wrapped(*args: Any, **kwargs: Any) -> str:
    return plain(*args, **kwargs)


def generator(args: dict[str, Any]) -> Iterator[str]:
    yield ""


async def async_generator(args: dict[str, Any]) -> Any:
    yield ""


def keyword(*, path: str, offset: int = 1, limit: int = 500) -> str:
    return ""


def spoken(path: str, offset: int = 1, limit: int = 500) -> str:
    return ""


def keyword_context(*, path: str, offset: int, limit: int, task_id: str = "") -> str:
    return ""


@pytest.mark.parametrize(
    "handler",
    [
        plain,
        wrapped,
        Callee(),
        Callee().method,
        functools.partial(plain, extra=1),
        lambda args, **kw: "",
        lambda args: "",
        lambda a, task_id=None: "",
        lambda *args, **kw: "",
        keyword,
        spoken,
        keyword_context,
        coroutine,
        AsyncCallee(),
        functools.partial(coroutine),
    ],
    ids=itertools.count(),
)
def test_every_honest_shape_is_accepted(make: Callable[..., ToolRegistry], handler: Any) -> None:
    assert kinds(make(), handler) == []


@pytest.mark.parametrize(
    ("handler", "found"),
    [
        (lambda *, path, offset=1: "", ["missing-parameter"]),
        (lambda *, path, ofset=1, limit=500: "", ["missing-parameter", "surplus-parameter"]),
        (lambda *, path, offset=2, limit=500: "", ["default"]),
        (lambda *, path, offset=True, limit=500: "", ["default"]),
        (lambda *, path="", offset=1, limit=500: "", ["required"]),
        (lambda *, path, offset=1, limit=500, other: "", ["surplus-parameter"]),
        (lambda path, /, offset=1, limit=500: "", ["positional-only"]),
        (lambda: "", ["missing-parameter"] * 3),
        (lambda **kwargs: "", ["missing-parameter"] * 3),
        (lambda args, other: "", ["surplus-parameter"]),
        (lambda args, *, other, **context: "", ["surplus-parameter"]),
        (generator, ["async"]),
        (async_generator, ["async"]),
        (None, ["not-callable"]),
        ("handler", ["not-callable"]),
    ],
    ids=itertools.count(),
)
def test_a_signature_that_does_not_fit_is_refused(
    make: Callable[..., ToolRegistry], handler: Any, found: list[str]
) -> None:
    assert kinds(make(), handler) == found


def test_an_optional_property_without_a_default_needs_one_in_the_handler(
    make: Callable[..., ToolRegistry],
) -> None:
    registry = make({"type": "object", "properties": {"a": {"type": "string"}}})
    assert kinds(registry, lambda *, a: "") == ["required"]
    assert kinds(registry, lambda *, a=None: "") == []


def test_a_default_that_is_never_filled_in_does_not_count(
    make: Callable[..., ToolRegistry],
) -> None:
    part = {"type": "string", "default": None}
    registry = make({"type": "object", "properties": {"a": part}})
    assert kinds(registry, lambda *, a: "") == ["required"]
    assert kinds(registry, lambda *, a=None: "") == []


@pytest.mark.parametrize("name", ["class", "a-b", "2nd", ""])
def test_a_property_that_is_no_python_name_calls_for_a_dict(
    make: Callable[..., ToolRegistry], name: str
) -> None:
    registry = make({"type": "object", "properties": {name: {"type": "string"}}})
    assert kinds(registry, lambda *, x=1: "") == ["keyword-name"]
    assert kinds(registry, plain) == []


@pytest.mark.parametrize("name", ["args", "kwargs", "self", "cls", "_path"])
def test_property_names_have_no_meaning_of_their_own(
    make: Callable[..., ToolRegistry], name: str
) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    registry = make(schema)
    registry.register("t", handler=lambda args, **kw: args[name])
    assert registry.call("t", {name: "x"}) == "x"
    namespace: dict[str, Any] = {}
    exec(f"def handler(*, {name}): return {name}", namespace)
    registry.register("t", handler=namespace["handler"], override=True)
    assert registry.call("t", {name: "x"}) == "x"


def test_an_unknown_tool_is_refused_with_the_nearest_name(
    make: Callable[..., ToolRegistry],
) -> None:
    registry = make(aliases=["tea"])
    with pytest.raises(SchemaDriftError, match="Did you mean 't'") as caught:
        registry.register("T", handler=plain)
    [mismatch] = caught.value.mismatches
    assert (mismatch.kind, mismatch.code, mismatch.spec) == ("unknown-tool", "HB3002", None)
    with pytest.raises(SchemaDriftError, match="alias of 't'"):
        registry.register("tea", handler=plain)


def test_a_servers_tool_is_not_ours_to_handle(make: Callable[..., ToolRegistry]) -> None:
    with pytest.raises(SchemaDriftError) as caught:
        make(handler="server").register("t", handler=plain)
    assert [one.code for one in caught.value.mismatches] == ["HB3006"]


def test_the_toolset_must_be_the_declared_one(make: Callable[..., ToolRegistry]) -> None:
    registry = make()
    assert kinds(registry, plain, toolset="files") == ["toolset"]
    assert kinds(registry, plain, toolset="file") == []


def test_a_passed_schema_is_compared_as_a_value(make: Callable[..., ToolRegistry]) -> None:
    registry = make()
    ours = {
        "parameters": {**READ_FILE, "properties": dict(reversed(READ_FILE["properties"].items()))},  # type: ignore[attr-defined]
        "description": "The tool t.",
        "name": "t",
    }
    assert kinds(registry, plain, schema=ours) == []


@pytest.mark.parametrize(
    ("schema", "found", "says"),
    [
        (READ_FILE, ["bare-schema"], "bare JSON Schema"),
        ({"type": "function", "function": {}}, ["schema"], "whole definition"),
        ("schema", ["schema"], "must be a dict"),
        (
            {"name": "b", "description": "The tool t.", "parameters": READ_FILE},
            ["schema"],
            "at /name: 'b' in the handler, 't' in the spec",
        ),
        (
            {"name": "t", "description": "The tool t.", "parameters": READ_FILE, "strict": True},
            ["schema"],
            "at /strict: True in the handler, nothing in the spec",
        ),
        (
            {
                "name": "t",
                "description": "The tool t.",
                "parameters": {**READ_FILE, "additionalProperties": 0, "required": ["path", "x"]},
            },
            ["schema", "schema"],
            "at /parameters/additionalProperties: 0 in the handler, False in the spec",
        ),
    ],
)
def test_a_passed_schema_that_differs_says_where(
    make: Callable[..., ToolRegistry], schema: Any, found: list[str], says: str
) -> None:
    registry = make()
    assert kinds(registry, plain, schema=schema) == found
    with pytest.raises(SchemaDriftError) as caught:
        registry.register("t", schema=schema, handler=plain)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("declared", "handler", "said", "found"),
    [
        (True, coroutine, False, []),
        (True, plain, False, ["async"]),
        (True, plain, True, []),
        (False, plain, False, []),
        (False, coroutine, False, ["async"]),
        (False, plain, True, ["async"]),
        (None, plain, False, []),
        (None, coroutine, True, []),
    ],
)
def test_sync_or_async_must_be_as_declared(
    make: Callable[..., ToolRegistry],
    declared: bool | None,
    handler: Any,
    said: bool,
    found: list[str],
) -> None:
    assert kinds(make(is_async=declared), handler, is_async=said) == found


async def async_check() -> bool:
    return True


@pytest.mark.parametrize(
    ("declared", "check", "found"),
    [
        (True, lambda: True, []),
        (True, None, ["check-missing"]),
        (False, None, []),
        (False, lambda: True, ["check-surplus"]),
        (True, async_check, ["check-fn"]),
        (True, functools.partial(async_check), ["check-fn"]),
        (True, lambda tool: True, ["check-fn"]),
        (True, "yes", ["check-fn"]),
    ],
    ids=itertools.count(),
)
def test_a_check_function_is_there_exactly_where_the_spec_promises_one(
    make: Callable[..., ToolRegistry], declared: bool, check: Any, found: list[str]
) -> None:
    registry = make(requires={"check": True} if declared else None)
    assert kinds(registry, plain, check_fn=check) == found


def test_dynamic_overrides_need_a_dynamic_field(make: Callable[..., ToolRegistry]) -> None:
    found = kinds(make(), plain, dynamic_schema_overrides=dict)
    assert found == ["dynamic-surplus"]
    dynamic = make(dynamic=["/description"])
    assert kinds(dynamic, plain, dynamic_schema_overrides=lambda x: {}) == [
        "dynamic-schema-overrides"
    ]
    assert kinds(dynamic, plain, dynamic_schema_overrides=dict) == []


def test_requires_env_as_text_is_refused(make: Callable[..., ToolRegistry]) -> None:
    registry = make()
    assert kinds(registry, plain, requires_env="API_KEY") == ["requires-env"]
    assert kinds(registry, plain, requires_env=["API_KEY"]) == []


def test_all_mismatches_of_a_registration_come_together_with_both_places(
    make: Callable[..., ToolRegistry],
) -> None:
    registry = make(is_async=True, requires={"check": True})
    handler = lambda *, path, limit=1: ""  # noqa: E731 (its line is what is looked at)
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    with pytest.raises(SchemaDriftError) as caught:
        registry.register("t", toolset="web", handler=handler)
    error = caught.value
    assert [one.kind for one in error.mismatches] == [
        "toolset",
        "async",
        "check-missing",
        "missing-parameter",
        "default",
    ]
    for one in error.mismatches:
        assert one.spec == ("tool_specs/t.yaml", 1)
        assert one.handler == (__file__, line)
        assert one.message in str(error)
    assert f"{__file__}:{line}" in str(error)
    assert "tool_specs/t.yaml:1" in str(error)


def test_the_call_of_hermes_agent_registers_unchanged(make: Callable[..., ToolRegistry]) -> None:
    registry = make(requires={"check": True, "env": ["KEY"]}, emoji="📖")
    schema = {"name": "t", "description": "The tool t.", "parameters": READ_FILE}
    registry.register(
        name="t",
        toolset="file",
        schema=schema,
        handler=lambda args, **kw: args["path"] + kw.get("task_id", ""),
        check_fn=lambda: True,
        requires_env=["KEY"],
        is_async=False,
        description="",
        emoji="📖",
        max_result_size_chars=float("inf"),
    )
    assert registry.dispatch("t", {"path": "a"}, task_id="b") == "ab"


# Who came first.


def test_a_second_handler_is_refused_and_the_first_stays(
    make: Callable[..., ToolRegistry],
) -> None:
    registry = make(EMPTY)
    registry.register("t", handler=lambda args: "first")
    with pytest.raises(SchemaDriftError) as caught:
        registry.register("t", handler=lambda args: "second")
    [mismatch] = caught.value.mismatches
    assert (mismatch.kind, mismatch.code) == ("duplicate", "HB3003")
    assert __file__ in mismatch.message
    assert registry.call("t", {}) == "first"


def test_two_functions_of_one_name_in_one_module_are_two_handlers(
    make: Callable[..., ToolRegistry],
) -> None:
    registry = make(EMPTY)

    def factory(text: str) -> Any:
        def handler(args: dict[str, Any]) -> str:
            return text

        return handler

    registry.register("t", handler=factory("first"))
    assert kinds(registry, factory("second")) == ["duplicate"]


def test_the_very_same_function_may_register_again(make: Callable[..., ToolRegistry]) -> None:
    registry = make()
    assert kinds(registry, plain) == kinds(registry, plain) == []


def test_override_replaces_and_is_logged(
    make: Callable[..., ToolRegistry], caplog: pytest.LogCaptureFixture
) -> None:
    registry = make(EMPTY)
    registry.register("t", handler=lambda args: "first")
    assert registry.call("t", {}) == "first"
    registry.register("t", handler=lambda args: "second", override=True)
    assert registry.call("t", {}) == "second"
    assert "handler of t is replaced" in caplog.text
    assert kinds(registry, lambda *, x: "", override=True) == ["surplus-parameter"]
    assert registry.call("t", {}) == "second"


def test_a_reloaded_module_replaces_its_own_handlers(tmp_path: Path) -> None:
    source = (
        "from {generated}.tools import a\n\n@a.implements\ndef handler(args):\n    return 'old'\n"
    )
    program = write_program(tmp_path, [tool("a", EMPTY, module="m")], handlers={"m": source})
    registry = program.registry
    assert registry.call("a", {}) == "old"
    path = tmp_path / program.handlers / "m.py"
    path.write_text(path.read_text().replace("'old'", "'newer'"))
    importlib.reload(sys.modules[f"{program.handlers}.m"])
    assert registry.call("a", {}) == "newer"


# Typed handlers.


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


# Loading everything.


def test_load_collects_the_mismatches_of_all_modules_and_missing_handlers(tmp_path: Path) -> None:
    head = "from {generated}.registry import registry\n"
    handlers = {
        "one": head
        + "registry.register('a', toolset='web', handler=lambda args: '')\n"
        + "registry.register('b', handler=lambda args, x: '')\n"
        + "registry.register('nope', handler=lambda args: '')\n",
        "two": head + "registry.register('c', handler=lambda args: '')\n",
        "three": head,
    }
    tools = [
        tool("a", module="one"),
        tool("b", module="one"),
        tool("c", module="two"),
        tool("d", module="three"),
        tool("e"),
        tool("f", handler="external"),
        tool("g", handler="server"),
    ]
    program = write_program(tmp_path, tools, handlers=handlers)
    with pytest.raises(SchemaDriftError) as caught:
        program.registry.load()
    assert [(one.tool, one.code) for one in caught.value.mismatches] == [
        ("a", "HB3007"),
        ("b", "HB3007"),
        ("nope", "HB3002"),
        ("d", "HB3001"),
        ("e", "HB3001"),
    ]
    first = caught.value.mismatches[0]
    assert first.handler == (f"{program.handlers}/one.py", 2)
    assert "no longer registers" in program.registry.call("a", {"path": "x"})
    assert program.registry.call("c", {"path": "x"}) == ""


def test_load_reports_every_module_that_fails_beside_the_mismatches(tmp_path: Path) -> None:
    handlers = {
        "broken": "import nothing_of_that_name\n",
        "syntax": "x = 1\ndef f(:\n",
        "drift": "from {generated}.registry import registry\n"
        "registry.register('c', handler=lambda: '')\n",
    }
    tools = [
        tool("a", module="broken"),
        tool("b", module="syntax"),
        tool("c", EMPTY | {"properties": {"x": {}}}, module="drift"),
        tool("d", module="absent"),
    ]
    program = write_program(tmp_path, tools, handlers=handlers)
    with pytest.raises(LoadError) as caught:
        program.registry.load()
    failures = {one.module.rpartition(".")[2]: one for one in caught.value.failures}
    assert {name: one.tools for name, one in failures.items()} == {
        "absent": ("d",),
        "broken": ("a",),
        "syntax": ("b",),
    }
    assert (failures["broken"].path, failures["broken"].line) == (
        f"{program.handlers}/broken.py",
        1,
    )
    assert (failures["syntax"].path, failures["syntax"].line) == (
        f"{program.handlers}/syntax.py",
        2,
    )
    assert "ModuleNotFoundError" in failures["absent"].error
    assert [(one.tool, one.kind) for one in caught.value.mismatches] == [("c", "missing-parameter")]
    assert "tools lost: a, b, d" in str(caught.value)


def test_a_module_may_be_mended_and_loaded_again(tmp_path: Path) -> None:
    source = "from {generated}.registry import registry\nraise ValueError('not yet')\n"
    program = write_program(tmp_path, [tool("a", module="m")], handlers={"m": source})
    with pytest.raises(LoadError):
        program.registry.load()
    path = tmp_path / program.handlers / "m.py"
    path.write_text(
        path.read_text().replace(
            "raise ValueError('not yet')", "registry.register('a', handler=lambda args: 'mended')"
        )
    )
    importlib.invalidate_caches()
    program.registry.load()
    assert program.registry.call("a", {"path": "x"}) == "mended"


def test_outside_load_the_first_drift_stops_its_module(tmp_path: Path) -> None:
    source = (
        "from {generated}.registry import registry\n"
        "registry.register('a', handler=lambda args: '')\n"
        "registry.register('b', handler=lambda: '')\n"
    )
    tools = [tool("a", module="m"), tool("b", module="m")]
    program = write_program(tmp_path, tools, handlers={"m": source})
    with pytest.raises(SchemaDriftError):
        importlib.import_module(f"{program.handlers}.m")
    with pytest.raises(HandlerImportError, match="SchemaDriftError"):
        program.registry.binding("b")
    # What the module had registered before it failed is not half a module's worth of tools.
    with pytest.raises(HandlerImportError):
        program.registry.binding("a")
