"""What `memory` does: one action on the store of entries, and the answer to it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from json import dumps
from typing import Any

from handlers.files.workspace import Workspace
from handlers.planning.finding import Entry, Page
from handlers.planning.store import Store
from handlers.refusal import Refusal

VARIABLE = "HERMES_MEMORY"
"""The environment variable that names the file; without it, it is `DEFAULT` in the workspace."""

DEFAULT = ".hermes/memory.sqlite3"

MOST_ROOM = 220_000
"""Where a page of entries ends even when its limit is not reached; below the tool's
`max_result_chars`."""

_NEEDS = {
    "add": ("content",),
    "search": ("query",),
    "list": (),
    "replace": ("id", "content"),
    "remove": ("id",),
}


def store_from(environ: Mapping[str, str] = os.environ) -> Store:
    """The store that the environment names.

    Raises:
        Refusal: when there is no workspace, or a link leads the default file out of it.
    """
    if path := environ.get(VARIABLE):
        return Store(os.path.abspath(path))
    workspace = Workspace.from_environment(environ)
    place = workspace.locate(DEFAULT)
    return Store(os.path.join(workspace.root, *place.parts), unversioned=True)


def act(store: Store, args: Mapping[str, Any]) -> dict[str, Any]:
    """Do what a call asks for.

    Args:
        store: the entries.
        args: ``action``, one of ``add``, ``search``, ``list``, ``replace`` and ``remove``, and what
            it needs of ``content``, ``query``, ``id``, ``target``, ``limit`` and ``offset``.

    Raises:
        Refusal: when something that the action needs is missing, or it cannot be done.
    """
    action = args["action"]
    missing = [name for name in _NEEDS[action] if name not in args]
    if missing:
        raise Refusal(f"The action {action} needs {' and '.join(missing)}.", missing=missing)
    if action == "add":
        entry, new = store.add(args.get("target", "memory"), args["content"])
        return {"action": "added" if new else "known already", **_whole(entry)}
    if action == "replace":
        return {"action": "replaced", **_whole(store.replace(args["id"], args["content"]))}
    if action == "remove":
        return {"action": "removed", **_whole(store.remove(args["id"]))}
    if action == "list" and "id" in args:
        return {"entries": [_whole(store.get(args["id"]))], "total": 1}
    limit, offset = args.get("limit", 10), args.get("offset", 0)
    if action == "list":
        page = store.list(args.get("target"), limit, offset)
        return _paged([_whole(entry) for entry in page.entries], page, offset)
    page = store.search(args["query"], args.get("target"), limit, offset)
    return _paged([_passage(entry) for entry in page.entries], page, offset)


def _paged(entries: list[dict[str, Any]], page: Page, offset: int) -> dict[str, Any]:
    room = 0
    for count, entry in enumerate(entries):
        room += len(dumps(entry, ensure_ascii=False))
        if room > MOST_ROOM and count:
            entries = entries[:count]
            break
    end = offset + len(entries)
    more = {"next_offset": end} if entries and end < page.total else {}
    return {"entries": entries, "total": page.total, **more}


def _whole(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "target": entry.target,
        "content": entry.content,
        "created": entry.created,
        "updated": entry.updated,
    }


def _passage(entry: Entry) -> dict[str, Any]:
    fields = _whole(entry)
    fields["snippet"] = fields.pop("content")
    return fields
