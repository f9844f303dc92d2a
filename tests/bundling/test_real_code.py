"""Bundles of real programs: every tool runs, and nothing that was left out is asked for.

The programs are well-known packages, copied from this environment into the source folder of a
project, and the handlers of this repository. They run in a process that has the standard library,
the runtime and the declared dependencies of the bundle, and nothing else.
"""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import hermes_build
from hermes_build.bundle.verifying import verify
from hermes_build.compiler.bundling.build import write_hermes
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.project import read_project
from tests.bundling.programs import made as bundle_of
from tests.command_line import handler, hermes, spec, write

ROOT = Path(__file__).parents[2]

RUN = """
import json, sys
sys.path[:0] = [sys.argv[1]]
from hermes_build.runtime.bundles import open_bundle
calls = json.load(sys.stdin)
with open_bundle(sys.argv[2]) as registry:
    results = [registry.call(name, args, session_id="s") for name, args in calls]
    names = sorted(sys.modules)
json.dump([results, names], sys.stdout)
"""


def run(bundle: Path, site: Path, calls: list[tuple[str, Any]], **env: str) -> list[Any]:
    """Call tools of a bundle in a bare process; return what they gave.

    ``site`` is filled with the runtime, what it needs, and the declared dependencies.
    """
    with verify(bundle) as opened:
        manifest = opened.manifest
    assert {name for name, _ in calls} == set(manifest.tools), "every tool is called"
    needed = {"jsonschema-rs", *(name for name in manifest.dependencies.values() if name)}
    site.mkdir()
    (site / "hermes_build").symlink_to(Path(hermes_build.__file__).parent)
    for name in needed:
        for file in metadata.files(name) or ():
            top = file.parts[0]
            place = (
                Path(str(file.locate())).parents[len(file.parts) - 2] if file.parts[1:] else None
            )
            if place is not None and top != ".." and not (site / top).exists():
                (site / top).symlink_to(place)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", RUN, str(site), str(bundle)],
        input=json.dumps(calls).encode(),
        env={"PATH": "/usr/bin:/bin", **env},
        capture_output=True,
        check=False,
        cwd=site,
    )
    assert done.returncode == 0, done.stderr.decode()
    results, names = json.loads(done.stdout)
    private = {name.partition(".")[2] for name in names if name.startswith("hermes_bundle_")}
    assert "handlers" in private, "what ran is what was bundled"
    left_out = {module for module, _ in manifest.left_out}
    assert private.isdisjoint(left_out)
    assert set(names).isdisjoint(left_out)
    assert private <= {_module(path) for path in manifest.files} | {""}
    return list(results)


def _module(path: str) -> str:
    stem = path.removeprefix("program/").removesuffix(".py").removesuffix("/__init__")
    return stem.replace("/", ".")


def vendor(root: Path, *packages: str) -> None:
    """Copy pure Python packages of this environment into a source folder."""
    for name in packages:
        folder = Path(str(importlib.import_module(name).__file__)).parent
        ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
        shutil.copytree(folder, root / name, ignore=ignored)


HANDLERS = {
    "render": (
        "from jinja2 import Environment",
        "text = '{% for one in path %}{{ one | upper }}-{% endfor %}{{ limit }}'",
        "return Environment(autoescape=True).from_string(text).render(**args)",
    ),
    "newest": (
        "from packaging.specifiers import SpecifierSet",
        "from packaging.version import Version",
        "found = [one for one in args['path'].split() if one in SpecifierSet('>=1')]",
        "return str(max(found, key=Version))",
    ),
    "count": (
        "import click",
        "from click.testing import CliRunner",
        "@click.command()",
        "@click.option('--limit', type=int)",
        "def command(limit): click.echo(click.style(str(limit + 1), bold=True))",
        "return CliRunner().invoke(command, ['--limit', str(args['limit'])]).output.strip()",
    ),
    "ask": (
        "import pluggy",
        "spec, impl = pluggy.HookspecMarker('a'), pluggy.HookimplMarker('a')",
        "class Specs:",
        "    @spec",
        "    def tell(self, path): ...",
        "class One:",
        "    @impl",
        "    def tell(self, path): return path[::-1]",
        "manager = pluggy.PluginManager('a')",
        "manager.add_hookspecs(Specs)",
        "manager.register(One())",
        "return manager.hook.tell(path=args['path'])[0]",
    ),
    "keep": (
        "import attrs",
        "@attrs.define",
        "class Kept:",
        "    path: str",
        "    limit: int = attrs.field(converter=int)",
        "return str(attrs.asdict(Kept(args['path'], '7')))",
    ),
}


def test_tools_that_use_vendored_packages_run_from_a_bundle(tmp_path: Path) -> None:
    root = tmp_path / "project"
    settings = 'source = "src"\nbundle-modules = ["attr._make", "jinja2.*"]\n'
    write(
        root,
        {
            "hermes-build.toml": settings,
            "src/handlers/__init__.py": "",
            **{f"tool_specs/{name}.yaml": spec(name, handler="self") for name in HANDLERS},
            **{f"src/handlers/{name}.py": handler(name, *body) for name, body in HANDLERS.items()},
        },
    )
    vendor(root / "src", "attr", "attrs", "click", "jinja2", "packaging", "pluggy")
    assert hermes(root, "compile").code == 0
    bundle = tmp_path / "x.hermes"
    done = hermes(root, "bundle", "--no-deps-lock", "-o", str(bundle))
    assert done.code == 0, done.out + done.err
    with verify(bundle) as opened:
        manifest = opened.manifest
    assert {"attr", "attrs", "click", "jinja2", "packaging", "pluggy"} < set(manifest.roots)
    assert manifest.dependencies["markupsafe"] == "markupsafe"
    left_out = {module for module, _ in manifest.left_out}
    assert {"packaging.metadata", "attr.validators"} & left_out, "parts are left out"
    calls = [
        ("render", {"path": "ab", "limit": 3}),
        ("newest", {"path": "0.9 1.10 1.9"}),
        ("count", {"path": "", "limit": 41}),
        ("ask", {"path": "abc"}),
        ("keep", {"path": "p"}),
    ]
    assert run(bundle, tmp_path / "site", calls) == [
        *("A-B-3", "1.10", "42", "cba", "{'path': 'p', 'limit': 7}")
    ]


def test_a_package_that_imports_by_computed_names_is_a_finding_until_it_is_told(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        {
            "hermes-build.toml": "",
            "handlers/__init__.py": "",
            "tool_specs/render.yaml": spec("render", handler="self"),
            "handlers/render.py": handler("render", *HANDLERS["render"]),
        },
    )
    vendor(tmp_path, "jinja2")
    assert hermes(tmp_path, "compile").code == 0
    done = hermes(tmp_path, "bundle", "--format", "concise", "--no-deps-lock")
    assert (done.code, set(done.codes)) == (1, {"HB8101", "HB8114"})
    assert "jinja2/utils.py" in done.out


def test_the_tools_of_this_repository_run_from_a_bundle(tmp_path: Path) -> None:
    project = read_project(ROOT, Findings())
    made = bundle_of(ROOT, "file", "planning", "terminal")
    assert made.manifest is not None, [f"{one.code} {one.message}" for one in made.findings]
    assert made.findings == ()
    bundle = tmp_path / "x.hermes"
    write_hermes(made, project, str(bundle))
    workspace = write(tmp_path / "work", {"a.txt": "one\ntwo\n"})
    calls: list[tuple[str, Any]] = [
        ("read_file", {"path": "a.txt"}),
        ("write_file", {"path": "b.txt", "content": "three\n"}),
        ("patch", {"path": "b.txt", "old_string": "three", "new_string": "four"}),
        ("search_files", {"pattern": "four"}),
        ("terminal", {"command": "cat b.txt"}),
        ("process", {"action": "list"}),
        ("todo", {"todos": [{"id": "1", "content": "rest", "status": "pending"}]}),
        ("memory", {"action": "add", "target": "memory", "content": "It works."}),
        ("clarify", {"question": "Which one?"}),
    ]
    env = {"HOME": str(tmp_path), "HERMES_HOME": str(tmp_path), "HERMES_WORKSPACE": str(workspace)}
    results = run(bundle, tmp_path / "site", calls, **env)
    told = dict(zip((name for name, _ in calls), results, strict=True))
    assert "two" in told["read_file"]
    assert (workspace / "b.txt").read_text() == "four\n"
    assert "b.txt" in told["search_files"]
    assert "four" in told["terminal"]
    assert "rest" in told["todo"]
    for name in set(told) - {"clarify"}:  # there is nobody to ask
        assert not told[name].startswith('{"error"'), told[name]


@pytest.mark.parametrize("package", ["click", "jinja2", "packaging", "pluggy", "attr"])
def test_everything_that_importing_a_package_loads_is_found_from_its_source(
    tmp_path: Path, package: str
) -> None:
    from hermes_build.compiler.bundling.closure import Wanted, follow
    from hermes_build.compiler.bundling.door import Door
    from hermes_build.compiler.project import Project

    vendor(tmp_path, package)
    code = f"import sys, {package}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True, text=True
    )
    loaded = {name for name in done.stdout.split() if name.partition(".")[0] == package}
    project = Project(tmp_path, "pyproject.toml")
    findings = Findings()
    closure = follow(
        project, Wanted((package,), frozenset(), {}), Door(tmp_path, findings), findings
    )
    assert loaded <= set(closure.modules)
    assert {one.code for one in findings} <= {"HB8101", "HB8114"}
