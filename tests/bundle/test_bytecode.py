"""Byte code that somebody has put beside the files of a bundle is never run."""

from __future__ import annotations

import importlib.util
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_build.bundle.format import BundleError
from hermes_build.bundle.verifying import verify
from hermes_build.runtime.bundles import open_bundle
from tests.bundle.containers import CONTAINERS
from tests.bundle.making import program, whole
from tests.bundle.test_standalone import runtime

HOSTILE = "raise SystemExit('hostile')\n"


def poison(tree: Path) -> int:
    """Put byte code beside every module of a tree, which Python would run unasked."""
    source = tree.parent / "hostile.py"
    source.write_text(HOSTILE)
    modules = list(tree.rglob("*.py"))
    for module in modules:
        py_compile.compile(
            str(source),
            importlib.util.cache_from_source(str(module)),
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    source.unlink()
    return len(modules)


def test_what_is_put_there_is_what_python_would_run(tmp_path: Path) -> None:
    tree = CONTAINERS["folder"](tmp_path, whole(program()))
    assert poison(tree)
    code = f"import sys; sys.path.insert(0, {str(tree / 'program')!r}); import handlers.ping"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == "hostile\n"


def test_an_unpacked_bundle_with_byte_code_is_refused_before_any_of_it_runs(
    tmp_path: Path,
) -> None:
    tree = CONTAINERS["folder"](tmp_path, whole(program()))
    poison(tree)
    with pytest.raises(BundleError, match="HB8005"):
        open_bundle(tree)
    with open_bundle(tree, verify=False) as registry:
        assert "HB8005" in registry.call("ping", {})
        with pytest.raises(BundleError, match="HB8005"):
            registry.find("ping")


def test_byte_code_in_an_installed_package_is_not_run(tmp_path: Path) -> None:
    package = CONTAINERS["package"](tmp_path, whole({**program(), **runtime()}))
    assert poison(package / "bundle") > 40
    verify(package).close()
    for whether in (True, False):
        with open_bundle(package, verify=whether) as registry:
            assert registry.call("ping", {}) == "pong"
            registry.load()
    code = f"import sys; sys.path.insert(0, {str(package.parent)!r})\n"
    code += f"from {package.name} import registry\nprint(registry.call('ping', {{}}))"
    command = [sys.executable, "-P", "-B", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("pong\n", "")
