"""Nothing but machines of the public internet is fetched from, however they are written."""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.refusal import Refusal
from handlers.web.addresses import Resolver, allows_private, checked, literal, why_closed
from handlers.web.fetch import parsed

PRIVATE = [
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("10.0.0.1", "private"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.168.1.1", "private"),
    ("100.64.0.1", "private"),
    ("::1", "loopback"),
    ("fd12:3456::1", "private"),
    ("fc00::1", "private"),
    ("::ffff:127.0.0.1", "another way to write 127.0.0.1, a loopback"),
    ("::ffff:10.1.2.3", "another way to write 10.1.2.3, a private"),
    ("::ffff:0:192.168.0.1", "another way to write 192.168.0.1"),
    ("64:ff9b::7f00:1", "another way to write 127.0.0.1"),
    ("64:ff9b:1::a00:1", "another way to write 10.0.0.1"),
    ("2002:7f00:1::", "another way to write 127.0.0.1"),
    ("2002:c0a8:101::1", "another way to write 192.168.1.1"),
    ("2001:0:808:808::80ff:fffe", "another way to write 127.0.0.1"),
    ("2606:4700::5efe:7f00:1", "another way to write 127.0.0.1"),
]
CLOSED = [
    ("0.0.0.0", "unspecified"),
    ("0.1.2.3", "reserved"),
    ("169.254.169.254", "link-local"),
    ("169.254.170.2", "link-local"),
    ("100.100.100.200", "metadata"),
    ("168.63.129.16", "metadata"),
    ("192.0.0.192", "metadata"),
    ("fd00:ec2::254", "metadata"),
    ("192.0.2.1", "reserved"),
    ("198.18.0.1", "reserved"),
    ("203.0.113.7", "reserved"),
    ("224.0.0.1", "multicast"),
    ("239.255.255.250", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "reserved"),
    ("::", "unspecified"),
    ("fe80::1", "link-local"),
    ("fe80::1%1", "scope"),
    ("fec0::1", "reserved"),
    ("ff02::1", "multicast"),
    ("ff0e::1", "multicast"),
    ("2001:db8::1", "reserved"),
    ("::127.0.0.1", "reserved"),
    ("100::1", "reserved"),
    ("4000::1", "reserved"),
    ("::ffff:169.254.169.254", "another way to write 169.254.169.254, a link-local"),
    ("64:ff9b::a9fe:a9fe", "another way to write 169.254.169.254"),
    ("2002:a9fe:a9fe::", "another way to write 169.254.169.254"),
]
OPEN = [
    "1.1.1.1",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.1",
    "172.32.0.1",
    "2606:4700:4700::1111",
    "2a00:1450:4001:830::200e",
    "::ffff:1.1.1.1",
    "64:ff9b::101:101",
    "2002:101:101::1",
]


@pytest.mark.parametrize(("text", "reason"), PRIVATE)
def test_private_addresses_are_open_only_when_they_are_allowed(text: str, reason: str) -> None:
    assert reason in why_closed(ip_address(text))
    if not text.startswith(("2001:0:", "2606:")):
        assert why_closed(ip_address(text), private=True) == ""


@pytest.mark.parametrize(("text", "reason"), CLOSED)
def test_other_addresses_stay_closed_whatever_is_allowed(text: str, reason: str) -> None:
    assert reason in why_closed(ip_address(text))
    assert reason in why_closed(ip_address(text), private=True)


@pytest.mark.parametrize("text", OPEN)
def test_public_addresses_are_open(text: str) -> None:
    assert why_closed(ip_address(text)) == ""


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_as_closed_in_every_ipv6_form_as_in_its_own(address: object) -> None:
    assert isinstance(address, IPv4Address)
    number = int(address)
    forms = [
        IPv6Address(0xFFFF << 32 | number),
        IPv6Address(0x0064_FF9B << 96 | number),
        IPv6Address(0x2002 << 112 | number << 80 | 1),
    ]
    for private in (False, True):
        closed = bool(why_closed(address, private=private))
        for form in forms:
            assert bool(why_closed(form, private=private)) == closed, form


@given(st.ip_addresses())
def test_no_address_is_open_that_the_standard_library_calls_local(
    address: IPv4Address | IPv6Address,
) -> None:
    if not why_closed(address):
        assert not address.is_loopback and not address.is_link_local
        assert not address.is_multicast and not address.is_unspecified


@pytest.mark.parametrize(
    "host",
    ["2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.1", "017700000001",
     "1.2.3.4.5", "256.1.1.1", "127.0.0.01", "0x", "1.2.3.4.", "foo.1", "foo.0x1"],
)  # fmt: skip
def test_a_number_in_an_unusual_spelling_is_refused_as_a_host(host: str) -> None:
    with pytest.raises(Refusal, match="spelling that is not accepted"):
        literal(host)
    with pytest.raises(Refusal):
        parsed(f"http://{host}/")


@pytest.mark.parametrize("host", ["example.org", "1password.com", "a1", "x.0y", "xn--bcher-kva.de"])
def test_a_name_with_digits_in_it_is_a_name(host: str) -> None:
    assert literal(host) is None


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://example.org/", "Only http and https"),
        ("file:///etc/passwd", "Only http and https"),
        ("javascript:alert(1)", "Only http and https"),
        ("example.org", "Only http and https"),
        ("//example.org/", "Only http and https"),
        ("", "Only http and https"),
        ("http://", "names no host"),
        ("http:///path", "names no host"),
        ("http://user@example.org/", "user name in it"),
        ("http://user:pass@example.org/", "user name in it"),
        ("http://example.org:99999/", "no port 99999"),
        ("http://example.org:0/", "no port 0"),
        ("http://[::1/", "not a URL"),
        ("http://a b/", "not the name of a host"),
        ("http://１２７.0.0.1/", "not a URL"),
        ("http://exa\x00mple.org/", "not a URL"),
        ("http://" + "a" * 100_000, "not a URL"),
        ("http://pages.test/" + "a" * 8_000, "longer than 8,000 characters"),
        ("http://" + "a." * 200 + "test/", "not the name of a host"),
        ("http://pages..test/", "not the name of a host"),
        ("http://pages.test%2F@1.1.1.1/", "user name in it"),
        ("http://%31%32%37.0.0.1/", "spelling that is not accepted"),
    ],
)
def test_what_is_no_url_to_fetch_is_refused_with_the_reason(url: str, words: str) -> None:
    with pytest.raises(Refusal, match=words):
        parsed(url)


def test_a_name_outside_ascii_is_judged_as_it_is_looked_up() -> None:
    assert parsed("https://bücher.test/ä").raw_host == b"xn--bcher-kva.test"


def test_a_refused_url_does_not_show_its_password() -> None:
    with pytest.raises(Refusal) as caught:
        parsed("http://user:hunter2@example.org/")
    assert "hunter2" not in str(caught.value)


def names(*addresses: str) -> Resolver:
    async def resolver(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolver


def test_one_closed_address_among_open_ones_closes_a_name() -> None:
    with pytest.raises(Refusal, match=r"pages\.test \(10\.0\.0\.5\): it is a private address"):
        asyncio.run(checked("pages.test", 80, resolver=names("1.1.1.1", "10.0.0.5")))


def test_every_address_of_a_name_is_given_once_and_in_order() -> None:
    resolver = names("2606:4700::1", "1.1.1.1", "2606:4700:0::1", "8.8.8.8")
    found = asyncio.run(checked("pages.test", 80, resolver=resolver))
    assert found == ["2606:4700::1", "1.1.1.1", "8.8.8.8"]


def test_a_name_of_this_machine_is_refused_by_its_address() -> None:
    with pytest.raises(
        Refusal, match=r"localhost .*loopback address .*HERMES_ALLOW_PRIVATE_URLS=1"
    ):
        asyncio.run(checked("localhost", 80))


def test_an_address_that_stays_closed_is_refused_without_a_hint_to_open_it() -> None:
    with pytest.raises(Refusal, match="link-local") as caught:
        asyncio.run(checked("169.254.169.254", 80, private=True))
    assert "HERMES_ALLOW_PRIVATE_URLS" not in str(caught.value)


def test_a_name_that_nobody_has_is_refused() -> None:
    async def resolver(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    with pytest.raises(Refusal, match="could not be found"):
        asyncio.run(checked("nowhere.test", 80, resolver=resolver))


@pytest.mark.parametrize("value", ["1", " 1 ", "true", "True", "YES", "on"])
def test_a_yes_opens_private_addresses(value: str) -> None:
    assert allows_private({"HERMES_ALLOW_PRIVATE_URLS": value})


@pytest.mark.parametrize("value", ["", " ", "0", "false", "No", "OFF"])
def test_a_no_leaves_private_addresses_closed(value: str) -> None:
    assert not allows_private({"HERMES_ALLOW_PRIVATE_URLS": value})
    assert not allows_private({})


@pytest.mark.parametrize("value", ["2", "ture", "127.0.0.1", "allow"])
def test_what_is_neither_yes_nor_no_is_told(value: str) -> None:
    with pytest.raises(Refusal, match="HERMES_ALLOW_PRIVATE_URLS must be one of 1, true"):
        allows_private({"HERMES_ALLOW_PRIVATE_URLS": value})
