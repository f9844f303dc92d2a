"""The JSON Schema of what ``--format json`` prints."""

from __future__ import annotations

from hermes_build.compiler.publish.pieces import closed, document, listed, mapped, text
from hermes_build.compiler.report.printers import JSON_VERSION
from hermes_build.ir import JsonObject


def output_schema() -> JsonObject:
    """The schema of what ``--format json`` prints."""
    number: JsonObject = {"type": "integer", "minimum": 0}
    position: JsonObject = {"type": "integer", "minimum": 1}
    span: JsonObject = {"$ref": "#/$defs/span"}

    def whole(description: str, properties: JsonObject) -> JsonObject:
        return closed(description, properties, list(properties))

    finding = whole(
        "One finding.",
        {
            "code": text("Its code; never reused.", pattern="^HB[0-9]{4}$"),
            "name": text("Its code's short name."),
            "severity": {"enum": ["error", "warning", "info"]},
            "message": text("What is wrong, in one sentence."),
            "span": {"anyOf": [span, {"type": "null"}], "description": "Where."},
            "label": text("What is to be seen at `span`; may be empty."),
            "labels": listed(
                "More places.",
                whole("A place.", {"span": span, "message": text("What is there.")}),
            ),
            "notes": listed("Further facts.", {"type": "string"}),
            "help": listed("What to do about it.", {"type": "string"}),
            "tool": {"type": ["string", "null"], "description": "The tool that it is about."},
        },
    )
    summary = whole(
        "How much was found.",
        {
            "errors": number,
            "warnings": number,
            "infos": number,
            "files": {
                "type": ["integer", "null"],
                "minimum": 0,
                "description": "How many files were looked at, if that is known.",
            },
        },
    )
    parts = {
        "version": {"const": JSON_VERSION, "description": "The form of the report."},
        "findings": listed("The findings, by place.", {"$ref": "#/$defs/finding"}),
        "summary": summary,
    }
    made = {
        "description": "What `hermes-build bundle` wrote, null where it wrote nothing.",
        "anyOf": [{"$ref": "#/$defs/bundle"}, {"type": "null"}],
    }
    node = closed("The report.", {**parts, "bundle": made}, list(parts))
    names = {"type": "string"}
    node["$defs"] = {
        "bundle": whole(
            "A bundle.",
            {
                "path": text("The file that was written."),
                "size": {**number, "description": "Its size in bytes."},
                "sha256": text("Its digest.", pattern="^[0-9a-f]{64}$"),
                "digest": text("The digest of the manifest.", pattern="^[0-9a-f]{64}$"),
                "name": text("What the bundle is called."),
                "toolsets": listed("The toolsets in it.", names),
                "tools": listed("The tools in it.", names),
                "files": {**number, "description": "How many files it holds."},
                "content_size": {**number, "description": "The bytes of these files together."},
                "dependencies": mapped(
                    "Import names that are taken from elsewhere, to distributions.",
                    {"type": ["string", "null"]},
                ),
                "left_out": listed(
                    "Modules of the same packages that are not in it.",
                    whole("A module.", {"module": text("Its name."), "why": text("Why not.")}),
                ),
            },
        ),
        "finding": finding,
        "span": whole(
            "Lines and columns count characters from 1; the end is exclusive.",
            {
                "path": text("The file, relative to the project, with forward slashes."),
                "line": position,
                "column": position,
                "end_line": position,
                "end_column": position,
            },
        ),
    }
    return document("hermes-build report", "What `--format json` prints.", node)
