"""What no type can express is `Any`, and the stub says why."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_build.compiler.emit.naming import Kind
from tests.stubs.odd_schemas import HONEST
from tests.stubs.written import KINDS, hints, load, stub, thing


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", HONEST)
def test_what_cannot_be_expressed_is_an_honest_any(name: str, kind: Kind) -> None:
    schema, reason = HONEST[name]
    one = stub(schema, thing(a={"type": "string"}), kind)
    if not one.problems:
        assert name == "surrogate"
        one.text.encode()
        return
    assert len(one.problems) == 1
    assert one.problems[0].startswith("parameters: ")
    assert reason in one.problems[0]
    assert load(one.text)[one.args] == dict[str, Any]
    assert hints(one, one.result).keys() == {"a"}


def test_a_result_that_cannot_be_expressed_leaves_the_arguments_alone() -> None:
    one = stub(thing(a={"type": "string"}), {"$ref": "#/nope"})
    assert one.problems == ("output_schema: `$ref` '#/nope' leads to nothing",)
    assert load(one.text)["ToolXResult"] is Any
    assert hints(one) == {"a": "NotRequired[str]"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_of_itself_is_an_honest_any(kind: Kind) -> None:
    # The generator writes a bare `list` here, which would say less than it seems to.
    (problem,) = stub(thing(), {"type": "array", "items": {"$ref": "#"}}, kind).problems
    assert "list without its parameters" in problem
