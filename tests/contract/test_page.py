"""The pages on the contract and the tests of it speak of the same points, each of them once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"


def names_in(*paths: Path) -> list[str]:
    """The names of the test functions of modules, in order."""
    return [
        node.name
        for path in paths
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def numbered() -> list[str]:
    """The tests of every module but those of differences and of pages."""
    others = {HERE / "test_page.py", *differing()}
    return names_in(*(path for path in sorted(HERE.glob("test_*.py")) if path not in others))


def differing() -> list[Path]:
    """The modules that test the differences from hermes-agent."""
    return sorted(HERE.glob("test_differences_*.py"))


def points() -> list[int]:
    page = (DOCS / "contract.md").read_text("utf-8")
    return [int(number) for number in re.findall(r"(?m)^(\d+)\. \*\*", page)]


def test_the_page_has_38_points_in_order() -> None:
    assert points() == list(range(1, 39))


def test_every_point_has_a_test_and_every_test_a_point() -> None:
    found = [re.match(r"test_(\d\d)_(an?|the|\w+?)_", name) for name in numbered()]
    assert all(found), [name for name, match in zip(numbered(), found, strict=True) if not match]
    assert sorted({int(match[1]) for match in found if match}) == points()


def test_no_two_tests_of_a_module_have_one_name() -> None:
    for path in HERE.glob("test_*.py"):
        names = names_in(path)
        assert len(names) == len(set(names)), path.name


def test_every_difference_on_the_page_has_a_test_and_every_test_is_on_the_page() -> None:
    page = (DOCS / "coming-from-hermes-agent.md").read_text("utf-8")
    _, _, differences = page.partition("## What is different on purpose")
    items = re.split(r"(?m)^- ", differences)[1:]
    named = [re.findall(r"<!-- (test_difference_\w+) -->", item) for item in items]
    assert items and all(named), [
        item for item, tests in zip(items, named, strict=True) if not tests
    ]
    flat = [name for names in named for name in names]
    assert len(flat) == len(set(flat))
    assert sorted(flat) == sorted(names_in(*differing()))
