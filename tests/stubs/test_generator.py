"""The generator takes bounded time, fetches nothing, and is asked for no more than is needed."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from datamodel_code_generator import Formatter

from hermes_build.compiler.emit import generator
from hermes_build.compiler.emit.naming import Kind
from hermes_build.compiler.emit.stubs import StubRequest, make_stubs
from tests.stubs.written import KINDS, stub, thing


@pytest.mark.parametrize("kind", KINDS)
def test_large_schemas_take_bounded_time(kind: Kind) -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(60):
        deep = thing(a=deep)
    too_deep = deep
    for _ in range(10):
        too_deep = thing(a=too_deep)
    # Each level refers twice to the next, so that merging it doubles at every level.
    doubling: dict[str, Any] = {"L40": thing(x={})}
    for level in range(40):
        ref = {"$ref": f"#/$defs/L{level + 1}"}
        doubling[f"L{level}"] = {"allOf": [ref, ref, thing(**{f"p{level}": {}})]}
    began = time.monotonic()
    made = make_stubs(
        [
            StubRequest("wide", thing(**{f"p{at}": {"type": "string"} for at in range(2000)})),
            StubRequest("members", thing(a={"enum": [f"m{at}" for at in range(10_000)]})),
            StubRequest(
                "constants", thing(a={"oneOf": [{"const": f"m{at}"} for at in range(10_000)]})
            ),
            StubRequest("deep", deep),
            StubRequest("too_deep", too_deep),
            StubRequest("doubling", thing(a={"$ref": "#/$defs/L0"}) | {"$defs": doubling}),
        ],
        kind,
    )
    assert time.monotonic() - began < 20
    problems = {name: one.problems for name, one in made.items() if one.problems}
    assert problems.pop("too_deep") == ("parameters: nested deeper than 64 levels",)
    assert set(problems) <= {"doubling"}


def test_nothing_is_ever_fetched() -> None:
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/x"
        for schema in (
            thing(a={"$ref": url}),
            thing(a={"enum": ["x"], "default": "x", "$ref": "#/$defs/s"}) | {"$defs": {"s": {}}},
            thing(a={"type": "string", "minLength": 1, "default": "x"}, b={"not": {"$ref": url}}),
            thing(a={"$ref": "#/$defs/s"}) | {"$schema": url, "$defs": {"s": {"$schema": url}}},
            {"$schema": url, "type": "object", "properties": 5},
        ):
            stub(schema, schema)
        server.shutdown()
    assert asked == []


def test_nothing_asked_is_nothing_made() -> None:
    assert make_stubs([], "typed-dict") == {}


def test_the_generator_is_not_imported_before_it_is_needed() -> None:
    code = (
        "import sys, hermes_build.compiler.emit.stubs\n"
        "assert 'datamodel_code_generator' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_texts_that_skip_the_formatter_are_as_it_would_have_left_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = ["plain", "it's", 'say "so"', "x" * 120, "two\nlines", "back\\slash", ""]
    schemas: list[dict[str, Any]] = [
        {
            "type": "object",
            **({"description": text} if described else {}),
            "properties": {
                "a": {"type": "string", "description": text, **({"enum": [text]} if named else {})},
                "b": {"type": ["integer", "null"]},
                **({"c": {"type": "object", "properties": {"d": {}}}} if nested else {}),
            },
        }
        for text in texts
        for described in (False, True)
        for named in (False, True)
        for nested in (False, True)
    ]
    requests = [
        StubRequest(f"t{nth}", schema, None if nth % 3 else {"type": "integer"})
        for nth, schema in enumerate([*schemas, {"type": "object"}])
    ]
    quick = make_stubs(requests, "typed-dict")
    whole = generator.configuration("typed-dict").model_copy(
        update={"formatters": [Formatter.BUILTIN]}
    )
    monkeypatch.setattr(generator, "configuration", lambda kind: whole)
    assert make_stubs(requests, "typed-dict") == quick
