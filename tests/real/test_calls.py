"""Arguments that fit reach a handler as they were sent, and others only once they do."""

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


def nothing_fits(schema: dict[str, Any]) -> bool:
    """Whether a required parameter admits no value: a whole number out of an enum of text."""
    for name in schema.get("required", []):
        one = schema["properties"][name]
        if not any(map(judge(one), one.get("enum", (None,)))) and "enum" in one:
            return True
    return False


def bind(catalogue: Catalogue, name: str, seen: list[Any]) -> str:
    """Register a handler in hermes-agent's own form, with the source's schema.

    Returns the text that a call which reaches the handler gives back.
    """
    record = catalogue.registry.find(name)
    result: Any = "reached"
    output = record.get("output_schema")
    if output is not None:
        (result,) = Maker(output, name).fitting(judge(output), 1)

    def handle(args: dict[str, Any], **context: Any) -> Any:
        seen.append(args)
        return result

    async def handle_async(args: dict[str, Any], **context: Any) -> Any:
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
    return result if output is None else json.dumps(result, ensure_ascii=False)


@pytest.mark.parametrize("which", ["hermes", "bfcl"])
def test_arguments_arrive_as_sent_or_as_they_fit_or_not_at_all(
    which: str, request: pytest.FixtureRequest
) -> None:
    catalogue: Catalogue = request.getfixturevalue(which)
    counts: Counter[str] = Counter()
    for name, schema in catalogue.schemas.items():
        seen: list[Any] = []
        reached = bind(catalogue, name, seen)
        fits = judge(schema)
        maker = Maker(schema, name)
        good = maker.fitting(fits, CALLS)
        assert bool(good) != nothing_fits(schema), f"no arguments could be made for {name}"
        counts["impossible"] += not good
        for sent in good:
            before = copy.deepcopy(sent)
            assert catalogue.registry.call(name, sent) == reached, (name, sent)
            got = seen.pop()
            assert arrived_unchanged(before, got, schema), (name, before, got)
            assert sent == before and fits(got)
            counts["valid"] += 1
        wrong: dict[str, Any] = {}
        for one in (
            bad for sent in good or [maker.make(schema, 1.0)] for bad in spoiled(sent, schema)
        ):
            if not fits(one):
                wrong.setdefault(json.dumps(one), one)
        assert wrong
        for sent in list(wrong.values())[:SPOILED]:
            before = copy.deepcopy(sent)
            answer = catalogue.registry.call(name, sent)
            assert sent == before
            if seen:  # what was meant could be told
                got = seen.pop()
                assert not seen and answer == reached, (name, sent)
                assert fits(got), (name, sent, got)
                counts["repaired"] += 1
            else:
                assert json.loads(answer)["error"], (name, sent)
                counts["refused"] += 1
    print(
        f"\n{which}: {len(catalogue.schemas)} tools called: {counts['valid']} calls with valid "
        f"arguments arrived unchanged, {counts['refused']} with invalid ones did not arrive, "
        f"{counts['repaired']} did once they were repaired; "
        f"{counts['impossible']} tools have a required enum of another type, which nothing fits"
    )


def test_arguments_sent_as_text_arrive_as_they_were_meant(hermes: Catalogue) -> None:
    count = 0
    for name, schema in hermes.schemas.items():
        seen: list[Any] = []
        bind(hermes, name, seen)
        fits = judge(schema)
        for meant in Maker(schema, name).fitting(fits, CALLS):
            hermes.registry.call(name, meant)
            expected = seen.pop()
            for key, value in meant.items():
                sent = {**meant, key: json.dumps(value)}
                if isinstance(value, str) or fits(sent):
                    continue  # text is what is wanted there
                hermes.registry.call(name, sent)
                assert seen, (name, sent)
                assert seen.pop() == expected, (name, sent)
                count += 1
    assert count
    print(f"\nhermes-agent: {count} arguments sent as text arrived as they were meant")


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
