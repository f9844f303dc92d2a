"""``hermes-build import``: definitions from elsewhere become specs that compile to the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import contents, hermes, project, write

FIND = {
    "name": "find",
    "description": "Find text in the files of the workspace.",
    "parameters": {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to look for"},
            "limit": {"type": "integer", "description": "How many to list", "default": 10},
        },
        "required": ["text"],
        "additionalProperties": False,
    },
}
STOP = {
    "name": "stop",
    "description": "Stop the program that is running.",
    "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
}
OPENAI = [{"type": "function", "function": one} for one in (FIND, STOP)]

REGISTRY = """
class Entry:
    def __init__(self, **fields):
        self.__dict__.update(fields)

class Registry:
    def __init__(self):
        self.tools = {}
    def register(self, name, toolset, schema, handler, is_async=False, emoji=""):
        self.tools[name] = Entry(name=name, toolset=toolset, schema=schema, handler=handler,
            check_fn=None, requires_env=[], is_async=is_async, emoji=emoji,
            description=schema["description"], max_result_size_chars=None,
            dynamic_schema_overrides=None)
    def get_all_tool_names(self):
        return sorted(self.tools)
    def get_entry(self, name):
        return self.tools.get(name)
    def get_registered_toolset_aliases(self):
        return {}

registry = Registry()
TOOLSETS = {"work": {"description": "All of it", "tools": ["find"], "includes": ["control"]},
            "control": {"description": "To stop", "tools": ["stop"], "includes": []}}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path / "project")


def surface(root: Path) -> list[dict[str, Any]]:
    """What a model sees, once the specs are compiled."""
    done = hermes(root, "compile")
    assert done.code == 0, done
    assert hermes(root, "check").code == 0
    found = json.loads(hermes(root, "export", "--provider", "openai").out)
    return [one["function"] for one in found]


@pytest.mark.parametrize("form", ["openai", "anthropic", "mcp", "lines"])
def test_definitions_of_each_form_compile_to_the_same_surface(root: Path, form: str) -> None:
    texts = {
        "openai": json.dumps(OPENAI),
        "anthropic": json.dumps([renamed(one, "input_schema") for one in (FIND, STOP)]),
        "mcp": json.dumps({"tools": [renamed(one, "inputSchema") for one in (FIND, STOP)]}),
        "lines": "".join(json.dumps(one) + "\n" for one in OPENAI),
    }
    write(root.parent, {"tools.json": "\ufeff" + texts[form]})
    done = hermes(root, "import", "json", "../tools.json", "--toolset", "work")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("imported 2 tools and 0 toolsets: wrote ")
    assert surface(root) == [FIND, STOP]
    assert hermes(root, "explain", "find").out.startswith("`find` is in `work`")


def renamed(definition: dict[str, Any], key: str) -> dict[str, Any]:
    rest = {name: value for name, value in definition.items() if name != "parameters"}
    return {**rest, key: definition["parameters"]}


def test_definitions_come_from_standard_input_too(root: Path) -> None:
    done = hermes(root, "import", "json", "-", "-t", "work", input=json.dumps(OPENAI))
    assert done.code == 0
    assert surface(root) == [FIND, STOP]


def test_handlers_of_our_own_get_modules_to_fill_in(root: Path) -> None:
    text = json.dumps(OPENAI)
    done = hermes(root, "import", "json", "-", "-t", "work", "--handler", "self", input=text)
    assert done.code == 0
    assert (root / "handlers/find.py").is_file()
    assert surface(root) == [FIND, STOP]
    assert "has no body yet" in hermes(root, "call", "find", '{"text": "x"}').out


def test_what_exists_is_replaced_only_by_force(root: Path) -> None:
    text = json.dumps(OPENAI)
    assert hermes(root, "import", "json", "-", "-t", "work", input=text).code == 0
    before = contents(root)
    changed = text.replace("of the workspace", "of the whole workspace")
    done = hermes(root, "import", "json", "-", "-t", "work", input=changed)
    assert (done.code, done.codes) == (1, ["HB1304"])
    assert "`tool_specs/work/find.yaml` declares `find` already" in done.out
    assert "--force" in done.out
    assert contents(root) == before
    assert hermes(root, "import", "json", "-", "-t", "work", "--force", input=changed).code == 0
    assert surface(root)[0]["description"].endswith("of the whole workspace.")


@pytest.mark.parametrize("link", ["tool_specs/imported", "tool_specs/imported/find.yaml"])
def test_nothing_is_written_through_a_link_that_leaves_the_project(root: Path, link: str) -> None:
    write(root.parent, {"tools.json": json.dumps([FIND]), "outside/find.yaml": "mine\n"})
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    (root / link).symlink_to(root.parent / "outside" / link[len("tool_specs/imported/") :])
    done = hermes(root, "import", "json", "../tools.json", "--force")
    assert done.code == 2
    assert "leads out of the project" in done.err
    assert contents(root.parent / "outside") == {"find.yaml": b"mine\n"}


def test_what_was_mapped_is_reported_and_what_cannot_be_is_refused(root: Path) -> None:
    odd = [
        {"name": "a.b", "description": FIND["description"], "parameters": {"type": "dict"}},
        {"name": "", "parameters": {}},
        FIND,
    ]
    done = hermes(root, "import", "json", "-", "-t", "work", input=json.dumps(odd))
    assert done.code == 1
    assert {"HB1301", "HB1302", "HB1304"} <= set(done.codes)
    assert [one["name"] for one in surface(root)] == ["a_b", "find"]
    report = hermes(
        root, "import", "json", "-", "--force", "--format", "json", input=json.dumps(odd)
    )
    assert json.loads(report.out)["summary"]["errors"] == 1


def test_warnings_of_an_import_fail_when_strict(root: Path) -> None:
    text = json.dumps([{**FIND, "name": "a.b"}])
    assert hermes(root, "import", "json", "-", input=text).code == 0
    assert hermes(root, "import", "json", "-", "--force", "--strict", input=text).code == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [(b"{", 1), (b"3", 1), (b"", 1), (b"[]", 1), (b"\xff\xfe[]", 2), (b"[" * 100_000, 1)],
    ids=["broken", "number", "nothing", "empty", "utf-16", "deep"],
)  # fmt: skip
def test_texts_that_hold_no_definitions_write_nothing(root: Path, text: bytes, code: int) -> None:
    before = contents(root)
    done = hermes(root, "import", "json", "-", input=text)
    assert done.code == code
    assert "Traceback" not in done.err
    assert contents(root) == before


def test_a_file_that_is_not_there_decides_nothing(root: Path) -> None:
    done = hermes(root, "import", "json", "nowhere.json")
    assert (done.code, done.out) == (2, "")
    assert "nowhere.json" in done.err


def test_a_live_registry_and_its_toolsets_come_over(root: Path) -> None:
    tools = "from program.registry import registry\n" + "".join(
        f"registry.register({one['name']!r}, {owner!r}, {one!r}, lambda args: '')\n"
        for one, owner in ((FIND, "work"), (STOP, "control"))
    )
    write(
        root,
        {"program/__init__.py": "", "program/registry.py": REGISTRY, "program/tools.py": tools},
    )
    done = hermes(
        root, "import", "python", "program.registry:registry", "--preload", "program.tools",
        "--toolsets", "program.registry:TOOLSETS",
    )  # fmt: skip
    assert done.code == 0, done
    assert done.err.startswith("imported 2 tools and 2 toolsets: wrote ")
    assert surface(root) == [FIND, STOP]
    shown = {one["name"]: one for one in json.loads(hermes(root, "show", "--json").out)}
    assert shown["work"]["resolved"] == ["find", "stop"]
    assert shown["control"]["resolved"] == ["stop"]
    assert shown["find"]["handler"] == "external"


@pytest.mark.parametrize(
    "place", ["nowhere:registry", "program.registry:nothing", "program.registry", "json:dumps"]
)
def test_a_registry_that_cannot_be_read_is_a_finding(root: Path, place: str) -> None:
    write(root, {"program/__init__.py": "", "program/registry.py": REGISTRY})
    before = contents(root)
    done = hermes(root, "import", "python", place)
    assert done.code in (1, 2)
    assert "Traceback" not in done.err
    assert done.out or done.err
    assert contents(root) == before
