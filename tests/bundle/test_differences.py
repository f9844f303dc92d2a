"""In what two bundles, locks or programs differ, as data."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hermes_build.bundle.differences import (
    Comparison,
    FactChange,
    FieldChange,
    FileChange,
    ToolChange,
    ToolsetChange,
    compare,
    record_changes,
)
from hermes_build.bundle.format import LOCK, hexdigest
from hermes_build.bundle.sides import Side, side_of_bundle, side_of_lock
from hermes_build.bundle.verifying import verify
from hermes_build.cli.difference_forms import as_json, concise, full, markdown, summary
from hermes_build.lock import Lock, LockedTool, LockedToolset, read
from tests.bundle.making import archive, program, whole

A, B = ("sha256:" + hexdigest(text) for text in (b"a", b"b"))


def change(old: Any, new: Any) -> list[tuple[str, str, Any, Any]]:
    """The differences of two values of one field, as pointer, what, before and after."""
    found = record_changes({"f": old}, {"f": new})
    return [(one.pointer, one.what, one.old, one.new) for one in found]


def test_a_field_is_named_by_the_pointer_to_it() -> None:
    old = {"properties": {"path": {"type": "string"}, "limit": {"default": 500}}}
    new = {"properties": {"path": {"type": "string", "minLength": 1}, "limit": {"default": 400}}}
    assert change(old, new) == [
        ("/f/properties/limit/default", "changed", 500, 400),
        ("/f/properties/path/minLength", "added", None, 1),
    ]
    assert change({"a/b": {"~": 1}}, {"a/b": {}}) == [("/f/a~1b/~0", "removed", 1, None)]


def test_a_whole_field_that_came_or_went_is_one_change() -> None:
    assert record_changes({}, {"title": "Read"}) == (FieldChange("/title", "added", None, "Read"),)
    assert record_changes({"tags": ["a"]}, {}) == (FieldChange("/tags", "removed", ["a"], None),)


def test_values_that_python_takes_for_equal_are_told_apart() -> None:
    for old, new in ((1, True), (0, False), (1, 1.0), ([1], [True]), ({"a": 1}, {"a": 1.0})):
        assert change(old, new), (old, new)
    assert not change(float("1e3"), 1000.0)


def test_a_list_of_names_is_one_value_and_a_list_of_schemas_is_compared_one_by_one() -> None:
    assert change(["a", "b"], ["a", "c"]) == [("/f", "changed", ["a", "b"], ["a", "c"])]
    assert change([{"a": 1}, {"b": 1}], [{"a": 1}, {"b": 2}]) == [("/f/1/b", "changed", 1, 2)]
    longer = [{"a": 1}, {"b": 1}]
    assert change(longer[:1], longer) == [("/f", "changed", longer[:1], longer)]


def test_keys_in_another_order_are_a_difference_since_a_model_reads_them() -> None:
    old = {"properties": {"a": {}, "b": {}}}
    new = {"properties": {"b": {}, "c": {}, "a": {}}}
    assert change(old, new) == [
        ("/f/properties", "reordered", ["a", "b"], ["b", "a"]),
        ("/f/properties/c", "added", None, {}),
    ]
    assert not record_changes({"a": 1, "b": 2}, {"b": 2, "a": 1})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab~/", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab~/"), inner, max_size=3),
    max_leaves=12,
)
RECORDS = st.dictionaries(st.text("ab~/", max_size=2), JSON, max_size=4)


@given(RECORDS, RECORDS)
def test_the_changes_lead_from_the_old_record_to_the_new_one(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    made = copy.deepcopy(old)
    changes = record_changes(old, new)
    for one in changes:
        if one.what == "reordered":
            continue
        *above, last = [
            part.replace("~1", "/").replace("~0", "~") for part in one.pointer.split("/")[1:]
        ]
        target: Any = made
        for part in above:
            target = target[int(part) if isinstance(target, list) else part]
        if one.what == "removed":
            del target[last]
        else:
            target[int(last) if isinstance(target, list) else last] = one.new
    assert text(made) == text(new)
    assert bool(changes) == (written(old) != written(new))


def text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def written(record: dict[str, Any]) -> str:
    """The text of a record; the order of its own fields, not of those below, is left aside."""
    return json.dumps({key: record[key] for key in sorted(record)})


def bundle_side(folder: Path, entries: dict[str, bytes], **changes: Any) -> Side:
    path = archive(folder / f"{hexdigest(repr(changes).encode())[:8]}.hermes", entries)
    with verify(path) as opened:
        return side_of_bundle(opened, path.name)


def side(folder: Path, name: str = "ping", result: str = "pong", **changes: Any) -> Side:
    entries = whole(program(name, result), **changes)
    return bundle_side(folder, entries, name=name, result=result, **changes)


def test_equal_bundles_have_no_difference(tmp_path: Path) -> None:
    found = compare(side(tmp_path), side(tmp_path))
    assert found.equal
    assert found.detailed
    assert (found.tools, found.toolsets, found.files, found.facts) == ((), (), (), ())
    assert concise(found) == ""
    assert full(found).endswith("\nno difference\n")


def test_a_handler_that_changed_changes_its_tool_and_nothing_that_a_model_sees(
    tmp_path: Path,
) -> None:
    old, new = side(tmp_path), side(tmp_path, result="PONG")
    found = compare(old, new)
    assert found.tools == (ToolChange("ping", "changed", ("code",), (), ("small",)),)
    assert not found.toolsets
    path = "handlers/ping.py"
    assert found.files == (
        FileChange(path, "changed", "program", old.files[path], new.files[path]),
    )
    assert concise(found) == (
        "tool ping: changed: handler's code\nfile handlers/ping.py: changed\n"
    )


def test_tools_that_came_and_went_are_named_with_their_toolsets(tmp_path: Path) -> None:
    found = compare(side(tmp_path, "ping"), side(tmp_path, "pong"))
    assert found.tools == (
        ToolChange("ping", "removed", toolsets=("small",)),
        ToolChange("pong", "added", toolsets=("small",)),
    )
    assert [(one.name, one.what, one.joined, one.left) for one in found.toolsets] == [
        ("small", "changed", ("pong",), ("ping",))
    ]
    # Which tools a toolset lists by itself is a field of it.
    assert FieldChange("/tools", "changed", ["ping"], ["pong"]) in found.toolsets[0].fields
    roles = {one.path: (one.what, one.role) for one in found.files}
    assert roles["handlers/pong.py"] == ("added", "program")
    assert roles["tool_specs/ping.yaml"] == ("removed", "spec")
    assert roles["generated/catalogue.jsonl"] == ("changed", "generated")
    assert LOCK not in roles


def test_what_a_bundle_needs_is_compared_too(tmp_path: Path) -> None:
    old = side(tmp_path, dependencies={"httpx": "httpx", "yaml": None})
    new = side(
        tmp_path,
        dependencies={"httpx": "httpx-next"},
        requires_python=">=3.12",
        left_out=[("curses", "no tool needs it")],
    )
    assert compare(old, new).facts == (
        FactChange("dependencies.httpx", "httpx", "httpx-next"),
        FactChange("dependencies.yaml", "?", None),
        FactChange("left_out.curses", None, "no tool needs it"),
        FactChange("requires_python", ">=3.11", ">=3.12"),
    )


def test_dependencies_that_are_pinned_are_compared_by_version(tmp_path: Path) -> None:
    sides = []
    for version in ("0.27.0", "0.28.1"):
        pinned = f'packages = [{{name = "httpx", version = "{version}"}}, {{name = "h11"}}]\n'
        entries = whole({**program(), "pylock.toml": pinned.encode()})
        sides.append(bundle_side(tmp_path, entries, version=version))
    found = compare(*sides)
    assert found.facts == (FactChange("pinned.httpx", "0.27.0", "0.28.1"),)
    assert [(one.path, one.role) for one in found.files] == [("pylock.toml", "other")]
    # What would be pinned for a project is not known before a bundle is made of it.
    found = compare(replace(sides[0], kind="project"), sides[1])
    assert (found.differs, found.equal) == (False, None)
    assert found.not_compared == ("pinned versions of dependencies",)


def lock(*tools: LockedTool, **toolsets: tuple[str, ...]) -> Lock:
    return Lock(
        runtime=1,
        tools=tools,
        toolsets=tuple(LockedToolset(name, names, A) for name, names in toolsets.items()),
    )


TOOL = LockedTool("read", A, A, A, A, A, handler="handlers.read")


def test_of_two_locks_the_parts_are_known_and_no_values() -> None:
    changed = replace(TOOL, source=B, args=B, result=None, handler="handlers.reading")
    found = compare(side_of_lock(lock(TOOL), "old"), side_of_lock(lock(changed), "new"))
    assert not found.detailed
    assert found.tools == (ToolChange("read", "changed", ("source", "args", "result", "handler")),)
    for part in ("source", "args", "prompt", "runtime", "result"):
        one = compare(
            side_of_lock(lock(TOOL), "old"), side_of_lock(lock(replace(TOOL, **{part: B})), "new")
        )
        assert [tool.parts for tool in one.tools] == [(part,)]


def test_of_two_locks_the_members_of_toolsets_are_known() -> None:
    other = replace(TOOL, name="write")
    old = lock(TOOL, other, file=("read",), gone=("read",))
    new = lock(TOOL, other, file=("write",), come=("read", "write"))
    found = compare(side_of_lock(old, "old"), side_of_lock(new, "new"))
    assert found.tools == ()
    assert found.toolsets == (
        ToolsetChange("come", "added", ("read", "write")),
        ToolsetChange("file", "changed", ("write",), ("read",)),
        ToolsetChange("gone", "removed", (), ("read",)),
    )
    assert summary(found) == "3 toolsets: 1 added, 1 removed, 1 changed"


def test_a_lock_never_says_that_a_bundle_is_equal_to_another_of_the_same_lock(
    tmp_path: Path,
) -> None:
    entries = whole(program())
    bundle = bundle_side(tmp_path, entries)
    locked = side_of_lock(read(entries[LOCK].decode()), "lock")
    other = side(tmp_path, result="PONG", dependencies={"httpx": "httpx"})  # the lock tells nothing
    for found in (compare(bundle, locked), compare(locked, bundle), compare(other, locked)):
        assert (found.differs, found.equal, found.detailed) == (False, None, False), found
        assert json.loads(as_json(found))["equal"] is None
        for form in (full, markdown):
            assert "no difference in what was compared" in form(found)
        for what in ("the code of handlers", "files of specs", "the runtime", "dependencies"):
            assert what in full(found) and what in markdown(found)
            assert what in " ".join(json.loads(as_json(found))["not_compared"])
    assert compare(bundle, other).not_compared == ()
    assert compare(locked, replace(locked, label="copy")).equal
    other = side_of_lock(read(whole(program("pong"))[LOCK].decode()), "lock")
    found = compare(bundle, other)
    assert {one.path for one in found.files} == {
        "generated/catalogue.jsonl",
        "generated/registry.py",
    }


def test_versions_of_generators_are_facts_of_a_lock() -> None:
    old, new = replace(lock(), versions={"generator": "1"}), replace(lock(), templates={"t": A})
    assert compare(side_of_lock(old, "old"), side_of_lock(new, "new")).facts == (
        FactChange("templates.t", None, A),
        FactChange("versions.generator", "1", None),
    )


def comparison(*fields: FieldChange) -> Comparison:
    old = side_of_lock(lock(), "old")
    return Comparison(old, old, (ToolChange("read", "changed", ("prompt",), fields, ("file",)),))


def test_long_texts_are_shown_where_they_differ() -> None:
    words = [f"word{number}" for number in range(100)]
    other = [*words[:50], "another", *words[51:]]
    found = comparison(FieldChange("/description", "changed", " ".join(words), " ".join(other)))
    printed = full(found)
    assert "word50" in printed
    assert "another" in printed
    assert "word49 word50 word51" in printed
    assert "word1 " not in printed
    assert "word99" not in printed
    for old, new in ((words, words[:-1]), (words, [*words, "more"]), (words, words[50:])):
        one = comparison(FieldChange("/d", "changed", " ".join(old), " ".join(new)))
        first, second = [row.strip() for row in full(one).splitlines() if "word" in row]
        assert first.removeprefix("-") != second.removeprefix("+")


def test_what_a_stranger_wrote_does_not_act_on_a_terminal_or_a_page() -> None:
    found = comparison(FieldChange("/description", "added", None, "\x1b[2J\u202e``` <b>"))
    for printed in (full(found), concise(found), markdown(found)):
        assert "\x1b" not in printed
        assert "\u202e" not in printed
    assert [line for line in markdown(found).splitlines() if line.lstrip().startswith("```")] == [
        "  ```diff",
        "  ```",
    ]
