"""What the handlers of some tools need, followed from source."""

# ruff: noqa: E501 -- programs on a line each

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes_build.compiler.bundling.closure import Closure, Wanted, follow
from hermes_build.compiler.bundling.door import Door
from hermes_build.compiler.diagnostics import Diagnostic, Findings
from hermes_build.compiler.project import Project
from tests.command_line import write


def followed(
    root: Path,
    files: dict[str, str],
    *,
    start: str = "handlers.a",
    modules: tuple[str, ...] = (),
    others: dict[str, str | None] | None = None,
    source: str = ".",
) -> tuple[Closure, list[Diagnostic]]:
    """Follow one handler module through files in the source folder."""
    prefix = "" if source == "." else f"{source}/"
    write(root, {f"{prefix}{path}": text for path, text in files.items()})
    project = Project(root, "pyproject.toml", source=source, bundle_modules=modules)
    findings = Findings()
    wanted = Wanted((start,), frozenset({"a"}), others or {})
    return follow(project, wanted, Door(root, findings), findings), list(findings)


def taken(root: Path, files: dict[str, str], **more: object) -> set[str]:
    """The modules that are taken, where nothing is found to be wrong."""
    closure, findings = followed(root, files, **more)  # type: ignore[arg-type]
    assert findings == []
    return set(closure.modules)


HANDLERS = {"handlers/__init__.py": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import x.y.z", {"x", "x.y", "x.y.z"}),
        ("import x.y.z as short", {"x", "x.y", "x.y.z"}),
        ("from x.y import z", {"x", "x.y", "x.y.z"}),
        ("from x.y import name", {"x", "x.y"}),
        ("def f():\n    class C:\n        async def g(self):\n            import x.w", {"x", "x.w"}),
        ("if a:\n    import x.w\nelif b:\n    import x.v\nelse:\n    import x.y", {"x", "x.w", "x.v", "x.y"}),
        ("try:\n    import x.w\nexcept ImportError:\n    import x.v", {"x", "x.w", "x.v"}),
        ("try:\n    pass\nfinally:\n    import x.w", {"x", "x.w"}),
        ("for _ in ():\n    import x.w\nelse:\n    import x.v", {"x", "x.w", "x.v"}),
        ("match 1:\n    case 1:\n        import x.w", {"x", "x.w"}),
        ("with a:\n    import x.w", {"x", "x.w"}),
        ("from typing_extensions import TYPE_CHECKING\nif TYPE_CHECKING:\n    import x.w", set()),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import x.w\nelse:\n    import x.v", {"x", "x.v"}),
        ("import typing as t\nif t.TYPE_CHECKING:\n    import x.w", set()),
        ("import typing\nif not typing.TYPE_CHECKING:\n    import x.w\nelse:\n    import x.v", {"x", "x.w"}),
        ("TYPE_CHECKING = False\nif TYPE_CHECKING and 1:\n    import x.w", set()),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING or a:\n    import x.w", {"x", "x.w"}),
        ("TYPE_CHECKING = a()\nif TYPE_CHECKING:\n    import x.w", {"x", "x.w"}),
        ("import importlib\nimportlib.import_module('x.w')", {"x", "x.w"}),
        ("import importlib as il\nil.import_module(name='x.w')", {"x", "x.w"}),
        ("from importlib import import_module as im\nim('x.w')", {"x", "x.w"}),
        ("from importlib import *\nimport_module('x.w')", {"x", "x.w"}),
        ("import importlib\nimportlib.import_module('.w', 'x')", {"x", "x.w"}),
        ("import importlib\nimportlib.import_module('..x.w', __package__ + '.deep')", None),
        ("import importlib\nNAME = 'x.w'\nimportlib.import_module(NAME)", {"x", "x.w"}),
        ("from importlib import import_module\nfor n in ('w', 'v'):\n    import_module(f'x.{n}')", {"x", "x.w", "x.v"}),
        ("from importlib import import_module\nimport_module('x.w' if a else 'x.v')", {"x", "x.w", "x.v"}),
        ("__import__('x.w')", {"x", "x.w"}),
        ("__import__('x', fromlist=['w', 'name'])", {"x", "x.w"}),
        ("__import__('x', globals(), locals(), [], 0)", {"x"}),
        ("import pkgutil\npkgutil.resolve_name('x.w:name')", {"x", "x.w"}),
        ("import pkgutil\npkgutil.resolve_name('x.y.name')", {"x", "x.y"}),
        ("import importlib.util\nimportlib.util.find_spec('x.w')", {"x", "x.w"}),
    ],
)  # fmt: skip
def test_an_import_is_followed_wherever_it_stands(
    tmp_path: Path, text: str, expected: set[str] | None
) -> None:
    files = {
        **HANDLERS,
        "handlers/a.py": text,
        "x/__init__.py": "",
        "x/w.py": "",
        "x/v.py": "",
        "x/y/__init__.py": "name = 1",
        "x/y/z.py": "",
    }
    if expected is None:
        _, findings = followed(tmp_path, files)
        assert [one.code for one in findings] == ["HB8102"]
    else:
        assert taken(tmp_path, files) == {"handlers", "handlers.a", *expected}


@pytest.mark.parametrize(
    "text",
    [
        "from . import w",
        "from .w import name",
        "from ..handlers import w",
        "from ..handlers.w import *",
    ],
)
def test_relative_imports_start_at_the_package(tmp_path: Path, text: str) -> None:
    files = {
        **HANDLERS,
        "top/__init__.py": "",
        "top/handlers/__init__.py": "",
        "top/handlers/a.py": text,
        "top/handlers/w.py": "name = 1",
    }
    expected = {"top", "top.handlers", "top.handlers.a", "top.handlers.w"}
    assert taken(tmp_path, files, start="top.handlers.a") == expected


def test_every_package_on_the_way_is_followed_too(tmp_path: Path) -> None:
    files = {
        **HANDLERS,
        "handlers/a.py": "import x.y.z",
        "x/__init__.py": "from .deep import one",
        "x/deep.py": "import other",
        "x/y/__init__.py": "from . import sibling",
        "x/y/sibling.py": "",
        "x/y/z.py": "",
        "other.py": "",
        "unused.py": "",
    }
    found = taken(tmp_path, files)
    assert {"x.deep", "other", "x.y.sibling"} <= found
    assert "unused" not in found


def test_a_star_takes_the_modules_that_the_package_lists(tmp_path: Path) -> None:
    files = {
        **HANDLERS,
        "handlers/a.py": "from x import *",
        "x/__init__.py": "__all__ = ['w', 'name']\n__all__ += ['v']\n__all__.append('u')\nname = 1",
        **{f"x/{name}.py": "" for name in ("w", "v", "u", "other")},
    }
    assert taken(tmp_path, files) == {"handlers", "handlers.a", "x", "x.w", "x.v", "x.u"}


def test_a_star_whose_list_is_computed_is_a_finding_unless_all_is_there(tmp_path: Path) -> None:
    files = {
        **HANDLERS,
        "handlers/a.py": "from x import *",
        "x/__init__.py": "from . import w\n__all__ = [*w.__all__]",
        "x/w.py": "__all__ = ['one']",
    }
    assert "x.w" in taken(tmp_path, files)
    files["x/v.py"] = ""
    _, (one,) = followed(tmp_path, files)
    assert (one.code, one.span and one.span.path) == ("HB8101", "handlers/a.py")
    assert "x.v" in taken(tmp_path, files, modules=("x.*",))


def test_folders_without_init_are_packages(tmp_path: Path) -> None:
    files = {"handlers/a.py": "from x.y import z", "x/y/z.py": "from .. import w", "x/w.py": ""}
    assert taken(tmp_path, files) == {"handlers.a", "x.y.z", "x.w"}


def test_a_package_comes_before_a_module_of_its_name(tmp_path: Path) -> None:
    files = {**HANDLERS, "handlers/a.py": "import x", "x/__init__.py": "", "x.py": ""}
    closure, _ = followed(tmp_path, files)
    assert closure.modules["x"] == "x/__init__.py"


def test_names_are_told_apart_by_case(tmp_path: Path) -> None:
    files = {**HANDLERS, "handlers/a.py": "import X", "x.py": ""}
    closure, findings = followed(tmp_path, files)
    assert (findings, [one.module for one in closure.outside]) == ([], ["X"])


def test_the_source_folder_is_where_modules_stand(tmp_path: Path) -> None:
    files = {**HANDLERS, "handlers/a.py": "import x\nimport pyproject", "x.py": ""}
    closure, _ = followed(tmp_path, files, source="src")
    assert closure.modules["x"] == "src/x.py"
    assert set(closure.sources) == {"src/handlers/__init__.py", "src/handlers/a.py", "src/x.py"}


def test_what_is_outside_is_a_dependency_and_the_standard_library_is_none(tmp_path: Path) -> None:
    text = "import json, os.path\nimport httpx._client\nfrom google.cloud import storage\n"
    text += "try:\n    import orjson\nexcept ImportError:\n    import annotationlib\n"
    closure, findings = followed(tmp_path, {**HANDLERS, "handlers/a.py": text})
    rows = [(one.module, one.names, one.guarded) for one in closure.outside]
    assert rows == [
        ("httpx._client", (), False),
        ("google.cloud", ("storage",), False),
        ("orjson", (), True),
    ]
    assert findings == []


def test_a_module_of_the_project_hides_one_of_the_standard_library(tmp_path: Path) -> None:
    files = {**HANDLERS, "handlers/a.py": "import queue, sys, json.tool", "queue.py": ""}
    files |= {"sys.py": "", "json/readme.txt": ""}
    assert taken(tmp_path, files) == {"handlers", "handlers.a", "queue"}


@pytest.mark.parametrize(
    "text",
    [
        "import importlib\ndef f(name):\n    importlib.import_module(name)",
        "import importlib\nTABLE = {'a': 'x.w'}\nimportlib.import_module(TABLE['a'])",
        "import importlib\nNAME = 'x.w'\nNAME += '2'\nimportlib.import_module(NAME)",
        "import importlib\nNAME = 'x.w'\ndef f(NAME):\n    importlib.import_module(NAME)",
        "import importlib\nload = importlib.import_module",
        "import importlib\nlist(map(importlib.import_module, ['x.w']))",
        "from importlib import import_module\nimport_module(*names)",
        "__import__(name)",
        "__import__('x', fromlist=names)",
        "__import__('x', globals(), None, [], level)",
        "import importlib.util\nimportlib.util.spec_from_file_location('x', 'x.py')",
        "from importlib.machinery import SourceFileLoader\nSourceFileLoader('x', 'x.py').load_module()",
        "import runpy\nrunpy.run_path('x.py')",
        "import lazy\n__getattr__, __dir__, __all__ = lazy.attach(__name__)",
        "def __getattr__(name):\n    from importlib import import_module\n    return import_module(f'.{name}', __package__)",
        "import importlib\nimportlib.import_module('.w', package)",
        "import importlib\nimportlib.import_module('x.%s' % name)",
        "import importlib\nimportlib.import_module('x.{}'.format(name))",
    ],
)  # fmt: skip
def test_a_computed_import_is_a_finding_and_never_a_guess(tmp_path: Path, text: str) -> None:
    files = {**HANDLERS, "handlers/a.py": text, "x/__init__.py": "", "x/w.py": ""}
    closure, findings = followed(tmp_path, files)
    assert [one.code for one in findings] == ["HB8101"]
    assert findings[0].span and findings[0].span.path == "handlers/a.py"
    assert "x.w" not in closure.modules


def test_a_pattern_takes_a_package_whole_and_answers_for_what_leads_into_it(tmp_path: Path) -> None:
    text = "import importlib\ndef f(n):\n    importlib.import_module(f'handlers.plugins.{n}')"
    files = {
        **HANDLERS,
        "handlers/a.py": text,
        "handlers/plugins/__init__.py": "",
        "handlers/plugins/one.py": "import x",
        "handlers/plugins/deep/two.py": "",
        "x.py": "",
        "y.py": "",
    }
    _, findings = followed(tmp_path, files)
    assert [one.code for one in findings] == ["HB8101"]
    assert '`bundle-modules = ["handlers.plugins.*"]`' in findings[0].help[-1]
    found = taken(tmp_path, files, modules=("handlers.plugins.*",))
    assert {"handlers.plugins.one", "handlers.plugins.deep.two", "x"} <= found
    assert "y" not in found


def test_a_lazy_module_may_be_taken_whole(tmp_path: Path) -> None:
    lazy = (
        "_HOMES = {'one': 'first'}\n\ndef __getattr__(name):\n"
        "    from importlib import import_module\n"
        "    return getattr(import_module(f'{__name__}.{_HOMES[name]}'), name)\n"
    )
    files = {**HANDLERS, "handlers/a.py": "from x import one", "x/__init__.py": lazy}
    files["x/first.py"] = "one = 1"
    _, findings = followed(tmp_path, files)
    assert [(one.code, one.span and one.span.path) for one in findings] == [
        ("HB8101", "x/__init__.py")
    ]
    assert "x.first" in taken(tmp_path, files, modules=("x.*",))


@pytest.mark.parametrize(
    "text",
    [
        "def make(name): ...\n__getattr__ = make(__name__)",
        "from x import make\n__getattr__ = make(__name__)",
        "from .near import make\n__getattr__ = make(__name__)",
        "import x\n__getattr__ = x.make",
    ],
)
def test_what_a_function_of_the_project_makes_lazy_is_read_there(tmp_path: Path, text: str) -> None:
    files = {
        **HANDLERS,
        "handlers/a.py": text,
        "handlers/near.py": "",
        "x.py": "import y",
        "y.py": "",
    }
    _, findings = followed(tmp_path, files)
    assert findings == []


def test_a_computed_import_of_what_is_elsewhere_is_a_dependency(tmp_path: Path) -> None:
    text = "import importlib\nimportlib.import_module(f'httpx.{a}')\nimportlib.import_module(f'encodings.{a}')"
    closure, findings = followed(tmp_path, {**HANDLERS, "handlers/a.py": text})
    assert ([one.module for one in closure.outside], findings) == (["httpx"], [])


def test_a_pattern_that_meets_nothing_is_a_finding(tmp_path: Path) -> None:
    files = {**HANDLERS, "handlers/a.py": ""}
    _, findings = followed(tmp_path, files, modules=("handlers.plugin.*", "nothing"))
    assert [one.code for one in findings] == ["HB8112", "HB8112"]


def test_a_module_that_is_not_there_is_a_finding_unless_the_program_goes_on(tmp_path: Path) -> None:
    files = {**HANDLERS, "x/__init__.py": "", "x/speed.py": ""}
    files["handlers/a.py"] = "import x.sped\n"
    _, (one,) = followed(tmp_path, files)
    assert (one.code, one.help) == ("HB8102", ("did you mean `x.speed`?",))
    for text in (
        "try:\n    from x.sped import f\nexcept ImportError:\n    f = None\n",
        "from contextlib import suppress\nwith suppress(ImportError):\n    import x.sped\n",
    ):
        closure, findings = followed(tmp_path, {**files, "handlers/a.py": text})
        assert findings == []
        assert (
            "x.sped",
            "the project does not have it, and goes on without it",
        ) in closure.left_out


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("import hermes_build.runtime.result", []),
        ("from hermes_build import __version__, ir", []),
        ("from hermes_build.compiler import pipeline", ["HB8102"]),
        ("from hermes_build import cli", ["HB8102"]),
        ("try:\n    import hermes_build.cli\nexcept ImportError: pass", []),
    ],
)
def test_handlers_may_use_the_runtime_and_no_other_room(
    tmp_path: Path, text: str, codes: list[str]
) -> None:
    closure, findings = followed(tmp_path, {**HANDLERS, "handlers/a.py": text})
    assert [one.code for one in findings] == codes
    assert closure.outside == ()


@pytest.mark.parametrize(
    "text",
    [
        "from generated.tools import a, b_c",
        "from generated.tools.b_c import Args",
        "import generated.tools.b_c",
    ],
)
def test_a_module_that_needs_another_tool_is_a_finding_that_names_both(
    tmp_path: Path, text: str
) -> None:
    files = {**HANDLERS, "handlers/a.py": text}
    _, (one,) = followed(tmp_path, files, others={"b-c": "handlers.a"})
    assert (one.code, one.tool) == ("HB8103", "b-c")
    assert "`handlers.a` needs the tool `b-c`" in one.message


def test_a_module_that_registers_another_tool_by_name_is_a_finding_too(tmp_path: Path) -> None:
    text = "from generated.registry import registry\n\n\n@registry.handler('b')\ndef f(args): ...\n"
    files = {**HANDLERS, "handlers/a.py": "import handlers.both", "handlers/both.py": text}
    _, (one,) = followed(tmp_path, files, others={"b": "handlers.both"})
    assert (one.code, one.tool) == ("HB8103", "b")
    assert one.span and (one.span.path, one.span.line) == ("handlers/both.py", 4)


def test_what_is_left_out_is_told_with_why(tmp_path: Path) -> None:
    files = {
        **HANDLERS,
        "handlers/a.py": "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from handlers import types",
        "handlers/b.py": "",
        "handlers/types.py": "",
        "handlers/deep/more.py": "",
        "elsewhere.py": "",
    }
    closure, _ = followed(tmp_path, files, others={"b": "handlers.b", "c": "handlers.b"})
    assert closure.left_out == (
        ("handlers.b", "it registers `b`, `c`"),
        ("handlers.deep.more", "no tool of the bundle needs it"),
        ("handlers.types", "only type checkers import it"),
    )


def test_a_module_that_asks_for_its_own_file_is_a_warning(tmp_path: Path) -> None:
    text = (
        "from pathlib import Path\n\n\ndef f():\n    return Path(__file__), '__file__', __file__\n"
    )
    _, (one,) = followed(tmp_path, {**HANDLERS, "handlers/a.py": text})
    assert (one.code, one.severity, one.span and one.span.line) == ("HB8114", "warning", 5)
    assert followed(tmp_path, {"handlers/a.py": "# __file__\nx = '__file__'\n"})[1] == []


def test_compiled_code_is_a_finding(tmp_path: Path) -> None:
    files = {**HANDLERS, "handlers/a.py": "from handlers import fast"}
    files["handlers/fast.cpython-311-x86_64-linux-gnu.so"] = ""
    _, (one,) = followed(tmp_path, files)
    assert one.code == "HB8113"


def test_a_module_that_cannot_be_parsed_is_a_finding_with_its_line(tmp_path: Path) -> None:
    files = {**HANDLERS, "handlers/a.py": "import x", "x.py": "\nprint 'two'\n"}
    _, (one,) = followed(tmp_path, files)
    assert (one.code, one.span and one.span.line) == ("HB8107", 2)


@pytest.mark.skipif(os.name != "posix", reason="needs links")
@pytest.mark.parametrize("place", ["x", "x/w.py", "handlers"])
def test_a_link_anywhere_on_the_way_is_a_finding(tmp_path: Path, place: str) -> None:
    files = {**HANDLERS, "handlers/a.py": "import x.w", "x/__init__.py": "", "x/w.py": ""}
    write(tmp_path, files)
    (tmp_path / place).rename(tmp_path / "real")
    (tmp_path / place).symlink_to(tmp_path / "real")
    project = Project(tmp_path, "pyproject.toml")
    findings = Findings()
    wanted = Wanted(("handlers.a",), frozenset({"a"}), {})
    follow(project, wanted, Door(tmp_path, findings), findings)
    assert [(one.code, one.span and one.span.path) for one in findings] == [("HB8106", place)]


def test_a_large_module_is_a_finding(tmp_path: Path) -> None:
    files = {**HANDLERS, "handlers/a.py": "import x", "x.py": "#" * 4_000_001}
    _, (one,) = followed(tmp_path, files)
    assert one.code == "HB8111"


def test_a_circle_of_imports_ends(tmp_path: Path) -> None:
    files = {
        **HANDLERS,
        "handlers/a.py": "import x",
        "x.py": "import y",
        "y.py": "import x, handlers.a",
    }
    assert taken(tmp_path, files) == {"handlers", "handlers.a", "x", "y"}
