"""The three shapes of a handler, told apart by its signature.

- ``typed``: the first parameter is annotated with the tool's generated argument class;
- ``plain``: the first parameter takes the arguments as a ``dict``;
- ``keyword``: each property of the schema is a parameter of its own.

Whatever the shape, `adapt` gives the one form that a call uses: ``(arguments, **context)``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import UnionType
from typing import Any, Literal, TypeAlias, Union

from hermes_build.runtime.errors import Refusal
from hermes_build.runtime.pointers import resolve

ShapeKind: TypeAlias = Literal["typed", "plain", "keyword"]
Function: TypeAlias = Callable[..., Any]

_DICTS = ("dict", "Dict", "Mapping", "MutableMapping", "JsonObject", "Any")
_PLAIN_NAMES = ("args", "arguments", "params", "kwargs", "_args", "_")


@dataclass(frozen=True, slots=True)
class Shape:
    """How a function takes arguments and context.

    ``annotation`` is that of the first positional parameter: resolved where it can be, else its
    text, else None. ``keywords`` are the parameters that take properties (keyword shape) or context
    (other shapes). ``takes_any_context`` tells of a ``**`` parameter.
    """

    kind: ShapeKind
    annotation: Any
    keywords: Mapping[str, inspect.Parameter]
    takes_any_context: bool


@dataclass(frozen=True, slots=True)
class Binding:
    """A handler that fits its tool. ``call`` takes ``(arguments, **context)``.

    ``module`` is where the function was written. ``registrar`` is the tool's handler module, where
    that registered it, and None where anybody else did. ``execution`` tells one run of the code of
    the registrar, or else of the module, from the next.
    """

    tool: str
    function: Function
    call: Function
    is_async: bool
    check_fn: Callable[[], bool] | None
    dynamic_schema_overrides: Callable[[], dict[str, Any]] | None
    module: str
    execution: object
    place: tuple[str, int]
    registrar: str | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the module that registered it was imported to its end, as far as one did."""
        return self.registrar is None or is_imported(self.registrar) is True


def is_imported(module: str) -> bool | None:
    """Whether a module was imported to its end; False while it is being imported, None before."""
    present = sys.modules.get(module)
    if present is None:
        return None
    return not getattr(getattr(present, "__spec__", None), "_initializing", False)


def read_shape(function: Function, properties: Mapping[str, Any], arguments: Any = None) -> Shape:
    """Tell a handler's shape.

    Args:
        function: the handler.
        properties: those of the tool's parameters.
        arguments: the tool's generated argument class, where it is known.
    """
    try:
        parameters = list(signature_of(function).parameters.values())
    except (TypeError, ValueError):  # built in, without a signature: nothing can be told
        return Shape("plain", None, {}, True)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    spreads = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    any_context = any(p.kind is p.VAR_KEYWORD for p in parameters)
    first = positional[0] if positional else None
    annotation = None if first is None else _annotation(function, first)
    if first is None:
        kind: ShapeKind = "plain" if spreads else "keyword"
    elif annotation is not None and (annotation is arguments or owner_of(annotation) is not None):
        kind = "typed"
    elif _is_dict(annotation):
        kind = "plain"
    elif annotation is None and first.name in _PLAIN_NAMES:
        # A property may be called `args` too; beside parameters of other properties, it is meant.
        others = any(p.name in properties for p in positional[1:] + named)
        kind = "keyword" if first.name in properties and others else "plain"
    elif first.name in properties or annotation in (str, int, float, bool, list):
        kind = "keyword"
    else:
        kind = "typed" if _is_class(annotation) else "plain"
    rest = named if kind != "keyword" and spreads else positional[kind != "keyword" :] + named
    return Shape(kind, annotation, {p.name: p for p in rest}, any_context)


def signature_of(function: Function) -> inspect.Signature:
    """A function's signature, whatever its annotations name.

    Raises:
        TypeError, ValueError: where there is none, as for some built-in functions.
    """
    try:
        return inspect.signature(function)
    except NameError:
        # Python 3.14 evaluates annotations here, and some are there for type checkers only.
        options: dict[str, Any] = {
            "annotation_format": import_module("annotationlib").Format.STRING
        }
        return inspect.signature(function, **options)


def adapt(shape: Shape, function: Function, properties: Mapping[str, Any]) -> Function:
    """The function in the form ``(arguments, **context)``; itself where it has that form."""
    if shape.kind == "keyword":
        return _by_keyword(shape, function, frozenset(properties))
    validate = getattr(shape.annotation, "model_validate", None) if shape.kind == "typed" else None
    if shape.takes_any_context:
        if validate is None:
            return function
        return lambda args, **context: function(validate(args), **context)
    names = tuple(shape.keywords)

    def call(args: Any, **context: Any) -> Any:
        if validate is not None:
            args = validate(args)
        return function(args, **{name: context[name] for name in names if name in context})

    return call


def _by_keyword(shape: Shape, function: Function, properties: frozenset[str]) -> Function:
    names = frozenset(shape.keywords) - properties

    def call(args: dict[str, Any], **context: Any) -> Any:
        if not args.keys() <= properties:
            surplus = ", ".join(sorted(args.keys() - properties))
            raise Refusal(f"Unexpected arguments: {surplus}.")
        if not context:
            return function(**args)
        # A property of the schema is the model's to give, or absent; context never stands in.
        wanted = context.keys() - properties if shape.takes_any_context else names
        return function(**{key: context[key] for key in wanted if key in context}, **args)

    return call


def root_properties(schema: dict[str, Any]) -> dict[str, Any]:
    """The properties of a schema's root, with those of its local ``$ref`` and ``allOf``."""
    found: dict[str, Any] = {}
    for _, node in resolve(schema, "", schema):
        properties = node.get("properties")
        if isinstance(properties, dict):
            found = {**properties, **found}
    return found


def root_required(schema: dict[str, Any]) -> frozenset[str]:
    """The names that a schema's root requires, with those of its local ``$ref`` and ``allOf``."""
    return frozenset(
        name
        for _, node in resolve(schema, "", schema)
        if isinstance(node.get("required"), list)
        for name in node["required"]
    )


def owner_of(annotation: Any) -> Any:
    """The ``implements`` object of the generated module that a class comes from, or None."""
    module = sys.modules.get(getattr(annotation, "__module__", None) or "")
    owner = getattr(module, "implements", None)
    return owner if hasattr(owner, "is_generated_for") else None


def is_coroutine_function(function: Any) -> bool:
    """Whether calling a function gives a coroutine, as far as can be told without calling it."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 (the method is looked at, not tested for)
    )


def is_generator_function(function: Any) -> bool:
    """Whether calling a function gives a generator, sync or async: never a result."""
    while isinstance(function, partial):
        function = function.func
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def source_of(function: Any) -> tuple[str, str, int]:
    """The module, the file and the line where a callable was written; 0 for an unknown line."""
    inner = _written(function)
    module = getattr(inner, "__module__", None) or getattr(function, "__module__", None)
    code = getattr(inner, "__code__", None)
    if code is not None:
        return str(module), code.co_filename, code.co_firstlineno
    file = getattr(sys.modules.get(str(module)), "__file__", None)
    return str(module), file or f"<{module}>", 0


def _written(function: Any) -> Any:
    """The function in the source behind partials, wrappers, methods and callable objects."""
    while isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(function) if callable(function) else function
    function = getattr(function, "__func__", function)
    if hasattr(function, "__code__") or isinstance(function, type):
        return function
    return type(function).__call__ if callable(function) else function


def _annotation(function: Function, parameter: inspect.Parameter) -> Any:
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return None
    if not isinstance(annotation, str):
        return annotation
    try:
        # What `from __future__ import annotations` left as text is the module's own expression.
        return eval(annotation, getattr(_written(function), "__globals__", {}))
    except Exception:  # foreign code: names may be imported for type checkers only
        return annotation


def _is_class(annotation: Any) -> bool:
    """Whether an annotation is a class, or reads like one that was generated."""
    if isinstance(annotation, str):
        return annotation.endswith("Args")
    return isinstance(annotation, type)


def _is_dict(annotation: Any) -> bool:
    members = getattr(annotation, "__args__", ())
    if isinstance(annotation, UnionType) or getattr(annotation, "__origin__", None) is Union:
        return any(_is_dict(one) for one in members)
    if isinstance(annotation, str):
        return annotation.split("[")[0].rpartition(".")[2] in _DICTS
    origin = getattr(annotation, "__origin__", annotation)
    return annotation is Any or origin in (dict, Mapping, MutableMapping, object)
