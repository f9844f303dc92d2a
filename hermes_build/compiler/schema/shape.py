"""What can be said of each schema by itself: its keywords, its type names, its patterns."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import jsonschema_rs

from hermes_build.compiler.nearest import did_you_mean
from hermes_build.compiler.schema.part import Part
from hermes_build.ir import JsonObject
from hermes_build.keywords import (
    ALLOWED_EXTENSIONS,
    KNOWN,
    TYPES,
    Pointer,
    depth,
)
from hermes_build.nearest import nearest

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

MAX_DEPTH = 64
"""How many schemas may be inside each other; the deepest real one that we know has 11."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"

OLDER_DIALECTS = {
    f"http://json-schema.org/draft-0{nth}/schema": f"draft-0{nth}" for nth in (4, 6, 7)
} | {"https://json-schema.org/draft/2019-09/schema": "2019-09"}

_TYPE_WORDS = {
    **dict.fromkeys(
        ("dict", "dictionary", "map", "mapping", "hashmap", "struct", "json"), "object"
    ),
    **dict.fromkeys(("list", "tuple", "set", "arraylist", "sequence", "vector"), "array"),
    **dict.fromkeys(("str", "text", "char", "character", "varchar", "uuid", "date"), "string"),
    **dict.fromkeys(("int", "int32", "int64", "long", "short", "byte", "uint"), "integer"),
    **dict.fromkeys(("float", "double", "decimal", "numeric", "real", "num"), "number"),
    "bool": "boolean",
    **dict.fromkeys(("none", "nil", "nonetype", "void"), "null"),
}
_ANYTHING = ("any", "mixed", "unknown", "*")

_KEYWORD_HELP = {
    "#ref": "write `$ref`",
    "ref": "write `$ref`",
    "nullable": 'write `type: [..., "null"]`',
    "optional": "leave the property out of `required`",
    "discriminator": "it belongs to OpenAPI; give each branch a `const` property instead",
    "example": "write `examples: [...]`",
    "defs": "write `$defs`",
    "id": "remove it; a spec's schema is known by its tool",
    "$id": "remove it; a `$ref` then means this schema or a file beside it",
    "$recursiveRef": 'write `$ref: "#"`',
    "$recursiveAnchor": "remove it",
    "$dynamicRef": "write a plain `$ref`",
    "$dynamicAnchor": "write a plain `$ref` to a definition",
    "$vocabulary": "remove it; it belongs in metaschemas",
    "additionalItems": "write the leading schemas as `prefixItems` and this one as `items`",
    "dependencies": "write `dependentRequired` for names, or `dependentSchemas` for schemas",
    "divisibleBy": "write `multipleOf`",
    "extends": "write `allOf`",
    "disallow": "write `not`",
    "customTypePath": "it would choose what generated code imports",
    "customBasePath": "it would choose what generated code imports",
}

_OLDER = frozenset(("id", "dependencies", "additionalItems", "$recursiveRef", "$recursiveAnchor"))
_RARE = frozenset(("pattern", "patternProperties", "$schema"))
_SCHEMA_TYPES = frozenset(TYPES)


def check_depth(part: Part) -> bool:
    """Report a schema that is nested deeper than stubs can be made for."""
    for pointer, _ in part.nodes:
        if len(pointer) > MAX_DEPTH and depth(pointer) > MAX_DEPTH:
            part.report(
                "HB1115",
                f"more than {MAX_DEPTH} schemas are inside each other",
                *pointer,
                label="one too deep",
                help=("move the inner ones to `$defs`, and refer to them",),
            )
            return False
    return True


def check_shape(part: Part) -> bool:
    """Report unknown keywords, type names and patterns; return whether validation can go on."""
    sound = _dialect(part)
    known = KNOWN | _OLDER if older_dialect(part) else KNOWN
    for pointer, schema in part.nodes:
        if not isinstance(schema, dict):
            continue
        if not known.issuperset(schema):
            sound = _unknown(part, pointer, schema, schema.keys() - known) and sound
        kind = schema.get("type", "null")
        if kind.__class__ is not str or kind not in _SCHEMA_TYPES:
            sound = _type_names(part, pointer, kind) and sound
        if not _RARE.isdisjoint(schema):
            sound = _rare(part, pointer, schema) and sound
    return sound


def _rare(part: Part, pointer: Pointer, schema: JsonObject) -> bool:
    """Report regular expressions that do not compile, and a dialect inside a schema."""
    sound = True
    if "pattern" in schema:
        sound = _pattern(part, schema["pattern"], (*pointer, "pattern"), key=False)
    if isinstance(schema.get("patternProperties"), dict):
        for one in schema["patternProperties"]:
            place = (*pointer, "patternProperties", one)
            sound = _pattern(part, one, place, key=True) and sound
    if "$schema" in schema and pointer:
        # The engine resolves what is no whole URI against where the schema stands, and fails.
        named = isinstance(schema["$schema"], str) and _SCHEME.match(schema["$schema"])
        sound = bool(named) and sound
        part.report(
            "HB1109",
            "`$schema` may not be used inside a schema",
            *pointer,
            "$schema",
            key=True,
            label="a whole schema has one dialect",
            help=("remove it",),
            severity=None if named else "error",
        )
    return sound


def _dialect(part: Part) -> bool:
    """Judge ``$schema``; a schema that is not ours may be of a known older dialect."""
    declared = part.schema.get("$schema", DIALECT) if isinstance(part.schema, dict) else DIALECT
    named = declared.removesuffix("#") if isinstance(declared, str) else ""
    if named == DIALECT:
        return True
    older = OLDER_DIALECTS.get(named)
    part.report(
        "HB1101",
        f"the schema says that it is {older}" if older else "`$schema` names an unknown dialect",
        "$schema",
        label="not JSON Schema 2020-12",
        help=() if older and not part.ours else (f"remove `$schema`, or write `{DIALECT}`",),
        severity="info" if older and not part.ours else None,
    )
    return older is not None and not part.ours


def older_dialect(part: Part) -> bool:
    """Whether a schema from elsewhere is to be judged by an older dialect that it declares."""
    declared = part.schema.get("$schema") if isinstance(part.schema, dict) else None
    if part.ours or not isinstance(declared, str):
        return False
    return declared.removesuffix("#") in OLDER_DIALECTS


def _unknown(part: Part, pointer: Pointer, schema: JsonObject, unknown: set[str]) -> bool:
    """Report keywords that may not be used; return whether judging can go on without them."""
    sound = True
    for key in schema:  # in document order
        if key not in unknown or key in ALLOWED_EXTENSIONS:
            continue
        if key.startswith("x-"):
            if part.ours:
                part.report(
                    "HB1109",
                    f"the extension `{key}` is not one that specs may use",
                    *pointer,
                    key,
                    key=True,
                    label="no reader of the spec knows it",
                    help=("allowed: " + ", ".join(sorted(ALLOWED_EXTENSIONS)),),
                )
            continue
        if key == "$id" and pointer == () and not part.ours:
            continue  # names the schema, and changes no ref that we allow
        moves = key.startswith("$") and key in _KEYWORD_HELP
        if moves and (part.ours or key == "$id"):
            sound = False
        part.report(
            "HB1109",
            f"`{key}` may not be used here"
            if moves
            else f"`{key}` is not a keyword of JSON Schema 2020-12",
            *pointer,
            key,
            key=True,
            label="changes what `$ref` means" if moves else "would be ignored",
            help=(_KEYWORD_HELP[key],)
            if key in _KEYWORD_HELP
            else did_you_mean(key, KNOWN, part.findings),
            severity=None if sound else "error",
        )
    return sound


def _type_names(part: Part, pointer: Pointer, kind: Any) -> bool:
    """Report what ``type`` names that is no type; other mistakes are the metaschema's to tell."""
    if isinstance(kind, list):
        named = [((*pointer, "type", nth), one) for nth, one in enumerate(kind)]
    else:
        named = [((*pointer, "type"), kind)]
    sound = True
    for place, one in named:
        if one is None or (isinstance(one, str) and one not in _SCHEMA_TYPES):
            sound = False
            if pointer == () and kind is None and part.root_object:
                continue  # said of the root already: it must be an object
            part.report(
                "HB1114",
                f"`{one}` is not a JSON Schema type"
                if one is not None
                else "`type` holds the value null, not the name of a type",
                *place,
                label="expected one of " + ", ".join(TYPES),
                help=(_type_help(one),),
            )
    return sound


def _type_help(name: str | None) -> str:
    if name is None:
        return 'write `"null"`, in quotes'
    folded = name.casefold()
    if folded in _ANYTHING:
        return "leave `type` out: any value fits then"
    meant = _TYPE_WORDS.get(folded) or nearest(folded, TYPES)
    if folded in ("date", "uuid"):
        return f"write `string` with `format: {folded}`"
    return f"write `{meant}`" if meant else "see the types that a schema may have"


def _pattern(part: Part, pattern: Any, place: Pointer, *, key: bool) -> bool:
    if not isinstance(pattern, str) or compiles(pattern):
        return True
    part.report(
        "HB1111",
        "the regular expression cannot be compiled",
        *place,
        key=key,
        label="not a regular expression of ECMA-262",
        help=_pattern_help(pattern),
    )
    return False


def _pattern_help(pattern: str) -> tuple[str, ...]:
    if "\\Z" in pattern or "\\A" in pattern:
        return ("`\\A` and `\\Z` are Python's: write `^` and `$`",)
    if "(?P=" in pattern:
        return ("a named back reference is `\\k<name>`",)
    return ("in YAML, write patterns in single quotes: backslashes then stay as they are",)


@lru_cache(maxsize=4096)
def compiles(pattern: str) -> bool:
    """Whether the engine that validates at run time can compile a regular expression.

    It translates ECMA-262 syntax. Patterns without look-around or back references run in time
    linear in the text, and the rest stop at a bound on backtracking, so that no pattern hangs it.
    """
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, offline=True)
    except jsonschema_rs.ValidationError:
        return False
    return True
