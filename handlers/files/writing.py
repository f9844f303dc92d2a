"""What `write_file` does: the whole content of one file."""

from __future__ import annotations

from typing import Any

from handlers.files import encodings
from handlers.files.changes import Change, write
from handlers.files.workspace import Place, Workspace
from handlers.refusal import Refusal


def write_file(
    workspace: Workspace, path: str, content: str, create_parents: bool = True
) -> dict[str, Any]:
    """Write ``content`` to a file as UTF-8 and exactly as it is, line ends included.

    An existing file keeps its mode. The answer has ``path``, ``action`` (``created`` or
    ``replaced``), ``bytes`` and ``lines``.

    Raises:
        Refusal: when something stands there that is not a regular file, it is read-only, or the
            folder is missing and is not to be made.
    """
    place = workspace.locate(path)
    if path.endswith("/") or not place.parts:
        raise Refusal(f"{path} names a folder; give the path of a file.", path=path)
    data = encodings.encode(content, encodings.UTF_8, place.shown)
    with workspace.editing():
        _check_folder(workspace, place, create_parents)
        [existed] = write(workspace, [Change(place, data, checked=False)], parents=create_parents)
    return {
        "path": place.shown,
        "action": "replaced" if existed else "created",
        "bytes": len(data),
        "lines": content.count("\n") + (not content.endswith("\n") if content else 0),
    }


def _check_folder(workspace: Workspace, place: Place, create: bool) -> None:
    for depth in range(1, len(place.parts)):
        above = Place(place.parts[:depth])
        status = workspace.status(above)
        if status is None:
            if create:
                return
            raise Refusal(
                f"The folder {above.shown} does not exist; set create_parents to make it.",
                path=place.shown,
            )
        if status.st_mode & 0o170000 != 0o040000:
            raise Refusal(
                f"{above.shown} is a file, so nothing can be written below it.", path=place.shown
            )
