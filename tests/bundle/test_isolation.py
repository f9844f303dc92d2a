"""Programs in spaces of their own: every way to import, and what must stay apart."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import inspect
import linecache
import logging
import pickle
import pkgutil
import sys
import textwrap
import threading
import traceback
import typing
import weakref
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest

from hermes_build.bundle.format import roots_of
from hermes_build.bundle.isolation import Space


class Memory:
    """The files of a program in memory; sources are dedented."""

    def __init__(self, sources: Mapping[str, str | bytes]) -> None:
        self._files = {
            f"program/{path}": text if isinstance(text, bytes) else textwrap.dedent(text).encode()
            for path, text in sources.items()
        }

    def names(self) -> list[str]:
        return [*self._files, "hermes-build.lock"]

    def read(self, name: str) -> bytes:
        return self._files[name]


_open: list[Space] = []


def space(sources: Mapping[str, str | bytes], identity: str = "v1", **options: Any) -> Space:
    roots = {path.split("/")[0].removesuffix(".py") for path in sources}
    options.setdefault("path", "/nowhere/agent.hermes")
    made = Space(Memory(sources), roots, identity, **options)
    _open.append(made)
    return made


@pytest.fixture(autouse=True)
def _close_all() -> Iterator[None]:
    yield
    while _open:
        _open.pop().close()


PACKAGE: dict[str, str | bytes] = {
    "handlers/__init__.py": "",
    "handlers/files/__init__.py": "from handlers.files.reading import read as read\n",
    "handlers/files/reading.py": "def read(): return 'read'\nlimit = 7\n_hidden = 8\n",
}


@pytest.mark.parametrize(
    "lines",
    [
        "import handlers.files.reading\nfound = handlers.files.reading.read",
        "import handlers.files.reading as short\nfound = short.read",
        "from handlers.files import reading\nfound = reading.read",
        "from handlers.files import reading as short\nfound = short.read",
        "from handlers.files.reading import read as found",
        "from handlers.files.reading import *\nfound = read",
        "from handlers.files import read as found",
        "import handlers\nimport handlers.files\nfound = handlers.files.read",
        "from .files.reading import read as found",
        "from . import files\nfound = files.reading.read",
        "from .files import *\nfound = reading.read",
        "def late():\n    import handlers.files.reading as r\n    return r.read\nfound = late()",
        "import importlib\nfound = importlib.import_module('handlers.files.reading').read",
        "import importlib as i\nfound = i.import_module('handlers.files').read",
        "from importlib import import_module\nfound = import_module('handlers.files.reading').read",
        "from importlib import import_module\nfound = import_module('.files', 'handlers').read",
        "from importlib import import_module\nfound = import_module('.files', __package__).read",
        "found = __import__('handlers.files.reading').files.reading.read",
        "found = __import__('handlers.files.reading', fromlist=['read']).read",
        "import builtins\nfound = builtins.__import__('handlers.files').files.read",
        "exec('import handlers.files.reading as r')\nfound = r.read",
        "scope = {}\nexec('from handlers.files.reading import read', scope)\nfound = scope['read']",
        "found = eval('__import__(\"handlers.files\").files.read', {})",
        "from pkgutil import resolve_name\nfound = resolve_name('handlers.files.reading:read')",
    ],
)
def test_every_form_of_import_leads_to_the_module_of_the_space(lines: str) -> None:
    before = sys.modules.get("handlers")
    one = space({**PACKAGE, "handlers/tool.py": lines + "\n"})
    found = one.import_module("handlers.tool").found
    assert found is one.import_module("handlers.files.reading").read
    assert found() == "read"
    assert sys.modules.get("handlers") is before


def test_a_name_with_an_attribute_leads_to_a_module_at_the_top_of_the_space() -> None:
    lines = "from pkgutil import resolve_name\nfound = resolve_name('topm:read')\n"
    one = space({"topm.py": "def read(): return 'read'\n", "tool.py": lines})
    assert one.import_module("tool").found is one.import_module("topm").read


def test_a_folder_of_data_alone_is_imported_and_read_inside_of_the_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = tmp_path / "nsp" / "dd" / "q.txt"
    host.parent.mkdir(parents=True)
    host.write_text("the host's")
    monkeypatch.syspath_prepend(tmp_path)
    lines = """\
        import nsp
        from importlib.resources import files
        found = files("nsp").joinpath("dd/q.txt").read_text()
        again = files(nsp).joinpath("dd/q.txt").read_text()
        """
    sources: dict[str, str | bytes] = {"nsp/dd/q.txt": b"its own", "tool.py": lines}
    one = Space(Memory(sources), roots_of(Memory(sources).names()), "v1", path="/nowhere/a.hermes")
    _open.append(one)
    tool = one.import_module("tool")
    assert (tool.found, tool.again) == ("its own", "its own")


def test_star_imports_follow_all_and_leave_out_private_names() -> None:
    one = space(
        {
            **PACKAGE,
            "handlers/tool.py": "from handlers.files.reading import *\n",
            "handlers/listed.py": "__all__ = ['_own']\n_own = 1\nother = 2\n",
            "handlers/taker.py": "from handlers.listed import *\n",
        }
    )
    tool = one.import_module("handlers.tool")
    assert tool.limit == 7 and not hasattr(tool, "_hidden")
    taker = one.import_module("handlers.taker")
    assert taker._own == 1 and not hasattr(taker, "other")


def test_modules_that_import_each_other_see_what_is_there_so_far() -> None:
    one = space(
        {
            "pack/__init__.py": "from pack.a import A\n",
            "pack/a.py": "import pack.b\nfrom pack import b as again\nclass A: other = pack.b\n",
            "pack/b.py": "import pack.a\ndef a(): return pack.a.A\n",
            "pack/c.py": "from pack.d import y\nx = 1\n",
            "pack/d.py": "from pack.c import x\ny = 2\n",
        }
    )
    a = one.import_module("pack.a")
    assert a.A.other.a() is a.A and a.again is a.A.other
    with pytest.raises(ImportError, match=r"partially initialized|circular"):
        one.import_module("pack.c")


def test_a_guarded_import_falls_back_and_names_what_is_missing() -> None:
    one = space(
        {
            "handlers/__init__.py": "",
            "handlers/tool.py": """
                from typing import TYPE_CHECKING
                if TYPE_CHECKING:
                    from handlers.never import Thing
                try:
                    import handlers.fast as engine
                except ModuleNotFoundError as error:
                    missing = error.name, str(error)
                    import handlers.slow as engine
                try:
                    from handlers import nothing
                except ImportError as error:
                    other = type(error)
                def use(thing: "Thing") -> str:
                    return engine.kind
                """,
            "handlers/slow.py": "kind = 'slow'\n",
        },
        absent={"handlers.fast": "it is for developers"},
    )
    tool = one.import_module("handlers.tool")
    assert tool.use(None) == "slow"
    assert tool.missing[0] == "handlers.fast"
    assert "hermes_bundle" not in tool.missing[1]
    assert "it is for developers" in tool.missing[1]
    assert tool.other is ImportError


def test_a_relative_import_cannot_leave_the_top_level() -> None:
    one = space(
        {
            "handlers/__init__.py": "",
            "handlers/tool.py": "from .. import other\n",
            "other.py": "from . import handlers\n",
        }
    )
    with pytest.raises(ImportError, match="beyond top-level package"):
        one.import_module("handlers.tool")
    with pytest.raises(ImportError, match="no known parent package"):
        one.import_module("other")


def test_folders_without_an_init_file_are_packages() -> None:
    one = space(
        {
            "company/tools/deep/leaf.py": "from company.tools import base\nvalue = base.value\n",
            "company/tools/base.py": "value = 3\n",
            "company/tools.py": "never = True\n",
            "company/data/text.txt": "words",
        }
    )
    with pytest.raises(ModuleNotFoundError):
        one.import_module("company.tools.deep.leaf")  # `tools.py` comes before the folder, as ever
    one = space({"a/b/c.py": "import a.b.d as d\n", "a/b/d.py": "", "a/data/text.txt": "words"})
    module = one.import_module("a.b.c")
    assert module.d is one.import_module("a.b.d")
    assert getattr(one.import_module("a.b"), "__file__", None) is None
    assert files(one.import_module("a.data")).joinpath("text.txt").read_text() == "words"


def test_what_is_not_of_the_program_is_imported_as_ever() -> None:
    one = space(
        {
            "handlers/__init__.py": "",
            "handlers/tool.py": "import json, os.path, xml.dom as dom\nfrom json import loads\n",
            "string.py": "mine = True\n",
            "handlers/shadow.py": "import string\nimport importlib.util as util, importlib\n",
        }
    )
    import json
    import string
    import xml.dom

    tool = one.import_module("handlers.tool")
    assert tool.json is json and tool.loads is json.loads and tool.dom is xml.dom
    shadow = one.import_module("handlers.shadow")
    assert shadow.string.mine and not hasattr(string, "mine")
    assert shadow.importlib.invalidate_caches is importlib.invalidate_caches
    assert shadow.util.spec_from_loader is importlib.util.spec_from_loader


def test_names_as_texts_are_looked_up_in_the_space() -> None:
    one = space(
        {
            "handlers/__init__.py": "",
            "handlers/sub/__init__.py": "",
            "handlers/sub/leaf.py": "",
            "handlers/tool.py": """
                import importlib.util, pkgutil, sys
                import handlers, handlers.sub
                there = importlib.util.find_spec("handlers.sub")
                missing = importlib.util.find_spec("handlers.nothing")
                outside = importlib.util.find_spec("json")
                listed = [m.name for m in pkgutil.iter_modules(handlers.__path__, "handlers.")]
                walked = [m.name for m in pkgutil.walk_packages(handlers.__path__, "handlers.")]
                imported = [importlib.import_module(name) for name in walked if "tool" not in name]
                """,
        }
    )
    tool = one.import_module("handlers.tool")
    assert tool.there.name == one.private("handlers.sub")
    assert tool.missing is None
    assert tool.outside.name == "json"
    assert tool.listed == ["handlers.sub", "handlers.tool"]
    assert tool.walked == ["handlers.sub", "handlers.sub.leaf", "handlers.tool"]
    assert tool.imported[0] is one.import_module("handlers.sub")


def test_functions_import_from_their_own_space_in_any_thread() -> None:
    source = "def which():\n    import handlers.version as v\n    return v.number\n"
    spaces = [
        space(
            {
                "handlers/__init__.py": "",
                "handlers/tool.py": source,
                "handlers/version.py": f"number = {number}\n",
            },
            f"v{number}",
        )
        for number in range(4)
    ]
    tools = [one.import_module("handlers.tool") for one in spaces]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: tools[n % 4].which(), range(80)))
    assert found == [n % 4 for n in range(80)]


def test_threads_that_import_in_circles_end() -> None:
    sources: dict[str, str | bytes] = {"pack/__init__.py": ""}
    for number in range(8):
        sources[f"pack/m{number}.py"] = (
            f"import time\ntime.sleep(0.002)\nimport pack.m{(number + 1) % 8} as next_one\n"
        )
    for _ in range(5):
        pair = [space(sources, "v1"), space(sources, "v2")]
        gate = threading.Barrier(8)
        failures: list[BaseException] = []

        def load(
            number: int,
            pair: list[Space] = pair,
            gate: threading.Barrier = gate,
            failures: list[BaseException] = failures,
        ) -> None:
            gate.wait()
            try:
                pair[number % 2].import_module(f"pack.m{number}")
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=load, args=(n,), daemon=True) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert failures == []


def test_a_module_runs_once_however_many_threads_import_it() -> None:
    source = "import builtins\nbuiltins.runs = getattr(builtins, 'runs', 0) + 1\n"
    one = space({"pack/__init__.py": "", "pack/once.py": source})
    with ThreadPoolExecutor(8) as pool:
        modules = set(pool.map(lambda _: one.import_module("pack.once"), range(64)))
    assert len(modules) == 1
    assert one.builtins["runs"] == 1
    import builtins

    assert not hasattr(builtins, "runs")


def test_two_spaces_of_one_program_have_classes_of_their_own() -> None:
    sources: dict[str, str | bytes] = {"pack/__init__.py": "", "pack/m.py": "class A: pass\n"}
    first, second = space(sources, "same"), space(sources, "same")
    assert first.package != second.package
    assert first.import_module("pack.m").A is not second.import_module("pack.m").A


def test_data_classes_and_type_hints_find_their_names() -> None:
    one = space(
        {
            "pack/__init__.py": "",
            "pack/m.py": """
                from __future__ import annotations
                from dataclasses import dataclass, field, fields, asdict
                from enum import Enum
                from typing import ClassVar, NamedTuple, TypedDict
                from pack.other import Other
                class Colour(Enum):
                    RED = 1
                @dataclass(frozen=True, slots=True)
                class Item:
                    shared: ClassVar[int] = 3
                    other: Other | None = None
                    colour: Colour = Colour.RED
                    parts: list[Item] = field(default_factory=list)
                class Pair(NamedTuple):
                    left: Item
                class Args(TypedDict):
                    item: Item
                def take(item: Item, other: Other) -> Colour: ...
                names = [one.name for one in fields(Item)]
                """,
            "pack/other.py": "class Other: pass\n",
        }
    )
    m = one.import_module("pack.m")
    assert m.names == ["other", "colour", "parts"]
    assert typing.get_type_hints(m.take) == {
        "item": m.Item, "other": m.Other, "return": m.Colour
    }  # fmt: skip
    assert typing.get_type_hints(m.Args) == {"item": m.Item}
    assert typing.get_type_hints(m.Pair) == {"left": m.Item}
    assert m.asdict(m.Item(parts=[m.Item()]))["parts"][0]["colour"] is m.Colour.RED


def test_pickles_are_read_where_the_space_is_open_and_nowhere_else() -> None:
    sources: dict[str, str | bytes] = {"pack/__init__.py": "", "pack/m.py": "class A: n = 1\n"}
    one = space(sources, "kept")
    text = pickle.dumps(one.import_module("pack.m").A())
    assert type(pickle.loads(text)) is one.import_module("pack.m").A
    one.close()
    with pytest.raises(ModuleNotFoundError, match="hermes_bundle_kept"):
        pickle.loads(text)
    again = space(sources, "kept")  # another process that has opened the same bundle
    assert type(pickle.loads(text)) is again.import_module("pack.m").A


def test_tracebacks_name_the_file_in_the_bundle_and_show_its_line() -> None:
    one = space(
        {
            "pack/__init__.py": "",
            "pack/m.py": "def fail():\n    raise ValueError('no')  # here\n",
            "pack/bad.py": "def f(:\n",
        },
        path="/nowhere/agent.hermes",
    )
    with pytest.raises(ValueError) as caught:
        one.import_module("pack.m").fail()
    text = "".join(traceback.format_exception(caught.value))
    file = str(Path("/nowhere/agent.hermes/program/pack/m.py"))
    assert f'File "{file}", line 2, in fail' in text
    assert "raise ValueError('no')  # here" in text
    linecache.checkcache()
    assert linecache.getline(file, 1) == "def fail():\n"
    with pytest.raises(SyntaxError) as wrong:
        one.import_module("pack.bad")
    assert wrong.value.filename == file.replace("m.py", "bad.py")
    one.close()
    assert file not in linecache.cache


def test_two_versions_at_one_path_show_lines_of_their_own() -> None:
    def failing(word: str) -> dict[str, str | bytes]:
        return {
            "pack/__init__.py": "",
            "pack/m.py": f"def fail():\n    raise ValueError  # {word}\n",
        }

    for one, word in [(space(failing(w), w), w) for w in ("old", "new")]:
        with pytest.raises(ValueError) as caught:
            one.import_module("pack.m").fail()
        assert f"# {word}" in "".join(traceback.format_exception(caught.value))


def test_source_and_loggers_and_reloading_work() -> None:
    one = space(
        {
            "pack/__init__.py": "",
            "pack/m.py": """
                import logging
                log = logging.getLogger(__name__)
                def f():
                    '''Söme words.'''
                    log.warning("said")
                count = globals().get("count", 0) + 1
                """,
        }
    )
    m = one.import_module("pack.m")
    assert inspect.getsource(m.f).endswith('log.warning("said")\n')
    assert "Söme" in inspect.getsource(m)
    assert inspect.getfile(m) == m.__file__ and inspect.getmodule(m.f) is m
    assert m.log is logging.getLogger(one.private("pack.m"))
    assert importlib.reload(m).count == 2


def test_source_in_another_encoding_is_read() -> None:
    text = "# -*- coding: latin-1 -*-\nword = 'caf\xe9'\n"
    one = space({"pack/__init__.py": "", "pack/m.py": text.encode("latin-1")})
    m = one.import_module("pack.m")
    assert m.word == "café" and "café" in inspect.getsource(m)


def test_data_is_read_through_resources_and_pkgutil() -> None:
    one = space(
        {
            "pack/__init__.py": "",
            "pack/data/words.txt": "Wörter",
            "pack/data/sub/more.bin": b"\x00\xff",
            "other.py": "",
            "pack/m.py": """
                import pkgutil
                from importlib import resources
                from importlib.resources import files
                text = files(__package__).joinpath("data", "words.txt").read_text("utf-8")
                by_name = (files("pack") / "data/words.txt").read_bytes()
                legacy = pkgutil.get_data("pack", "data/words.txt")
                own = pkgutil.get_data(__package__, "data/sub/more.bin")
                data = resources.files("pack.data")
                """,
        }
    )
    m = one.import_module("pack.m")
    assert m.text == "Wörter" and m.by_name == m.legacy == "Wörter".encode()
    assert m.own == b"\x00\xff"
    assert sorted(place.name for place in m.data.iterdir()) == ["sub", "words.txt"]
    assert (m.data / "sub").is_dir() and not (m.data / "sub").is_file()
    assert not (m.data / "nothing").is_dir() and not (m.data / "nothing").is_file()
    with as_file(m.data / "sub" / "more.bin") as path:
        assert path.read_bytes() == b"\x00\xff"
    with (m.data / "words.txt").open(encoding="utf-8") as file:
        assert file.read() == "Wörter"
    with pytest.raises(FileNotFoundError):
        (m.data / "nothing").read_bytes()
    with pytest.raises(IsADirectoryError):
        (m.data / "sub").read_bytes()
    with pytest.raises(NotADirectoryError):
        list((m.data / "words.txt").iterdir())
    with pytest.raises(ValueError, match="mode"):
        (m.data / "words.txt").open("w")
    assert not m.data.joinpath("../../../hermes-build.lock").is_file()
    with pytest.raises(OSError):
        pkgutil.get_data(one.private("pack"), "../../hermes-build.lock")


def test_opening_by_file_name_fails_as_for_any_archive(tmp_path: Path) -> None:
    archive = tmp_path / "agent.hermes"
    archive.write_bytes(b"PK")
    source = "def read():\n    return open(__file__).read()\n"
    one = space({"pack/__init__.py": "", "pack/m.py": source}, path=str(archive))
    with pytest.raises(NotADirectoryError if sys.platform != "win32" else OSError):
        one.import_module("pack.m").read()


def test_nothing_else_may_answer_for_a_name_of_the_space(tmp_path: Path) -> None:
    folder = tmp_path / "program" / "pack"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "surplus.py").write_text("")
    one = space({"pack/__init__.py": ""}, path=str(tmp_path))
    assert one.import_module("pack").__path__ == [str(folder)]
    with pytest.raises(ModuleNotFoundError):
        one.import_module("pack.surplus")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(one.private("pack.surplus"))


def test_a_space_leaves_nothing_behind_but_its_finder() -> None:
    path, hooks, cached = list(sys.path), list(sys.path_hooks), set(sys.path_importer_cache)
    space({"a.py": ""}).import_module("a")
    finders = list(sys.meta_path)
    before = set(sys.modules)
    one = space({**PACKAGE, "tool.py": "import handlers.files\n"}, "gone")
    one.import_module("tool")
    inside = set(sys.modules) - before
    assert inside and all(name.startswith("hermes_bundle_gone") for name in inside)
    module = weakref.ref(one.import_module("tool"))
    one.close()
    assert set(sys.modules) == before
    assert (sys.path, sys.path_hooks, sys.meta_path) == (path, hooks, finders)
    assert set(sys.path_importer_cache) == cached
    _open.remove(one)
    del one
    gc.collect()
    assert module() is None


def test_after_closing_functions_run_and_imports_fail() -> None:
    source = "def add(a, b): return a + b\ndef late():\n    import pack.other\n"
    one = space({"pack/__init__.py": "", "pack/m.py": source, "pack/other.py": ""})
    m = one.import_module("pack.m")
    one.close()
    one.close()
    assert m.add(1, 2) == 3
    for attempt in (m.late, lambda: one.import_module("pack.other")):
        with pytest.raises(ImportError, match="was closed"):
            attempt()


def test_closing_while_another_thread_imports_leaves_nothing() -> None:
    source = "import sys\nsys.hermes_started.set()\nsys.hermes_go.wait(60)\nimport pack.other\n"
    one = space({"pack/__init__.py": "", "pack/m.py": source, "pack/other.py": ""}, "busy")
    started, go = threading.Event(), threading.Event()
    vars(sys).update(hermes_started=started, hermes_go=go)
    try:
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(one.import_module, "pack.m")
            assert started.wait(60)
            one.close()
            go.set()
            assert isinstance(running.exception(60), ImportError)
    finally:
        del sys.hermes_started, sys.hermes_go  # type: ignore[attr-defined]
    assert not [name for name in sys.modules if name.startswith("hermes_bundle_busy")]


def test_given_names_are_seen_in_the_space_alone() -> None:
    one = space(
        {
            "a.py": """
                import json.decoder
                import json.decoder as module
                from json.decoder import JSONDecoder, mine
                from json import decoder
                whole = json.decoder.mine, module.mine, decoder.mine, json.loads("1")
                """
        },
        given={"json.decoder": {"mine": 5}},
    )
    import json.decoder

    a = one.import_module("a")
    assert a.mine == 5 and a.whole == (5, 5, 5, 1)
    assert a.JSONDecoder is json.decoder.JSONDecoder
    assert not hasattr(json.decoder, "mine")
