"""One OpenAI-compatible endpoint: asked once, bounded in time and size, and its key never shown.

``OPENAI_API_KEY`` and ``OPENAI_BASE_URL`` name it, as for every program that uses the `openai`
package. Everything that can go wrong between here and there is a `Refusal`: a sentence that says
what happened and who can do something about it.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from handlers.refusal import Refusal
from hermes_build.runtime.masking import mask

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncAPIResponse, AsyncOpenAI

    Send = Callable[[AsyncOpenAI], AbstractAsyncContextManager[AsyncAPIResponse[Any]]]

KEY = "OPENAI_API_KEY"
ADDRESS = "OPENAI_BASE_URL"
OPENAI = "https://api.openai.com/v1"
"""Where OpenAI itself answers; the endpoint unless ``OPENAI_BASE_URL`` names another."""

_QUOTED = 400
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint by its base ``address`` and its ``key``, which is part of no text made here."""

    address: str
    key: str = field(repr=False)

    @staticmethod
    def from_environment(environ: Mapping[str, str] = os.environ) -> Endpoint:
        """The endpoint that the environment names.

        Raises:
            Refusal: when there is no key, or the address is no http or https address.
        """
        # A key that was read from a file often brings its line end along.
        key = environ.get(KEY, "").strip()
        if not key:
            raise Refusal(f"{KEY} is not set; whoever runs this program must set it.")
        if not (key.isascii() and key.isprintable()):
            raise Refusal(f"{KEY} holds characters that no key can have.")
        address = environ.get(ADDRESS, "").strip() or OPENAI
        if origin(address) is None:
            raise Refusal(f"{ADDRESS} must be an http:// or https:// address of a model's API.")
        return Endpoint(address, key)

    async def ask(self, send: Send, *, seconds: float, retries: int, most: int) -> dict[str, Any]:
        """Send one request and return the JSON object that answers it.

        Args:
            send: begins the request on the client it is given, by ``with_streaming_response``.
            seconds: how long all of it may take, retries included.
            retries: how often a request is sent again that met an overload or a broken connection.
            most: how many bytes the answer may have.

        Raises:
            Refusal: when no such object came, for whatever reason.
        """
        try:
            async with asyncio.timeout(seconds):
                # Importing the package and reading certificates take long enough to hold up a loop.
                client = await asyncio.to_thread(self._client, seconds, retries)
                async with client:
                    return await self._exchange(client, send, seconds, most)
        except TimeoutError:
            raise self._late(seconds) from None

    def _client(self, seconds: float, retries: int) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self.key, base_url=self.address, timeout=seconds, max_retries=retries
        )

    async def _exchange(
        self, client: AsyncOpenAI, send: Send, seconds: float, most: int
    ) -> dict[str, Any]:
        import openai

        try:
            async with send(client) as response:
                body = await self._read(response, most)
        except openai.APITimeoutError:
            raise self._late(seconds) from None
        except openai.APIStatusError as error:
            raise self._refused(error) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise Refusal(
                f"The model's endpoint {self.shown} cannot be reached: {self.quote(str(cause))}"
            ) from None
        except openai.OpenAIError as error:
            raise Refusal(f"The request could not be made: {self.quote(str(error))}") from None
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            start = self.quote(body[:_QUOTED].decode("utf-8", "replace"))
            raise Refusal(
                f"The answer of {self.shown} is not the JSON object that it must be; "
                f"{ADDRESS} may lead to something else. It begins: {start}"
            )
        return answer

    async def _read(self, response: AsyncAPIResponse[Any], most: int) -> bytes:
        body = bytearray()
        try:
            async for block in response.iter_bytes():
                body += block
                if len(body) > most:
                    break
        except Exception as error:  # the transport's own kinds, which are no part of its interface
            raise Refusal(
                f"The answer of {self.shown} broke off: {self.quote(str(error))}"
            ) from None
        if len(body) > most:
            raise Refusal(f"The answer of {self.shown} is longer than {most:,} bytes.")
        return bytes(body)

    @property
    def shown(self) -> str:
        """The endpoint as messages name it: scheme, host and port, without user or password."""
        scheme, host, port = origin(self.address) or ("", "", 0)
        return f"{scheme}://{_bracketed(host)}" + ("" if _PORTS[scheme] == port else f":{port}")

    def is_origin_of(self, address: str) -> bool:
        """Whether an address has this endpoint's scheme, host and port."""
        return origin(address) == origin(self.address)

    def quote(self, text: str) -> str:
        """Somebody else's text for a message: on one line, shortened, without the key."""
        # The key goes before the text is cut, so that no half of it is left.
        clean = mask(re.sub(r"://[^/@\s]+@", "://", text.replace(self.key, f"[{KEY}]")))
        clean = re.sub(r"[\s\x00-\x1f\x7f]+", " ", clean).strip()
        return clean if len(clean) <= _QUOTED else f"{clean[:_QUOTED]}…"

    def _late(self, seconds: float) -> Refusal:
        return Refusal(f"The model's endpoint {self.shown} did not answer within {seconds:g} s.")

    def _refused(self, error: APIStatusError) -> Refusal:
        """What a status from 400 on means, in words, with what the endpoint itself says."""
        status = error.status_code
        said = self.quote(_message(error))
        details: dict[str, Any] = {"status": status}
        if after := _seconds(error.response.headers.get("retry-after", "")):
            details["retry_after"] = after
        if status == 401:
            what = f"does not accept the key in {KEY}; whoever runs this program must correct it"
        elif status == 403:
            what = "does not allow this"
        elif status == 404:
            what = "does not know the model or the address"
        elif status == 413:
            what = "takes no request as large as this one"
        elif status == 429:
            what = "answers that there were too many requests or that the quota is used up"
        elif status >= 500:
            what = "failed; trying again later may help"
        else:
            what = "refuses the request"
        return Refusal(f"The model's endpoint {self.shown} {what} ({status}): {said}", **details)


def origin(address: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an http or https address; None for everything else."""
    if re.search(r"[\s\x00-\x1f\x7f]", address):
        return None
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, _PORTS[parts.scheme] if port is None else port


def seconds_from(name: str, default: float, most: float, environ: Mapping[str, str]) -> float:
    """A time in seconds that an environment variable may set.

    Raises:
        Refusal: when it is no number above 0 and up to ``most``.
    """
    text = environ.get(name, "").strip()
    if not text:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= most:
        raise Refusal(f"{name} must be a number of seconds above 0 and up to {most:g}.")
    return seconds


def _message(error: APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return str(body["message"]) or "it says nothing more"
    return error.response.text or "it says nothing more"


def _seconds(text: str) -> float | None:
    """The seconds of a ``Retry-After``; its other form, a date, is left out."""
    return float(text) if re.fullmatch(r"\d{1,6}(\.\d+)?", text) else None


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
