"""Points 16 to 21 of the contract: what is listed, and what is available."""

from __future__ import annotations

import gc
import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import RegistrationError, SchemaDriftError
from hermes_build.runtime.availability import Availability
from hermes_build.runtime.listing import Listing
from hermes_build.runtime.registry import ToolRegistry
from tests.contract.programs import (
    OWNERS,
    Check,
    Clock,
    Make,
    error_of,
    names_of,
    offer,
    says,
    several,
)

CHECKED: dict[str, Any] = {"requires": {"check": True}}


def with_checks(folder: Path, **checks: Callable[[], Any]) -> tuple[ToolRegistry, Clock]:
    """A program some of whose tools have a check function, and the clock of its availability."""
    registry = several(folder, **dict.fromkeys(checks, CHECKED))
    for name, check in checks.items():
        registry.register(name, handler=says(name), check_fn=check)
    clock = Clock()
    registry.availability.clock = clock
    return registry, clock


def listed(registry: ToolRegistry) -> list[str]:
    return names_of(registry.get_definitions(OWNERS))


def test_16_there_is_one_definition_for_each_requested_and_known_name(
    registry: ToolRegistry,
) -> None:
    registry.plugin("p").register(**offer("aim"))
    wanted = ["write", "aim", "nope", "read", "write"]
    definitions = registry.get_definitions(wanted)
    assert names_of(definitions) == ["aim", "read", "write"]
    for one in definitions:
        assert set(one) == {"type", "function"} and one["type"] == "function"
        assert set(one["function"]) == {"name", "description", "parameters"}
        assert one["function"] == registry.get_schema(one["function"]["name"])
    assert registry.get_definitions(set()) == []


def test_16_the_order_is_frozen_whatever_is_asked_for_first(registry: ToolRegistry) -> None:
    names = sorted(OWNERS)
    assert names_of(registry.get_definitions(names[::-1])) == names
    assert names_of(registry.session(["web", "file", "terminal"]).definitions()) == names
    assert names_of(registry.session(["terminal", "file", "web"]).definitions()) == names
    assert names_of(json.loads(registry.session().definitions_json())) == names


@pytest.mark.parametrize("answer", [False, RuntimeError("down"), SystemExit(1)], ids=repr)
def test_17_a_tool_whose_check_fails_is_left_out_and_others_are_unaffected(
    tmp_path: Path, answer: Any
) -> None:
    registry, _ = with_checks(tmp_path, read=Check(answer), run=Check(True))
    rest = ["fetch", "run", "search", "write"]
    assert listed(registry) == rest
    assert names_of(registry.session().definitions()) == rest


def test_17_a_check_that_several_tools_share_runs_once_a_listing(tmp_path: Path) -> None:
    check = Check(False)
    registry, clock = with_checks(tmp_path, read=check, write=check, run=check)
    assert listed(registry) == ["fetch", "search"]
    assert check.runs == 1
    clock.now += 30
    assert listed(registry) == ["fetch", "search"]
    assert check.runs == 2


@pytest.mark.parametrize("answer", [1, 0, "", "yes", None, [True]])
def test_17_a_check_that_answers_no_bool_makes_its_tool_unavailable_and_is_named(
    tmp_path: Path, answer: Any
) -> None:
    registry, _ = with_checks(tmp_path, read=Check(answer))
    assert "read" not in listed(registry)
    (why,) = registry.why_unavailable("read")
    assert "must return a bool" in why and type(answer).__name__ in why


def test_17_a_coroutine_function_is_refused_as_a_check(registry: ToolRegistry) -> None:
    async def check() -> bool:
        return True

    with pytest.raises(RegistrationError, match="check"):
        registry.plugin("p").register(**offer("zoom", check_fn=check))
    with pytest.raises(RegistrationError, match="check"):
        registry.plugin("q").register(**offer("zoom", check_fn=True))
    assert registry.get_entry("zoom") is None


@pytest.mark.filterwarnings("error")
def test_17_an_async_check_is_refused_for_a_declared_tool_and_in_disguise(tmp_path: Path) -> None:
    async def check() -> bool:
        return True

    registry = several(tmp_path, read=CHECKED)
    with pytest.raises(SchemaDriftError, match="check"):
        registry.register("read", handler=says("read"), check_fn=check)
    registry.register("read", handler=says("read"), check_fn=lambda: check())  # type: ignore[arg-type,return-value]
    assert "read" not in listed(registry)
    gc.collect()  # a coroutine that nobody awaited would warn here


def test_18_a_toolset_is_available_if_any_of_its_tools_is(tmp_path: Path) -> None:
    registry, _ = with_checks(tmp_path, read=Check(False), run=Check(False))
    assert registry.is_toolset_available("file")  # `write` has no check
    assert not registry.is_toolset_available("terminal")
    assert not registry.is_toolset_available("nope")
    assert registry.is_toolset_available("coding")


@pytest.mark.parametrize("down", [(), ("read",), ("read", "write"), ("run", "fetch"), OWNERS])
def test_18_the_reports_agree_with_each_other_and_with_what_is_listed(
    tmp_path: Path, down: tuple[str, ...]
) -> None:
    registry, _ = with_checks(tmp_path, **{name: Check(name not in down) for name in OWNERS})
    owners = registry.get_registered_toolset_names()
    shown = listed(registry)
    expected = {one: any(OWNERS[name] == one for name in shown) for one in owners}
    assert registry.check_toolset_requirements() == expected
    assert {one: registry.is_toolset_available(one) for one in owners} == expected
    available = registry.get_available_toolsets()
    assert {name: one["available"] for name, one in available.items()} == expected
    good, bad = registry.check_tool_availability(quiet=True)
    assert good == [one for one in owners if expected[one]]
    assert [one["name"] for one in bad] == [one for one in owners if not expected[one]]
    assert [name for name in sorted(OWNERS) if registry.is_available(name)] == shown
    assert names_of(registry.session().definitions()) == shown


def test_18_a_report_is_one_coherent_snapshot(tmp_path: Path) -> None:
    answers = iter([True, False, False, False])
    runs: list[int] = []

    def flapping() -> bool:
        runs.append(1)
        return next(answers)

    registry, _ = with_checks(tmp_path, read=flapping, write=flapping, run=flapping)
    registry.availability.ttl = 0
    # Asked once, and not once for each tool or toolset: no two answers in one report.
    assert registry.check_toolset_requirements() == {"file": True, "terminal": True, "web": True}
    assert len(runs) == 1


def test_18_registering_goes_on_while_a_check_blocks(tmp_path: Path) -> None:
    entered, leave = threading.Event(), threading.Event()

    def blocking() -> bool:
        entered.set()
        return leave.wait(60)

    registry, _ = with_checks(tmp_path, read=blocking)
    thread = threading.Thread(target=lambda: listed(registry))
    thread.start()
    try:
        assert entered.wait(60)
        registry.plugin("p").register(**offer("zoom"))
        assert registry.call("zoom", {}) == "zoom ran"
        assert registry.get_entry("zoom") is not None
        assert thread.is_alive()
    finally:
        leave.set()
        thread.join()


def test_19_within_30_seconds_a_probe_is_not_run_again(tmp_path: Path) -> None:
    for answer in (True, False):
        check = Check(answer)
        registry, clock = with_checks(tmp_path / str(answer), read=check)
        listed(registry)
        clock.now += 29.9
        check.answer = not answer
        assert ("read" in listed(registry)) is answer
        assert check.runs == 1
        clock.now += 0.1
        listed(registry)
        assert check.runs == 2


def test_19_a_failure_soon_after_a_success_is_served_as_true_and_not_kept(tmp_path: Path) -> None:
    check = Check(True)
    registry, clock = with_checks(tmp_path, read=check)
    listed(registry)
    clock.now += 30
    for answer in (False, RuntimeError("busy")):
        check.answer = answer
        runs = check.runs
        assert "read" in listed(registry)
        assert check.runs == runs + 1  # the probe really ran, and runs again the next time
    clock.now += 29.9
    assert "read" in listed(registry)
    clock.now += 0.1  # 60 s after the last True
    assert "read" not in listed(registry)
    check.answer = True
    assert "read" not in listed(registry)  # this failure is kept
    clock.now += 30
    assert "read" in listed(registry)


def test_19_a_failure_without_an_earlier_success_counts_at_once(tmp_path: Path) -> None:
    check = Check(False)
    registry, _ = with_checks(tmp_path, read=check)
    assert "read" not in listed(registry)
    assert check.runs == 1


def test_19_invalidating_clears_both_verdicts_and_successes(tmp_path: Path) -> None:
    check = Check(True)
    registry, _ = with_checks(tmp_path, read=check)
    assert "read" in listed(registry)
    check.answer = False
    registry.availability.invalidate()
    assert "read" not in listed(registry)  # without its success there is no grace
    check.answer = True
    registry.availability.invalidate()
    assert "read" in listed(registry)


def test_19_both_times_are_settings(tmp_path: Path) -> None:
    made = Availability()
    assert (made.ttl, made.grace) == (30.0, 60.0)
    check = Check(True)
    registry, clock = with_checks(tmp_path, read=check)
    registry.availability.ttl, registry.availability.grace = 5, 7
    listed(registry)
    check.answer = False
    clock.now += 4.9
    assert "read" in listed(registry) and check.runs == 1
    clock.now += 0.1
    assert "read" in listed(registry) and check.runs == 2
    clock.now += 2
    assert "read" not in listed(registry)


def test_20_a_kept_listing_follows_the_checks_in_both_directions(tmp_path: Path) -> None:
    check = Check(True)
    registry, clock = with_checks(tmp_path, read=check)
    registry.availability.grace = 0
    session = registry.session(["file"])
    first = session.definitions()
    assert names_of(first) == ["read", "write"]
    assert session.definitions() is first
    check.answer = False
    clock.now += 30
    assert names_of(session.definitions()) == ["write"]
    check.answer = True
    clock.now += 30
    assert names_of(session.definitions()) == ["read", "write"]


def test_20_a_kept_listing_follows_the_environment_and_the_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTRACT_KEY", "x")
    registry = several(tmp_path, read={"requires": {"env": ["CONTRACT_KEY"]}})
    session = registry.session()
    assert "read" in names_of(session.definitions())
    monkeypatch.delenv("CONTRACT_KEY")
    assert "read" not in names_of(session.definitions())
    monkeypatch.setenv("CONTRACT_KEY", "")
    assert "read" not in names_of(session.definitions())
    monkeypatch.setenv("CONTRACT_KEY", "y")
    assert "read" in names_of(session.definitions())
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom"))
    assert "zoom" in names_of(session.definitions())
    plugin.deregister("zoom")
    assert "zoom" not in names_of(session.definitions())


def test_20_what_is_kept_is_bounded(registry: ToolRegistry) -> None:
    session = registry.session()

    def kept() -> int:
        gc.collect()
        return sum(type(o) is Listing and o._registry is registry for o in gc.get_objects())

    plugin = registry.plugin("p")
    for number in range(20):
        plugin.register(**offer(f"tool_{number}"))
        session.definitions()
    assert len(session.definitions()) == len(OWNERS) + 20
    assert kept() == 1


def test_20_nothing_that_is_handed_out_can_be_changed_for_the_others(
    registry: ToolRegistry,
) -> None:
    session = registry.session()
    text = session.definitions_json()
    definitions = session.definitions()
    for change in (
        lambda: definitions.append({}),
        lambda: definitions[0].update(type="x"),
        lambda: definitions[0]["function"].__setitem__("name", "x"),
        lambda: definitions[0]["function"]["parameters"].clear(),
    ):
        with pytest.raises(TypeError):
            change()
    registry.get_definitions(OWNERS)[0]["function"]["parameters"].clear()
    registry.get_schema("read")["parameters"].clear()  # type: ignore[index]
    registry.get_all_tool_names().clear()
    registry.resolve_toolset("file").clear()
    assert session.definitions_json() == text
    assert json.loads(text) == registry.get_definitions(OWNERS)
    assert registry.resolve_toolset("file") == ["read", "write"]


MODEL: dict[str, Any] = {
    "type": "object",
    "properties": {"model": {"type": "string", "enum": ["small"]}, "n": {"type": "integer"}},
    "additionalProperties": False,
}
ENUM = "/parameters/properties/model/enum"


def definition(registry: ToolRegistry) -> dict[str, Any]:
    """What is listed of the one tool, which every way of listing agrees on."""
    (one,) = registry.get_definitions(["t"])
    (other,) = registry.session().definitions()
    assert one == other
    function: dict[str, Any] = one["function"]
    return function


def test_21_overrides_are_applied_at_each_listing_on_the_declared_pointers(make: Make) -> None:
    models = ["small"]
    registry = make(says(""), MODEL, dynamic=[ENUM], overrides=lambda: {ENUM: list(models)})
    assert definition(registry)["parameters"]["properties"]["model"]["enum"] == ["small"]
    models.append("large")
    assert definition(registry)["parameters"]["properties"]["model"]["enum"] == ["small", "large"]
    assert registry.call("t", {"model": "large"}) == ""
    models.clear()
    models.append("tiny")
    assert "error" in json.loads(registry.call("t", {"model": "large"}))


BROKEN: dict[str, Any] = {
    "another pointer": {"/parameters/properties/n/type": "string"},
    "a whole that differs elsewhere": {"parameters": {"type": "object"}},
    "the name": {"name": "other"},
    "no schema": {ENUM: "not a list"},
    "a description of no text": {"description": 3},
    "no dict": ["small"],
    "nothing at all": None,
    "an exception": RuntimeError("no network"),
    "an exit": SystemExit(1),
}


@pytest.mark.parametrize("overrides", BROKEN.values(), ids=BROKEN)
def test_21_overrides_that_break_a_rule_leave_the_declared_schema_and_a_warning(
    make: Make, caplog: pytest.LogCaptureFixture, overrides: Any
) -> None:
    def override() -> Any:
        if isinstance(overrides, BaseException):
            raise overrides
        return overrides

    registry = make(says("ran"), MODEL, dynamic=[ENUM, "/description"], overrides=override)
    with caplog.at_level(logging.WARNING, "hermes_build.runtime"):
        assert definition(registry) == registry.get_schema("t")
    assert definition(registry)["parameters"] == MODEL
    assert [one for one in caplog.messages if "of t " in one]
    assert registry.call("t", {"model": "small"}) == "ran"
    assert "model" in error_of(registry.call("t", {"model": "large"}))
