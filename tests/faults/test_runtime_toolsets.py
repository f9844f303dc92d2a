"""Faults of toolsets and listings that somebody reported: what is shown can be called."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import RegistrationError, ToolRegistry, ToolsetError, UnknownToolset
from hermes_build.runtime.availability import Availability
from tests.contract.programs import error_of, names_of, offer, one_tool, says, several


@pytest.fixture(name="registry")
def fixture_registry(tmp_path: Path) -> ToolRegistry:
    return several(tmp_path)


DENIED: dict[str, tuple[list[str] | None, list[str], set[str]]] = {
    "hermes-agent#17309 a composite brings it back": (["full"], ["web"], {"read", "run", "write"}),
    "hermes-agent#17309 everything brings it back": (None, ["web"], {"read", "run", "write"}),
    "hermes-agent#57315 a composite is denied": (["full"], ["coding"], {"fetch", "search"}),
    "hermes-agent#57315 a composite is denied to all": (None, ["coding"], {"fetch", "search"}),
    "hermes-agent#73692 a tool is denied": (
        ["full"],
        ["run"],
        {"fetch", "read", "search", "write"},
    ),
    "denied by its alias": (["full"], ["net"], {"read", "run", "write"}),
    "denied and enabled by name": (["read", "write"], ["read"], {"write"}),
    "everything is denied": (None, ["all"], set()),
    "hermes-agent#35618 none is everything": (
        None,
        [],
        {"fetch", "read", "run", "search", "write"},
    ),
    "hermes-agent#35618 an empty list is nothing": ([], [], set()),
}


@pytest.mark.parametrize(("enabled", "disabled", "left"), DENIED.values(), ids=DENIED)
def test_what_is_denied_is_neither_listed_nor_called(
    registry: ToolRegistry, enabled: list[str] | None, disabled: list[str], left: set[str]
) -> None:
    session = registry.session(enabled, disabled)
    assert set(session.names) == left
    assert set(names_of(session.definitions())) == left
    for name in registry.get_all_tool_names():
        answers = session.call(name, {}), asyncio.run(session.acall(name, {}))
        if name in left:
            assert answers == (name, name)
        else:
            assert all("not in this session" in error_of(one) for one in answers)
        assert session.explain(name).granted is (name in left)
        assert session.explain(name).because


WRONG: dict[str, tuple[Any, Any, type[Exception]]] = {
    "hermes-agent#35618 a toolset that is not there": (["ui"], [], UnknownToolset),
    "hermes-agent#38798 a name that lost its end": (["ful"], [], UnknownToolset),
    "hermes-agent#97111 a denied name that is not there": (None, ["fiel"], UnknownToolset),
    "hermes-agent#58679 a mapping in the list": ([{"base": ["web", "file"]}], [], TypeError),
    "hermes-agent#58679 a mapping in the denied": (None, [{"web": None}], TypeError),
    "text in place of a list": ("web", [], TypeError),
    "text in place of the denied": (None, "web", TypeError),
    "a number": ([1], [], TypeError),
}


@pytest.mark.parametrize(("enabled", "disabled", "kind"), WRONG.values(), ids=WRONG)
def test_a_wrong_list_of_toolsets_is_an_error(
    registry: ToolRegistry, enabled: Any, disabled: Any, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        registry.session(enabled, disabled)


def test_what_is_suggested_for_an_unknown_name_is_its_neighbour_alone(
    registry: ToolRegistry,
) -> None:
    """After hermes-agent#38798: a typing error must not be answered by a wider set."""
    with pytest.raises(UnknownToolset) as raised:
        registry.session(["fil"])
    assert raised.value.nearest == "file"
    with pytest.raises(UnknownToolset) as raised:
        registry.session(["hermes"])
    assert raised.value.nearest is None


def test_a_toolset_that_comes_at_run_time_is_known_when_it_is_asked_for(
    registry: ToolRegistry,
) -> None:
    """After hermes-agent#91757."""
    assert not registry.validate_toolset("p")
    registry.plugin("p").register(**offer("x", "p"))
    assert registry.validate_toolset("p")
    assert registry.session(["p"]).call("x", {}) == "x ran"


CUSTOM: dict[str, dict[str, Any]] = {
    "a toolset called all": {"name": "all", "tools": ["read"]},
    "a toolset called *": {"name": "*", "tools": ["read"]},
    "tools given as text": {"name": "c", "tools": "abc"},
    "includes given as text": {"name": "c", "includes": "web"},
    "an unknown tool": {"name": "c", "tools": ["nope"]},
    "an unknown toolset": {"name": "c", "tools": ["read"], "includes": ["nope"]},
    "itself": {"name": "c", "tools": ["read"], "includes": ["c"]},
    "a name that is taken": {"name": "web", "tools": ["read"]},
    "an alias that is taken": {"name": "net", "tools": ["read"]},
    "a server's prefix": {"name": "mcp-c", "tools": ["read"]},
    "nothing in it": {"name": "c", "tools": []},
    "a vain exclude": {"name": "c", "tools": ["read"], "excludes": ["run"]},
    "a name that is a list": {"name": ["c"], "tools": ["read"]},
}


@pytest.mark.parametrize("fields", CUSTOM.values(), ids=CUSTOM)
def test_a_custom_toolset_is_held_to_rules(registry: ToolRegistry, fields: dict[str, Any]) -> None:
    before = registry.generation, registry.get_all_toolsets()
    with pytest.raises((ToolsetError, TypeError)):
        registry.create_custom_toolset(description="A set.", **fields)
    assert (registry.generation, registry.get_all_toolsets()) == before


def test_a_chain_of_3000_includes_is_walked(registry: ToolRegistry) -> None:
    registry.create_custom_toolset("d0", "First.", tools=["read"])
    with registry.batch():
        for number in range(1, 3_000):
            registry.create_custom_toolset(f"d{number}", "Next.", includes=[f"d{number - 1}"])
    assert registry.resolve_toolset("d2999") == ["read"]


def test_a_name_that_became_free_means_its_new_tools_wherever_it_is_included(
    registry: ToolRegistry,
) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("x", "loose"))
    registry.create_custom_toolset("outer", "Includes.", tools=["read"], includes=["loose"])
    plugin.deregister("x")
    assert registry.resolve_toolset("outer") == ["read"]
    registry.create_custom_toolset("loose", "Now a custom one.", tools=["write"])
    assert registry.resolve_toolset("loose") == ["write"]
    assert registry.resolve_toolset("outer") == ["read", "write"]


def test_lists_that_are_handed_out_are_nobodys_way_in(registry: ToolRegistry) -> None:
    for change in (
        lambda: registry.get_toolset("full")["includes"].append("x"),  # type: ignore[index]
        lambda: registry.get_toolset_info("full")["resolved_tools"].clear(),  # type: ignore[index]
        lambda: registry.resolve_toolset("full").clear(),
        lambda: registry.get_all_tool_names().clear(),
        lambda: registry.get_schema("read")["parameters"].update(x=1),  # type: ignore[index]
    ):
        change()
    assert registry.resolve_toolset("full") == ["fetch", "read", "run", "search", "write"]
    assert registry.get_schema("read")["parameters"] == {"type": "object"}  # type: ignore[index]


# Availability.


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __call__(self) -> bool:
        return True


def clocked(registry: ToolRegistry) -> list[float]:
    """Give a registry a clock that stands at the one number of a list."""
    now = [0.0]
    registry._availability = Availability(clock=lambda: now[0])
    return now


def test_one_failure_soon_after_a_success_takes_no_tool_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """After hermes-agent#5304."""
    verdicts = iter([True, False, False])
    registry = one_tool(
        tmp_path, says("ran"), check_fn=lambda: next(verdicts), requires={"check": True}
    )
    now = clocked(registry)
    for now[0] in (0.0, 40.0):
        assert names_of(registry.session().definitions()) == ["t"]
    assert "stays available" in caplog.text
    now[0] = 120.0
    assert names_of(registry.session().definitions()) == []
    assert "returned False" in error_of(registry.call("t", {}))


def test_what_is_missing_is_named_to_the_model_the_log_and_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """After hermes-agent#30580 and hermes-agent#878."""
    monkeypatch.delenv("A_TOKEN", raising=False)
    registry = one_tool(tmp_path, says("ran"), requires={"env": ["A_TOKEN"]})
    session = registry.session()
    for _ in range(3):
        assert names_of(session.definitions()) == []
        assert "A_TOKEN" in error_of(session.call("t", {}))
        assert registry.why_unavailable("t") == ("set A_TOKEN",)
        assert session.explain("t").missing == ("set A_TOKEN",)
    assert caplog.text.count("A_TOKEN") == 1
    monkeypatch.setenv("A_TOKEN", "s3cret")
    assert names_of(session.definitions()) == ["t"]
    assert session.call("t", {}) == "ran"
    assert "s3cret" not in caplog.text


ANSWERS: dict[str, Callable[[], Any]] = {
    "text": lambda: "no",
    "a number": lambda: 1,
    "nothing": lambda: None,
    "a coroutine": lambda: asyncio.sleep(0),
    "an exit": lambda: (_ for _ in ()).throw(SystemExit(1)),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("check", ANSWERS.values(), ids=ANSWERS)
def test_a_check_that_does_not_say_true_does_not_make_available(
    tmp_path: Path, check: Callable[[], Any]
) -> None:
    registry = one_tool(tmp_path, says("ran"), check_fn=check, requires={"check": True})
    assert names_of(registry.session().definitions()) == []
    assert "not available" in error_of(registry.call("t", {}))
    gc.collect()


def test_what_cannot_be_a_check_is_refused(registry: ToolRegistry) -> None:
    async def check() -> bool:
        return False

    plugin = registry.plugin("p")
    for fields in ({"check_fn": check}, {"check_fn": "yes"}, {"requires_env": "API_KEY"}):
        with pytest.raises(RegistrationError):
            plugin.register(**offer("x", **fields))


def test_a_check_without_a_hash_is_a_check(registry: ToolRegistry) -> None:
    registry.plugin("p").register(**offer("x", check_fn=Unhashable()))
    assert names_of(registry.get_definitions(["x"])) == ["x"]
    assert registry.call("x", {}) == "x ran"


def test_a_module_that_fails_to_import_is_named_with_what_is_lost(tmp_path: Path) -> None:
    """After hermes-agent#53667 and HKUDS/Vibe-Trading#1124."""
    from hermes_build.runtime import LoadError
    from tests.runtime_program import tool, write_program

    lost = [tool(f"t{number}", {"type": "object"}, module="broken") for number in range(3)]
    kept = tool("kept", {"type": "object"}, module="fine")
    sources = {
        "broken": "import nothing_that_is_there\n",
        "fine": "from {generated}.registry import registry\n"
        "@registry.handler('kept')\ndef kept(args): return 'ran'\n",
    }
    registry = write_program(tmp_path, [*lost, kept], handlers=sources).registry
    assert "nothing_that_is_there" in error_of(registry.call("t1", {}))
    assert registry.call("kept", {}) == "ran"
    with pytest.raises(LoadError) as raised:
        registry.load()
    (failure,) = raised.value.failures
    assert failure.tools == ("t0", "t1", "t2")
    assert "nothing_that_is_there" in failure.error


# Dynamic schemas and what is kept.


def test_what_is_kept_cannot_be_spoilt_for_others(registry: ToolRegistry) -> None:
    """After hermes-agent#17335."""
    one, other = registry.session(), registry.session()
    first = one.definitions()
    for spoil in (
        lambda: first.append("x"),
        lambda: first[0]["function"].update(name="x"),
        lambda: first[0]["function"]["parameters"].clear(),
    ):
        with pytest.raises(TypeError):
            spoil()
    plain = registry.get_definitions(["read"])
    plain[0]["function"]["name"] = "x"
    assert one.definitions() is first
    assert first == other.definitions()
    assert names_of(registry.get_definitions(["read"])) == ["read"]


def test_a_changed_setting_is_seen_at_the_next_listing_and_the_next_call(
    registry: ToolRegistry,
) -> None:
    """After hermes-agent#18946."""
    most = [1]

    def overrides() -> dict[str, Any]:
        count = {"type": "integer", "maximum": most[0]}
        return {"parameters": {"type": "object", "properties": {"n": count}}}

    registry.plugin("p").register(**offer("x", dynamic_schema_overrides=overrides))
    session = registry.session(["x"])
    for most[0] in (1, 5, 2):
        (shown,) = session.definitions()
        assert shown["function"]["parameters"]["properties"]["n"]["maximum"] == most[0]
        assert session.call("x", {"n": most[0]}) == "x ran"
        assert "Invalid arguments" in error_of(session.call("x", {"n": most[0] + 1}))


def test_a_helpers_session_leaves_its_parents_alone(registry: ToolRegistry) -> None:
    """After hermes-agent#1778."""
    parent = registry.session(["file"])
    before = parent.names, parent.definitions()
    helper = parent.narrow(["read"])
    assert helper.names == ("read",)
    assert "not in this session" in error_of(helper.call("write", {}))
    assert (parent.names, parent.definitions()) == before
    assert parent.call("write", {}) == "write"


def test_quiet_programs_hear_of_a_lost_tool_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """After hermes-agent#30580."""
    registry = one_tool(tmp_path, says("ran"), requires={"env": ["NOT_SET_ANYWHERE"]})
    with caplog.at_level(logging.WARNING):
        registry.get_definitions(["t"], quiet=True)
        assert not caplog.records
        for _ in range(3):
            registry.get_definitions(["t"])
    assert len(caplog.records) == 1
