"""How much room a text takes in an answer, which is JSON: quotes and what cannot be seen take more.

A tool that cuts its own answer does so by this measure. Cut by another, an answer could still be
longer than its spec allows, and would be cut again: in the middle of its JSON, with a note that
contradicts its own.
"""

from __future__ import annotations

from json.encoder import encode_basestring


def room_of(text: str) -> int:
    """How many characters a text takes, its quotes apart."""
    return len(encode_basestring(text)) - 2


def fitting(text: str, room: int) -> int:
    """How many characters of a text's beginning fit into so much room."""
    if room_of(text) <= room:
        return len(text)
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        if room_of(text[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return low
