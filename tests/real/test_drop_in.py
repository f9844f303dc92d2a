"""hermes-agent runs unmodified on a compiled registry, and lists and answers as on its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.real.conftest import HERMES, Catalogue
from tests.real.drop_in_plugins import write_plugins
from tests.real.environments import ROOT, environment, runtime_packages
from tests.real.programs import Program

pytestmark = pytest.mark.real

EQUIPMENT = {
    "HASS_TOKEN": "token", "HERMES_KANBAN_TASK": "t_none", "HERMES_INTERACTIVE": "1",
    "HERMES_DESKTOP": "1", "FAL_KEY": "key", "XAI_API_KEY": "key",
}  # fmt: skip
"""What makes more of the tools available; nothing is asked of these services."""

REFUSED = {
    "unknown tool": "Unknown tool: read_fil. Did you mean 'read_file'?",
    "no arguments": 'Invalid arguments for read_file: "path" is a required property.',
    "a number for text": "Invalid arguments for read_file: path: must be text, but is 5.",
    "below the minimum": "Invalid arguments for read_file: offset: must be at least 1, but is -4.",
    "no such mode": 'Invalid arguments for patch: mode: must be one of "replace", "patch", but is '
    'the text "rewrite".',
    "no content": 'Invalid arguments for write_file: "content" is a required property.',
    "arguments that are text": 'Invalid arguments for read_file: "path" is a required property.',
    "unavailable": "Tool browser_back is not available here: its check function "
    "`check_browser_requirements` returned False.",
}
"""Calls that are refused here before a handler sees them; hermes-agent runs it, but for a name that
it does not know."""

DELIVERED = {"a dict": '{"length": 0}'}
"""Results that are delivered here, and an error in hermes-agent."""


@dataclass(frozen=True, slots=True)
class Runs:
    """What hermes-agent answered on its own registry (``own``) and on ours."""

    own: dict[str, Any]
    ours: dict[str, Any]


def run(folder: Path, program: Program | None, *, equipped: bool) -> subprocess.CompletedProcess:
    """Run the program beside this file in a new home and workspace, the same for every run."""
    python = environment(HERMES)
    home, workspace = folder / "home", folder / "workspace"
    for one in (home, workspace):
        shutil.rmtree(one, ignore_errors=True)
        one.mkdir(parents=True)
    if equipped:
        write_plugins(home)
    path = [str(ROOT), str(runtime_packages(python)), *([str(program.root)] if program else [])]
    request = {
        "package": program.package if program else None,
        "path": path,
        "workspace": str(workspace),
        "serves": equipped,
    }
    surroundings = {"HOME": str(home), "HERMES_HOME": str(home), "PYTHONUTF8": "1"}
    kept = {
        name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ
    }
    return subprocess.run(
        [python, Path(__file__).with_name("drop_in_program.py"), json.dumps(request)],
        cwd=workspace,
        env={**kept, **surroundings, **(EQUIPMENT if equipped else {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


@pytest.fixture(scope="module", params=["bare", "equipped"])
def runs(
    request: pytest.FixtureRequest, hermes: Catalogue, tmp_path_factory: pytest.TempPathFactory
) -> Runs:
    folder = tmp_path_factory.mktemp("drop-in")
    answers = []
    for program in (None, hermes.program):
        done = run(folder, program, equipped=request.param == "equipped")
        assert done.returncode == 0, done.stderr[-3000:]
        answers.append(json.loads(done.stdout))
    return Runs(*answers)


def test_every_tool_module_registers_its_tools_unmodified(runs: Runs) -> None:
    assert runs.ours["is the compiled one"] and not runs.own["is the compiled one"]
    names = runs.own["reports"]["names"]
    assert runs.ours["reports"]["names"] == names
    added = {"measure_text", "measure_slowly"} & set(names)
    declared = len(names) - len(added)
    assert declared == 79
    # `skills_list` has two handlers where the plugin that may replace it is loaded.
    assert runs.ours["bound"] == declared
    print(f"\ndrop-in: {declared} registrations held against their specs, none differs; "
          f"{len(added)} tools of plugins beside them")  # fmt: skip


def test_every_listing_is_the_one_of_hermes_agent(runs: Runs) -> None:
    own, ours = runs.own["definitions"], runs.ours["definitions"]
    assert list(ours) == list(own)
    for which, listing in own.items():
        # As text, so that the order of tools and of keys counts.
        assert json.dumps(ours[which]) == json.dumps(listing), which
    everything = runs.own["of the registry"]
    assert json.dumps(runs.ours["of the registry"]) == json.dumps(everything)
    print(f"\ndrop-in: {len(own)} listings with {sum(map(len, own.values()))} definitions equal, "
          f"of {len(everything)} tools that are available there")  # fmt: skip


def test_reports_and_entries_are_those_of_hermes_agent(runs: Runs) -> None:
    own, ours = runs.own["reports"], runs.ours["reports"]
    described = 0
    for one in ours["available toolsets"].values():
        # hermes-agent leaves the description empty here, and has it elsewhere.
        described += bool(one.pop("description"))
    for one in own["available toolsets"].values():
        assert one.pop("description") == ""
    for report in (own, ours):
        # Tools are listed by name here, and as their modules happened to be imported there.
        rows = [*report["available"][1], *report["available toolsets"].values(),
                *report["requirements"].values()]  # fmt: skip
        for row in rows:
            row["tools"].sort()
    assert ours == own
    assert runs.ours["entries"] == runs.own["entries"]
    print(f"\ndrop-in: {len(own)} reports equal, but for the descriptions of {described} toolsets "
          f"that hermes-agent leaves empty; {len(runs.own['entries'])} entries equal in their "
          "11 fields")  # fmt: skip


def test_calls_are_answered_as_by_hermes_agent(runs: Runs) -> None:
    own, ours = runs.own["calls"], runs.ours["calls"]
    assert list(own) == list(ours)
    differing = {one for one in own if own[one] != ours[one]}
    assert differing == (set(REFUSED) | set(DELIVERED)) & set(own)
    for which, message in REFUSED.items():
        assert json.loads(ours[which]) == {"error": message}
    for which in set(DELIVERED) & set(own):
        assert ours[which] == DELIVERED[which]
        assert "unsupported result type" in own[which]
    if "plugin" in own:
        assert ours["plugin"] == "fourfour" and ours["plugin, async"] == "4 for drop-in"
        assert len(ours["longer than its limit"]) == 200_000
        assert ours["plugin, in place of another"] == "replaced"
    print(f"\ndrop-in: {len(own) - len(differing)} calls answered alike; {len(differing)} differ "
          f"on purpose: {', '.join(sorted(differing))}")  # fmt: skip


def test_taking_tools_out_leaves_what_it_leaves_in_hermes_agent(runs: Runs) -> None:
    *own, unknown = runs.own["changes"]
    *ours, refused = runs.ours["changes"]
    assert ours == own
    assert refused["error"].startswith(unknown["error"])
    print(f"\ndrop-in: {len(own)} states equal while tools are taken out")


def test_plugins_may_do_what_they_may_in_hermes_agent(runs: Runs) -> None:
    own, ours = runs.own["plugins"], runs.ours["plugins"]
    assert set(ours) == set(own)
    present = {"grab", "remove"} & set(own)
    if "measure_text" in runs.own["reports"]["names"]:
        assert present == {"grab", "remove"} and not {"measure", "replace"} & set(own)
    for which in present:
        assert "allow_tool_override" in own[which] and "allow_override=True" in ours[which]
    assert {k: v for k, v in ours.items() if k not in present} == {
        k: v for k, v in own.items() if k not in present
    }


def test_a_program_that_differs_from_its_specs_does_not_start(
    hermes: Catalogue, tmp_path: Path
) -> None:
    root = tmp_path / "program"
    shutil.copytree(hermes.program.root, root, ignore=shutil.ignore_patterns("home", "*.pyc"))
    for name in ("read_file", "terminal"):
        (spec,) = (root / "tool_specs").rglob(f"{name}.yaml")
        text = spec.read_text(encoding="utf-8")
        spec.write_text(text.replace("description:", "title: Changed\ndescription:", 1)
                        .replace("type: integer", "type: number"), encoding="utf-8")  # fmt: skip
    changed = Program(root, hermes.program.package)
    changed.run("compile", "--format", "concise")
    done = run(tmp_path / "run", changed, equipped=False)
    assert done.returncode == 1 and not done.stdout
    last = done.stderr[done.stderr.index("SchemaDriftError") :]
    assert "read_file" in last and "terminal" in last and "/parameters/properties" in last
