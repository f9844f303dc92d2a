"""Faults of grants that somebody reported, and their kin: a call and a listing see one state."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hermes_build.runtime import Session
from tests.contract.programs import error_of, offer, says, several


def test_what_was_found_by_another_way_is_refused(tmp_path: Path) -> None:
    """After hermes-agent#46171 and hermes-agent#61184."""
    registry = several(tmp_path)
    session = registry.session(["full"], ["web"])
    remote = {key: one for key, one in offer("fetch_b").items() if key != "toolset"}
    registry.server("b").register_many([remote])
    for name in ("fetch", "search", "fetch_b"):
        assert "not in this session" in error_of(session.call(name, {}))
        assert "not in this session" in error_of(asyncio.run(session.acall(name, {})))
    denying = registry.session(None, ["mcp-b"])
    assert "not in this session" in error_of(denying.call("fetch_b", {}))
    # Neither does the refusal send the model to another server's tool.
    assert "fetch" not in error_of(denying.call("fetch_b", {})).replace("fetch_b", "")


def test_a_session_that_was_made_by_its_class_hears_of_changes_too(tmp_path: Path) -> None:
    registry = several(tmp_path)
    session = Session(registry, ["file"])
    assert [session.call("read", {}) for _ in range(3)] == ["read"] * 3
    blocked: list[str] = []
    registry.hooks.add("pre_tool_call", lambda tool_name: blocked.append(tool_name))
    session.call("read", {})
    assert blocked == ["read"]
    registry.deregister("read")
    assert "Unknown tool" in error_of(session.call("read", {}))


def test_a_name_that_changes_hands_during_a_call_is_not_granted_by_its_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = several(tmp_path)
    plugin = registry.plugin("p", allow_override=True)
    session = registry.session(["web", "file"], ["terminal"])
    prepare = registry.prepare

    def and_meanwhile(name: str) -> Any:
        if name == "fetch" and "fetch" not in plugin.names:
            plugin.register(**offer("fetch", "terminal", handler=says("denied ran")), override=True)
        return prepare(name)

    monkeypatch.setattr(registry, "prepare", and_meanwhile)
    assert "not in this session" in error_of(session.call("fetch", {}))


def test_a_grant_is_of_one_state_however_the_registry_changes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that moves from one denied place to another is granted at no moment."""
    registry = several(tmp_path)
    plugin = registry.plugin("p")
    plugin.register(**offer("x", "left"))
    plugin.register(**offer("stays", "right"))
    plugin.register(**offer("keeps", "left"))
    session = registry.session(["left"], ["right"])
    resolve = registry.resolve_toolset
    moved: list[str] = []

    def and_meanwhile(name: str, **options: Any) -> list[str]:
        found = resolve(name, **options)
        if name == "left" and len(moved) < 2:
            moved.append(name)
            plugin.register(**offer("x", ("right", "third")[len(moved) - 1]), replace=True)
        return found

    monkeypatch.setattr(registry, "resolve_toolset", and_meanwhile)
    plugin.register(**offer("another", "third"))  # so that grants are looked for again
    assert session.names == ("keeps",)
    assert moved == ["left", "left"]


def test_a_listing_shows_one_state_however_the_registry_changes_meanwhile(tmp_path: Path) -> None:
    registry = several(tmp_path)
    plugin = registry.plugin("p")

    def description(version: int) -> dict[str, Any]:
        parameters = {"type": "object"}
        return {"schema": {"description": f"Version {version}.", "parameters": parameters}}

    def and_meanwhile() -> bool:
        if turn.version == 1:
            turn.version = 2
            with registry.batch():
                for name in ("b", "c"):
                    plugin.register(**{**offer(name), **description(2)}, replace=True)
        return True

    turn = SimpleNamespace(version=1)
    plugin.register(**{**offer("a", check_fn=and_meanwhile), **description(1)})
    for name in ("b", "c"):
        plugin.register(**{**offer(name), **description(1)})
    session = registry.session(["extra"])
    shown = [
        {one["function"]["description"] for one in session.definitions()[1:]} for _ in range(2)
    ]
    assert turn.version == 2
    assert shown == [{"Version 1."}, {"Version 2."}]
