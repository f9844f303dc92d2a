"""What an error quotes cannot pass for a part of the conversation, nor carry a credential."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_build.runtime.sanitising import MAX_CHARS, PREFIX, sanitise

ROLES = (
    *("tool_call", "function_call", "result", "response", "output", "input"),
    *("system", "assistant", "user"),
)


def body(text: str) -> str:
    sanitised = sanitise(text)
    assert sanitised.startswith("[TOOL_ERROR] ")
    return sanitised.removeprefix("[TOOL_ERROR] ")


def test_an_error_begins_with_the_prefix() -> None:
    assert sanitise("no such file") == "[TOOL_ERROR] no such file"
    assert sanitise("") == "[TOOL_ERROR] "


@pytest.mark.parametrize("role", ROLES)
def test_role_tags_go_and_what_they_hold_stays(role: str) -> None:
    for opening, closing in (
        (f"<{role}>", f"</{role}>"),
        (f"<{role.upper()}>", f"</{role.title()}>"),
        (f'<{role} id="1"\n name=x >', f"< / {role} >"),
        (f"< {role}/>", f"<{role} />"),
    ):
        assert body(f"a {opening}inner{closing} b") == "a inner b"


@pytest.mark.parametrize(
    "text",
    [
        "<div>a</div>",
        "<systems>a</systems>",
        "<system-note>a</system-note>",
        "<user@example.com>",
        "<results/>",
        "<ns:user>a</ns:user>",
        "a < b > c",
        "<!-- system -->",
        "a ``` b ~~~ c",
        "`a` and 'b'",
    ],
)
def test_other_xml_and_other_signs_stay(text: str) -> None:
    assert body(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "a <sys<system>tem>b",
        "a <<user>system>b",
        "a <sys<![CDATA[x]]>tem>b",
        "a <![CDA<user>TA[x]]>b",
        "a " + "<sys" * 50 + "<user>" + "tem>" * 50 + "b",
    ],
)
def test_what_removing_joins_is_removed_as_well(text: str) -> None:
    assert body(text) == "a b"


def test_framing_in_more_layers_than_anybody_writes_leaves_no_tag() -> None:
    layers = "<user>"
    for _ in range(40):
        layers = f"<![CDA{layers}TA[]]>".join(["<us", "er>"])
    assert not set("<>") & set(body(f"a {layers} b"))


def test_cdata_blocks_go_with_what_they_hold() -> None:
    assert body("a <![CDATA[ x\n<y> ]]>b<![CDATA[]]> c") == "a b c"
    assert body("a <![CDATA[ never ended") == "a  never ended"
    assert body("a ]]> b") == "a ]]> b"


@pytest.mark.parametrize(
    "text",
    [
        "```json\n{1}\n```",
        "  ```\n{1}\n```\n",
        "```{1}```",
        "~~~~ c++ \n{1}\n~~~~",
        "```json {1} ```",
        "```\n{1}",
        "{1}\n```",
        "```\n```json\n{1}\n```\n```",
        "<user>```\n{1}\n```</user>",
    ],
)
def test_code_fences_at_the_ends_go(text: str) -> None:
    assert body(text) == "{1}"


def test_a_fence_inside_stays_and_so_does_the_first_word() -> None:
    assert body("before\n```py\nx\n```\nbehind") == "before\n```py\nx\n```\nbehind"
    assert body("```hello there```") == "hello there"


def test_credentials_are_masked_also_those_that_tags_cut_in_two() -> None:
    assert body("refused sk-abcdef1234567890") == "refused sk-ab…[masked]"
    assert body("refused sk-abc<system>def1234567890") == "refused sk-ab…[masked]"
    assert body("postgres://u:p@h: AKIAIOSFODNN7EXAMPLE, token=abc") == (
        "postgres://u:[masked]@h: AKIAIO…[masked], token=[masked]"
    )


def test_a_body_is_whole_up_to_2000_characters_and_no_longer_above() -> None:
    assert MAX_CHARS == 2_000
    assert body("x" * 2_000) == "x" * 2_000
    assert body("x" * 2_001) == "x" * 1_999 + "…"
    assert len(sanitise("x y" * 1_000_000)) <= len(PREFIX) + 2_000


@pytest.mark.parametrize("offset", range(-60, 12))
def test_the_cut_shows_nothing_of_a_credential(offset: int) -> None:
    secret = "a1B2c3D4e5F6g7H8i9J0"
    before = "x " * 960 + "y" * (80 + offset)
    for text in (f"sk-{secret}", f"password={secret}", f"https://u:{secret}@host/"):
        shown = body(f"{before} {text} {'z' * 100}")
        assert len(shown) <= 2_000
        assert secret[4:8] not in shown
        assert "[m" not in shown.replace("[masked]", "")


def test_lone_surrogates_are_replaced() -> None:
    assert body("a\ud800b \udcff") == "a\ufffdb \ufffd"
    assert body("\ud83d\ude00") == "\U0001f600"


def test_the_prefix_is_never_doubled() -> None:
    assert sanitise(sanitise("a")) == "[TOOL_ERROR] a"
    assert sanitise("```\n[TOOL_ERROR] [TOOL_ERROR] a\n```") == "[TOOL_ERROR] a"
    assert body("a [TOOL_ERROR] b") == "a [TOOL_ERROR] b"


PIECES = st.sampled_from(
    [
        *("<", ">", "/", "system", "<user>", "</Result>", "<![CDATA[", "]]>", "<![CDA", "TA["),
        *("```", "~~~", "json", "\n", " ", "[TOOL_ERROR]", "password=", " sk-abcdef1234567890"),
        *("token: ", "\ud800", "é", "a", "<b>", "x" * 1990, "y " * 995, "…", "[masked]", '"'),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)


@given(TEXTS)
def test_any_text_gives_a_short_one_without_role_tags(text: str) -> None:
    shown = body(text)
    shown.encode()
    assert len(shown) <= MAX_CHARS
    assert not re.search(rf"<\s*/?\s*(?:{'|'.join(ROLES)})\s*/?\s*>", shown, re.IGNORECASE)
    assert "abcdef1234567890" not in shown


@given(TEXTS)
def test_to_sanitise_a_sanitised_text_changes_nothing(text: str) -> None:
    assert sanitise(sanitise(text)) == sanitise(text)


@pytest.mark.parametrize(
    "piece",
    [
        *("<", ">", "<system>", "<a", "<![CDATA[", "]]>", "```\n", "[TOOL_ERROR] ", "~~~ ```"),
        "<![CDA<user>TA[",
    ],
)
def test_a_hostile_text_of_a_million_characters_is_no_more_work_than_another(piece: str) -> None:
    """Were the work to grow with the square of the length, this would take hours."""
    assert len(sanitise((piece * 1_000_000)[:1_000_000])) <= len(PREFIX) + MAX_CHARS
