"""What `image_generate` does: a description to a model, and the images it makes into files."""

from __future__ import annotations

import asyncio
import hashlib
import os
from typing import Any

from handlers.files.changes import Change, write
from handlers.files.workspace import Place, Workspace
from handlers.models import pictures
from handlers.models.endpoint import Endpoint, origin
from handlers.refusal import Refusal
from handlers.web import addresses

MOST_BYTES = 50 << 20
"""How large one image may be."""

FOLDER = "images"
"""Where images go whose path the call leaves out."""

_ENDINGS = tuple(ending for endings in pictures.ENDINGS.values() for ending in endings)


async def generate(
    workspace: Workspace,
    endpoint: Endpoint,
    model: str,
    prompt: str,
    size: str,
    n: int,
    path: str | None,
    seconds: float,
) -> dict[str, Any]:
    """Make ``n`` images of ``prompt`` and write them into the workspace.

    An image that the endpoint gives as an address is fetched, without the key and without following
    redirects, from the endpoint's own origin or by https from the public internet.

    Args:
        workspace: where the images go.
        endpoint: who makes them.
        model: the name of a model that makes images.
        prompt: what they shall show.
        size: ``WIDTHxHEIGHT`` in pixels, or ``auto``.
        n: how many, from 1 to 4.
        path: where to write; several get ``-1``, ``-2`` and so on before the ending. None for
            `FOLDER` and a name made from the content.
        seconds: how long it may take.

    Returns:
        ``images``, a list of ``path``, ``format``, ``bytes`` and, where they can be told, ``width``
        and ``height``; ``failures``, a list of sentences, where not every image could be had.

    Raises:
        Refusal: when no image came, or something stands at ``path`` already; that is found out
            before anything is asked for.
    """
    place = await asyncio.to_thread(_free, workspace, path, n) if path else None
    try:
        async with asyncio.timeout(seconds):
            answer = await endpoint.ask(
                lambda client: client.images.with_streaming_response.generate(
                    model=model,
                    prompt=prompt,
                    size=size,
                    n=n,
                ),
                seconds=seconds,
                retries=0,  # every attempt may be paid for
                most=(n * MOST_BYTES) // 3 * 4 + (1 << 20),
            )
            made, failures = await _pictures(answer, endpoint, n)
    except TimeoutError:
        raise Refusal(f"The images could not be had within {seconds:g} s.") from None
    if not made:
        raise Refusal(" ".join(failures) or f"{endpoint.shown} made no image.")
    written = await asyncio.to_thread(_write, workspace, place, made, n)
    return {"images": written, **({"failures": failures} if failures else {})}


def _free(workspace: Workspace, path: str, n: int) -> Place:
    """The place that a path names, when all that is to be written there is free."""
    place = workspace.locate(path)
    if path.endswith("/") or not place.parts:
        raise Refusal(f"{path} names a folder; give the path of a file.", path=path)
    stem, ending = _split(place.name)
    for number in range(1, n + 1):
        one = _sibling(place, f"{stem}{f'-{number}' if n > 1 else ''}{ending or '.png'}")
        if workspace.status(one) is not None:
            raise Refusal(f"{one.shown} exists already; give another path.", path=one.shown)
    return place


async def _pictures(
    answer: dict[str, Any], endpoint: Endpoint, n: int
) -> tuple[list[pictures.Picture], list[str]]:
    """The images of an answer, and why others could not be had: those that came were paid for."""
    items = answer.get("data")
    if not isinstance(items, list):
        raise Refusal(f"The answer of {endpoint.shown} has no list `data` of images.")
    made, failures = [], []
    for number, item in enumerate(items[:n], 1):
        shown = f"Image {number} of the answer"
        try:
            made.append(await _picture(item, endpoint, shown))
        except Refusal as refusal:
            failures.append(str(refusal))
    if len(items) < n:
        failures.append(f"{endpoint.shown} made {len(items)} of the {n} images asked for.")
    return made, failures


async def _picture(item: Any, endpoint: Endpoint, shown: str) -> pictures.Picture:
    fields = item if isinstance(item, dict) else {}
    content, url = fields.get("b64_json"), fields.get("url")
    if isinstance(content, str) and content:
        return await asyncio.to_thread(pictures.from_base64, content, MOST_BYTES, shown)
    if not isinstance(url, str) or not url:
        raise Refusal(f"{shown} has neither content nor an address.")
    if url[:5].lower() == "data:":
        return await asyncio.to_thread(pictures.from_data_url, url, MOST_BYTES)
    where = origin(url)
    if where is None or not (where[0] == "https" or endpoint.is_origin_of(url)):
        raise Refusal(
            f"{shown} is at an address that is not fetched: only https, and {endpoint.shown}, are."
        )
    machine = None
    if not endpoint.is_origin_of(url):
        # Whoever answers for the endpoint chose the address, and may have meant a machine in here.
        open_here = await addresses.checked(*where[1:], private=addresses.allows_private())
        machine = open_here[0]
    return pictures.recognise(await _fetch(url, where[1], machine, endpoint, shown), shown)


async def _fetch(url: str, host: str, machine: str | None, endpoint: Endpoint, shown: str) -> bytes:
    """The bytes at an address; messages name its host alone, since the rest may hold a token.

    ``machine`` is what to connect to where that was judged, and no proxy may look it up again.
    """
    import httpx

    data = bytearray()
    headers, options = {"Accept-Encoding": "identity"}, {}
    try:
        place = httpx.URL(url)
        if machine is not None:
            headers["Host"] = place.netloc.decode("ascii")
            options["sni_hostname"] = host
            place = place.copy_with(host=machine)
        async with (
            httpx.AsyncClient(
                timeout=60, follow_redirects=False, trust_env=machine is None
            ) as client,
            client.stream("GET", place, headers=headers, extensions=options) as response,
        ):
            if response.status_code != 200:
                raise Refusal(
                    f"{shown} could not be fetched from {host}: it answers with "
                    f"{response.status_code}."
                )
            async for block in response.aiter_bytes():
                data += block
                if len(data) > MOST_BYTES:
                    raise Refusal(f"{shown} has more than {MOST_BYTES:,} bytes.")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        why = endpoint.quote(str(error).replace(url, "the address")) or type(error).__name__
        raise Refusal(f"{shown} could not be fetched from {host}: {why}") from None
    return bytes(data)


def _write(
    workspace: Workspace, place: Place | None, made: list[pictures.Picture], n: int
) -> list[dict[str, Any]]:
    """Write all images, each to a name where nothing stands."""
    with workspace.editing():
        changes: list[Change] = []
        taken: set[Place] = set()
        for number, picture in enumerate(made, 1):
            one = _name(workspace, place, picture, f"-{number}" if n > 1 else "", taken)
            taken.add(one)
            # Unless the place is still as free as it was found, nothing is written.
            changes.append(Change(one, picture.data, checked=True))
        write(workspace, changes, parents=True)
    return [
        _described(change.place, picture) for change, picture in zip(changes, made, strict=True)
    ]


def _name(
    workspace: Workspace,
    place: Place | None,
    picture: pictures.Picture,
    number: str,
    taken: set[Place],
) -> Place:
    endings = pictures.ENDINGS[picture.kind]
    if place is None:
        place = workspace.locate(FOLDER)
        place = Place((*place.parts, f"image-{hashlib.sha256(picture.data).hexdigest()[:12]}"))
        stem, ending, number = place.name, "", ""
    else:
        stem, ending = _split(place.name)
    # The ending that was asked for stays where it is right for what came.
    ending = ending if ending.lower() in endings else endings[0]
    count = 1
    while True:
        again = f"-{count}" if count > 1 else ""
        one = _sibling(place, f"{stem}{number}{again}{ending}")
        if one not in taken and workspace.status(one) is None:
            return one
        count += 1


def _described(place: Place, picture: pictures.Picture) -> dict[str, Any]:
    described: dict[str, Any] = {
        "path": place.shown,
        "format": picture.kind,
        "bytes": len(picture.data),
    }
    if picture.size:
        described["width"], described["height"] = picture.size
    return described


def _split(name: str) -> tuple[str, str]:
    """A name and its ending, where that is one of an image; `art.v2` has none."""
    stem, ending = os.path.splitext(name)
    return (stem, ending) if ending.lower() in _ENDINGS else (name, "")


def _sibling(place: Place, name: str) -> Place:
    return Place((*place.parent, name))
