"""The manifest: one byte form, read strictly."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from hermes_build.bundle.format import (
    BundleError,
    File,
    Manifest,
    Runtime,
    has_place,
    is_name,
    roots_of,
)
from hermes_build.bundle.reading import read_manifest
from tests.bundle import making

FILES = making.program()


def _document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(making.manifest(FILES).to_bytes())
    return found


def _bytes(document: object) -> bytes:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"


def test_what_was_written_is_read_again() -> None:
    made = making.manifest(
        FILES,
        source="src/agent",
        dependencies={"yaml": "PyYAML", "inner": None},
        left_out=[("handlers.other", "nobody imports it")],
    )
    assert read_manifest(made.to_bytes()) == made
    assert made.to_bytes().endswith(b"}\n")


def test_the_order_in_which_things_come_does_not_matter() -> None:
    names = ["b", "a", "c"]
    first = making.manifest(FILES, tools=names, left_out=[("x", "1"), ("a", "2")])
    files = list(FILES.items())
    random.Random(5).shuffle(files)
    other = making.manifest(dict(files), tools=reversed(names), left_out=[("a", "2"), ("x", "1")])
    assert first.to_bytes() == other.to_bytes()
    assert first == other and hash(first) == hash(other)


def test_the_digest_is_that_of_the_bytes() -> None:
    made = making.manifest(FILES)
    assert f"sha256:{made.digest}" == making.digest(made.to_bytes())


def test_a_manifest_cannot_be_changed() -> None:
    made = making.manifest(FILES)
    with pytest.raises(AttributeError, match=r"Manifest.name cannot be set"):
        made.name = "other"
    with pytest.raises(AttributeError, match=r"File.size cannot be deleted"):
        del next(iter(made.files.values())).size


def test_the_manifest_holds_no_time_host_or_path_outside() -> None:
    document = _document()
    assert set(document) == {"format", *Manifest.__slots__}
    assert not any(path.startswith("/") for path in document["files"])


@pytest.mark.parametrize("key", ["format", *Manifest.__slots__])
def test_a_missing_key_is_refused(key: str) -> None:
    document = _document()
    del document[key]
    _refused(_bytes(document))


@pytest.mark.parametrize("where", ["", "runtime", "files"])
def test_an_unknown_key_is_refused(where: str) -> None:
    document = _document()
    part = document[where] if where else document
    (next(iter(part.values())) if where == "files" else part)["more"] = 1
    _refused(_bytes(document), "unknown key 'more'")


@pytest.mark.parametrize(
    "value", [None, True, 0, -1, 1.5, "", "x", [], [1], {}, {"x": 1}, "\ud800"]
)
@pytest.mark.parametrize("key", ["format", *Manifest.__slots__])
def test_a_value_of_another_type_is_refused(key: str, value: object) -> None:
    document = _document()
    fits: dict[str, tuple[object, ...]] = {
        "dependencies": ({},),
        "files": ({},),
        "left_out": ([],),
        "name": ("x",),
        "package": ("x",),
        "requires_python": ("x",),
        "source": ("x",),
        **dict.fromkeys(("roots", "toolsets", "tools"), ([],)),
    }
    document[key] = value
    if value in fits.get(key, ()):
        read_manifest(_bytes(document))
    else:
        _refused(_bytes(document))


@pytest.mark.parametrize("number", [2, 10**30, "1", 1.0, True, None])
def test_another_format_is_refused_with_what_to_install(number: object) -> None:
    error = _refused(_bytes({**_document(), "format": number, "new": "key"}), "reads format 1")
    assert "newer" in error.help


def test_a_type_of_a_file_s_record_is_refused() -> None:
    records: list[object] = [None, [], {}, {"sha256": "0" * 64}, {"size": 1}]
    records += [{"sha256": "0" * 64, "size": size} for size in (None, -1, 1.0, True, "1")]
    digests = (None, 1, "", "0" * 63, "0" * 65, "A" * 64, "g" + "0" * 63, "0" * 31 + "-" + "0" * 32)
    records += [{"sha256": digest, "size": 1} for digest in digests]
    for record in records:
        document = _document()
        document["files"][making.CATALOGUE] = record
        _refused(_bytes(document), making.CATALOGUE)


EDITS: dict[str, Callable[[bytes], bytes]] = {
    "no line end": lambda data: data[:-1],
    "two line ends": lambda data: data + b"\n",
    "a space before": lambda data: b" " + data,
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "a space inside": lambda data: data.replace(b'":', b'": ', 1),
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "an escape": lambda data: data.replace(b'"small"', b'"\\u0073mall"', 1),
    "a key twice": lambda data: data.replace(b'"format":1', b'"format":2,"format":1', 1),
    "other separators": lambda data: json.dumps(json.loads(data)).encode(),
    "another order": lambda data: data.replace(
        b'["generated","handlers"]', b'["handlers","generated"]'
    ),
    "a name twice": lambda data: data.replace(b'["small"]', b'["small","small"]'),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_second_byte_form_is_refused(edit: str) -> None:
    data = making.manifest(FILES).to_bytes()
    changed = EDITS[edit](data)
    assert changed != data
    _refused(changed)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"null\n",
        b"[]\n",
        b"{}\n",
        b"\xff",
        b"{",
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b'{"format":' + b"9" * 9999, id="long"),
    ],
)
def test_what_is_no_manifest_is_refused(data: bytes) -> None:
    _refused(data)


def test_entries_of_left_out_come_in_one_order() -> None:
    document = _document()
    document["left_out"] = [{"module": "b", "why": "x"}, {"module": "a", "why": "x"}]
    _refused(_bytes(document), "sorted")


def test_the_source_folder_is_taken_off_a_path_of_the_project() -> None:
    assert making.manifest(FILES).program_path("handlers/a.py") == "program/handlers/a.py"
    inner = making.manifest(FILES, source="src")
    assert inner.program_path("src/handlers/a.py") == "program/handlers/a.py"
    with pytest.raises(ValueError, match=r"handlers/a.py is not in src"):
        inner.program_path("handlers/a.py")


def test_roots_are_what_can_be_imported() -> None:
    paths = ["program/a.py", "program/b/c/d.py", "program/data/x.json", "specs/e.py", "__main__.py"]
    assert roots_of([*paths, "program/no-name/x.json", "program/x.json"]) == ("a", "b", "data")
    named_alike = [*paths, "program/json/x.txt", "program/yaml/x.txt", "program/b/x.txt"]
    assert roots_of(named_alike, ["yaml", "b"]) == ("a", "b", "data")


@pytest.mark.parametrize("name", ["a", "my-tools_1.0", "A" * 100])
def test_a_plain_name_may_name_a_bundle(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", ".a", "-a", "_a", "a.", "a/b", "a\\b", "a b", "é", "A" * 101, "a\n", "²"],
)
def test_a_name_that_could_be_a_path_names_no_bundle(name: str) -> None:
    assert not is_name(name)
    _refused(making.manifest(FILES, name=name).to_bytes())


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("LICENSE", True),
        ("LICENSES/MIT.txt", True),
        ("NOTICE.md", True),
        ("runtime/hermes_build/ir.py", True),
        ("runtime/other/ir.py", False),
        ("hermes-bundle.json", False),
        ("hermes-bundle.dsse.json", False),
        ("setup.py", False),
        ("hermes_build/ir.py", False),
    ],
)
def test_each_file_of_a_bundle_has_its_place(path: str, there: bool) -> None:
    assert has_place(path) is there


def test_records_are_equal_by_what_they_hold() -> None:
    assert File("0" * 64, 1) == File("0" * 64, 1) != File("0" * 64, 2)
    assert Runtime(1, "0.1.0", "0.1.0") != File("0" * 64, 1)
    assert repr(File("ab", 1)) == "File(sha256='ab', size=1)"


def _refused(data: bytes, message: str = "") -> BundleError:
    with pytest.raises(BundleError) as caught:
        read_manifest(data)
    assert caught.value.code == "HB8001"
    assert caught.value.path == "hermes-bundle.json"
    assert message in caught.value.message
    return caught.value
