"""A handler whose author missed that `offset` and `limit` have other names and defaults."""

from generated.registry import registry


@registry.handler("read_file")
def read_file(*, path: str, start: int = 1, limit: int = 200) -> str:
    """Read some lines of a file."""
    return "never reached"
