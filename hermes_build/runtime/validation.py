"""Holding a call's arguments, or a result, against the schema of its tool.

`jsonschema_rs` decides: it alone follows JSON Schema 2020-12 throughout. ``format`` is an
annotation in that specification, and stays one here: what it calls a hint must not refuse a call.
``1.0`` fits an integer, as it says, and is handed on as it came. References are never fetched from
anywhere.
"""

from __future__ import annotations

from hermes_build.runtime.defaults import make_plan
from hermes_build.runtime.errors import Refusal
from hermes_build.runtime.result import utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAX_DEPTH = 200
"""Levels of nesting in arguments: schemas that hold themselves recurse natively with each level."""

_SHOWN = 5
"""How many problems a refused call is told at once."""

_VALUE_CHARS = 80
"""How much of an offending value is shown."""

_MESSAGE_CHARS = 300
"""How much of one problem's own text is shown: an enum may list thousands of members."""

_ABOUT_NAMES = frozenset(
    {"required", "dependentRequired", "additionalProperties", "unevaluatedProperties"}
)
_ROOT = "urn:hermes-build:schema"
_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})


class Arguments:
    """The gate in front of one tool's handler.

    ``fit_as_they_are`` tells, as quickly as can be, that arguments can be handed on without a
    change; it says no, or raises ValueError, where `accept` must look more closely.
    """

    __slots__ = ("_fill", "_flat", "_is_valid", "_name", "_validator", "fit_as_they_are")

    def __init__(self, name: str, schema: dict[str, Any]) -> None:
        from jsonschema_rs import Draft202012Validator

        self._name = name
        # Messages of the library begin with the value, which may be a whole file: masked here,
        # it is shown shortened at the end instead.
        self._validator = Draft202012Validator(schema, offline=True, mask="the value")
        self._is_valid = self._validator.is_valid
        plan = make_plan(schema, subschema_check(schema))
        self._fill = plan.fill if plan else None
        self._flat = plan.defaults if plan and plan.is_flat else {}
        strict = None if plan and not plan.is_flat else _strict(schema, self._flat)
        # Most calls carry a flat object that lacks nothing. One look by a compiled validator tells
        # so: its cost is most of a call's, so that there is nothing around it.
        self.fit_as_they_are: Callable[[Any], bool] = (
            _never if strict is None else Draft202012Validator(strict, offline=True).is_valid
        )

    def accept(self, args: Any) -> dict[str, Any]:
        """The arguments as a handler gets them: missing defaults filled in, all else untouched.

        The caller's own object is returned where nothing was missing, and is never changed.

        Raises:
            Refusal: when they do not fit the schema; its message is for the model.
        """
        if self._flat and args.__class__ is dict:
            # What was sent keeps its order and its values; what was missing comes behind.
            merged: dict[str, Any] = args | self._flat | args
            try:
                if self.fit_as_they_are(merged):
                    return merged
            except ValueError:  # what is wrong with it is found below
                pass
        value = _wholesome(self._as_object(args))
        filled = value if self._fill is None else self._fill(value)
        try:
            if self._is_valid(filled):
                return filled
            # A default may clash with what else is there (`maxProperties`, `dependentRequired`):
            # a call that is right as it stands is then handed on as it stands.
            if filled is not value and self._is_valid(value):
                return value
            problems = [_sentence(one) for one in self._validator.iter_errors(filled)]
        except ValueError as error:
            raise Refusal(f"Invalid arguments for {self._name}: not JSON ({error}).") from None
        shown = problems[:_SHOWN]
        if len(problems) > _SHOWN:
            shown.append(f"and {len(problems) - _SHOWN} more")
        raise Refusal(f"Invalid arguments for {self._name}: {'; '.join(shown)}.")

    def _as_object(self, args: Any) -> dict[str, Any]:
        if args is None:
            return {}
        if isinstance(args, dict):
            return args
        raise Refusal(
            f"Arguments of {self._name} must be a JSON object, not {type(args).__name__}."
        )


def _strict(schema: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any] | None:
    """A schema for the arguments that can be handed on as they came; None where it cannot be told.

    It demands what could be filled in, admits no nesting, and looks at the characters of each text:
    matching an empty pattern makes the validator refuse a lone surrogate.
    """
    if schema.get("additionalProperties") is not False or "patternProperties" in schema:
        return None
    properties = {}
    for name, part in schema.get("properties", {}).items():
        if not isinstance(part, dict):
            return None
        if "enum" in part or "const" in part:
            members = part.get("enum", [part.get("const")])
            if any(isinstance(one, dict | list) for one in members):
                return None
            properties[name] = part
            continue
        kinds = part.get("type", ["object"])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if not _SCALARS.issuperset(kinds):
            return None
        needs_look = "string" in kinds and "pattern" not in part
        properties[name] = {**part, "pattern": ""} if needs_look else part
    required = [*schema.get("required", ()), *defaults]
    strict = {**schema, "properties": properties}
    return {**strict, "required": list(dict.fromkeys(required))} if required else strict


def _never(_: object) -> bool:
    return False


def subschema_check(root: dict[str, Any]) -> Callable[[str, Any], bool]:
    """A function that tells whether a value fits the subschema at a JSON pointer of ``root``."""
    from jsonschema_rs import Draft202012Validator, Registry

    registry: list[Registry] = []

    def fits(pointer: str, value: Any) -> bool:
        from urllib.parse import quote

        try:
            if not registry:
                # A root that names itself would answer to its own name only.
                anonymous = {key: part for key, part in root.items() if key != "$id"}
                registry.append(Registry([(_ROOT, anonymous)]))
            reference = {"$ref": f"{_ROOT}#{quote(pointer)}"}
            return Draft202012Validator(reference, registry=registry[0], offline=True).is_valid(
                value
            )
        except ValueError:  # the reference, or the value, is not one that JSON Schema can judge
            return False

    return fits


def output_check(schema: dict[str, Any] | bool) -> Callable[[Any], bool]:
    """A function that tells whether a result fits an ``output_schema``."""
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(schema, offline=True).is_valid


def _sentence(error: Any) -> str:
    """Where, what is demanded, and what was there instead, each short enough to read."""
    path = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in error.instance_path)
    message = shorten_text(error.message, _MESSAGE_CHARS)
    if error.kind.name == "anyOf" or error.kind.name == "oneOf":
        branches = dict.fromkeys(
            str(one[0].message) for one in error.kind.as_dict()["context"] if one
        )
        message += shorten_text(f" ({'; '.join(branches)})", _MESSAGE_CHARS) if branches else ""
    # These name the properties that they speak of; the object around them is no help.
    if error.kind.name not in _ABOUT_NAMES:
        message += f", and is {shorten(error.instance)}"
    return utf8(f"{path.lstrip('.')}: {message}" if path else message)


def shorten(value: Any) -> str:
    """A value as JSON, cut to what a message can carry."""
    from json import dumps

    try:
        return shorten_text(dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return f"a value of type {type(value).__name__}"


def shorten_text(text: Any, limit: int = _VALUE_CHARS) -> str:
    """Text cut in the middle of nothing: its beginning, and how much was left out."""
    text = str(text)
    left = len(text) - limit
    return text if left <= 0 else f"{text[:limit]}… ({left} more characters)"


def _wholesome(value: dict[str, Any]) -> dict[str, Any]:
    """The arguments without lone surrogates; themselves where there are none.

    Raises:
        Refusal: when they are nested too deeply for a validator to survive.
    """
    cleaned = _clean(value, 0)
    assert isinstance(cleaned, dict)
    return cleaned


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return utf8(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if depth > MAX_DEPTH:
        raise Refusal(f"Arguments are nested more than {MAX_DEPTH} levels deep.")
    if isinstance(value, dict):
        items = {_clean(k, depth): _clean(v, depth + 1) for k, v in value.items()}
        changed = any(
            new is not old or key is not before
            for (key, new), (before, old) in zip(items.items(), value.items(), strict=False)
        ) or len(items) != len(value)
        return items if changed else value
    elements = [_clean(one, depth + 1) for one in value]
    return elements if any(a is not b for a, b in zip(elements, value, strict=True)) else value
