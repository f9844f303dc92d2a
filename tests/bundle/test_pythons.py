"""Which Python a bundle is for, and what is said by another one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from hermes_build.bundle.pythons import is_readable, unfit
from hermes_build.runtime.bundles import open_bundle
from hermes_build.runtime.errors import CatalogueError
from tests.bundle.containers import CONTAINERS, entries
from tests.bundle.making import archive, program, whole
from tests.bundle.test_standalone import make, run

OWN = ".".join(map(str, sys.version_info[:3]))

numbers = st.lists(st.sampled_from(["0", "2", "3", "11", "12", "012"]), min_size=1, max_size=4)
versions = st.builds(
    lambda parts, end: ".".join(parts) + end,
    numbers,
    st.sampled_from(["", "", "", ".*", "a1", "rc2", ".dev0", ".post1", "+x", "x", "."]),
)
clauses = st.builds(
    lambda operator, space, version: operator + space + version,
    st.sampled_from([">=", "<=", "==", "!=", "~=", ">", "<", "", "=", "<>"]),
    st.sampled_from(["", " "]),
    versions,
)


@given(
    st.lists(clauses, min_size=1, max_size=3).map(", ".join),
    st.tuples(*[st.sampled_from([0, 1, 2, 3, 11, 12])] * 3),
)
def test_what_is_read_is_decided_as_installers_decide_it(
    text: str, running: tuple[int, ...]
) -> None:
    try:
        wanted = SpecifierSet(text).contains(".".join(map(str, running)))
    except InvalidSpecifier:
        assert not is_readable(text)
        return
    if is_readable(text):
        assert (unfit(text, running) == "") is wanted
    else:
        assert re.search(r"post|\+", text)  # of which there is no Python


@pytest.mark.parametrize(
    "text", ["", " ", ",", "3.11", "===3.11", ">=3.11,", ">=", ">=x", "~=3", "==3.1a1.*", ">=٣"]
)
def test_what_cannot_be_read_fits_no_python(text: str) -> None:
    assert not is_readable(text)
    assert "cannot be read" in unfit(text)
    assert OWN in unfit(text)


def test_the_sentence_is_short_and_of_one_line() -> None:
    assert len(unfit("x" * 10_000)) < 200
    assert unfit(">=9\n,\n<10") == f"is for Python >=9 , <10, and this is Python {OWN}"
    assert "\x1b" not in unfit(">=\x1b[31m")


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("verify", [True, False])
def test_a_bundle_for_another_python_is_not_opened(
    tmp_path: Path, container: str, verify: bool
) -> None:
    path = CONTAINERS[container](tmp_path, entries(requires_python=">=4.1,<5"))
    with pytest.raises(CatalogueError) as refused:
        open_bundle(path, verify=verify)
    assert f"is for Python >=4.1,<5, and this is Python {OWN}" in str(refused.value)
    assert str(path) in str(refused.value)


def test_what_a_bundle_says_of_pythons_must_be_readable(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.hermes", whole(program(), requires_python="any"))
    with pytest.raises(CatalogueError, match="cannot be read which Python it is for: 'any'"):
        open_bundle(path, verify=False)


def test_a_bundle_for_this_python_is_opened(tmp_path: Path) -> None:
    for text in (f"=={OWN}", ">=3.11, <4.0a0", "~=3.11", "!=3.10.*"):
        path = archive(tmp_path / "a.hermes", whole(program(), requires_python=text))
        with open_bundle(path) as registry:
            assert registry.call("ping", {}) == "pong"


def test_an_archive_that_python_runs_names_both_versions(tmp_path: Path) -> None:
    make(tmp_path, requires_python=">=4.1")
    for words in (("call", "ping", "{}"), ("show",)):
        done = run(tmp_path, "small.hermes", *words)
        assert done.returncode == 2
        assert f"is for Python >=4.1, and this is Python {OWN}" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_python_that_the_runtime_cannot_run_on_is_told_so(tmp_path: Path) -> None:
    file = make(tmp_path)
    code = "import runpy, sys\nsys.version_info = (3, 9, 2, 'final', 0)\n"
    code += f"runpy.run_path({str(file)!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert "runs on Python 3.11 and newer, and this is Python 3.9.2" in done.stderr


def test_an_installed_package_for_another_python_is_not_imported(tmp_path: Path) -> None:
    package = CONTAINERS["package"](tmp_path, _with_runtime(requires_python=">=4.1"))
    code = f"import sys; sys.path.insert(0, {str(package.parent)!r})\n"
    code += f"import {package.name}\nprint({package.name}.registry)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout == ""
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert f"is for Python >=4.1, and this is Python {OWN}" in last


def _with_runtime(**changes: str) -> dict[str, bytes]:
    from tests.bundle.test_standalone import runtime

    return whole({**program(), **runtime()}, **changes)
