"""The JSON Schema of a project's settings."""

from __future__ import annotations

from hermes_build.compiler.codes import CODES
from hermes_build.compiler.project import MODELS
from hermes_build.compiler.publish.pieces import MODULE, closed, document, listed, text
from hermes_build.ir import JsonObject


def config_schema() -> JsonObject:
    """The schema of ``hermes-build.toml``, or of ``[tool.hermes-build]`` in ``pyproject.toml``."""
    package: JsonObject = {"type": "string", "pattern": MODULE}
    folder: JsonObject = {
        "type": "string",
        "pattern": r"^(?![/\\])(?!.*:)(?!(.*[/\\])?[.][.]([/\\]|$)).+$",
    }
    beginnings = {code[:length] for code in CODES for length in range(1, len(code))}
    code: JsonObject = {"enum": [*CODES, *sorted(beginnings)]}
    ignore = closed(
        "One suppression.",
        {
            "code": {"description": "A code, or the beginning of codes.", "$ref": "#/$defs/code"},
            "reason": text("Why this is right here.", pattern=r"\S"),
            "files": text("Which files, as a glob.", default="**", examples=["legacy/**"]),
        },
        ["code", "reason"],
    )
    node = closed(
        "The settings.",
        {
            "specs": {"description": "The folder of the specs.", **folder, "default": "tool_specs"},
            "toolsets": {
                "description": "The folder of the toolsets.",
                **folder,
                "default": "toolsets",
            },
            "handlers": listed("The packages of the handlers.", package, default=["handlers"]),
            "output": {
                "description": "The package to generate.",
                **package,
                "default": "generated",
                "examples": ["my_agent.tools.generated"],
            },
            "source": {
                "description": "The folder that holds the packages, such as `src`.",
                **folder,
                "default": ".",
            },
            "templates": {
                "description": "The folder of templates that replace the built-in ones.",
                **folder,
                "default": "templates",
            },
            "models": {
                "description": "The kind of the generated argument classes.",
                "enum": list(MODELS),
                "default": "typed-dict",
            },
            "bundle-modules": listed(
                "Modules that are imported by computed names, for `hermes-build bundle`.",
                {"type": "string", "pattern": MODULE.replace("$", "([.][*])?$")},
                default=[],
                examples=[["handlers.plugins.*"]],
            ),
            "bundle-data": listed(
                "Data files that handlers read, as globs in the source folder.",
                {"type": "string", "pattern": folder["pattern"].replace("^", r"^(?!.*\\)", 1)},
                default=[],
                examples=[["handlers/data/*.json"]],
            ),
            "lint": closed(
                "Which findings are wanted.",
                {
                    "select": listed(
                        "Codes, or beginnings of codes, that are on.",
                        {"$ref": "#/$defs/code"},
                        default=["HB"],
                    ),
                    "ignore": listed("Codes that are off, with reasons.", ignore, default=[]),
                },
            ),
        },
    )
    node["$defs"] = {"code": code}
    return document(
        "hermes-build settings",
        "`hermes-build.toml`, or the table `[tool.hermes-build]` of `pyproject.toml`.",
        node,
    )
