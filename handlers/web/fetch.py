"""Fetching what a URL leads to, within limits, from machines of the public internet.

Each hop of a redirect is checked like the first URL, and has a connection of its own to an address
that was judged (`handlers.web.addresses`). No cookies, no credentials and no proxy of the
environment are used: a proxy would look the name up again, and decide otherwise.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from handlers.refusal import Refusal
from handlers.web import addresses
from handlers.web.decompress import ACCEPTED, decoder

if TYPE_CHECKING:
    import httpx

MOST_URL = 8_000
"""How long a URL may be, one that is redirected to included."""

HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; hermes-build; +web_extract)",
    "Accept": "text/html, application/xhtml+xml, application/pdf;q=0.9, text/*;q=0.8, */*;q=0.5",
    "Accept-Encoding": ACCEPTED,
    "Connection": "close",
}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MEDIA_TYPE = re.compile(r"\s*[\w!#$&^.+-]{1,60}/[\w!#$&^.+-]{1,120}\s*(?:;|\Z)", re.ASCII)
_SECRET = "user names and passwords in URLs are not accepted. Give the URL without them."


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one URL may cost: seconds in all, seconds to connect, bytes, redirects.

    ``bytes`` holds for what is downloaded and, apart from it, for what that decompresses to.
    """

    seconds: float = 30.0
    connect_seconds: float = 6.0
    bytes: int = 10 * 1024 * 1024
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server sent: the URL it came from in the end, its media type, charset and bytes.

    ``media_type`` is lower-case and empty where the server named none; so is ``charset``.
    """

    url: str
    media_type: str
    charset: str
    data: bytes


async def fetch(
    url: str,
    *,
    limits: Limits | None = None,
    private: bool = False,
    resolver: addresses.Resolver = addresses.look_up,
) -> Answer:
    """Get what a URL leads to, redirects followed.

    When the task is cancelled, the connection is closed at once.

    Raises:
        Refusal: when the URL is not one to fetch, when the server cannot be reached or answers with
            an error, and when a limit is passed.
    """
    limits = limits or Limits()
    try:
        async with asyncio.timeout(limits.seconds):
            return await _follow(url, limits, private, resolver)
    except TimeoutError:
        raise Refusal(
            f"The server did not send the whole page within {limits.seconds:g} seconds."
        ) from None


async def _follow(url: str, limits: Limits, private: bool, resolver: addresses.Resolver) -> Answer:
    import httpx

    here = parsed(url)
    for _ in range(limits.redirects + 1):
        found = await _one_hop(here, limits, private, resolver)
        if isinstance(found, Answer):
            return found
        try:
            here = parsed(str(here.join(found)))
        except Refusal as refusal:
            raise Refusal(f"The server redirects to a URL that is refused. {refusal}") from None
        except (httpx.InvalidURL, ValueError):
            raise Refusal("The server redirects to something that is not a URL.") from None
    raise Refusal(f"The server redirects more than {limits.redirects} times.")


def parsed(url: str) -> httpx.URL:
    """A URL that may be fetched, as far as it can be told without looking up its host.

    Raises:
        Refusal: when it is not an http or https URL, or holds credentials.
    """
    import httpx

    try:
        found = httpx.URL(url.strip())
        # Names outside ASCII are encoded only when they are asked for.
        host, port = found.raw_host.decode("ascii"), found.port
    except (httpx.InvalidURL, ValueError, TypeError):
        raise Refusal("That is not a URL. Give a full one, such as https://example.org/.") from None
    if len(url) > MOST_URL:
        raise Refusal(f"The URL is longer than {MOST_URL:,} characters.")
    if found.scheme not in ("http", "https"):
        raise Refusal("Only http and https URLs are fetched. Give a full one, with its scheme.")
    if found.userinfo:
        raise Refusal(f"The URL has a user name in it; {_SECRET}")
    if not host:
        raise Refusal("The URL names no host. Give a full one, such as https://example.org/.")
    if port is not None and not 0 < port < 65_536:
        raise Refusal(f"There is no port {port}.")
    addresses.literal(host)
    return found


async def _one_hop(
    url: httpx.URL, limits: Limits, private: bool, resolver: addresses.Resolver
) -> Answer | str:
    """Ask one server: its answer, or where it redirects to."""
    import httpx

    host = url.raw_host.decode("ascii")
    port = url.port or (443 if url.scheme == "https" else 80)
    places = await addresses.checked(host, port, private=private, resolver=resolver)
    # The transport reads no proxies from the environment; a client would.
    async with httpx.AsyncHTTPTransport() as transport:
        try:
            response = await _connect(transport, url, host, places, limits)
            try:
                return await _read(response, url, limits)
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            raise Refusal(_sentence(error)) from None


async def _connect(
    transport: httpx.AsyncHTTPTransport,
    url: httpx.URL,
    host: str,
    places: list[str],
    limits: Limits,
) -> httpx.Response:
    """The beginning of an answer, from the first of the addresses that lets us connect."""
    import httpx

    for place in places:
        request = httpx.Request(
            "GET",
            # The connection goes to the address; certificates and servers hear the name.
            url.copy_with(host=place),
            headers={"Host": url.netloc.decode("ascii"), **HEADERS},
            extensions={
                "sni_hostname": host,
                "timeout": {"connect": limits.connect_seconds, "pool": None},
            },
        )
        try:
            return await transport.handle_async_request(request)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            if place == places[-1]:
                raise
    raise Refusal(f"The host {host} has no address.")


async def _read(response: httpx.Response, url: httpx.URL, limits: Limits) -> Answer | str:
    status = response.status_code
    if status in _REDIRECTS and response.headers.get("location"):
        return str(response.headers["location"])
    if status not in (HTTPStatus.OK, HTTPStatus.NON_AUTHORITATIVE_INFORMATION):
        raise Refusal(refused(response, "The server"), status=status)
    media_type, charset = content_type(response.headers.get("content-type", ""))
    kind = media_type.split("/", 1)[0]
    if kind in ("image", "audio", "video", "font", "model") and media_type != "image/svg+xml":
        raise Refusal(f"The URL leads to {media_type}, which has no text to extract.")
    data = await body(response, limits.bytes)
    return Answer(str(url), media_type, charset, data)


async def body(response: httpx.Response, most: int) -> bytes:
    """All that a response has to say, decompressed.

    Raises:
        Refusal: when it is more than ``most`` bytes, before or after decompressing, or is damaged.
    """
    too_much = f"The answer is larger than {most:,} bytes, which is the most that is read."
    declared = response.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > most:
        raise Refusal(f"{too_much} It has {declared[:20]} bytes.")
    inner = decoder(response.headers.get("content-encoding", ""))
    out, raw = bytearray(), 0
    async for chunk in response.aiter_raw():
        raw += len(chunk)
        out += inner.feed(chunk, most - len(out))
        if raw > most or len(out) > most:
            raise Refusal(too_much)
    inner.end()
    return bytes(out)


def content_type(header: str) -> tuple[str, str]:
    """The media type and the charset that a ``Content-Type`` header names, both in lower case.

    Both are empty where the header names no type.
    """
    from email.message import Message

    message = Message()
    message["Content-Type"] = header.replace("\r", " ").replace("\n", " ")
    if not _MEDIA_TYPE.match(header):
        return "", ""
    charset = message.get_content_charset("")
    return message.get_content_type(), charset.strip().lower()


def refused(response: httpx.Response, who: str) -> str:
    """A sentence on a status that is no success: what it is, and when to try again."""
    status = response.status_code
    try:
        words = f"HTTP {status} ({HTTPStatus(status).phrase})"
    except ValueError:
        words = f"HTTP {status}"
    later = response.headers.get("retry-after", "")
    if later.isascii() and later.isdigit() and status in (429, 503):
        return f"{who} answered {words}; it asks to wait {int(later[:9]):,} seconds."
    return f"{who} answered {words}."


def _sentence(error: httpx.HTTPError) -> str:
    """What went wrong with a connection, in words for the model."""
    import ssl

    import httpx

    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, ssl.SSLCertVerificationError):
            return f"The server's certificate is not valid: {inner.verify_message}."
        if isinstance(inner, ssl.SSLError):
            return "No secure connection could be made to the server."
        inner = inner.__cause__ or inner.__context__
    if isinstance(error, httpx.ConnectTimeout):
        return "The server did not accept a connection in time."
    if isinstance(error, httpx.ConnectError):
        return "The server does not accept connections."
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
        return f"The connection broke before the whole answer had come ({_text(error)})."
    return f"The page could not be fetched ({_text(error)})."


def _text(error: Exception) -> str:
    return str(error).strip().rstrip(".")[:200] or type(error).__name__
