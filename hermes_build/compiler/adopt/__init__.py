"""Tool definitions that exist elsewhere, turned into specs."""

from hermes_build.compiler.adopt.specs import Adopted, Layout, Origin, adopt

__all__ = ["Adopted", "Layout", "Origin", "adopt"]
