"""A session is one resolved set: what it lists is what it can call."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import UnknownToolset
from hermes_build.runtime.session import Session
from tests.contract.programs import OWNERS, offer, several
from tests.runtime_program import tool, write_program


def listed(session: Session) -> list[str]:
    return [one["function"]["name"] for one in session.definitions()]


def refused(answer: Any) -> bool:
    return "not in this session's toolsets" in json.loads(answer)["error"]


def test_none_means_every_tool_and_an_empty_list_none(tmp_path: Path) -> None:
    registry = several(tmp_path)
    assert registry.session().names == tuple(sorted(OWNERS))
    empty = registry.session([])
    assert empty.names == () and listed(empty) == []
    assert refused(empty.call("read", {}))


@pytest.mark.parametrize("rule", ["enabled", "disabled", "deferred"])
def test_an_unknown_name_is_an_error_with_the_nearest(tmp_path: Path, rule: str) -> None:
    registry = several(tmp_path)
    with pytest.raises(UnknownToolset, match="Did you mean 'file'") as caught:
        registry.session(**{rule: ["fiel"]})
    assert caught.value.nearest == "file"


def test_an_unknown_tag_is_an_error_with_the_nearest(tmp_path: Path) -> None:
    registry = several(tmp_path, run={"tags": ["exec"]}, fetch={"tags": ["network"]})
    assert "run" not in registry.session(disabled=["tag:exec"]).names
    with pytest.raises(UnknownToolset, match="Did you mean 'tag:exec'") as caught:
        registry.session(disabled=["tag:execc"])
    assert (caught.value.name, caught.value.nearest) == ("tag:execc", "tag:exec")
    with pytest.raises(UnknownToolset) as far:
        registry.session().narrow(disabled=["tag:zebra"])
    assert far.value.nearest is None


def test_what_changes_while_a_session_is_resolved_never_lets_a_denied_tool_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that goes from one denied toolset to the other is denied all the time."""
    registry = several(tmp_path)
    plugin = registry.plugin("p")
    plugin.register(**offer("x", "web"))
    session = registry.session(None, ["file", "web"])
    plugin.register(**offer("y"))  # so that the session has to look again
    resolve, looked = registry.resolve_toolset, []

    def meanwhile(name: str) -> Any:
        tools = resolve(name)
        looked.append(name)
        if len(looked) == 1:  # another thread, between the first name and the second
            plugin.register(**offer("x", "file"), replace=True)
        return tools

    monkeypatch.setattr(registry, "resolve_toolset", meanwhile)
    assert not session.grants("x")
    assert looked == ["file", "web", "file", "web"]


@pytest.mark.parametrize("rule", ["enabled", "disabled"])
@pytest.mark.parametrize(
    "names",
    ["file", b"file", [1], [{"base": ["file"]}], 3],
    ids=["text", "bytes", "number", "mapping", "no list"],
)
def test_anything_but_a_list_of_names_is_a_type_error(
    tmp_path: Path, rule: str, names: Any
) -> None:
    with pytest.raises(TypeError, match=rule):
        several(tmp_path).session(**{rule: names})


def test_deny_is_applied_last_on_resolved_tools(tmp_path: Path) -> None:
    registry = several(tmp_path)
    session = registry.session(["full"], ["web"])
    assert session.names == ("read", "run", "write")
    assert refused(session.call("fetch", {}))
    assert session.call("read", {}) == "read"


def test_denying_a_composition_removes_what_it_resolves_to_and_explain_says_so(
    tmp_path: Path,
) -> None:
    session = several(tmp_path).session(["full"], ["coding"])
    assert session.names == ("fetch", "search")
    why = session.explain("read")
    assert not why.granted
    assert "toolset 'coding', which it comes through" in why.because[0]
    assert str(why).startswith("read is not in this session:")


def test_explain_names_the_rule_that_lets_a_tool_in(tmp_path: Path) -> None:
    registry = several(tmp_path)
    session = registry.session(["net", "read"])
    assert session.names == ("fetch", "read", "search")
    assert session.explain("fetch").because == ("its toolset 'net' is enabled",)
    assert session.explain("read").because == ("the tool 'read' is enabled",)
    assert session.explain("run").because == ("nothing enables it",)
    assert registry.session().explain("run").because == ("every tool is enabled by default",)
    with pytest.raises(LookupError, match="Did you mean 'run'"):
        session.explain("rum")


def test_a_denied_tag_keeps_tools_out_that_come_later(tmp_path: Path) -> None:
    registry = several(tmp_path, run={"tags": ["exec"]})
    session = registry.session(["*"], ["tag:exec"])
    assert "run" not in session.names
    assert "tag 'exec'" in session.explain("run").because[0]
    schema = {"name": "pty", "description": "A shell.", "parameters": {"type": "object"}}
    registry.plugin("shells").register(
        name="pty", toolset="pty", schema=schema, handler=lambda args: "ran", tags=["exec"]
    )
    assert "pty" not in session.names
    assert refused(session.call("pty", {}))


def test_a_tool_that_comes_at_run_time_is_in_by_the_same_rules(tmp_path: Path) -> None:
    registry = several(tmp_path)
    everything = registry.session()
    everything.call("read", {})
    plugin = registry.plugin("extra")
    schema = {"name": "more", "description": "More.", "parameters": {"type": "object"}}
    with pytest.raises(UnknownToolset):
        registry.session(["more"])
    plugin.register(name="more", toolset="web", schema=schema, handler=lambda args: "more")
    assert everything.call("more", {}) == "more"
    assert "more" in registry.session(["web"]).names
    assert "more" in registry.session(["full"]).names
    assert "more" in listed(everything)
    plugin.deregister("more")
    assert "more" not in everything.names and "more" not in listed(everything)
    assert "error" in json.loads(everything.call("more", {}))


def test_sync_and_async_calls_obey_the_same_set(tmp_path: Path) -> None:
    session = several(tmp_path).session(["file"], ["write"])
    for _ in range(3):  # the first call of a tool goes another way than the next
        assert session.call("read", {}) == "read"
        assert asyncio.run(session.acall("read", {})) == "read"
        assert refused(session.call("write", {}))
        assert refused(asyncio.run(session.acall("write", {})))


def test_an_alias_of_a_denied_tool_is_denied(tmp_path: Path) -> None:
    registry = several(tmp_path, run={"aliases": ["shell"]})
    session = registry.session(None, ["terminal"])
    assert registry.call("shell", {}) == "run"
    for _ in range(2):
        assert refused(session.call("shell", {}))


def test_the_session_and_its_id_reach_the_handler(tmp_path: Path) -> None:
    registry = several(tmp_path)
    seen: list[Any] = []

    def handler(args: dict[str, Any], session: Any = None, session_id: str = "") -> str:
        seen.append((session, session_id))
        return "done"

    registry.register("read", handler=handler, override=True)
    session = registry.session(["file"], session_id="one")
    session.call("read", {})
    session.call("read", {}, session_id="two")
    assert seen == [(session, "one"), (session, "two")]


def test_a_session_does_not_see_what_another_may_call(tmp_path: Path) -> None:
    registry = several(tmp_path)
    wide, narrow = registry.session(["full"]), registry.session(["web"])
    wide.call("run", {})
    assert refused(narrow.call("run", {}))
    assert wide.call("run", {}) == "run"


def test_a_narrowed_session_never_goes_beyond_the_one_it_is_within(tmp_path: Path) -> None:
    registry = several(tmp_path)
    parent = registry.session(["coding"], ["write"], session_id="parent")
    child = parent.narrow(["full"])
    assert child.names == ("read", "run")
    assert child.session_id == "parent"
    assert refused(child.call("write", {})) and refused(child.call("fetch", {}))
    assert child.call("read", {}) == "read"
    assert "within" in child.explain("fetch").because[0]
    grandchild = child.narrow(None, ["terminal"])
    assert grandchild.names == ("read",)


def test_a_denied_tool_is_refused_before_its_handler_is_imported(tmp_path: Path) -> None:
    record = tool("bomb", {"type": "object"}, toolset="bombs", module="bomb", aliases=["boom"])
    source = "raise SystemExit('imported')"
    program = write_program(tmp_path, [record], handlers={"bomb": source})
    session = program.registry.session([])
    for name in ("bomb", "boom"):
        assert refused(session.call(name, {}))
    assert "SystemExit" in json.loads(program.registry.call("bomb", {}))["error"]


def test_what_is_missing_is_said_before_a_handler_is_imported(tmp_path: Path) -> None:
    requires = {"python": ["no_such_package_at_all"]}
    record = tool("t", {"type": "object"}, module="needs", requires=requires)
    program = write_program(tmp_path, [record], handlers={"needs": "import no_such_package_at_all"})
    error = json.loads(program.registry.call("t", {}))["error"]
    assert error.startswith("Tool t is not available here: install")
