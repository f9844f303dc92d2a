"""Which module registers which tool, read from source."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_build.compiler.bindings import Bindings, check_bindings, find_bindings
from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.project import Project
from hermes_build.compiler.registrations import Binding, Style, read_registrations
from hermes_build.ir import Place, Tool

Row = tuple[str, Style, bool | None]


def registrations(source: str, *, output: str = "generated") -> tuple[list[Row], Findings]:
    findings = Findings()
    data = textwrap.dedent(source).encode()
    found = read_registrations(data, "app/tools/m.py", "app.tools.m", "app.tools", output, findings)
    return [(one.tool, one.style, one.is_async) for one in found], findings


def files(root: Path, **sources: str) -> None:
    for name, source in sources.items():
        path = root / (name.replace("__", "/").replace("/init/", "__init__") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))


IMPLEMENTS = [
    "from generated.tools import read_file\n@read_file.implements\ndef f(args): ...",
    "from generated.tools import read_file as rf\n@rf.implements\ndef f(args): ...",
    "import generated.tools.read_file\n@generated.tools.read_file.implements\ndef f(args): ...",
    "import generated.tools.read_file as rf\n@rf.implements\ndef f(args): ...",
    "from generated import tools\n@tools.read_file.implements\ndef f(args): ...",
    "import generated.tools as t\n@t.read_file.implements(check_fn=lambda: True)\ndef f(args): ...",
    "from generated.tools.read_file import implements\n@implements\ndef f(args): ...",
    "from generated.tools import read_file\ndef f(args): ...\nread_file.implements(f)",
    "from generated.tools import read_file\ndef f(a): ...\ng = read_file.implements(check_fn=c)(f)",
    "from generated.tools import read_file\nours = read_file.implements\n@ours\ndef f(args): ...",
    "if True:\n    from generated.tools import read_file as a\n@a.implements\ndef f(args): ...",
]


@pytest.mark.parametrize("source", IMPLEMENTS)
def test_implements_is_followed_through_every_form_of_import(source: str) -> None:
    found, findings = registrations(source)
    assert found == [("read_file", "implements", False)]
    assert not list(findings)


def test_relative_imports_lead_to_an_output_inside_the_package() -> None:
    source = """
    from ..generated.tools import read_file
    from ..generated.registry import registry as r
    from .. import generated
    @read_file.implements
    async def f(args): ...
    @r.handler("b")
    def g(args): ...
    @generated.registry.registry.handler("c")
    def h(args): ...
    """
    found, _ = registrations(source, output="app.generated")
    assert found == [
        ("read_file", "implements", True),
        ("b", "handler", False),
        ("c", "handler", False),
    ]


def test_names_are_given_as_text_position_or_constant() -> None:
    source = """
    from typing import Final
    from generated.registry import registry
    ONE = "one"
    TWO: Final = "two"
    def sync(args, **context): ...
    async def late(args, **context): ...
    registry.register(name=ONE, toolset="t", schema={}, handler=sync)
    registry.register(TWO, "t", {}, late)
    registry.register("three", "t", {}, lambda args: "", is_async=True)
    registry.register("four", "t", {}, unknown)
    @registry.handler(name="five")
    def f(args): ...
    registry.handler("six")(late)
    """
    found, findings = registrations(source)
    assert found == [
        ("one", "register", False),
        ("two", "register", True),
        ("three", "register", True),
        ("four", "register", None),
        ("five", "handler", False),
        ("six", "handler", True),
    ]
    assert not list(findings)


def test_registrations_inside_top_level_blocks_count() -> None:
    source = """
    from generated.registry import *
    if True:
        registry.register("a", "t", {}, f)
    else:
        registry.register("b", "t", {}, f)
    try:
        registry.register("c", "t", {}, f)
    except Exception:
        registry.register("d", "t", {}, f)
    finally:
        registry.register("e", "t", {}, f)
    with open("x"):
        registry.register("f", "t", {}, f)
    match 1:
        case 1:
            registry.register("g", "t", {}, f)
    """
    found, _ = registrations(source)
    assert [tool for tool, _, _ in found] == list("abcdefg")


def test_arms_of_which_one_runs_register_once() -> None:
    source = """
    from generated.registry import registry
    try:
        import fast
        registry.register("a", "t", {}, f)
    except ImportError:
        registry.register("a", "t", {}, f)
    if x:
        registry.register("b", "t", {}, f)
    elif y:
        registry.register("b", "t", {}, f)
    for z in xs:
        registry.register("c", "t", {}, f)
    else:
        registry.register("c", "t", {}, f)
    """
    found, _ = registrations(source)
    assert [tool for tool, _, _ in found] == ["a", "b", "c", "c"]


def test_registrations_inside_functions_classes_and_lambdas_do_not_count() -> None:
    source = """
    from generated.registry import registry
    def later():
        registry.register("a", "t", {}, f)
    class C:
        registry.register("b", "t", {}, f)
    d = lambda: registry.register("c", "t", {}, f)
    """
    assert registrations(source)[0] == []


def test_other_registries_are_none_of_ours() -> None:
    source = """
    from tools.registry import registry
    from elsewhere import read_file
    registry.register("a", "t", {}, f)
    @registry.handler("b")
    def f(args): ...
    @read_file.implements
    def g(args): ...
    """
    found, findings = registrations(source)
    assert (found, list(findings)) == ([], [])


@pytest.mark.parametrize(
    "call",
    [
        'for n in ("a", "b"):\n    registry.register(name=n, toolset="t", schema={}, handler=f)',
        'registry.register(name="a" + x, toolset="t", schema={}, handler=f)',
        'NAME = "a"\nNAME = "b"\nregistry.register(name=NAME, toolset="t", schema={}, handler=f)',
        "registry.register(**everything)",
        "@registry.handler\ndef f(args): ...",
    ],
)
def test_a_name_that_source_does_not_tell_is_a_finding(call: str) -> None:
    found, findings = registrations(f"from generated.registry import registry\n{call}\n")
    assert found == []
    assert [one.code for one in findings] == ["HB3005"]


def test_a_function_under_other_decorators_is_of_no_known_kind() -> None:
    source = """
    from generated.tools import a, b
    @a.implements
    @cached
    def f(args): ...
    @cached
    @b.implements
    async def g(args): ...
    """
    assert registrations(source)[0] == [("a", "implements", None), ("b", "implements", True)]


def test_a_span_counts_characters_where_the_parser_counts_bytes() -> None:
    findings = Findings()
    source = 'from generated.registry import registry\né = 1; registry.handler("x")(print)\n'
    (found,) = read_registrations(source.encode(), "h.py", "h", "", "generated", findings)
    assert found.span == Span("h.py", 2, 25, 2, 28)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_source_ends_in_registrations_or_a_finding(text: str) -> None:
    source = f"from generated.registry import registry\n{text}".encode("utf-8", "surrogatepass")
    read_registrations(source, "h.py", "h", "", "generated", Findings())


@pytest.mark.parametrize(
    "source",
    [
        b"registry = (\n",
        b"registry = '\xff'\n",
        b"registry = 1\0\n",
        b"# registry\n" + b"(" * 100_000,
        b"# registry\nx = " + b"-" * 100_000 + b"1",
        b"# registry\n" + b"#" * 4_000_000,
    ],
    ids=["syntax", "not-utf-8", "nul", "brackets", "deep", "huge"],
)
def test_source_that_cannot_be_parsed_is_a_finding(source: bytes) -> None:
    findings = Findings()
    assert read_registrations(source, "h.py", "h", "", "generated", findings) == []
    assert [one.code for one in findings] == ["HB3004"]


def test_source_that_declares_its_encoding_is_read_in_it() -> None:
    source = (
        "# coding: latin-1\nfrom generated.registry import registry\nregistry.handler('é')(f)\n"
    )
    (found,) = read_registrations(
        source.encode("latin-1"), "h.py", "h", "", "generated", Findings()
    )
    assert found.tool == "é"


REGISTER = """
from generated.registry import registry
@registry.handler("{}")
def handler(args): ...
"""


def test_modules_are_found_in_sorted_order_and_init_never_counts(tmp_path: Path) -> None:
    files(
        tmp_path,
        handlers__zeta=REGISTER.format("z"),
        handlers__alpha=REGISTER.format("a"),
        handlers__sub__beta=REGISTER.format("b"),
        handlers__plain="x = 1",
        generated__registry=REGISTER.format("never"),
    )
    (tmp_path / "handlers/__init__.py").write_text(REGISTER.format("init"))
    (tmp_path / "handlers/.hidden.py").write_text(REGISTER.format("hidden"))
    (tmp_path / "handlers/__pycache__").mkdir()
    (tmp_path / "handlers/__pycache__/x.py").write_text(REGISTER.format("cached"))
    findings = Findings()
    found = find_bindings(Project(tmp_path, "pyproject.toml"), findings)
    assert [one.name for one in found.modules] == [
        "handlers.alpha",
        "handlers.sub.beta",
        "handlers.zeta",
    ]
    assert [one.tool for one in found.registered] == ["a", "b", "z"]
    assert [(one.tool, one.path) for one in found.ignored] == [("init", "handlers/__init__.py")]
    assert not list(findings)


def test_packages_may_overlap_be_modules_and_hold_the_output(tmp_path: Path) -> None:
    files(
        tmp_path,
        src__app__one=REGISTER.format("one").replace("generated", "app.generated"),
        src__app__generated__registry=REGISTER.format("x").replace("generated", "app.generated"),
        src__single=REGISTER.format("single").replace("generated", "app.generated"),
    )
    project = Project(
        tmp_path, "x", source="src", handlers=("app", "app.one", "single"), output="app.generated"
    )
    found = find_bindings(project, Findings())
    assert [(one.name, one.path) for one in found.modules] == [
        ("app.one", "src/app/one.py"),
        ("single", "src/single.py"),
    ]


def test_a_crlf_checkout_has_the_digest_of_the_other(tmp_path: Path) -> None:
    digests = []
    for name, end in (("lf", "\n"), ("crlf", "\r\n")):
        files(tmp_path / name, handlers__a="")
        text = REGISTER.format("a").replace("\n", end)
        (tmp_path / name / "handlers/a.py").write_bytes(text.encode())
        found = find_bindings(Project(tmp_path / name, "x"), Findings())
        digests.append(found.modules[0].digest)
        assert found.registered[0].line == 3
    assert digests[0] == digests[1]


def tool(
    name: str,
    handler: Literal["self", "external", "server"] = "self",
    is_async: bool | None = None,
) -> Tool:
    return Tool(
        name, Place(f"tool_specs/{name}.yaml", 1), "", {}, handler=handler, is_async=is_async
    )


def bound(
    name: str, line: int = 5, style: Style = "handler", is_async: bool | None = None
) -> Binding:
    return Binding(name, "handlers.m", Span("handlers/m.py", line), style, is_async)


def locate(place: Place, *pointer: str | int, key: bool = False) -> Span:
    return Span(place.path, place.line)


def checked(bindings: Bindings, *tools: Tool) -> tuple[dict[str, Binding], Findings]:
    findings = Findings()
    return check_bindings(bindings, tools, locate, findings), findings


def test_stub_modules_and_names_lead_to_their_tools() -> None:
    one, two = bound("read_file", style="implements"), bound("web-search", style="register")
    found, findings = checked(Bindings((one, two)), tool("read-file"), tool("web-search"))
    assert found == {"read-file": one, "web-search": two}
    assert not list(findings)


def test_a_missing_handler_shows_the_lines_to_write() -> None:
    ignored = Binding("read-file", "handlers", Span("handlers/__init__.py", 3), "handler")
    bindings = Bindings(ignored=(ignored,), output="app.generated")
    _, findings = checked(bindings, tool("read-file"))
    (found,) = findings
    assert (found.code, found.span) == ("HB3001", Span("tool_specs/read-file.yaml", 1))
    assert (
        "    from app.generated.tools import read_file\n    @read_file.implements" in found.help[0]
    )
    assert "handlers/__init__.py:3" in found.notes[0]


def test_tools_that_are_bound_elsewhere_need_no_handler() -> None:
    _, findings = checked(Bindings(), tool("a", "external"), tool("b", "server"))
    assert not list(findings)


def test_a_surplus_handler_names_the_nearest_tool() -> None:
    bindings = Bindings((bound("read_fil"), bound("reed_file", style="implements")))
    _, findings = checked(bindings, tool("read_file", "external"))
    assert [one.code for one in findings] == ["HB3002", "HB3002"]
    assert all(one.help[0] == "did you mean `read_file`?" for one in findings)


def test_two_handlers_are_shown_in_both_places() -> None:
    _, findings = checked(Bindings((bound("a", 3), bound("a", 9, "implements"))), tool("a"))
    (found,) = findings
    assert (found.code, found.span and found.span.line) == ("HB3003", 9)
    assert found.labels[0].span.line == 3


def test_a_handler_for_a_tool_of_a_server_is_refused_and_an_external_one_may_have_one() -> None:
    bindings = Bindings((bound("a"), bound("b")))
    found, findings = checked(bindings, tool("a", "server"), tool("b", "external"))
    assert [one.code for one in findings] == ["HB3006"]
    assert set(found) == {"b"}


@pytest.mark.parametrize(
    ("declared", "is_async", "codes"),
    [
        (True, False, ["HB3007"]),
        (False, True, ["HB3007"]),
        (True, True, []),
        (None, True, []),
        (True, None, []),
    ],
)
def test_sync_for_async_is_found_where_source_tells(
    declared: bool | None, is_async: bool | None, codes: list[str]
) -> None:
    bindings = Bindings((bound("a", is_async=is_async),))
    _, findings = checked(bindings, tool("a", is_async=declared))
    assert [one.code for one in findings] == codes
    assert all(one.labels[0].span.path == "tool_specs/a.yaml" for one in findings)


def test_a_missing_package_is_one_finding_instead_of_one_a_tool(tmp_path: Path) -> None:
    bindings = find_bindings(Project(tmp_path, "x"), Findings())
    _, findings = checked(bindings, tool("a"), tool("b"))
    assert [one.code for one in findings] == ["HB3009"]


def test_a_program_without_handlers_of_its_own_needs_no_package(tmp_path: Path) -> None:
    bindings = find_bindings(Project(tmp_path, "x"), Findings())
    assert not list(checked(bindings, tool("a", "external"))[1])
    named = find_bindings(Project(tmp_path, "x", handlers=("app.tools",)), Findings())
    assert [one.code for one in checked(named, tool("a", "external"))[1]] == ["HB3009"]
