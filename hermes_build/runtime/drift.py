"""Holding one registration against the spec of its tool: every difference, with both places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any

from hermes_build.runtime.nearest import did_you_mean
from hermes_build.runtime.shapes import (
    Shape,
    is_coroutine_function,
    is_generator_function,
    owner_of,
    root_properties,
    root_required,
    signature_of,
)

_SCHEMA_DIFFERENCES = 8
"""How many differing places of one passed schema are listed."""

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Claim:
    """What one registration says about itself; None where it says nothing.

    ``arguments``, ``stub`` and ``digest`` come from the generated ``implements`` object: its
    argument class, its tool and the digest of the schema that it was made from.
    """

    tool: str
    function: Any
    toolset: str | None = None
    schema: Any = None
    is_async: bool = False
    requires_env: Any = None
    check_fn: Any = None
    dynamic_schema_overrides: Any = None
    arguments: Any = None
    digest: str | None = None


def claims_async(claim: Claim) -> bool:
    """Whether a registration is of an async handler: seen, or said where it cannot be seen."""
    return is_coroutine_function(claim.function) or claim.is_async


def differences(
    claim: Claim,
    shape: Shape,
    record: Mapping[str, Any],
    fits: Callable[[str, Any], bool],
) -> Iterator[tuple[str, str]]:
    """Every difference, as its kind and its sentence.

    Args:
        fits: tells whether a value fits the subschema at a pointer of the tool's parameters.
    """
    yield from _toolset(claim, record)
    yield from _schema(claim, record)
    yield from _async(claim, record)
    yield from _callables(claim, record)
    yield from _argument_class(claim, shape, record)
    if shape.kind == "keyword":
        yield from _keywords(shape, record["schema"]["parameters"], fits)
    else:
        yield from _rest_of_signature(shape)


def _toolset(claim: Claim, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    declared = record.get("toolset")
    if claim.toolset is not None and claim.toolset != declared:
        yield (
            "toolset",
            f"registered in toolset {claim.toolset!r}, and declared in {declared!r}",
        )


def _schema(claim: Claim, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    passed = claim.schema
    if passed is None:
        return
    if not isinstance(passed, Mapping):
        yield "schema", f"`schema` must be a dict, not {type(passed).__name__}"
    elif "parameters" not in passed and ("properties" in passed or passed.get("type") == "object"):
        yield (
            "bare-schema",
            (
                "`schema` is a bare JSON Schema; pass the function object "
                '{"name": ..., "description": ..., "parameters": <this schema>}, or leave it out'
            ),
        )
    elif "function" in passed and "parameters" not in passed:
        yield "schema", '`schema` is a whole definition; pass what is under its "function"'
    else:
        found = list(_unequal(passed, record["schema"], ""))
        for pointer, ours, theirs in found[:_SCHEMA_DIFFERENCES]:
            yield (
                "schema",
                (
                    f"`schema` differs at {pointer or '/'}: {_show(ours)} in the handler, "
                    f"{_show(theirs)} in the spec"
                ),
            )
        if len(found) > _SCHEMA_DIFFERENCES:
            yield "schema", f"`schema` differs at {len(found) - _SCHEMA_DIFFERENCES} more places"


def _async(claim: Claim, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if is_generator_function(claim.function):
        yield "async", "the handler is a generator function; it must return its result"
        return
    declared = record.get("is_async")
    actual = claims_async(claim)
    if declared is True and not actual:
        yield (
            "async",
            (
                "the spec says `is_async: true`, and the handler is not a coroutine function "
                "(write `async def`, or pass is_async=True for a function that returns a coroutine)"
            ),
        )
    elif declared is False and actual:
        yield "async", "the spec says `is_async: false`, and the handler is async"


def _callables(claim: Claim, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    needed = record.get("requires", {}).get("check", False)
    if claim.check_fn is None:
        if needed:
            yield (
                "check-missing",
                "the spec says `requires.check: true`, and no check_fn is passed",
            )
    else:
        yield from _plain_callable("check_fn", claim.check_fn)
        if not needed:
            yield (
                "check-surplus",
                "a check_fn is passed, and the spec does not say `requires.check: true`",
            )
    if claim.dynamic_schema_overrides is not None:
        yield from _plain_callable("dynamic_schema_overrides", claim.dynamic_schema_overrides)
        if not record.get("dynamic"):
            yield (
                "dynamic-surplus",
                "dynamic_schema_overrides is passed, and the spec lists nothing under `dynamic`",
            )
    names = claim.requires_env
    if names is not None and (
        isinstance(names, str) or not all(isinstance(one, str) for one in _items(names))
    ):
        yield "requires-env", "`requires_env` must be a list of names of environment variables"


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [None]


def _plain_callable(name: str, function: Any) -> Iterator[tuple[str, str]]:
    kind = name.replace("_", "-")
    if not callable(function):
        yield kind, f"{name} must be callable, not {type(function).__name__}"
        return
    if is_coroutine_function(function) or is_generator_function(function):
        yield kind, f"{name} must be a plain function: it is called without an event loop"
        return
    try:
        signature_of(function).bind()
    except TypeError:
        yield kind, f"{name} is called without arguments, and demands some"
    except ValueError:  # built in, without a signature: nothing can be told
        return


def _argument_class(
    claim: Claim, shape: Shape, record: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    tool = claim.tool
    if claim.digest is not None and claim.digest != record.get("digest"):
        yield (
            "args-digest",
            "its generated module was made from another schema; run `hermes-build compile`",
        )
    annotation = shape.annotation
    if shape.kind != "typed" or annotation is None or annotation is claim.arguments:
        return
    if isinstance(annotation, str):
        # Type checkers see what cannot be evaluated here; without `implements` nobody does.
        if claim.arguments is None:
            yield "args-class", f"the annotation {annotation!r} cannot be evaluated at run time"
        return
    owner = owner_of(annotation)
    if owner is None:
        expected = "`dict`, or the generated `Args`"
        if claim.arguments is not None:
            expected = _class_name(claim.arguments)
        yield (
            "args-class",
            f"takes {_class_name(annotation)}, and the arguments of {tool} are {expected}",
        )
    elif not owner.is_generated_for(tool):
        yield (
            "args-class",
            f"takes {_class_name(annotation)}, the arguments of {owner.tool}, not of {tool}",
        )
    elif annotation is not owner.arguments:
        yield (
            "args-class",
            (
                f"takes {_class_name(annotation)}, a part of the arguments of {tool}: "
                f"the whole is {_class_name(owner.arguments)}"
            ),
        )
    elif claim.digest is None and owner.digest != record.get("digest"):
        yield (
            "args-digest",
            f"{_class_name(annotation)} was made from another schema; run `hermes-build compile`",
        )


def _class_name(kind: Any) -> str:
    return getattr(kind, "__name__", None) or str(kind)


def _rest_of_signature(shape: Shape) -> Iterator[tuple[str, str]]:
    for name, parameter in shape.keywords.items():
        if parameter.default is parameter.empty:
            yield (
                "surplus-parameter",
                (
                    f"the parameter `{name}` is not always passed: a handler gets its arguments "
                    "and whatever context there is; give it a default"
                ),
            )


def _keywords(
    shape: Shape, schema: dict[str, Any], fits: Callable[[str, Any], bool]
) -> Iterator[tuple[str, str]]:
    properties = root_properties(schema)
    required = root_required(schema)
    missing = [name for name in properties if name not in shape.keywords]
    for name in missing:
        if name.isidentifier() and not iskeyword(name):
            yield "missing-parameter", f"the handler has no parameter for the property `{name}`"
        else:
            yield (
                "keyword-name",
                f"the property {name!r} cannot be a Python parameter; take `args: dict` instead",
            )
    for name, parameter in shape.keywords.items():
        has_default = parameter.default is not parameter.empty
        if name not in properties:
            # A parameter with a default takes context; beside a missing one it may be misspelt.
            if not has_default or (missing and did_you_mean(name, missing)):
                hint = did_you_mean(name, missing or properties)
                yield (
                    "surplus-parameter",
                    f"the schema has no property for the parameter `{name}`.{hint}".rstrip("."),
                )
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            yield (
                "positional-only",
                f"the parameter `{name}` is positional only, and is passed by name",
            )
        part = properties[name]
        default = part.get("default", _ABSENT) if isinstance(part, dict) else _ABSENT
        if name in required and has_default:
            yield (
                "required",
                f"the schema requires `{name}`, and the handler has a default for it",
            )
        elif has_default and default is not _ABSENT and not equal(parameter.default, default):
            yield (
                "default",
                (
                    f"the default of `{name}` is {_show(parameter.default)} in the handler and "
                    f"{_show(default)} in the spec (it may be left out in the handler)"
                ),
            )
        elif name not in required and not has_default:
            pointer = f"/properties/{name.replace('~', '~0').replace('/', '~1')}"
            if default is _ABSENT or not fits(pointer, default):
                yield (
                    "required",
                    f"the schema does not require `{name}`, and the handler has no default for it",
                )


def equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal: ``1`` and ``1.0`` are, ``1`` and ``true`` are not."""
    return next(_unequal(left, right, ""), None) is None


def differing(left: Any, right: Any) -> Iterator[str]:
    """The JSON pointers at which two values differ, each as deep as it goes."""
    return (pointer for pointer, _, _ in _unequal(left, right, ""))


def _unequal(left: Any, right: Any, pointer: str) -> Iterator[tuple[str, Any, Any]]:
    """The places at which two JSON values differ, each as deep as it goes."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in dict.fromkeys([*left, *right]):
            inner = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
            if key in left and key in right:
                yield from _unequal(left[key], right[key], inner)
            else:
                yield inner, left.get(key, _ABSENT), right.get(key, _ABSENT)
    elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
        if len(left) != len(right):
            yield pointer, left, right
            return
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _unequal(one, other, f"{pointer}/{index}")
    elif isinstance(left, bool) is not isinstance(right, bool) or left != right:
        yield pointer, left, right


def _show(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
