"""Arguments that fit reach a handler as they were sent, and those that do not never reach it."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest

from tests.real.arguments import Maker, arrived_unchanged, spoiled
from tests.real.conftest import Catalogue

pytestmark = pytest.mark.real

CALLS = 4
SPOILED = 40


def judge(schema: dict[str, Any]) -> Callable[[Any], bool]:
    """The verdict on arguments by the source's schema; what JSON cannot hold is wrong."""
    return jsonschema_rs.Draft202012Validator(schema).is_valid


def bind(catalogue: Catalogue, name: str, seen: list[Any]) -> None:
    """Register a handler in hermes-agent's own form, with the source's schema."""
    record = catalogue.registry.find(name)

    def handle(args: dict[str, Any], **context: Any) -> str:
        seen.append(args)
        return "reached"

    async def handle_async(args: dict[str, Any], **context: Any) -> str:
        return handle(args)

    is_async = bool(record.get("is_async"))
    catalogue.registry.register(
        name=name,
        toolset=record.get("toolset"),
        schema={"name": name, "description": record["schema"]["description"],
                "parameters": copy.deepcopy(catalogue.schemas[name])},
        handler=handle_async if is_async else handle,
        is_async=is_async,
        check_fn=(lambda: True) if record.get("requires", {}).get("check") else None,
        dynamic_schema_overrides=dict if record.get("dynamic") else None,
        override=True,
    )  # fmt: skip


@pytest.mark.parametrize("which", ["hermes", "bfcl"])
def test_arguments_arrive_as_sent_or_not_at_all(which: str, request: pytest.FixtureRequest) -> None:
    catalogue: Catalogue = request.getfixturevalue(which)
    counts: Counter[str] = Counter()
    for name, schema in catalogue.schemas.items():
        seen: list[Any] = []
        bind(catalogue, name, seen)
        fits = judge(schema)
        good = Maker(schema, name).fitting(fits, CALLS)
        assert good, f"no arguments could be made for {name}"
        for sent in good:
            before = copy.deepcopy(sent)
            assert catalogue.registry.call(name, sent) == "reached", (name, sent)
            got = seen.pop()
            assert arrived_unchanged(before, got, schema), (name, before, got)
            assert sent == before and fits(got)
            counts["valid"] += 1
        wrong: dict[str, Any] = {}
        for one in (bad for sent in good for bad in spoiled(sent, schema)):
            if not fits(one):
                wrong.setdefault(json.dumps(one), one)
        assert wrong
        for sent in list(wrong.values())[:SPOILED]:
            answer = json.loads(catalogue.registry.call(name, sent))
            assert not seen, (name, sent, seen)
            assert answer["error"], (name, sent)
            counts["refused"] += 1
    print(
        f"\n{which}: {len(catalogue.schemas)} tools called: {counts['valid']} calls with valid "
        f"arguments arrived unchanged, {counts['refused']} with invalid ones did not arrive"
    )


def test_a_handler_with_another_schema_is_refused_for_every_tool(hermes: Catalogue) -> None:
    refused = 0
    for name, schema in hermes.schemas.items():
        changed = copy.deepcopy(schema)
        changed.setdefault("properties", {})["new"] = {"type": "string"}
        with pytest.raises(Exception, match=name) as caught:
            hermes.registry.register(
                name=name,
                toolset=hermes.source["owners"][name],
                schema={"name": name, "parameters": changed},
                handler=lambda args, **context: "",
                override=True,
            )
        assert type(caught.value).__name__ == "SchemaDriftError"
        refused += 1
    print(f"\nhermes-agent: {refused} registrations with a drifted schema refused")
