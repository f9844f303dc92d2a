"""JSON Schemas of tools: judged, linked to what they refer to, and explained."""

from hermes_build.compiler.schema.check import check_schema, check_shared
from hermes_build.compiler.schema.link import Checked
from hermes_build.compiler.schema.siblings import Siblings
from hermes_build.compiler.schema.values import check_examples

__all__ = ["Checked", "Siblings", "check_examples", "check_schema", "check_shared"]
