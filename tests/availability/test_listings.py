"""A listing sees one state, asks each check once, and is held up by nobody."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime.availability import Availability
from tests.availability.tools import CHECKED, command, record
from tests.contract.programs import Check, Clock


def test_in_a_listing_a_shared_check_runs_once_even_where_nothing_is_kept(clock: Clock) -> None:
    availability = Availability(ttl=0, grace=0, clock=clock)
    for answer in (True, False, None, RuntimeError()):
        check = Check(answer)
        listing = availability.listing()
        verdicts = {listing.missing(record(name, check=True), check) for name in "abc"}
        assert len(verdicts) == 1
        assert check.runs == 1


def test_a_listing_is_coherent_while_a_check_flaps(
    availability: Availability, clock: Clock
) -> None:
    check = Check(True)
    availability.missing(CHECKED, check)
    clock.now += 45
    check.answer = False
    listing = availability.listing()
    assert listing.missing(record("a", check=True), check) == ()
    clock.now += 45
    assert listing.missing(record("b", check=True), check) == ()
    assert availability.listing().missing(record("c", check=True), check) != ()


def test_a_listing_sees_one_environment(
    availability: Availability, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HB_KEY", "x")
    command(tmp_path, "hb-tool")
    monkeypatch.setenv("PATH", str(tmp_path))
    tool = record(env=["HB_KEY"], commands=["hb-tool"])
    listing = availability.listing()
    assert listing.missing(tool, None) == ()
    monkeypatch.delenv("HB_KEY")
    monkeypatch.setenv("PATH", "")
    assert listing.missing(tool, None) == ()
    assert len(availability.listing().missing(tool, None)) == 2


def test_a_listing_says_when_another_might_differ(
    availability: Availability, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HB_KEY", "x")
    start = clock.now
    check = Check(True)
    listing = availability.listing()
    listing.missing(record(env=["HB_KEY"], platforms=["beos"]), None)
    assert listing.expires is None
    listing.missing(CHECKED, check)
    assert listing.expires == start + 30
    clock.now += 10
    later = availability.listing()
    later.missing(record(python=["json"]), None)
    assert later.expires == start + 40
    later.missing(CHECKED, check)
    assert later.expires == start + 30
    later.missing(record(python=["html"]), None)
    assert later.expires == start + 30
    clock.now += 20
    check.answer = False
    hiccup = availability.listing()
    hiccup.missing(record(python=["hb_missing"]), None)
    hiccup.missing(CHECKED, check)
    assert hiccup.expires == clock.now
    assert availability.invalidations == 0
    availability.invalidate()
    assert availability.invalidations == 1


def test_one_tool_that_fails_leaves_the_others_alone(availability: Availability) -> None:
    listing = availability.listing()
    checks: dict[str, Callable[[], Any]] = {
        "a": Check(True),
        "b": Check(RuntimeError()),
        "c": Check(SystemExit()),
        "d": Check(True),
    }
    missing = {name: listing.missing(record(name, check=True), checks[name]) for name in checks}
    assert [name for name in checks if not missing[name]] == ["a", "d"]


def test_a_check_that_blocks_holds_up_nobody_else(availability: Availability) -> None:
    began, go_on = threading.Event(), threading.Event()
    verdicts: list[tuple[str, ...]] = []

    def slow() -> bool:
        began.set()
        return go_on.wait(60)

    thread = threading.Thread(target=lambda: verdicts.append(availability.missing(CHECKED, slow)))
    thread.start()
    try:
        assert began.wait(60)
        assert availability.missing(CHECKED, Check(True)) == ()
        assert availability.listing().missing(CHECKED, Check(False)) != ()
        availability.invalidate()
    finally:
        go_on.set()
        thread.join(60)
    assert verdicts == [()]


def test_a_check_may_ask_for_other_tools(availability: Availability) -> None:
    inner = Check(True)

    def outer() -> bool:
        return availability.missing(record("inner", check=True), inner) == ()

    assert availability.listing().missing(record("outer", check=True), outer) == ()
    assert inner.runs == 1


def test_many_threads_get_the_same_answers(availability: Availability) -> None:
    checks = [Check(nth % 2 == 0) for nth in range(50)]
    wrong: list[int] = []

    def ask() -> None:
        for _ in range(5):
            listing = availability.listing(quiet=True)
            for nth, check in enumerate(checks):
                if (listing.missing(CHECKED, check) == ()) is not (nth % 2 == 0):
                    wrong.append(nth)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
