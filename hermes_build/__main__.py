"""``python -m hermes_build``: the command line."""

from hermes_build.cli import script

script()
