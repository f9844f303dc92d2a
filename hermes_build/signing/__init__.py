"""Signatures: who says that a bundle is what they built.

The packages that this room needs come with the extra ``sign``; `statement` and `provenance` do
without them.
"""


class SigningUnavailable(ImportError):
    """The packages of the extra ``sign`` are not installed, or do not work here."""

    def __init__(self) -> None:
        super().__init__(
            "signatures need packages that are not installed: pip install 'hermes-build[sign]'"
        )
