"""The one byte form of a JSON value that digests are made of."""

from __future__ import annotations

import hashlib
import json
from typing import Any

# Made once: `json.dumps` would make one for each of ten thousand tools.
_SORTED = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode
_AS_IT_IS = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def canonical(value: Any) -> bytes:
    """Return ``value`` as compact JSON with sorted keys, in UTF-8; equal values give equal bytes.

    Raises:
        ValueError: the value holds NaN or an infinity.
        TypeError: the value is not made of JSON's types.
    """
    return _SORTED(value).encode("utf-8", "surrogatepass")


def compact(value: Any) -> str:
    """Return ``value`` as compact JSON with keys in the order that they have.

    Raises:
        ValueError: the value holds NaN or an infinity.
    """
    return _AS_IT_IS(value)


def hexdigest(data: bytes) -> str:
    """Return the SHA-256 of ``data``: 64 lower-case hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def digest(data: bytes) -> str:
    """Return ``sha256:`` and the `hexdigest`, as the lock names contents."""
    return f"sha256:{hexdigest(data)}"


def value_digest(value: Any) -> str:
    """Return the digest of a JSON value's canonical form."""
    return digest(canonical(value))
