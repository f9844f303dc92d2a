"""Whether a tool can be used here: its requirements, its check function, and what is remembered."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime.availability import Availability
from hermes_build.runtime.errors import Unavailable
from hermes_build.runtime.requirements import importable, unmet

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz012345"


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Check:
    """A check function that counts how often it ran, and says what it is told to say."""

    def __init__(self, answer: Any = True) -> None:
        self.answer = answer
        self.runs = 0

    def __call__(self) -> Any:
        self.runs += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def availability(clock: Clock) -> Availability:
    return Availability(clock=clock)


def record(name: str = "t", **requires: Any) -> dict[str, Any]:
    return {"name": name, **({"requires": requires} if requires else {})}


CHECKED = record(check=True)


# What a spec requires


def test_a_tool_that_requires_nothing_is_available(availability: Availability) -> None:
    assert availability.missing(record(), None) == ()
    assert unmet({}) == ()


def test_every_named_variable_must_be_set_and_not_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    requires = {"env": ["HB_ONE", "HB_TWO", "HB_THREE"]}
    for name in requires["env"]:
        monkeypatch.delenv(name, raising=False)
    assert unmet(requires) == ("set HB_ONE, HB_TWO and HB_THREE",)
    monkeypatch.setenv("HB_ONE", SECRET)
    monkeypatch.setenv("HB_TWO", "")
    assert unmet(requires) == ("set HB_TWO and HB_THREE (HB_TWO is set, and empty)",)
    monkeypatch.setenv("HB_TWO", "0")
    assert unmet(requires) == ("set HB_THREE",)
    monkeypatch.setenv("HB_THREE", "x")
    assert unmet(requires) == ()


def test_one_of_the_alternatives_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    requires = {"any_env": ["HB_TAVILY", "HB_EXA"]}
    monkeypatch.delenv("HB_TAVILY", raising=False)
    monkeypatch.setenv("HB_EXA", "")
    assert unmet(requires) == ("set HB_TAVILY or HB_EXA (HB_EXA is set, and empty)",)
    monkeypatch.setenv("HB_EXA", SECRET)
    assert unmet(requires) == ()


def test_a_variable_is_read_each_time(
    availability: Availability, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HB_KEY", raising=False)
    assert availability.missing(record(env=["HB_KEY"]), None) == ("set HB_KEY",)
    monkeypatch.setenv("HB_KEY", "x")
    assert availability.missing(record(env=["HB_KEY"]), None) == ()
    monkeypatch.delenv("HB_KEY")
    assert availability.missing(record(env=["HB_KEY"]), None) == ("set HB_KEY",)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path, with packages whose import fails the test."""
    root = tmp_path / "packages"
    for path in ("hb_outer/__init__.py", "hb_outer/inner.py", "hb_space/leaf.py", "hb_alone.py"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(root)
    return root


@pytest.mark.parametrize(
    ("module", "there"),
    [
        ("hb_outer", True),
        ("hb_outer.inner", True),
        ("hb_outer.missing", False),
        ("hb_outer.inner.deeper", False),
        ("hb_space.leaf", True),
        ("hb_alone", True),
        ("hb_alone.part", False),
        ("hb_missing", False),
        ("hb_missing.part", False),
        ("sys", True),
        ("os.path", True),
        ("importlib.metadata", True),
    ],
)
def test_a_module_is_found_without_importing_it(packages: Path, module: str, there: bool) -> None:
    before = set(sys.modules)
    assert importable(module) is there
    assert not {one for one in set(sys.modules) - before if one.startswith("hb_")}


def test_a_module_that_python_refuses_to_import_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json", None)
    assert not importable("json")
    assert not importable("json.decoder_of_nobody")


def test_a_module_that_was_made_by_hand_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    module = type(sys)("hb_by_hand")
    monkeypatch.setitem(sys.modules, "hb_by_hand", module)
    assert module.__spec__ is None
    assert importable("hb_by_hand")
    assert not importable("hb_by_hand.part")


def test_a_missing_module_is_named_with_what_to_do() -> None:
    assert unmet({"python": ["json", "hb_missing"]}) == (
        "install the Python package that provides `hb_missing`",
    )
    assert unmet({"python": ["hb_missing", "hb_lost.part"]}) == (
        "install the Python packages that provide `hb_missing` and `hb_lost.part`",
    )


def command(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / (f"{name}.bat" if os.name == "nt" else name)
    path.write_text("")
    path.chmod(0o755)


def test_a_command_must_be_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command(tmp_path, "hb-one")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert unmet({"commands": ["hb-one"]}) == ()
    assert unmet({"commands": ["hb-one", "hb-two"]}) == ("install `hb-two`, which is not on PATH",)
    monkeypatch.delenv("PATH")
    assert unmet({"commands": ["hb-one", "hb-two"]}) == (
        "install `hb-one` and `hb-two`, which are not on PATH",
    )


@pytest.mark.parametrize(
    ("system", "platforms", "said"),
    [
        ("linux", ["linux"], ()),
        ("darwin", ["linux", "macos"], ()),
        ("win32", ["windows"], ()),
        ("win32", ["linux", "macos"], ("runs on linux and macos, not on windows",)),
        ("darwin", ["linux"], ("runs on linux, not on macos",)),
        ("freebsd14", ["linux"], ("runs on linux, not on freebsd14",)),
    ],
)
def test_a_tool_runs_on_the_platforms_it_names(
    monkeypatch: pytest.MonkeyPatch, system: str, platforms: list[str], said: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    found = unmet({"platforms": platforms})
    monkeypatch.undo()
    assert found == said


def test_each_kind_of_requirement_has_a_sentence_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HB_A", "HB_B"):
        monkeypatch.delenv(name, raising=False)
    requires = {
        "commands": ["hb-none"],
        "python": ["hb_none"],
        "any_env": ["HB_B"],
        "env": ["HB_A"],
        "platforms": ["beos"],
        "check": True,
    }
    assert [one.split()[0] for one in unmet(requires)] == [
        "runs", "set", "set", "install", "install",
    ]  # fmt: skip


def test_what_is_installed_is_remembered_for_a_while(
    packages: Path, availability: Availability, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(packages))
    tool = record(python=["hb_later"], commands=["hb-later"])
    lacking = availability.missing(tool, None)
    assert len(lacking) == 2
    (packages / "hb_later").mkdir()
    (packages / "hb_later" / "__init__.py").write_text("")
    command(packages, "hb-later")
    sys.path_importer_cache.pop(str(packages), None)
    clock.now += 29.9
    assert availability.missing(tool, None) == lacking
    clock.now += 0.2
    assert availability.missing(tool, None) == ()
    sys.path.remove(str(packages))
    assert availability.missing(tool, None) == ()
    availability.invalidate()
    assert availability.missing(tool, None) == lacking[:1]


def test_a_changed_path_is_seen_at_once(
    tmp_path: Path, availability: Availability, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(tmp_path / "bin", "hb-tool")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert availability.missing(record(commands=["hb-tool"]), None) != ()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert availability.missing(record(commands=["hb-tool"]), None) == ()


# What a check function says


def test_a_check_decides(availability: Availability) -> None:
    assert availability.missing(CHECKED, lambda: True) == ()
    assert availability.missing(CHECKED, lambda: False) == ("its check function returned False",)


def test_a_reason_names_the_function(availability: Availability) -> None:
    def docker_runs() -> bool:
        return False

    [reason] = availability.missing(CHECKED, docker_runs)
    assert reason.endswith("docker_runs` returned False")


def test_the_reason_that_a_check_gives_stands_as_it_is(availability: Availability) -> None:
    check = Check(Unavailable("INTERACTIVE is off: start the agent with --interactive"))
    assert availability.missing(CHECKED, check) == (
        "INTERACTIVE is off: start the agent with --interactive",
    )


def test_a_check_that_gives_up_without_a_word_is_unavailable_too(
    availability: Availability,
) -> None:
    [reason] = availability.missing(CHECKED, Check(Unavailable()))
    assert reason == "its check function says that it is unavailable"


@pytest.mark.parametrize(
    "error", [RuntimeError("no daemon\nat all"), SystemExit(3), GeneratorExit(), ImportError("x")]
)
def test_a_check_that_raises_counts_as_false(
    availability: Availability, error: BaseException
) -> None:
    [reason] = availability.missing(CHECKED, Check(error))
    assert f"raised {type(error).__name__}" in reason
    assert "\n" not in reason
    assert " ".join(str(error).split()) in reason


def test_an_exception_that_cannot_say_what_it_is_counts_as_false(
    availability: Availability,
) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError

    class Silent(Unavailable):
        def __str__(self) -> str:
            raise ValueError

    assert availability.missing(CHECKED, Check(Mute())) == ("its check function raised Mute",)
    assert len(availability.missing(CHECKED, Check(Silent()))) == 1


def test_an_interrupt_passes(availability: Availability) -> None:
    with pytest.raises(KeyboardInterrupt):
        availability.missing(CHECKED, Check(KeyboardInterrupt()))


def test_what_a_check_raises_is_masked_and_kept_short(
    availability: Availability, caplog: pytest.LogCaptureFixture
) -> None:
    error = RuntimeError(f"401 for Bearer {SECRET} " + "x" * 10_000)
    [reason] = availability.missing(CHECKED, Check(error))
    assert "401" in reason
    assert len(reason) < 600
    assert SECRET not in reason
    assert SECRET not in caplog.text


@pytest.mark.parametrize("answer", [None, 1, 0, "yes", "no", [True], object()])
def test_an_answer_that_is_no_bool_is_refused(availability: Availability, answer: Any) -> None:
    [reason] = availability.missing(CHECKED, Check(answer))
    assert "must return a bool" in reason
    assert type(answer).__name__ in reason


def test_a_coroutine_is_refused_and_closed(availability: Availability) -> None:
    async def check() -> bool:
        return True

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made: list[Any] = []

        def wrapped() -> Any:
            made.append(check())
            return made[-1]

        [reason] = availability.missing(CHECKED, wrapped)
        assert made[0].cr_frame is None
        made.clear()
        gc.collect()
    assert "must return a bool, and returned a value of type coroutine" in reason


def test_a_task_is_refused_and_cancelled(availability: Availability) -> None:
    async def main() -> tuple[tuple[str, ...], bool]:
        task = asyncio.ensure_future(asyncio.Event().wait())
        reasons = availability.missing(CHECKED, lambda: task)
        await asyncio.wait([task])
        return reasons, task.cancelled()

    [reason], cancelled = asyncio.run(main())
    assert "must return a bool" in reason
    assert cancelled


def test_a_check_is_not_asked_where_a_requirement_is_unmet(
    availability: Availability, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HB_KEY", raising=False)
    check = Check(RuntimeError("no key"))
    assert availability.missing(record(env=["HB_KEY"], check=True), check) == ("set HB_KEY",)
    assert check.runs == 0


# What is remembered, and for how long


def test_within_the_ttl_a_check_does_not_run_again(
    availability: Availability, clock: Clock
) -> None:
    for check in (Check(True), Check(False)):
        first = availability.missing(CHECKED, check)
        check.answer = not check.answer
        clock.now += 29.9
        assert availability.missing(CHECKED, check) == first
        assert check.runs == 1
        clock.now += 0.1
        availability.missing(CHECKED, check)
        assert check.runs == 2


def test_a_failure_within_the_grace_is_passed_over_and_not_kept(
    availability: Availability, clock: Clock
) -> None:
    check = Check(True)
    assert availability.missing(CHECKED, check) == ()
    check.answer = False
    clock.now += 30
    for runs in (2, 3, 4):
        assert availability.missing(CHECKED, check) == ()
        assert check.runs == runs
    check.answer = RuntimeError("busy")
    assert availability.missing(CHECKED, check) == ()
    check.answer = Unavailable("busy")
    clock.now += 29.9
    assert availability.missing(CHECKED, check) == ()
    assert check.runs == 6


def test_past_the_grace_a_failure_counts_and_is_kept(
    availability: Availability, clock: Clock
) -> None:
    check = Check(True)
    availability.missing(CHECKED, check)
    check.answer = False
    clock.now += 60
    assert availability.missing(CHECKED, check) != ()
    check.answer = True
    clock.now += 29.9
    assert availability.missing(CHECKED, check) != ()
    assert check.runs == 2
    clock.now += 0.1
    assert availability.missing(CHECKED, check) == ()
    assert check.runs == 3


def test_the_grace_is_counted_from_the_last_success(
    availability: Availability, clock: Clock
) -> None:
    check = Check(True)
    for _ in range(3):
        assert availability.missing(CHECKED, check) == ()
        clock.now += 50
    check.answer = False
    assert availability.missing(CHECKED, check) == ()
    clock.now += 10
    assert availability.missing(CHECKED, check) != ()
    assert check.runs == 5


def test_a_failure_without_an_earlier_success_counts_at_once(
    availability: Availability, clock: Clock
) -> None:
    check = Check(False)
    assert availability.missing(CHECKED, check) != ()
    clock.now += 30
    assert availability.missing(CHECKED, check) != ()
    assert check.runs == 2


def test_no_grace_excuses_an_answer_that_is_no_bool(
    availability: Availability, clock: Clock
) -> None:
    check = Check(True)
    availability.missing(CHECKED, check)
    check.answer = None
    clock.now += 30
    assert availability.missing(CHECKED, check) != ()


def test_invalidating_forgets_verdicts_and_successes(
    availability: Availability, clock: Clock
) -> None:
    check = Check(True)
    availability.missing(CHECKED, check)
    check.answer = False
    availability.invalidate()
    assert availability.missing(CHECKED, check) != ()
    check.answer = True
    availability.invalidate()
    assert availability.missing(CHECKED, check) == ()


def test_a_verdict_from_before_an_invalidation_is_not_kept(availability: Availability) -> None:
    answers = [False, True]

    def check() -> bool:
        availability.invalidate()  # a setting changes while the check looks at the former one
        return answers.pop(0)

    assert availability.missing(CHECKED, check) != ()
    assert availability.missing(CHECKED, check) == ()
    assert not answers


def test_a_success_from_before_an_invalidation_excuses_nothing(
    availability: Availability, clock: Clock
) -> None:
    up = True

    def check() -> bool:
        if not up:
            availability.invalidate()
        return up

    assert availability.missing(CHECKED, check) == ()
    up = False
    clock.now += 30
    assert availability.missing(CHECKED, check) != ()


def test_ttl_and_grace_are_settings(clock: Clock) -> None:
    check = Check(True)
    availability = Availability(ttl=0, grace=5, clock=clock)
    for runs in (1, 2):
        assert availability.missing(CHECKED, check) == ()
        assert check.runs == runs
    check.answer = False
    clock.now += 4.9
    assert availability.missing(CHECKED, check) == ()
    availability.grace = 0
    assert availability.missing(CHECKED, check) != ()


# Which checks are one and the same


class Unhashable(Check):
    __hash__ = None  # type: ignore[assignment]


class Equal(Check):
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


def test_a_check_need_not_be_hashable(availability: Availability) -> None:
    yes, no = Unhashable(True), Unhashable(False)
    for _ in range(2):
        assert availability.missing(CHECKED, yes) == ()
        assert availability.missing(CHECKED, no) != ()
    assert (yes.runs, no.runs) == (1, 1)


def test_checks_that_are_equal_are_still_two(availability: Availability) -> None:
    yes, no = Equal(True), Equal(False)
    assert availability.missing(CHECKED, yes) == ()
    assert availability.missing(CHECKED, no) != ()


def test_a_method_is_one_check_however_often_it_is_looked_up(availability: Availability) -> None:
    class Backend:
        def __init__(self, up: bool) -> None:
            self.up = up
            self.runs = 0

        def ready(self) -> bool:
            self.runs += 1
            return self.up

    one, other = Backend(True), Backend(False)
    for _ in range(2):
        assert availability.missing(CHECKED, one.ready) == ()
        assert availability.missing(CHECKED, other.ready) != ()
    assert (one.runs, other.runs) == (1, 1)


def test_a_new_check_never_gets_the_verdict_of_one_that_is_gone(
    availability: Availability,
) -> None:
    for nth in range(200):
        up = nth % 2 == 0
        assert (availability.missing(CHECKED, Check(up)) == ()) is up


def test_checks_that_are_made_anew_all_the_time_do_not_fill_the_memory(
    availability: Availability, clock: Clock
) -> None:
    alive = 0

    class Counted(Check):
        def __init__(self) -> None:
            nonlocal alive
            super().__init__()
            alive += 1

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    most = 0
    for _ in range(20_000):
        availability.missing(CHECKED, Counted())
        clock.now += 0.1  # 600 of them within the grace
        most = max(most, alive)
    assert most < 3_000


# Listings


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


# Warnings


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [one for one in caplog.records if one.name == "hermes_build.runtime"]
    assert all(one.levelno == logging.WARNING for one in found)
    messages = [one.getMessage() for one in found]
    caplog.clear()
    return messages


def test_a_missing_tool_is_warned_of_once_for_each_reason(
    availability: Availability, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HB_KEY", raising=False)
    monkeypatch.setenv("HB_OTHER", SECRET)
    tool = record("search", env=["HB_KEY", "HB_OTHER"])
    for _ in range(3):
        availability.missing(tool, None)
        availability.listing().missing(tool, None)
        availability.invalidate()
    assert warned(caplog) == ["Tool search is unavailable: set HB_KEY"]
    availability.missing(record("other", env=["HB_KEY"]), None)
    assert warned(caplog) == ["Tool other is unavailable: set HB_KEY"]
    monkeypatch.setenv("HB_KEY", SECRET)
    monkeypatch.setenv("HB_OTHER", "")
    availability.missing(tool, None)
    assert warned(caplog) == [
        "Tool search is unavailable: set HB_OTHER (HB_OTHER is set, and empty)"
    ]


def test_quiet_callers_hear_nothing_and_keep_nobody_else_from_hearing(
    availability: Availability, caplog: pytest.LogCaptureFixture
) -> None:
    check = Check(False)
    availability.missing(CHECKED, check, quiet=True)
    availability.listing(quiet=True).missing(CHECKED, check)
    assert warned(caplog) == []
    availability.missing(CHECKED, check)
    assert warned(caplog) == ["Tool t is unavailable: its check function returned False"]


def test_a_failure_that_is_passed_over_is_warned_of(
    availability: Availability, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    check = Check(True)
    availability.missing(CHECKED, check)
    clock.now += 30
    check.answer = Unavailable("the daemon is busy")
    for _ in range(2):
        assert availability.missing(CHECKED, check) == ()
    [message] = warned(caplog)
    assert message.startswith("Tool t stays available")
    assert message.endswith("the daemon is busy")


def test_a_credential_in_a_reason_is_not_logged(
    availability: Availability, caplog: pytest.LogCaptureFixture
) -> None:
    availability.missing(CHECKED, Check(Unavailable(f"the server refuses Bearer {SECRET}")))
    [message] = warned(caplog)
    assert "the server refuses" in message
    assert SECRET not in message
