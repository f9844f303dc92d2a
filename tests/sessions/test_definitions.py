"""What a session lists: frozen, in order, and true to the present state of the world."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.programs import several


def names(session: Any) -> list[str]:
    return [one["function"]["name"] for one in session.definitions()]


def test_definitions_come_in_the_frozen_order_and_as_equal_bytes(tmp_path: Path) -> None:
    registry = several(tmp_path)
    session = registry.session(["web", "file"])
    assert names(session) == ["fetch", "read", "search", "write"]
    assert session.definitions() == registry.get_definitions({"fetch", "read", "search", "write"})
    assert json.loads(session.definitions_json()) == session.definitions()


def test_what_is_handed_out_cannot_be_changed_and_is_one_object(tmp_path: Path) -> None:
    session = several(tmp_path).session(["web"])
    first = session.definitions()
    with pytest.raises(TypeError):
        first.append({})
    with pytest.raises(TypeError):
        first[0]["function"]["name"] = "other"
    with pytest.raises(TypeError):
        first[0]["function"]["parameters"]["x"] = 1
    assert session.definitions() is first
    mine = copy.deepcopy(first)
    mine.append({})
    mine[0]["function"]["name"] = "mine"
    assert session.definitions() == first


def test_a_variable_that_comes_and_goes_is_followed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    session = several(tmp_path, search={"requires": {"env": ["SOME_KEY"]}}).session(["web"])
    assert names(session) == ["fetch"]
    assert "SOME_KEY" in json.loads(session.call("search", {}))["error"]
    monkeypatch.setenv("SOME_KEY", "x")
    assert names(session) == ["fetch", "search"]
    assert session.call("search", {}) == "search"
    monkeypatch.delenv("SOME_KEY")
    assert names(session) == ["fetch"]
    assert "set SOME_KEY" in session.explain("search").missing[0]


def test_a_check_is_followed_in_both_directions(tmp_path: Path) -> None:
    registry = several(tmp_path, search={"requires": {"check": True}})
    clock = [1000.0]
    registry.availability.clock = lambda: clock[0]
    answer = [False]
    asked: list[int] = []

    def check() -> bool:
        asked.append(1)
        return answer[0]

    registry.register("search", handler=lambda args: "found", check_fn=check)
    session = registry.session(["web"])
    assert names(session) == ["fetch"]
    answer[0] = True
    assert names(session) == ["fetch"] and len(asked) == 1
    clock[0] += 31
    assert names(session) == ["fetch", "search"] and len(asked) == 2
    answer[0] = False
    clock[0] += 31
    assert names(session) == ["fetch", "search"]  # a hiccup, soon after a success
    clock[0] += 61
    assert names(session) == ["fetch"]
    registry.availability.invalidate()
    answer[0] = True
    clock[0] += 31
    assert names(session) == ["fetch", "search"]


def test_overrides_read_live_settings_at_each_listing(tmp_path: Path) -> None:
    registry = several(tmp_path, run={"dynamic": ["/description"]})
    limit = [3]
    registry.register(
        "run",
        handler=lambda args: "ran",
        dynamic_schema_overrides=lambda: {"description": f"At most {limit[0]} at once."},
        override=True,
    )
    session = registry.session(["terminal"])
    first = session.definitions()
    assert first[0]["function"]["description"] == "At most 3 at once."
    assert session.definitions() is first
    limit[0] = 5
    assert session.definitions()[0]["function"]["description"] == "At most 5 at once."
    assert registry.get_definitions({"run"}) == session.definitions()
    assert registry.get_schema("run")["description"] == "The tool run."
