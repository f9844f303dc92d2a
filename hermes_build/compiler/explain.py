"""The page behind a code."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "explain"


def page(code: str) -> str:
    """Return the Markdown page of a code.

    Raises:
        FileNotFoundError: there is no such page, which is a fault of ours.
    """
    return (FOLDER / f"{code}.md").read_text("utf-8")
