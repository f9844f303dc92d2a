"""What a tool must be to be registered at run time, where no compiler has looked at it.

The rules are those of specs and of handlers that are bound to them; everything that is wrong with
a registration is told at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import isfunction, unwrap
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, TypeAlias

from hermes_build.ir import is_name
from hermes_build.layout import EVERY_TOOL
from hermes_build.runtime.drift import Claim, claims_async, differences
from hermes_build.runtime.errors import RegistrationError
from hermes_build.runtime.json_faults import not_a_schema, not_json
from hermes_build.runtime.mismatch import relative_path, show_place
from hermes_build.runtime.nearest import did_you_mean
from hermes_build.runtime.overlay import Registered
from hermes_build.runtime.pointers import resolve
from hermes_build.runtime.resolution import SERVER_PREFIX
from hermes_build.runtime.shapes import (
    Binding,
    adapt,
    is_coroutine_function,
    read_shape,
    root_properties,
    source_of,
)

if TYPE_CHECKING:
    from hermes_build.runtime.plugins import Plugin
    from hermes_build.runtime.registry import ToolRegistry

Problems: TypeAlias = Iterator[tuple[str, str]]

_HINTS = ("read_only", "destructive", "idempotent", "open_world")

_NAME_RULE = "1 to 64 letters, digits, `_` and `-`, and begins with a letter or `_`"


@dataclass(frozen=True, slots=True)
class Offer:
    """What a registration at run time says; see `hermes_build.runtime.plugins.Plugin.register`."""

    name: Any
    toolset: Any
    schema: Any
    handler: Any
    check_fn: Any = None
    requires_env: Any = None
    is_async: bool = False
    description: Any = ""
    emoji: Any = ""
    max_result_size_chars: Any = None
    dynamic_schema_overrides: Any = None
    output_schema: Any = None
    timeout_seconds: Any = None
    tags: Any = ()
    annotations: Any = None


def admit(registry: ToolRegistry, owner: Plugin, offer: Offer) -> Registered:
    """The tool that is offered, ready to be entered.

    Raises:
        RegistrationError: with everything that is wrong with it.
    """
    module, path, line = source_of(offer.handler)
    place = (relative_path(path, registry.root), line)
    where = place if callable(offer.handler) else None
    problems = [*_names(owner, offer), *_schema(offer), *_details(offer)]
    if not callable(offer.handler):
        kind = type(offer.handler).__name__
        problems.append(("handler", f"the handler must be callable, not {kind}"))
    if problems:
        raise RegistrationError(str(offer.name), *problems, place=where)
    record = _record(offer, place)
    claim = Claim(
        offer.name,
        offer.handler,
        is_async=offer.is_async,
        requires_env=offer.requires_env,
        check_fn=offer.check_fn,
        dynamic_schema_overrides=offer.dynamic_schema_overrides,
    )
    parameters = record["schema"]["parameters"]
    properties = root_properties(parameters)
    shape = read_shape(offer.handler, properties)

    def fits(pointer: str, value: Any) -> bool:
        from hermes_build.runtime.subschemas import subschema_check

        return subschema_check(parameters)(pointer, value)

    problems = [*differences(claim, shape, record, fits), *_flag(offer)]
    if problems:
        raise RegistrationError(offer.name, *problems, place=place)
    record["is_async"] = claims_async(claim)
    binding = Binding(
        tool=offer.name,
        function=offer.handler,
        call=adapt(shape, offer.handler, properties),
        is_async=record["is_async"],
        check_fn=offer.check_fn,
        dynamic_schema_overrides=offer.dynamic_schema_overrides,
        module=module,
        execution=None,
        place=place,
    )
    return Registered(record, binding, owner)


def _record(offer: Offer, place: tuple[str, int]) -> dict[str, Any]:
    """The tool in the form of a catalogue's record, without what it does not say."""
    passed = offer.schema
    schema = {
        "name": offer.name,
        "description": passed.get("description") or offer.description,
        "parameters": passed["parameters"],
        **{key: value for key, value in passed.items() if key not in ("name", "description")},
    }
    dynamic = offer.dynamic_schema_overrides is not None
    requires = {"env": list(offer.requires_env or ()), "check": offer.check_fn is not None}
    record = {
        "name": offer.name,
        "toolset": offer.toolset,
        "emoji": offer.emoji,
        "schema": schema,
        "requires": {key: value for key, value in requires.items() if value},
        "max_result_chars": offer.max_result_size_chars,
        "timeout_seconds": offer.timeout_seconds,
        "annotations": dict(offer.annotations or {}),
        "tags": list(offer.tags),
        "dynamic": ["/description", "/parameters"] if dynamic else [],
        "handler": "external",
        "source": show_place(place),
    }
    kept = {key: value for key, value in record.items() if value not in (None, "", [], {})}
    return kept if offer.output_schema is None else {**kept, "output_schema": offer.output_schema}


# What may be wrong.


def _names(owner: Plugin, offer: Offer) -> Problems:
    if not isinstance(offer.name, str) or not is_name(offer.name):
        yield "name", f"a tool's name is {_NAME_RULE}"
    toolset = offer.toolset
    if toolset in EVERY_TOOL:
        yield "toolset", f"the toolset name {toolset!r} means every tool; choose another"
    elif not isinstance(toolset, str) or not is_name(toolset):
        yield "toolset", f"a toolset's name is {_NAME_RULE}, and this is {toolset!r}"
    elif owner.toolset is not None and toolset != owner.toolset:
        yield "toolset", f"the tools of {owner.origin} are in the toolset {owner.toolset!r} alone"
    elif owner.toolset is None and toolset.startswith(SERVER_PREFIX):
        yield (
            "toolset",
            f"toolsets that begin with `{SERVER_PREFIX}` belong to MCP servers; choose another",
        )


def _schema(offer: Offer) -> Problems:
    passed = offer.schema
    function_object = '{"name": ..., "description": ..., "parameters": {...}}'
    if not isinstance(passed, dict):
        kind = "None" if passed is None else type(passed).__name__
        yield "schema", f"`schema` must be a dict of the form {function_object}, not {kind}"
    elif "parameters" not in passed and ("properties" in passed or passed.get("type") == "object"):
        yield (
            "bare-schema",
            f"`schema` is a bare JSON Schema; put it under `parameters` of {function_object}",
        )
    elif "parameters" not in passed and "function" in passed:
        yield "schema", '`schema` is a whole definition; pass what is under its "function"'
    elif "parameters" not in passed:
        yield (
            "parameters",
            (
                "`schema` has no `parameters`; a tool without any has "
                '{"type": "object", "properties": {}}'
            ),
        )
    elif fault := not_json(passed):
        yield "schema", f"`schema` is not JSON: {fault}"
    else:
        if passed.get("name", offer.name) != offer.name:
            yield (
                "schema-name",
                f"`schema` has the name {passed['name']!r}; leave it out, or write {offer.name!r}",
            )
        if not isinstance(passed.get("description", ""), str):
            yield "description", "the description in `schema` must be text"
        yield from _parameters(passed["parameters"])


def _parameters(parameters: Any) -> Problems:
    if not isinstance(parameters, dict):
        kind = type(parameters).__name__
        yield "parameters", f"`parameters` must be a JSON Schema of an object, not {kind}"
        return
    fault = not_a_schema(parameters)
    if fault:
        yield "parameters", f"`parameters` is not a JSON Schema: {fault}"
    elif not any(one.get("type") == "object" for _, one in resolve(parameters, "", parameters)):
        yield "parameters", 'the root of `parameters` must say `"type": "object"`'


def _details(offer: Offer) -> Problems:
    output = offer.output_schema
    if output is not None:
        fault = "" if isinstance(output, dict | bool) else "it is no dict"
        fault = fault or not_json(output) or not_a_schema(output)
        if fault:
            yield "output-schema", f"`output_schema` is not a JSON Schema: {fault}"
    for key in ("description", "emoji"):
        if not isinstance(getattr(offer, key), str):
            yield key, f"`{key}` must be text, not {type(getattr(offer, key)).__name__}"
        elif fault := not_json(getattr(offer, key)):
            yield key, f"`{key}` is not text that can be sent: {fault}"
    size = offer.max_result_size_chars
    if size is not None and not (_is_number(size) and size >= 0):
        yield "max-result-size", "`max_result_size_chars` must be a number of characters, or None"
    seconds = offer.timeout_seconds
    if seconds is not None and not (_is_number(seconds) and isfinite(seconds) and seconds > 0):
        yield "timeout", "`timeout_seconds` must be a number of seconds above 0, or None"
    names = offer.requires_env
    if isinstance(names, list | tuple) and not all(
        isinstance(one, str) and one and "=" not in one and "\0" not in one for one in names
    ):
        yield "requires-env", "`requires_env` must be a list of names of environment variables"
    tags = offer.tags
    if not isinstance(tags, list | tuple | set | frozenset) or not all(
        isinstance(one, str) and not not_json(one) for one in tags
    ):
        yield "tags", "`tags` must be a list of words"
    yield from _annotations(offer.annotations)


def _annotations(annotations: Any) -> Problems:
    if annotations is None:
        return
    if not isinstance(annotations, Mapping):
        yield "annotations", f"`annotations` must be a dict, not {type(annotations).__name__}"
        return
    for key, value in annotations.items():
        if key not in _HINTS:
            hint = did_you_mean(str(key), _HINTS).removesuffix("?")
            yield "annotations", f"`annotations` has no key {key!r}.{hint}".removesuffix(".")
        elif not isinstance(value, bool):
            yield "annotations", f"`annotations.{key}` must be True or False"


def _flag(offer: Offer) -> Problems:
    """A function that is plainly sync, and said to be async: its result could not be awaited.

    A lambda, a partial and a callable object may well return a coroutine, as may the wrapper of an
    async function.
    """
    function = offer.handler
    while isinstance(function, partial):
        function = function.func
    if not offer.is_async or not isfunction(function) or function.__name__ == "<lambda>":
        return
    if not is_coroutine_function(unwrap(function)):
        yield "async", "it is said to be async, and its handler is not (write `async def`)"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not isnan(value)
