"""The one exception of the web tools: a call, or one page of it, that cannot be done."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """A sentence for the model on what is wrong and what to do, with ``details`` as JSON values."""

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details = details
