"""Programs in spaces of their own: what must stay apart, in threads and after closing."""

from __future__ import annotations

import gc
import importlib
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes_build.bundle.isolation import Space
from tests.bundle.spaces import PACKAGE, opened, space


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
    opened.remove(one)
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
