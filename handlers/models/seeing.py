"""What `vision_analyze` does: one image and one question to a model, and its answer as text."""

from __future__ import annotations

import asyncio
import os
import re
from typing import Any

from handlers.files.workspace import Workspace
from handlers.models import pictures
from handlers.models.endpoint import Endpoint, origin
from handlers.refusal import Refusal, refusing

MOST_BYTES = 20 << 20
"""How large an image of the workspace, or in a data URL, may be."""

_MOST_REPLY = 4 << 20
_RETRIES = 2
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


async def analyse(
    workspace: Workspace,
    endpoint: Endpoint,
    model: str,
    image: str,
    question: str,
    seconds: float,
) -> str:
    """The model's answer to ``question`` about ``image``.

    Args:
        workspace: where a path leads.
        endpoint: who is asked.
        model: the name of a model that can see.
        image: a path of the workspace, an http or https address, or a ``data:`` URL.
        question: what to ask.
        seconds: how long it may take.

    Raises:
        Refusal: when the image cannot be had or is none, or no answer came.
    """
    url = await asyncio.to_thread(_url, workspace, image)
    messages: Any = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": question},
                {"type": "image_url", "image_url": {"url": url}},
            ],
        }
    ]
    answer = await endpoint.ask(
        lambda client: client.chat.completions.with_streaming_response.create(
            model=model, messages=messages
        ),
        seconds=seconds,
        retries=_RETRIES,
        most=_MOST_REPLY,
    )
    return _text(answer, endpoint)


def _url(workspace: Workspace, image: str) -> str:
    """The image as the endpoint takes it; an address stays as it is."""
    if image[:5].lower() == "data:":
        return pictures.from_data_url(image, MOST_BYTES).data_url
    scheme = _SCHEME.match(image)
    if scheme is None:
        return _read(workspace, image).data_url
    if scheme[1].lower() not in ("http", "https"):
        raise Refusal(
            f"An address must begin with http:// or https://, not {scheme[1]}://. For a file, give "
            "its path in the workspace."
        )
    if origin(image) is None:
        raise Refusal("The image's address is not a complete http:// or https:// address.")
    return image


def _read(workspace: Workspace, path: str) -> pictures.Picture:
    place = workspace.locate(path)
    with workspace.open_file(place) as descriptor, refusing(place.shown):
        size = os.fstat(descriptor).st_size
        if size > MOST_BYTES:
            raise Refusal(
                f"{place.shown} has {size:,} bytes; images of at most {MOST_BYTES:,} are taken.",
                path=place.shown,
            )
        with open(descriptor, "rb", closefd=False) as stream:
            data = stream.read(MOST_BYTES)
    return pictures.recognise(data, place.shown)


def _text(answer: dict[str, Any], endpoint: Endpoint) -> str:
    """The text of a chat completion, whichever of the forms in use it has."""
    try:
        choice = answer["choices"][0]
        message = choice["message"]
        content = message.get("content")
        refusal = message.get("refusal")
        reason = choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Refusal(
            f"The answer of {endpoint.shown} is not a chat completion: it has no message."
        ) from None
    if isinstance(content, list):
        # Some servers give the text in parts, as requests do.
        texts = [one.get("text") for one in content if isinstance(one, dict)]
        content = "".join(text for text in texts if isinstance(text, str))
    if isinstance(content, str) and content.strip():
        return f"{content}\n[The answer was cut off here.]" if reason == "length" else content
    if isinstance(refusal, str) and refusal:
        raise Refusal(f"The model declines to answer: {endpoint.quote(refusal)}")
    if reason == "content_filter":
        raise Refusal("The endpoint's content filter held the answer back.")
    raise Refusal("The model gave no answer; ask in other words.")
