"""Nothing that a schema names is ever fetched, wherever it is named."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from tests.command_line import hermes, project, write

PLACES = {
    "the root": '{"$schema": "URL", "type": "object"}',
    "a property": '{"type": "object", "properties": {"a": {"$schema": "URL"}}}',
    "a resource of its own": (
        '{"type": "object", "properties": {"a": {"$id": "http://x.test/y", "$schema": "URL"}}}'
    ),
    "a definition": (
        '{"type": "object", "$defs": {"a": {"$id": "URL/a", "$schema": "URL", "type": "string"}},'
        ' "properties": {"a": {"$ref": "#/$defs/a"}}}'
    ),
    "a reference": '{"type": "object", "properties": {"a": {"$ref": "URL"}}}',
    "a dynamic reference": '{"type": "object", "properties": {"a": {"$dynamicRef": "URL#a"}}}',
    "an id": '{"$id": "URL", "type": "object", "properties": {"a": {"$ref": "other"}}}',
    "an older dialect": (
        '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",'
        ' "properties": {"a": {"$id": "URL/a", "$schema": "URL", "items": [{"$ref": "b"}]}}}'
    ),
    "a dialect that is nearly known": (
        '{"$schema": "http://json-schema.org/draft-07/schema##", "type": "object"}'
    ),
    "a vocabulary": '{"$vocabulary": {"URL": true}, "type": "object"}',
}


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """An address, and what connects to it."""
    seen: list[str] = []
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    seen.append(client.recv(100).decode("latin-1"))

        Thread(target=serve, daemon=True).start()
        host, port = server.getsockname()
        yield f"http://{host}:{port}/x", seen
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("handler", ["external", "self"])
@pytest.mark.parametrize("place", PLACES)
def test_no_command_connects_to_what_a_schema_names(
    tmp_path: Path, listener: tuple[str, list[str]], place: str, handler: str
) -> None:
    url, seen = listener
    schema = PLACES[place].replace("URL", url)
    more = f"description: Does something.\nhandler: {handler}\n"
    root = project(tmp_path / "project")
    write(
        root,
        {
            "tool_specs/a.yaml": (
                f"name: a\n{more}parameters: {schema}\nexamples: [{{args: {{a: 1}}}}]\n"
            ),
            "tool_specs/b.yaml": (
                f"name: b\n{more}parameters: {{type: object}}\noutput_schema: {schema}\n"
            ),
            "tools.json": json.dumps([{"name": "c", "parameters": json.loads(schema)}]),
        },
    )
    if handler == "self":  # an error in it would keep the others from being compiled
        write(root, {"tool_specs/shared.yaml": f"$defs:\n  shared: {schema}\n"})
    for arguments in (
        ["lint"],
        ["compile"],
        ["check"],
        ["show", "a"],
        ["call", "a", '{"a": 1}'],
        ["import", "json", "tools.json"],
        ["compile"],
        ["check"],
    ):
        done = hermes(root, *arguments)
        assert "Traceback" not in done.err
    assert seen == []


def test_the_listener_hears_what_connects(listener: tuple[str, list[str]]) -> None:
    url, seen = listener
    port = int(url.rpartition(":")[2].partition("/")[0])
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET /x")
        client.shutdown(socket.SHUT_WR)
        client.recv(1)
    assert seen == ["GET /x"]
