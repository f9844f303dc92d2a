"""Reading a manifest: what `Manifest.to_bytes` wrote, and nothing else.

A second byte form of the same facts would be a second digest of the same bundle, and an unknown
key could mean something to a newer reader that this one would not hold anybody to.
"""

from __future__ import annotations

from hermes_build.bundle.format import (
    FORMAT,
    MANIFEST,
    MAX_MANIFEST,
    BundleError,
    File,
    Manifest,
    Runtime,
    is_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NoReturn


def read_manifest(data: bytes) -> Manifest:
    """Read what `Manifest.to_bytes` wrote, and nothing else.

    Raises:
        BundleError: ``HB8001``, the bytes are no manifest, of another format, or not canonical.
    """
    from json import loads

    if len(data) > MAX_MANIFEST:
        _fail(f"it is larger than {MAX_MANIFEST} bytes")
    try:
        document = loads(data.decode())
    except (ValueError, RecursionError) as error:
        _fail(f"it is not JSON in UTF-8 ({error})")
    if type(document) is not dict or "format" not in document:
        _fail("it does not state its format")
    found = document.pop("format")
    if type(found) is not int or found != FORMAT:
        raise BundleError(
            "HB8001",
            f"the bundle is of format {_short(found)}, and this version of hermes-build reads "
            f"format {FORMAT}",
            MANIFEST,
            "install the hermes-build that made it, or a newer one",
        )
    manifest = _manifest(document)
    try:
        same = manifest.to_bytes() == data
    except (ValueError, RecursionError):
        same = False
    if not same:
        _fail("its bytes are not the ones that hermes-build writes for what it says")
    return manifest


def _manifest(document: dict[str, Any]) -> Manifest:
    fields = Manifest.__slots__
    _keys(document, fields, "the manifest")
    for key in ("name", "package", "source", "registry", "requires_python"):
        _text(document[key], f"`{key}`")
    if not is_name(document["name"]):
        _fail("`name` is not made of letters, digits, `.`, `_` and `-`")
    if not all(part.isidentifier() for part in document["package"].split(".")):
        _fail("`package` is not the dotted name of a package")
    for key in ("roots", "toolsets", "tools"):
        value = document[key]
        if type(value) is not list or value != sorted({_text(one, f"`{key}`") for one in value}):
            _fail(f"`{key}` is not a sorted list of different names")
    _hex(document["registry"], "registry")
    runtime = document["runtime"]
    _keys(runtime, Runtime.__slots__, "`runtime`")
    if type(runtime["format"]) is not int or runtime["format"] < 1:
        _fail("`runtime.format` is not a number above 0")
    for key in ("needs", "version"):
        _text(runtime[key], f"`runtime.{key}`")
    dependencies = _object(document["dependencies"], "`dependencies`")
    for key, value in dependencies.items():
        _text(key, "a key of `dependencies`")
        if value is not None:
            _text(value, f"`dependencies.{key}`")
    return Manifest(
        **{
            **document,
            "runtime": Runtime(**runtime),
            "left_out": _left_out(document["left_out"]),
            "files": _files(document["files"]),
        }
    )


def _left_out(value: object) -> list[tuple[str, str]]:
    if type(value) is not list:
        _fail("`left_out` is not a list")
    pairs = []
    for one in value:
        _keys(one, ("module", "why"), "an entry of `left_out`")
        pairs.append((_text(one["module"], "`module`"), _text(one["why"], "`why`")))
    if pairs != sorted(set(pairs)):
        _fail("`left_out` is not sorted, or says something twice")
    return pairs


def _files(value: object) -> dict[str, File]:
    listed = _object(value, "`files`")
    # Most of a manifest is here: what is right must be seen at once, and the words can wait.
    if set(map(type, listed.values())) <= {dict} and set(map(tuple, listed.values())) <= {_FILE}:
        digests = [one["sha256"] for one in listed.values()]
        sizes = [one["size"] for one in listed.values()]
        if (
            set(map(type, digests)) <= {str}
            and set(map(len, digests)) <= {64}
            and not "".join(digests).encode(errors="replace").translate(None, _HEX.encode())
            and set(map(type, sizes)) <= {int}
            and min(sizes, default=0) >= 0
        ):
            return dict(zip(listed, map(File, digests, sizes), strict=True))
    for path, one in listed.items():
        _keys(one, _FILE, f"`files`, {_short(path)}")
        if type(one["size"]) is not int or one["size"] < 0:
            _fail(f"the size of {_short(path)} is not a number of bytes")
        _hex(one["sha256"], path)
    _fail("the keys of a file are not in order")


_FILE = ("sha256", "size")
_HEX = "0123456789abcdef"


def _object(value: object, what: str) -> dict[str, Any]:
    if type(value) is not dict:
        _fail(f"{what} is not an object")
    return value


def _keys(value: object, wanted: Iterable[str], what: str) -> None:
    found = _object(value, what).keys()
    if found == set(wanted):
        return
    for key in sorted(set(wanted) - found):
        _fail(f"{what} lacks `{key}`")
    for key in sorted(found - set(wanted)):
        _fail(f"{what} has an unknown key {_short(key)}")


def _text(value: object, what: str) -> str:
    if type(value) is not str or not value:
        _fail(f"{what} is not a text")
    return value


def _hex(value: object, what: str) -> str:
    if type(value) is not str or len(value) != 64 or value.strip(_HEX):
        _fail(f"the digest of {_short(what)} is not 64 hexadecimal digits")
    return value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _fail(what: str) -> NoReturn:
    raise BundleError(
        "HB8001", f"the manifest cannot be read: {what}", MANIFEST, "make the bundle anew"
    )
