"""Every way to import in a space, and every name looked up there, leads to what is its own."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import typing
from importlib.resources import files

import pytest

from tests.bundle.spaces import PACKAGE, space


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
