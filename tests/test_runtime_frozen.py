"""Frozen data is read as plain data is, and nothing changes it."""

from __future__ import annotations

import copy
import json
import operator
import pickle
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from hermes_build.runtime.freezing import FrozenDict, FrozenList, freeze

PLAIN: dict[str, Any] = {"b": [3, {"c": [1]}, 2], "a": {"d": None, "e": "é"}}

SITUATIONS: list[tuple[str, tuple[Any, ...]]] = [
    ("nothing", ()),
    ("a key", ("a",)),
    ("a key and a value", ("a", 9)),
    ("a new key", ("new",)),
    ("a new key and a value", ("new", 9)),
    ("an index", (0,)),
    ("an index and a value", (0, 9)),
    ("a slice", (slice(0, 2),)),
    ("a slice and values", (slice(0, 2), [9])),
    ("a member", (3,)),
    ("a dict", ({"new": 9},)),
    ("a list", ([9],)),
    ("pairs", ([("new", 9)],)),
    ("a number", (2,)),
]


def fresh(kind: type) -> Any:
    return {"a": 1, "b": 2} if kind is dict else [3, 1, 2]


def mutators(kind: type) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Every method of a class that changes an instance, with arguments that make it do so."""
    for name in dir(kind):
        for _, arguments in SITUATIONS:
            value = fresh(kind)
            try:
                getattr(value, name)(*arguments)
            except (TypeError, ValueError, KeyError, IndexError, AttributeError):
                pass
            if value != fresh(kind):
                yield name, arguments
                break


DICT_MUTATORS = list(mutators(dict))
LIST_MUTATORS = list(mutators(list))


def test_the_mutators_that_are_known_are_found() -> None:
    assert {name for name, _ in DICT_MUTATORS} >= {
        *("__init__", "__setitem__", "__delitem__", "__ior__"),
        *("clear", "pop", "popitem", "setdefault", "update"),
    }
    assert {name for name, _ in LIST_MUTATORS} >= {
        *("__init__", "__setitem__", "__delitem__", "__iadd__", "__imul__", "append", "clear"),
        *("extend", "insert", "pop", "remove", "reverse", "sort"),
    }


@pytest.mark.parametrize(
    ("kind", "name", "arguments"),
    [(dict, *one) for one in DICT_MUTATORS] + [(list, *one) for one in LIST_MUTATORS],
    ids=lambda one: one if isinstance(one, str) else getattr(one, "__name__", ""),
)
def test_no_mutator_changes_anything(kind: type, name: str, arguments: tuple[Any, ...]) -> None:
    frozen = freeze(fresh(kind))
    if name == "__init__":  # every new instance goes through it, so that it cannot refuse
        frozen.__init__(*arguments)
    else:
        with pytest.raises(TypeError, match=re.escape("change a copy of it")):
            getattr(frozen, name)(*arguments)
    assert frozen == fresh(kind)


def test_no_statement_changes_anything() -> None:
    frozen = freeze(PLAIN)
    for statement in (
        "frozen['a'] = 1",
        "del frozen['a']",
        "frozen |= {'x': 1}",
        "frozen['b'] += [1]",
        "frozen['b'][1]['c'] *= 2",
        "frozen['b'][:] = []",
        "del frozen['b'][0]",
        "frozen['a']['d'] = 1",
        "frozen['b'][1]['c'].append(1)",
    ):
        with pytest.raises(TypeError, match="shared"):
            exec(statement, {"frozen": frozen})
        assert frozen == PLAIN
    with pytest.raises(AttributeError):
        frozen.note = 1


def test_frozen_data_reads_as_plain_data() -> None:
    frozen = freeze(PLAIN)
    assert frozen == PLAIN
    assert PLAIN.__eq__(frozen) is True
    assert isinstance(frozen["a"], dict)
    assert isinstance(frozen["b"], list)
    assert repr(frozen) == repr(PLAIN)
    assert json.dumps(frozen) == json.dumps(PLAIN)
    assert json.dumps(frozen, indent=1, sort_keys=True) == json.dumps(
        PLAIN, indent=1, sort_keys=True
    )
    assert list(frozen) == ["b", "a"]
    validator = jsonschema_rs.validator_for({"properties": {"b": {"type": "array"}}})
    assert validator.is_valid(frozen)
    assert not validator.is_valid(freeze({"b": {}}))


def test_freezing_leaves_its_source_alone_and_shares_nothing_with_it() -> None:
    source = copy.deepcopy(PLAIN)
    frozen = freeze(source)
    source["b"][1]["c"].append(2)
    source["a"]["new"] = 1
    assert frozen == PLAIN
    assert type(source["b"]) is list


def test_what_is_frozen_or_cannot_be_changed_is_handed_back_itself() -> None:
    frozen = freeze(PLAIN)
    assert freeze(frozen) is frozen
    assert freeze({"a": frozen})["a"] is frozen
    text = "text"
    assert freeze(text) is text
    assert freeze(None) is None


def test_a_frozen_dict_or_list_is_made_from_what_a_plain_one_is() -> None:
    assert FrozenDict() == {} and FrozenList() == []
    assert FrozenDict([("a", [1])], b=2) == {"a": [1], "b": 2}
    assert type(FrozenDict(a=[1])["a"]) is FrozenList
    assert FrozenList(range(2)) == [0, 1]
    assert type(FrozenList([{}])[0]) is FrozenDict


def kinds(value: Any) -> set[type]:
    """The classes of all dicts and lists in a value."""
    if isinstance(value, dict):
        return {type(value)}.union(*map(kinds, value.values()))
    if isinstance(value, list):
        return {type(value)}.union(*map(kinds, value))
    return set()


def test_everything_in_frozen_data_is_frozen() -> None:
    assert kinds(freeze(PLAIN)) == {FrozenDict, FrozenList}


@pytest.mark.parametrize(
    "made",
    [copy.deepcopy(freeze(PLAIN))]
    + [pickle.loads(pickle.dumps(freeze(PLAIN), one)) for one in range(6)],
)
def test_a_deep_copy_is_plain_throughout(made: Any) -> None:
    assert made == PLAIN
    assert list(made) == list(PLAIN)
    assert kinds(made) == {dict, list}


def test_shallow_copies_are_plain_and_can_be_changed() -> None:
    frozen, inner = freeze(PLAIN), freeze(PLAIN)["b"]
    for made in (frozen.copy(), copy.copy(frozen), dict(frozen), frozen | {}, {} | frozen):
        assert type(made) is dict and made == PLAIN
        made["new"] = 1
    sums = (operator.add(inner, []), operator.add([], inner))
    for copied in (inner.copy(), copy.copy(inner), list(inner), inner[:], *sums):
        assert type(copied) is list and copied == PLAIN["b"]
        copied.append(1)
    assert type(inner * 2) is type(2 * inner) is list
    assert frozen == PLAIN and inner == PLAIN["b"]
