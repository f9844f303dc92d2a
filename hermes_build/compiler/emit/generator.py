"""The one home of datamodel-code-generator: definitions in, the text of one module a unit out.

A call costs 2 ms before it does anything, so units travel in batches, each unit under a module name
of its own. The text of a unit depends on that unit alone: a failing one is taken out of its batch
and the rest is run again.
"""

from __future__ import annotations

import gc
import multiprocessing
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from datamodel_code_generator import generate
from datamodel_code_generator.config import GenerateConfig
from datamodel_code_generator.enums import DataModelType, InputFileType
from datamodel_code_generator.format import (
    Formatter,
    PythonVersion,
    apply_builtin_formatter,
)
from datamodel_code_generator.parser import LiteralType

from hermes_build.compiler.emit.naming import Kind

CHUNK = 128
"""Units a call: 32 to 512 cost the same within a tenth; a failing one costs a retry of these."""

_LINE_LENGTH = 100
# Without this, the generator reads the nearest pyproject.toml at or above the current folder.
_SETTINGS = Path(__file__).resolve().parent / "settings"
_In = TypeVar("_In")
_Out = TypeVar("_Out")


@dataclass(frozen=True, slots=True)
class Failed:
    """Why the generator gave no text for a unit."""

    reason: str


@cache
def configuration(kind: Kind) -> GenerateConfig:
    """Return the generator's options for one kind of model."""
    common: dict[str, Any] = {
        "input_file_type": InputFileType.JsonSchema,
        "schema_version": "2020-12",
        "target_python_version": PythonVersion.PY_311,
        "class_name": "HermesUnusedRoot",
        "treat_dot_as_module": True,
        "allow_remote_refs": False,
        "strict_refs": True,
        "enum_field_as_literal": LiteralType.All,
        "settings_path": _SETTINGS,
        "builtin_format_line_length": _LINE_LENGTH,
        "disable_timestamp": True,
        # An empty header would bring the generator's own, which names its version.
        "custom_file_header": "#",
        "use_double_quotes": True,
        "use_schema_description": True,
        "use_single_line_docstring": True,
    }
    if kind == "pydantic":
        return GenerateConfig(
            **common,
            formatters=[Formatter.BUILTIN],
            output_model_type=DataModelType.PydanticV2BaseModel,
            use_annotated=True,
            strict_nullable=True,
        )
    return GenerateConfig(
        **common,
        # Formatting is a quarter of a batch, and most of these texts need none: see `_formatted`.
        formatters=[],
        output_model_type=DataModelType.TypingTypedDict,
        # PEP 728 would make typing_extensions a dependency of generated code.
        use_closed_typed_dict=False,
        # By default the key `_x` silently becomes `field_x`, and a TypedDict has no aliases.
        special_field_name_prefix="",
        use_field_description=True,
    )


def generate_texts(units: Sequence[Mapping[str, Any]], kind: Kind) -> list[str | Failed]:
    """Return one module text, or a failure, for each unit of prepared definitions, in order."""
    return _solve(list(units), configuration(kind))


def _solve(units: list[Mapping[str, Any]], config: GenerateConfig) -> list[str | Failed]:
    if not units:
        return []
    try:
        return list(_batch(units, config))
    except (OSError, MemoryError):  # no schema is to blame, and none must lose its stub
        raise
    except Exception as error:  # The generator raises many kinds, down to RecursionError.
        message = f"{type(error).__name__}: {error}"
    if len(units) == 1:
        return [Failed(re.sub(r"\bm0\.", "", message)[:500])]
    named = re.search(r"(?:#/\$defs/|no module )m(\d+)\b", message)
    if named and int(named[1]) < len(units):
        at = int(named[1])
        rest = _solve(units[:at] + units[at + 1 :], config)
        return rest[:at] + _solve(units[at : at + 1], config) + rest[at:]
    half = len(units) // 2
    return _solve(units[:half], config) + _solve(units[half:], config)


def _batch(units: list[Mapping[str, Any]], config: GenerateConfig) -> Iterator[str]:
    definitions = {
        f"m{number}.{name}": _placed(node, f"#/$defs/m{number}.")
        for number, unit in enumerate(units)
        for name, node in unit.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modules = generate({"$defs": definitions}, config=config)
    if not isinstance(modules, dict):
        raise ValueError("the generator gave a single module")
    if len(modules) != len(units) + 1:
        raise ValueError("the generator gave a module that was not asked for")
    for number in range(len(units)):
        text = modules.get((f"m{number}.py",))
        if not isinstance(text, str):
            raise ValueError(f"no module m{number}")
        yield text if config.formatters else _formatted(text)


def _formatted(text: str) -> str:
    """Return an unformatted text as the generator's own formatter would have laid it out.

    It sets quotes, wraps long lines and spaces definitions: a lone class with neither needs none.
    """
    lines = text.split("\n")
    definitions = [line for line in lines if line[:1].isalpha() and not line.startswith("from ")]
    described = '):\n    """' in text
    if len(definitions) == 1 and not described and not any(map(_needs_formatting, lines)):
        return text
    return apply_builtin_formatter(
        text,
        line_length=_LINE_LENGTH,
        string_normalization=True,
        python_version=PythonVersion.PY_311,
    )


def _needs_formatting(line: str) -> bool:
    return ("'" in line or len(line) > _LINE_LENGTH) and not line.lstrip().startswith('"""')


def _placed(node: Any, prefix: str) -> Any:
    """Return a definition whose references lead to this batch's name of their unit."""
    if node.__class__ is dict:
        return {
            name: prefix + one[1:]
            if name == "$ref"
            else {key: _placed(value, prefix) for key, value in one.items()}
            if name == "properties"
            else [_placed(value, prefix) for value in one]
            if name == "anyOf"
            else _placed(one, prefix)
            if name in ("items", "additionalProperties")
            else one
            for name, one in node.items()
        }
    return node


@contextmanager
def own_garbage() -> Iterator[None]:
    """Collect cyclic garbage once, at the end, and only what came into being inside.

    The generator and what it imports are half a million objects; looking through them again and
    again, as the collector does by itself, costs a twentieth of a batch.
    """
    was = gc.isenabled()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        gc.unfreeze()
        if was:
            gc.enable()


def spread(work: Callable[[_In], _Out], parts: Sequence[_In], jobs: int) -> list[_Out]:
    """Return ``work`` of every part, in order, in up to ``jobs`` processes.

    ``work`` is a function of a module, since it may have to be pickled.
    """
    jobs = min(jobs, len(parts))
    if jobs <= 1:
        return [work(part) for part in parts]
    forks = "fork" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if forks else "spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        return list(pool.map(work, parts))
