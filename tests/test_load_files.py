"""The door for source files: what is found, what is read, and what is said of the rest."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_build.compiler import files, load
from hermes_build.compiler.diagnostics import Findings, Span

posix = pytest.mark.skipif(os.name != "posix", reason="needs links and pipes of POSIX")


def refused(root: Path, path: str) -> tuple[str, str]:
    """Return the code and the message of the one finding that reading a file gives."""
    findings = Findings()
    assert load.read_source(root, path, findings) is None
    (one,) = findings
    assert one.span is not None
    assert one.span.path == path
    assert one.help or "cannot be read" in one.message or "does not exist" in one.message
    return one.code, one.message


def test_sources_are_found_in_order_and_hidden_ones_passed_over(tmp_path: Path) -> None:
    for name in ("b.yaml", "a/z.yml", "a/b/c.YAML", "a.yaml", "x.json", ".h.yaml", ".git/y.yaml"):
        file = tmp_path / "specs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("a: 1\n")
    findings = Findings()
    found = load.find_sources(tmp_path, "specs", findings)
    assert found == ["specs/a.yaml", "specs/a/b/c.YAML", "specs/a/z.yml", "specs/b.yaml"]
    assert found == load.find_sources(tmp_path, "specs/", Findings())
    assert load.find_sources(tmp_path, "nowhere", findings) == []
    assert list(findings) == []


def test_a_file_is_read_with_one_kind_of_line_end_and_one_digest(tmp_path: Path) -> None:
    texts = {
        "lf": b"a: \xc3\xa9\nb: 1\n",
        "crlf": b"a: \xc3\xa9\r\nb: 1\r\n",
        "cr": b"a: \xc3\xa9\rb: 1\r",
        "bom": b"\xef\xbb\xbfa: \xc3\xa9\nb: 1\n",
    }
    for name, data in texts.items():
        (tmp_path / f"{name}.yaml").write_bytes(data)
        findings = Findings()
        source = load.read_source(tmp_path, f"{name}.yaml", findings)
        assert source is not None
        assert source.text == "a: é\nb: 1\n"
        assert source.digest == hashlib.sha256(texts["lf"]).hexdigest()
        assert [one.value for one in load.parse(source, findings)] == [{"a": "é", "b": 1}]
        assert list(findings) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a: é".encode("utf-16"), "UTF-16"),
        ("a: b".encode("utf-16-be"), "UTF-16"),
        ("a: b".encode("utf-16-le"), "UTF-16"),
        ("a: b".encode("utf-32"), "UTF-16 or UTF-32"),
        (b"a: 1\n\x00\x01\x02 and then much text" + b"x" * 99, "byte 5 is NUL"),
        (b"\x89PNG\r\n\x1a\n", "byte 0, in line 1, is 0x89"),
    ],
)
def test_a_file_that_is_no_utf8_text_is_named_for_what_it_is(
    tmp_path: Path, data: bytes, message: str
) -> None:
    (tmp_path / "a.yaml").write_bytes(data)
    code, said = refused(tmp_path, "a.yaml")
    assert code == "HB0001"
    assert message in said


def test_invalid_utf8_is_shown_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes("a: 1\né: 日本".encode() + b"\xe6\x97 x\n")
    findings = Findings()
    assert load.read_source(tmp_path, "a.yaml", findings) is None
    (one,) = findings
    assert one.span == Span("a.yaml", 2, 6, 2, 7)
    assert "byte 15, in line 2, is 0xe6" in one.message


def test_a_file_past_the_bound_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "a.yaml", "wb") as file:
        file.truncate(files.MAX_BYTES + 1)
    assert refused(tmp_path, "a.yaml")[0] == "HB0011"
    (tmp_path / "b.yaml").write_bytes(b"#" * files.MAX_BYTES)
    assert load.read_source(tmp_path, "b.yaml", Findings()) is not None


@pytest.mark.parametrize("path", ["../a.yaml", "x/../../a.yaml", "x\0.yaml"])
def test_a_path_that_leads_out_of_the_project_is_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "a.yaml").write_text("a: 1\n")
    assert refused(root, path)[0] == "HB0001"
    assert refused(root, str(tmp_path / "a.yaml"))[0] == "HB0001"


def test_a_missing_file_is_a_finding(tmp_path: Path) -> None:
    assert refused(tmp_path, "a.yaml") == ("HB0001", "a.yaml does not exist")


def test_a_folder_named_like_a_file_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "specs/x.yaml").mkdir(parents=True)
    (tmp_path / "specs/x.yaml/inner.yaml").write_text("a: 1\n")
    findings = Findings()
    assert load.find_sources(tmp_path, "specs", findings) == []
    assert [one.message for one in findings] == ["specs/x.yaml is a folder"]
    assert refused(tmp_path, "specs/x.yaml") == ("HB0001", "specs/x.yaml is a folder")


@posix
def test_links_are_read_inside_the_project_and_refused_outside(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "specs").mkdir(parents=True)
    (root / "shared.yaml").write_text("a: 1\n")
    (tmp_path / "secret.yaml").write_text("password: hunter2\n")
    (root / "specs/inside.yaml").symlink_to("../shared.yaml")
    (root / "specs/outside.yaml").symlink_to("../../secret.yaml")
    (root / "specs/dangling.yaml").symlink_to("nowhere.yaml")
    (root / "specs/circle.yaml").symlink_to("circle.yaml")
    (root / "specs/folder").symlink_to(tmp_path)
    (root / "elsewhere").symlink_to(tmp_path)

    findings = Findings()
    found = load.find_sources(root, "specs", findings)
    assert found == [f"specs/{name}.yaml" for name in ("circle", "dangling", "inside", "outside")]
    assert [one.message for one in findings] == ["specs/folder is a link to a folder"]

    source = load.read_source(root, "specs/inside.yaml", findings)
    assert source is not None
    assert source.text == "a: 1\n"
    assert "leaves the project" in refused(root, "specs/outside.yaml")[1]
    assert "link to nothing" in refused(root, "specs/dangling.yaml")[1]
    assert "cannot be read" in refused(root, "specs/circle.yaml")[1]
    assert "leaves the project" in refused(root, "elsewhere/secret.yaml")[1]

    findings = Findings()
    assert load.find_sources(root, "elsewhere", findings) == []
    assert [one.code for one in findings] == ["HB0001"]


@posix
def test_a_project_that_is_itself_behind_a_link_is_read(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.yaml").write_text("a: 1\n")
    (tmp_path / "real/b.yaml").symlink_to(tmp_path / "real/a.yaml")
    (tmp_path / "link").symlink_to("real")
    findings = Findings()
    for path in load.find_sources(tmp_path / "link", ".", findings):
        assert load.read_source(tmp_path / "link", path, findings) is not None
    assert list(findings) == []


@posix
def test_pipes_and_devices_are_never_opened(tmp_path: Path) -> None:
    # In a process of its own, so that a wait without end is a failure and not a hang.
    os.mkfifo(tmp_path / "pipe.yaml")
    program = (
        "import sys; from pathlib import Path\n"
        "from hermes_build.compiler import load\n"
        "from hermes_build.compiler.diagnostics import Findings\n"
        "findings = Findings()\n"
        "root = Path(sys.argv[1])\n"
        "for path in load.find_sources(root, '.', findings):\n"
        "    load.read_source(root, path, findings)\n"
        "load.read_source(Path('/dev'), 'zero', findings)\n"
        "print([one.message for one in findings])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
        env={"PYTHONPATH": os.getcwd()},
    )
    assert "pipe.yaml is not a regular file" in done.stdout
    assert "zero is not a regular file" in done.stdout


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_or_folder_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: 1\n")
    (tmp_path / "a.yaml").chmod(0)
    assert "permission denied" in refused(tmp_path, "a.yaml")[1]
    (tmp_path / "closed").mkdir(mode=0)
    findings = Findings()
    assert load.find_sources(tmp_path, "closed", findings) == []
    assert [one.code for one in findings] == ["HB0001"]
    (tmp_path / "closed").chmod(0o700)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names themselves")
def test_a_file_name_that_is_no_unicode_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.yaml")).write_text("a: 1\n")
    findings = Findings()
    assert load.find_sources(tmp_path, ".", findings) == []
    (one,) = findings
    assert one.code == "HB0001"
    one.message.encode()


def test_finding_and_reading_files_imports_no_yaml() -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from hermes_build.compiler import load\n"
        "from hermes_build.compiler.diagnostics import Findings\n"
        "load.read_source(Path('.'), 'nowhere.yaml', Findings())\n"
        "sys.exit('yaml' in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": os.getcwd()})


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80) | st.text(max_size=80).map(lambda text: text.encode("utf-16")))
def test_any_bytes_give_a_text_or_a_finding(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    root = tmp_path_factory.getbasetemp()
    (root / "any.yaml").write_bytes(data)
    findings = Findings()
    source = load.read_source(root, "any.yaml", findings)
    if source is None:
        assert [one.code for one in findings] == ["HB0001"]
    else:
        assert load.parse(source, findings) or len(findings)
