"""What a ``$ref`` points at: in its own schema, or in a file beside it."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from hermes_build.compiler.load import Document
from hermes_build.compiler.schema.part import Part
from hermes_build.compiler.schema.siblings import Siblings
from hermes_build.compiler.spec import is_shared_document
from hermes_build.ir import Schema
from hermes_build.keywords import HOLDS, KNOWN, Pointer, subschemas
from hermes_build.nearest import nearest

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_DRIVE = re.compile(r"[A-Za-z]:")
_URI = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?#]|%[0-9A-Fa-f]{2})*")
_INDEX = re.compile(r"0|[1-9][0-9]*")
_BAD_ESCAPE = re.compile(r"~(?![01])")


@dataclass(frozen=True, slots=True)
class Target:
    """A schema that a ``$ref`` points at; without ``path``, in what ``#`` means at the ref."""

    path: str
    pointer: Pointer


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a ``$ref`` points at nothing that it may."""

    code: str
    message: str
    label: str
    help: tuple[str, ...] = ()


def fragment(pointer: Pointer) -> str:
    """A pointer as the fragment of a URI reference, with the ``#``."""
    return "#" + "".join("/" + _escaped(token) for token in pointer)


def _escaped(token: str | int) -> str:
    return quote(str(token).replace("~", "~0").replace("/", "~1"), safe="!$&'()*+,;=:@~")


def _unresolved(message: str, label: str, *help: str) -> Refusal:
    return Refusal("HB1107", message, label, help)


def _outside(message: str, label: str, *help: str) -> Refusal:
    return Refusal("HB1108", message, label, help)


def resolve(ref: str, part: Part, siblings: Siblings) -> Target | Refusal:
    """Find what ``ref`` points at when it stands in ``part``."""
    name, _, rest = ref.partition("#")
    if name == "":
        found = _within(ref, part.root, part.ours, part.shared)
        return found if isinstance(found, Refusal) else Target("", found)
    problem = _not_inside(ref, name)
    if problem is not None:
        return problem
    path = posixpath.normpath(posixpath.join(posixpath.dirname(part.path), unquote(name)))
    root = siblings.folder.strip("/")
    if path.startswith("../") or (root not in ("", ".") and not path.startswith(root + "/")):
        return _outside(
            f"the `$ref` leaves the specs folder `{root}`",
            "not in the specs folder",
            f"move the file into `{root}`",
        )
    document = _shared_file(name, path, ref, part, siblings)
    if isinstance(document, Refusal):
        return document
    found = _within("#" + rest, document.value, True, True)
    if isinstance(found, Refusal):
        return _unresolved(
            found.message.replace("`#", f"`{name}#", 1),
            found.label,
            *(line.replace("`#", f"`{name}#", 1) for line in found.help),
        )
    return Target(path, found)


def _not_inside(ref: str, name: str) -> Refusal | None:
    if _SCHEME.match(name) or name.startswith("//"):
        return _outside(
            "a `$ref` cannot leave the machine",
            "nothing is fetched while compiling",
            "copy the schema to a file in the specs folder, and refer to that",
        )
    if name.startswith(("/", "\\", "~")) or _DRIVE.match(name):
        local = name.startswith(("/$defs/", "/properties/", "/definitions/"))
        return _outside(
            "a `$ref` cannot be an absolute path",
            "not relative to this file",
            f"did you mean `#{ref}`?" if local else "write the path relative to this file",
        )
    if "\\" in name or "?" in name or not _URI.fullmatch(ref):
        return _unresolved(
            "the `$ref` is not a valid URI reference",
            "a character that must be escaped",
            "use `/` between folders"
            if "\\" in name
            else f"write `{quote(unquote(ref), safe=_SAFE)}`",
        )
    return None


_SAFE = "/#!$&'()*+,;=:@~"


def _shared_file(
    name: str, path: str, ref: str, part: Part, siblings: Siblings
) -> Document | Refusal:
    documents = siblings.documents(path)
    if path not in siblings.paths:
        schema = part.schema
        local = schema.get("$defs") if isinstance(schema, dict) else None
        if isinstance(local, dict) and ref in local:
            return _unresolved(
                f"`{ref}` names a file, and there is none",
                "not a file in the specs folder",
                f"did you mean `{fragment(('$defs', ref))}`?",
            )
        folder = posixpath.dirname(part.path) or "."
        shared = [
            posixpath.relpath(one, folder)
            for one in sorted(siblings.paths)
            if any(is_shared_document(held.value) for held in siblings.documents(one))
        ]
        close = nearest(name, shared)
        return _unresolved(
            f"there is no file `{path}`",
            "not a file in the specs folder",
            *((f"did you mean `{close}`?",) if close else ()),
        )
    if not documents:
        return _unresolved(f"nothing in `{path}` can be read", "no document in this file")
    if len(documents) != 1 or not is_shared_document(documents[0].value):
        return _unresolved(
            f"`{path}` is not a file of shared schemas",
            "holds more than one document" if len(documents) > 1 else "not a file of `$defs` alone",
            "put the schema under `$defs:` in a file that has nothing else",
        )
    return documents[0]


def _within(ref: str, root: Any, ours: bool, shared: bool) -> Pointer | Refusal:
    """Follow the fragment of ``ref`` through the schema ``root``."""
    if not _URI.fullmatch(ref):
        return _unresolved(
            f"`{ref}` is not a valid URI reference",
            "a character that must be escaped",
            f"write `{quote(unquote(ref), safe=_SAFE)}`",
        )
    text = unquote(ref[1:])
    if text == "":
        if shared:
            return _unresolved(
                "the `$ref` names a whole file of shared schemas",
                "names no schema in it",
                "name one: `#/$defs/...`",
            )
        return ()
    if not text.startswith("/"):
        return _anchor(text, root)
    if _BAD_ESCAPE.search(text):
        return _unresolved(
            f"`{ref}` is not a JSON pointer",
            "`~` must be followed by 0 or 1",
            "write `~0` for `~`, and `~1` for `/` in a name",
        )
    tokens = [one.replace("~1", "/").replace("~0", "~") for one in text[1:].split("/")]
    return _follow(ref, tokens, root, ours)


def _anchor(name: str, root: Any) -> Pointer | Refusal:
    names = []
    for pointer, schema in subschemas(root):
        if isinstance(schema, dict) and "$anchor" in schema:
            if schema["$anchor"] == name:
                return pointer
            names.append(schema["$anchor"])
    defined = root.get("$defs") if isinstance(root, dict) else None
    last = name.removeprefix("$defs/").removeprefix("definitions/")
    if isinstance(defined, dict) and last in defined:
        help = f"did you mean `{fragment(('$defs', last))}`?"
    else:
        close = nearest(name, [one for one in names if isinstance(one, str)])
        help = f"did you mean `#{close}`?" if close else "a JSON pointer begins with `#/`"
    return _unresolved(f"`#{name}` names no `$anchor`", "no such anchor", help)


def _follow(ref: str, tokens: list[str], root: Any, ours: bool) -> Pointer | Refusal:
    node: Any = root
    done: list[str | int] = []
    place = "schema"  # what stands at ``done``: a schema, a map or list of them, or data
    for nth, token in enumerate(tokens):
        step: str | int = token
        if isinstance(node, dict) and token in node:
            pass
        elif isinstance(node, list) and _INDEX.fullmatch(token) and int(token) < len(node):
            step = int(token)
        else:
            return _lost(ref, tokens, nth, tuple(done), node, root)
        if place == "schema":
            place = HOLDS.get(token, "data") if step == token else "data"
            if place == "schema" and isinstance(node[step], list):
                place = "list"
            elif place == "data" and token not in KNOWN:
                place = "unknown"
        elif place in ("map", "list"):
            place = "schema"
        node = node[step]
        done.append(step)
    if not isinstance(node, dict | bool):
        return _unresolved(f"`{ref}` does not point at a schema", "a plain value stands there")
    if ours and place in ("map", "list", "data"):
        what = "a map of schemas" if place == "map" else "data"
        inner = next(iter(node), None) if isinstance(node, dict) else None
        return _unresolved(
            f"`{ref}` points at {what}, not at a schema",
            f"{what}, not a schema",
            *((f"name one in it, such as `{ref}/{_escaped(inner)}`",) if inner else ()),
        )
    return tuple(done)


def _lost(ref: str, tokens: list[str], nth: int, done: Pointer, node: Any, root: Any) -> Refusal:
    message = f"`{ref}` points at nothing"
    token = tokens[nth]
    where = f"`{fragment(done)}`" if done else "the schema"
    label = f"{where} has no `{token}`"
    if not isinstance(node, dict):
        return _unresolved(message, label)
    if tokens[0] in ("parameters", "output_schema") and nth == 0:
        inner = _follow(ref, tokens[1:], root, False)
        if not isinstance(inner, Refusal):
            return _unresolved(
                message,
                label,
                f"`#` is the schema itself, not the file: write `{fragment(inner)}`",
            )
    for other in ("$defs", "definitions"):
        held = root.get(other)
        if isinstance(held, dict) and tokens[-1] in held and tokens[0] != other:
            return _unresolved(message, label, f"did you mean `{fragment((other, tokens[-1]))}`?")
    close = nearest(token, node)
    if close is None:
        return _unresolved(message, label)
    return _unresolved(
        message, label, f"did you mean `{fragment((*done, close, *tokens[nth + 1 :]))}`?"
    )


def schema_at(root: Schema, pointer: Pointer) -> Schema:
    """The schema at a pointer that `resolve` found."""
    node: Any = root
    for step in pointer:
        node = node[step]
    return node  # type: ignore[no-any-return]


def target_in(root: Schema, ref: str) -> Schema | None:
    """The schema that a ref into ``root`` itself points at, if there is one."""
    found = _within(ref, root, False, False) if ref.startswith("#") else None
    return schema_at(root, found) if isinstance(found, tuple) else None
