"""A tool's record in digests, one for each kind of reader that a change can concern.

They are made of what the catalogue says of a tool, so that whoever has a catalogue and a lock can
hold one against the other, without the specs and without what compiles them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hermes_build.canonical import canonical, compact, digest, hexdigest, value_digest
from hermes_build.keywords import strip_prompt

_NOT_OBEYED = ("schema", "output_schema", "title", "module", "source", "digest")


@dataclass(frozen=True, slots=True)
class RecordDigests:
    """``args``, ``result``, ``prompt`` and ``runtime`` are the lock's.

    ``result`` is None without an output schema. ``schema`` is of both schemas whole, in hexadecimal
    digits, and ties a stub to the record that it was made from.
    """

    args: str
    result: str | None
    prompt: str
    runtime: str
    schema: str


def record_digests(record: dict[str, Any]) -> RecordDigests:
    """Return the digests of one tool, of which the catalogue has this record.

    Raises:
        KeyError: the record has no ``schema`` with ``parameters``.
        ValueError: a number in it is none of JSON's.
    """
    parameters, result = record["schema"]["parameters"], record.get("output_schema")
    schemas = {"parameters": parameters}
    if result is not None:
        schemas["output_schema"] = result
    obeyed = {key: value for key, value in record.items() if key not in _NOT_OBEYED}
    return RecordDigests(
        args=value_digest(strip_prompt(parameters)),
        result=None if result is None else value_digest(strip_prompt(result)),
        prompt=digest(compact([record["schema"], record.get("title")]).encode()),
        runtime=value_digest(obeyed),
        schema=hexdigest(canonical(schemas)),
    )
