"""What modules look up by names beside import statements: followed, or a finding."""

# ruff: noqa: E501 -- programs on a line each

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_build.compiler.diagnostics import Diagnostic
from tests.bundling.test_closure import followed

FILES = {
    "handlers/__init__.py": "",
    "x/__init__.py": "",
    "x/w.py": "def f(): ...\n",
    "x/v.py": "",
    "x/y/__init__.py": "",
    "x/y/z.py": "",
}


def taken(root: Path, text: str, **more: object) -> set[str]:
    """The modules that a handler needs beside itself, where nothing is found to be wrong."""
    closure, findings = followed(root, {**FILES, "handlers/a.py": text}, **more)  # type: ignore[arg-type]
    assert findings == []
    return set(closure.modules) - {"handlers", "handlers.a"}


def found(root: Path, text: str, **more: str) -> list[Diagnostic]:
    """The findings on a handler; other files may be given as well."""
    return followed(root, {**FILES, "handlers/a.py": text, **more})[1]


@pytest.mark.parametrize(
    "text",
    [
        "from importlib.util import find_spec\nfind_spec('x.w')",
        "import importlib.util as u\nu.find_spec('.w', package='x')",
        "import importlib\ngetattr(importlib, 'import_module')('x.w')",
        "import importlib\nimportlib.__import__('x.w')",
        "import importlib\nimportlib.__dict__['import_module']('x.w')",
        "import importlib\nvars(importlib)['import_module']('x.w')",
        "__builtins__['__import__']('x.w')",
        "__builtins__.__import__('x.w')",
        "import builtins\nbuiltins.__import__('x.w')",
        "import sys\nsys.modules['importlib'].import_module('x.w')",
        "def f(import_module): ...\nfrom importlib import import_module\nimport_module('x.w')",
        "exec('import x.w')",
        "exec(b'from x import w')",
        "exec('import x.w', {})",
        "exec(compile('import x.w', 'f', 'exec'))",
        "CODE = '''\ndef f():\n    from x import w\n'''\nexec(CODE)",
        "eval('__import__(\"x.w\")')",
        "import builtins\nbuiltins.exec('import x.w')",
        "__builtins__['exec']('import x.w')",
        "exec('exec(\"import x.w\")')",
        "__import__('x.w').f",
        "match 'a':\n    case str() if (m := __import__('x.w')): ...",
        "match 'a':\n    case y if y == __import__('x.w').f: ...",
        "try: ...\nexcept __import__('x.w').w.E: ...",
    ],
)
def test_a_name_that_is_written_out_is_followed(tmp_path: Path, text: str) -> None:
    assert taken(tmp_path, text) == {"x", "x.w"}


def test_what_is_only_looked_for_may_be_missing(tmp_path: Path) -> None:
    text = (
        "from importlib.util import find_spec\nif find_spec('x.fast') or find_spec('orjson'): ..."
    )
    closure, findings = followed(tmp_path, {**FILES, "handlers/a.py": text})
    assert findings == []
    assert ("x.fast", "the project does not have it, and goes on without it") in closure.left_out
    assert [(one.module, one.guarded) for one in closure.outside] == [("orjson", True)]


@pytest.mark.parametrize(
    "text",
    [
        "from importlib.util import find_spec\nfind_spec(name)",
        "import importlib\ngetattr(importlib, name)('x.w')",
        "import importlib\nfind = getattr(importlib, 'import_module')",
        "__builtins__[name]('x.w')",
        "import builtins\ngetattr(builtins, name)",
        "exec(code)",
        "exec(f'import x.{name}')",
        "exec(open('x/w.py').read())",
        "exec(compile(code, 'f', 'exec'))",
        "exec('import')",
        "eval(text, globals())",
        "run = exec",
        "list(map(eval, texts))",
        "import runpy\nrunpy.run_module(name)",
        "import runpy\nrunpy.run_module(f'x.{name}')",
        "import pkgutil, x\npkgutil.iter_modules(x.__path__)",
        "import pkgutil, x\nlist(pkgutil.walk_packages(path=x.__path__, prefix='x.'))",
        "import pkgutil, x\nwalk = pkgutil.walk_packages",
        "import pkgutil\npkgutil.iter_modules(paths)",
        "import pkgutil\npkgutil.iter_modules()",
        "import sys\nsys.path.insert(0, 'lib')",
        "from sys import path\npath.append('lib')",
        "import sys\nsys.path[:0] = ['lib']",
        "import sys\nsys.path += ['lib']",
        "import sys\nsys.path = []",
        "import sys as s\ndel s.path[0]",
        "import sys\nsys.meta_path.insert(0, finder)",
        "import site\nsite.addsitedir('lib')",
        "import x\nx.__path__ = ['lib']",
        "__path__ = ['lib']",
    ],
)
def test_what_cannot_be_decided_is_a_finding(tmp_path: Path, text: str) -> None:
    assert [one.code for one in found(tmp_path, text)] == ["HB8101"]


@pytest.mark.parametrize(
    "text",
    [
        "import re\nre.compile(pattern)",
        "compile(text, 'f', 'eval')",
        "async def f(): await asyncio.create_subprocess_exec(name)",
        "frame.eval(text); cursor.exec(text)",
        "def eval(text): ...\neval(text)",
        "eval(text, {'__builtins__': {}}, names)",
        "eval('1 + 1')",
        "import sys\nfor one in sys.path: print(one)",
        "import sys\nsys.modules[__name__]; sys.modules[cls.__module__]; sys.modules.get(name)",
        "import sys\nsys.modules['json']; sys.modules.items()",
        "import sys\nsys.modules[__name__ + '.x'] = thing",
        "__path__ = __import__('pkgutil').extend_path(__path__, __name__)",
        "from pkgutil import extend_path\n__path__ = extend_path(__path__, __name__)",
        "import json\njson.__file__; json.__path__",
        "import inspect, json\ninspect.getfile(json); inspect.getsource(f)",
        "from importlib.util import find_spec\nif find_spec is None: ...",
        "__spec__.name, __spec__.parent, request.origin",
        "files('x'); resources.files('x')",
        "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'json.tool'])",
        "import logging\nlogging.getLogger('x.w')",
        "from multiprocessing import cpu_count",
        "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor()",
        "namespace['__file__']; table.get('__file__'); row['__path__']",
        "NOTES = 'exec(code), sys.path.append, __file__'",
    ],
)
def test_what_only_looks_like_it_is_none(tmp_path: Path, text: str) -> None:
    assert taken(tmp_path, text) <= {"x"}


def test_modules_that_are_listed_are_found_where_all_of_them_are_taken(tmp_path: Path) -> None:
    text = "import pkgutil, x\nfor one in pkgutil.walk_packages(x.__path__, 'x.'): ..."
    everything = {"x", "x.w", "x.v", "x.y", "x.y.z"}
    assert taken(tmp_path, text, modules=("x.*",)) == everything
    assert taken(tmp_path, f"import x.w, x.v, x.y.z\n{text}") == everything
    own = {
        **FILES,
        "handlers/a.py": "import x",
        "x/__init__.py": "import pkgutil\npkgutil.iter_modules(__path__)",
    }
    _, (one,) = followed(tmp_path, own)
    assert '`bundle-modules = ["x.*"]`' in one.help[-1]
    text = "import json, pkgutil\npkgutil.iter_modules(json.__path__)"
    assert taken(tmp_path, text) == set()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import runpy\nrunpy.run_module('x.w')", "x.w"),
        ("import sys\nsys.modules['x.w'].f()", "x.w"),
        ("import sys\nsys.modules.get('x.w')", "x.w"),
        ("from unittest import mock\nmock.patch('x.w.f')", "x.w"),
        ("from unittest.mock import patch\n@patch('x.w.f', new=1)\ndef f(): ...", "x.w"),
        ("from unittest.mock import patch\npatch.dict('x.w.TABLE')", "x.w"),
        (
            "import logging.config\nlogging.config.dictConfig({'handlers': {'a': {'class': 'x.w.Own'}}})",
            "x.w",
        ),
        (
            "from logging.config import dictConfig\nTABLE = {'filters': {'a': {'()': 'x.w.f'}}}\ndictConfig(TABLE)",
            "x.w",
        ),
        ("from logging.config import dictConfig\ndictConfig({'a': 'ext://x.w.f'})", "x.w"),
        ("import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'x.w'])", "x.w"),
        ("COMMAND = ('python', '-m', 'x.y')", "x.y"),
    ],
)
def test_a_module_that_is_named_to_what_looks_into_no_bundle_is_a_finding(
    tmp_path: Path, text: str, name: str
) -> None:
    closure, (one,) = followed(tmp_path, {**FILES, "handlers/a.py": text})
    assert (one.code, one.severity) == ("HB8115", "error")
    assert f"names `{name}` to " in one.message
    assert name in closure.modules, "whoever lives with the finding has the module"


@pytest.mark.parametrize(
    "text",
    [
        "import runpy\nrunpy.run_module(f'{__package__}.w')",
        "import runpy\nrunpy.run_module(__package__ + '.w')",
    ],
)
def test_a_name_that_is_made_of_the_modules_own_leads_there_in_a_bundle(
    tmp_path: Path, text: str
) -> None:
    files = {**FILES, "handlers/a.py": text, "handlers/w.py": ""}
    closure, findings = followed(tmp_path, files)
    assert findings == [] and "handlers.w" in closure.modules


def test_what_is_named_outside_the_project_is_a_dependency(tmp_path: Path) -> None:
    text = "from unittest.mock import patch\npatch('httpx.get')\nimport runpy\nrunpy.run_module('orjson')"
    closure, findings = followed(tmp_path, {**FILES, "handlers/a.py": text})
    assert findings == []
    assert [(one.module, one.guarded) for one in closure.outside] == [
        ("httpx", True),
        ("orjson", True),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "__file__",
        "globals()['__file__']",
        "globals().get('__file__')",
        "import x.w\nx.w.__file__",
        "import x\nopen(x.__path__[0] + '/a.txt')",
        "from x import w\ngetattr(w, '__file__', None)",
        "import sys\nsys.modules[__name__].__file__",
        "__spec__.origin",
        "import x\nx.__spec__.submodule_search_locations",
        "from importlib.util import find_spec\nfind_spec('x').origin",
        "__path__[0]",
        "import inspect\ninspect.getfile(f)",
        "from inspect import getsourcefile\ngetsourcefile(f)",
        "import pkg_resources\npkg_resources.resource_filename(__name__, 'a.txt')",
    ],
)
def test_a_module_that_asks_for_the_place_of_a_module_is_a_warning(
    tmp_path: Path, text: str
) -> None:
    assert [(one.code, one.severity) for one in found(tmp_path, text)] == [("HB8114", "warning")]


@pytest.mark.parametrize(
    "text",
    [
        "import multiprocessing\nmultiprocessing.Process(target=f).start()",
        "from multiprocessing import Pool\nwith Pool(2) as pool: ...",
        "from multiprocessing import Process\nclass Own(Process): ...",
        "from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor()",
        "import concurrent.futures\nconcurrent.futures.ProcessPoolExecutor()",
        "import multiprocessing as mp\nmp.get_context('spawn')",
    ],
)
def test_processes_that_would_import_from_the_bundle_are_a_warning(
    tmp_path: Path, text: str
) -> None:
    assert [(one.code, one.severity) for one in found(tmp_path, text)] == [("HB8118", "warning")]


def test_a_finding_in_a_text_that_is_run_has_the_place_of_the_call(tmp_path: Path) -> None:
    text = "TEXT = '''\n\n\n\n\nimport importlib\nimportlib.import_module(name)'''\nexec(TEXT)\n"
    (one,) = found(tmp_path, text)
    assert one.code == "HB8101" and one.span and (one.span.line, one.span.column) == (8, 1)
