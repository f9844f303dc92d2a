"""Which machines a page may be fetched from: those of the public internet, and no others.

A model chooses the URLs, and a page that it read may have chosen them for it. So no URL, by name,
by number or by redirect, may lead to the machine itself, to the network around it, or to a
cloud's metadata service. A name is looked up once; every address that it has is judged, and a
connection is then made to the addresses that were judged. A name server that answers differently a
moment later changes nothing.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import Awaitable, Callable, Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from handlers.refusal import Refusal
from handlers.web.background import in_background

VARIABLE = "HERMES_ALLOW_PRIVATE_URLS"
"""With ``1``, ``true``, ``yes`` or ``on`` in this variable, private and loopback addresses are
fetched from as well."""

LOOKUP_SECONDS = 10.0
"""How long the look-up of a name may take."""

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Gives the addresses of a host as text; raises OSError where it has none."""

_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"", "0", "false", "no", "off"})
# These answer inside a cloud's machine and give out its credentials, though their addresses look
# like others'. Nobody reads a page there, so that they stay shut whatever is allowed.
_METADATA = frozenset(
    map(ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254"))
)
_PRIVATE_V4 = tuple(
    map(
        ip_network,
        ("10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"),
    )
)
_UNIQUE_LOCAL = IPv6Network("fc00::/7")
_GLOBAL_V6 = IPv6Network("2000::/3")
# IPv6 addresses that hold an IPv4 address, by which bits: what is reached is the machine with the
# IPv4 address, so it is the one that is judged.
_TRANSLATED = (
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("::ffff:0:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("64:ff9b:1::/48"), 0),
    (IPv6Network("2002::/16"), 80),
)
_TEREDO = IPv6Network("2001::/32")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
_NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?\Z")
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)\Z")


def allows_private(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment opens private and loopback addresses.

    Raises:
        Refusal: when it says neither yes nor no: a word that is not understood opens nothing.
    """
    said = environ.get(VARIABLE, "").strip().lower()
    if said in _YES or said in _NO:
        return said in _YES
    raise Refusal(
        f"{VARIABLE} must be one of 1, true, yes and on, or of 0, false, no and off; whoever runs "
        "this must mend it."
    )


def why_closed(address: IPv4Address | IPv6Address, *, private: bool = False) -> str:
    """Why nothing is fetched from an address, as words that follow "is"; empty where it may be.

    With ``private``, loopback, private and shared addresses are open; link-local, multicast,
    reserved and metadata addresses stay shut.
    """
    if address in _METADATA:
        return "the metadata service of a cloud"
    if isinstance(address, IPv6Address):
        # A scope such as %eth0 names a link of this machine.
        if address.scope_id is not None:
            return "an address with a scope, which means a local link"
        for inner in _inside(address):
            reason = why_closed(inner, private=private)
            if reason:
                return f"another way to write {inner}, {reason}"
        if any(address in network for network, _ in _TRANSLATED):
            return ""
    # The order matters: `is_private` of the standard library is true of reserved ones as well.
    if address.is_unspecified:
        return "the unspecified address"
    if address.is_loopback:
        return "" if private else "a loopback address"
    if address.is_link_local:
        return "a link-local address"
    if address.is_multicast:
        return "a multicast address"
    if _is_private(address):
        return "" if private else "a private address"
    if isinstance(address, IPv6Address) and address not in _GLOBAL_V6:
        return "a reserved address"
    return "" if address.is_global else "a reserved address"


def _is_private(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        return address in _UNIQUE_LOCAL
    return any(address in network for network in _PRIVATE_V4)


def _inside(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 address stands for, or leads through."""
    number = int(address)
    found = [
        IPv4Address(number >> shift & 0xFFFF_FFFF)
        for network, shift in _TRANSLATED
        if address in network
    ]
    if address in _TEREDO:
        found += [IPv4Address(number >> 64 & 0xFFFF_FFFF), IPv4Address(~number & 0xFFFF_FFFF)]
    if number >> 32 & 0xFFFF_FFFF in _ISATAP:
        found.append(IPv4Address(number & 0xFFFF_FFFF))
    return found


def literal(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is, written as addresses are; None for a name.

    Raises:
        Refusal: for what is no name either, and for a number in another spelling, such as
            ``2130706433``, ``0x7f.1`` or ``0177.0.0.1``: programs do not agree on which machine
            that is.
    """
    try:
        return ip_address(host)
    except ValueError:
        pass
    last = host.removesuffix(".").rsplit(".", 1)[-1]
    if _NUMBER.match(last) or ":" in host:
        raise Refusal(
            f"The host {host!r} is a number in a spelling that is not accepted. Give the name of "
            "the host, or an address such as 203.0.113.7 or [2001:db8::7]."
        )
    if len(host) > 253 or not _NAME.match(host):
        raise Refusal(f"{host[:100]!r} is not the name of a host.")
    return None


async def look_up(host: str, port: int) -> list[str]:
    """The addresses that the system's resolver has for a name.

    Raises:
        OSError: when it has none.
    """
    found = await in_background(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    return [str(entry[4][0]) for entry in found]


async def checked(
    host: str, port: int, *, private: bool = False, resolver: Resolver = look_up
) -> list[str]:
    """The addresses of a host to connect to, in the resolver's order and each once.

    Raises:
        Refusal: when it has none, or when one of them is closed; a name that has open and closed
            addresses is refused, because that is what an attack looks like.
    """
    single = literal(host)
    if single is not None:
        texts = [str(single)]
    else:
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                texts = await resolver(host, port)
        except TimeoutError:
            raise Refusal(f"The host {host} could not be looked up in time.") from None
        except (OSError, UnicodeError):
            raise Refusal(
                f"The host {host} could not be found. Check the spelling of the URL."
            ) from None
    addresses = list(dict.fromkeys(map(ip_address, texts)))
    if not addresses:
        raise Refusal(f"The host {host} has no address.")
    for address in addresses:
        reason = why_closed(address, private=private)
        if reason:
            shown = host if single is not None else f"{host} ({address})"
            hint = (
                f" (set {VARIABLE}=1 to allow it)" if not why_closed(address, private=True) else ""
            )
            raise Refusal(f"Nothing is fetched from {shown}: it is {reason}{hint}.")
    return list(map(str, addresses))
