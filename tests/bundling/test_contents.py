"""What a bundle holds, and what it does not take."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes_build.bundle.format import MANIFEST
from hermes_build.compiler.bundling.door import MAX_DATA, MAX_TEXT, Door
from hermes_build.compiler.diagnostics import Findings
from tests.bundling.programs import FILES, codes, made, program, whole, written
from tests.command_line import hermes, spec, write


def data_settings(*globs: str) -> dict[str, str | bytes]:
    return {"pyproject.toml": f"[tool.hermes-build]\nbundle-data = {list(globs)!r}\n"}


def own_files(root: Path, *toolsets: str) -> set[str]:
    """The files of a bundle that are not the runtime's."""
    bundle = made(root, *toolsets)
    assert bundle.manifest is not None, [one.message for one in bundle.findings]
    return {path for path in bundle.contents.files if not path.startswith("runtime/")}


def test_a_bundle_holds_what_its_tools_need_and_no_more(tmp_path: Path) -> None:
    root = program(tmp_path, {"NOTICE.txt": "Of us.\n", "README.md": "", "handlers/more.py": ""})
    assert own_files(root, "talk") == {
        "LICENSE",
        "NOTICE.txt",
        "__main__.py",
        "hermes-build.lock",
        "program/generated/__init__.py",
        "program/generated/catalogue.jsonl",
        "program/generated/registry.py",
        "program/generated/tools/__init__.py",
        "program/generated/tools/tell.py",
        "program/handlers/__init__.py",
        "program/handlers/tell.py",
        "specs/tool_specs/tell.yaml",
    }


def test_the_runtime_is_carried_and_neither_compiler_nor_command_line(tmp_path: Path) -> None:
    files = made(program(tmp_path)).contents.files
    rooms = {path.split("/")[2] for path in files if path.startswith("runtime/hermes_build/")}
    assert {"runtime", "bundle", "layout.py", "lock.py", "token_shapes.py"} <= rooms
    assert rooms.isdisjoint({"compiler", "cli", "signing", "__main__.py", "explain"})
    assert all(path.endswith(".py") for path in files if path.startswith("runtime/"))


def test_the_manifest_states_what_is_in_it(tmp_path: Path) -> None:
    root = program(
        tmp_path / "p", {"handlers/tell.py": FILES["handlers/tell.py"] + "import click\n"}
    )
    with written(root, tmp_path / "x.hermes") as opened:
        manifest = opened.manifest
    assert (manifest.name, manifest.package, manifest.source) == ("agent", "generated", ".")
    assert (manifest.tools, manifest.toolsets) == (("count", "tell"), ("file", "talk"))
    assert manifest.roots == ("generated", "handlers")
    assert manifest.requires_python == ">=3.12"
    assert manifest.dependencies == {"click": "click"}
    assert manifest.left_out == ()


def test_a_source_folder_is_not_part_of_the_names_in_a_bundle(tmp_path: Path) -> None:
    files = {
        **{f"src/{path}": text for path, text in FILES.items() if path.startswith("handlers/")},
        **{path: text for path, text in FILES.items() if path.startswith("tool_specs/")},
        "src/handlers/words.txt": "three",
        "hermes-build.toml": 'source = "src"\nbundle-data = ["handlers/*.txt"]\n',
    }
    write(tmp_path / "p", files)
    assert hermes(tmp_path / "p", "compile").code == 0
    with written(tmp_path / "p", tmp_path / "x.hermes") as opened:
        assert opened.manifest.source == "src"
        assert {"program/handlers/words.py", "program/handlers/words.txt"} <= set(opened.names())
        assert opened.manifest.name == "program"


def test_the_files_that_schemas_refer_to_are_among_the_specs(tmp_path: Path) -> None:
    shared = "$defs:\n  path: {type: string, description: Where}\n"
    tell = FILES["tool_specs/tell.yaml"].replace(
        "path: {type: string, description: Where the file is}",
        "path: {$ref: 'parts/my%20paths.yaml#/$defs/path'}",
    )
    more = {
        "tool_specs/tell.yaml": tell,
        "tool_specs/parts/my paths.yaml": shared,
        "tool_specs/parts/other.yaml": shared,
    }
    specs = {one for one in own_files(program(tmp_path, more), "talk") if one.startswith("specs/")}
    assert specs == {"specs/tool_specs/tell.yaml", "specs/tool_specs/parts/my paths.yaml"}


def test_the_documents_of_toolsets_are_among_the_specs(tmp_path: Path) -> None:
    more = {"toolsets/talk.yaml": "name: talk\ndescription: What speaks to people.\n"}
    assert "specs/toolsets/talk.yaml" in own_files(program(tmp_path, more), "talk")


@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        (["handlers/data/*.json"], {"a.json"}),
        (["handlers/data/**"], {"a.json", "b.bin", "deep/c.json", "deep/er/d.json"}),
        (["handlers/**/*.json"], {"a.json", "deep/c.json", "deep/er/d.json"}),
        (["handlers/data/*/?.json"], {"deep/c.json"}),
        (["handlers/data/[ab].*"], {"a.json", "b.bin"}),
        (["handlers/data/.hidden"], {".hidden"}),
        (["handlers/data/b.bin", "handlers/data/b*"], {"b.bin"}),
    ],
)
def test_data_files_are_taken_by_globs(
    tmp_path: Path, globs: list[str], expected: set[str]
) -> None:
    names = ("a.json", "b.bin", "deep/c.json", "deep/er/d.json", ".hidden", "__pycache__/x.json")
    data = {f"handlers/data/{name}": b"\r\n\0" for name in names}
    root = program(tmp_path, {**data_settings(*globs), **data})
    bundle = made(root)
    prefix = "program/handlers/data/"
    found = {path.removeprefix(prefix) for path in bundle.contents.files if path.startswith(prefix)}
    assert found == expected
    assert bundle.findings == ()
    assert whole(bundle.contents.files[prefix + min(expected)]) == b"\r\n\0"


def test_a_glob_that_meets_nothing_is_a_finding(tmp_path: Path) -> None:
    root = program(tmp_path, data_settings("handlers/data/*", "handlers"))
    assert codes(root) == ["HB8112", "HB8112"]


def test_a_large_file_is_read_in_pieces_and_must_stay_as_it_was(tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    root = program(tmp_path / "p", {**data_settings("handlers/*.bin"), "handlers/a.bin": data})
    with written(root, tmp_path / "x.hermes") as opened:
        assert opened.read("program/handlers/a.bin") == data
    content = made(root).contents.files["program/handlers/a.bin"]
    assert max(len(piece) for piece in content()) <= 1 << 20
    (root / "handlers/a.bin").write_bytes(data[::-1])
    with pytest.raises(Exception, match="was changed while the bundle was made"):
        list(content())


@pytest.mark.skipif(os.name != "posix", reason="needs links")
@pytest.mark.parametrize(
    "path", ["handlers/words.py", "handlers/data/a.txt", "LICENSE", "tool_specs/tell.yaml"]
)
def test_a_link_is_refused_wherever_it_stands(tmp_path: Path, path: str) -> None:
    more = {
        **data_settings("handlers/data/*"),
        "handlers/data/a.txt": "",
        "handlers/data/b.txt": "",
    }
    root = program(tmp_path, more)
    (root / path).rename(root / "real")
    (root / path).symlink_to(root / "real")
    assert codes(root) == ["HB8106"]


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_to_a_folder_of_data_is_refused(tmp_path: Path) -> None:
    more = {**data_settings("handlers/data/*"), "other/a.txt": ""}
    root = program(tmp_path, more)
    (root / "handlers/data").symlink_to(root / "other")
    assert set(codes(root)) == {"HB8106"}


def test_a_file_outside_the_project_is_refused(tmp_path: Path) -> None:
    findings = Findings()
    write(tmp_path, {"secret.txt": "", "project/a.txt": ""})
    door = Door(tmp_path / "project", findings)
    assert door.text("a.txt") == b""
    for path in ("../secret.txt", "a/../../secret.txt", str(tmp_path / "secret.txt")):
        assert door.text(path) is None
    assert [one.code for one in findings] == ["HB8105"] * 3


@pytest.mark.parametrize(("name", "most"), [("a.bin", MAX_DATA), ("a.md", MAX_TEXT)])
def test_a_file_that_is_too_large_is_refused(tmp_path: Path, name: str, most: int) -> None:
    root = program(tmp_path, data_settings("handlers/a.*"))
    with (root / "handlers" / name).open("wb") as file:
        file.truncate(most + 1)  # nothing but a hole, on the disk
    assert codes(root) == ["HB8111"]


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def test_what_is_no_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    root = program(tmp_path, data_settings("handlers/*.txt"))
    os.mkfifo(root / "handlers/a.txt")
    assert codes(root) == ["HB8107"]


@pytest.mark.skipif(os.name != "posix", reason="needs such names")
@pytest.mark.parametrize(
    "names", [("aux.txt",), ("a:b.txt",), ("A.txt", "a.txt"), ("a .txt", "b ")]
)
def test_names_that_some_system_does_not_take_are_refused(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    data = {f"handlers/data/{name}": "" for name in names}
    root = program(tmp_path, {**data_settings("handlers/data/*"), **data})
    if len(list((root / "handlers/data").iterdir())) < len(names):
        pytest.skip("this file system ignores case")
    (one,) = made(root).findings
    assert one.code == "HB8108"
    assert one.span and one.span.path in data


SECRET = "hunter" + "2"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("handlers/words.py", f'WORD = "three"\npassword = "{SECRET}"\n'),
        ("handlers/data/a.ini", f"password = {SECRET}\n"),
        ("LICENSE", f"password: {SECRET}\n"),
        (
            "tool_specs/tell.yaml",
            spec("tell", handler="self", description=f'Set password="{SECRET}" first.'),
        ),
    ],
)
def test_a_secret_is_refused_in_every_text(tmp_path: Path, path: str, text: str) -> None:
    more = {**data_settings("handlers/data/*"), "handlers/data/b.txt": ""}
    root = program(tmp_path, {**more, path: text})
    (one,) = made(root).findings
    assert (one.code, one.span and one.span.path) == ("HB8110", path)
    assert SECRET not in one.message


def test_a_path_of_this_machine_is_refused_where_people_wrote_it(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "p"
    text = spec("tell", handler="self", description=f"Tell what is in {root}/notes of the project.")
    (one,) = made(program(root, {"tool_specs/tell.yaml": text})).findings
    assert (one.code, one.span and one.span.path) == ("HB8109", "tool_specs/tell.yaml")
    usual = "Tell what is in /home/user/notes, /etc/hosts or ~/notes of the project."
    root = tmp_path / "other"
    text = spec("tell", handler="self", description=usual)
    assert codes(program(root, {"tool_specs/tell.yaml": text})) == []


WHOLE = 'WORD = "three"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'password = "{SECRET}"  # hermes-build: ignore[HB8110] of the manual\n', []),
        (f'# hermes-build: ignore[HB8110] of the manual\n\n# it is\npassword = "{SECRET}"\n', []),
        (f'password = "{SECRET}"  # hermes-build: ignore[HB8110]\n', ["HB1290"]),
        (
            f'password = "{SECRET}"  # hermes-build: ignore[HB8101] of the manual\n',
            ["HB1291", "HB8110"],
        ),
        ("x = 1  # hermes-build: ignore[HB8110] of the manual\n", ["HB1291"]),
        ("x = 1  # hermes-build: ignore[HB8107] of the manual\n", ["HB1293"]),
        ("x = 1  # hermes-build: ignore[HB1205] of another command\n", []),
        ("__import__(WORD + x)  # hermes-build: ignore[HB8101] never a module of ours\n", []),
    ],
)
def test_a_finding_can_be_lived_with_for_a_reason(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    root = program(tmp_path, {"handlers/words.py": WHOLE + text})
    assert sorted(codes(root)) == expected


def test_the_settings_can_say_so_too_and_other_commands_do_not_mind(tmp_path: Path) -> None:
    settings = (
        "[tool.hermes-build]\n[[tool.hermes-build.lint.ignore]]\n"
        'code = "HB8110"\nfiles = "handlers/*"\nreason = "of the manual"\n'
    )
    more = {"handlers/words.py": f'{WHOLE}password = "{SECRET}"\n', "pyproject.toml": settings}
    assert codes(program(tmp_path, more)) == []
    write(tmp_path, {"handlers/words.py": WHOLE})
    assert codes(tmp_path) == ["HB1291"]


def test_the_manifest_is_no_file_of_its_own_list(tmp_path: Path) -> None:
    assert MANIFEST not in made(program(tmp_path)).contents.listed
