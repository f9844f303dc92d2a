"""Every code that a finding can carry: a row each, never reused.

HB0xxx YAML, HB1xxx specs, HB2xxx toolsets, HB3xxx handlers, HB5xxx lock and generated files,
HB8xxx bundles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hermes_build.nearest import nearest


@dataclass(frozen=True, slots=True)
class Code:
    """One row: ``purpose`` is the sentence that listings print."""

    id: str
    name: str
    severity: Literal["error", "warning", "info"]
    purpose: str


# fmt: off
_ROWS = (
    # Reading files and YAML.
    ("HB0001", "unreadable-file", "error", "A file in a source folder cannot be read as UTF-8 text."),
    ("HB0002", "yaml-syntax", "error", "A file is not well-formed YAML."),
    ("HB0003", "duplicate-key", "error", "A mapping has one key twice."),
    ("HB0004", "yaml-tag", "error", "A node carries a YAML tag."),
    ("HB0005", "merge-key", "error", "A mapping uses the merge key `<<`."),
    ("HB0006", "alias-expansion", "error", "The aliases of a file expand to more nodes than are allowed."),
    ("HB0007", "alias-cycle", "error", "An alias refers to a node that holds it."),
    ("HB0008", "non-string-key", "error", "A mapping's key is not text."),
    ("HB0009", "not-json", "error", "A value has no equal in JSON."),
    ("HB0010", "nesting-depth", "error", "A file is nested deeper than is allowed."),
    ("HB0011", "file-too-large", "error", "A source file is larger than is allowed."),
    ("HB0012", "empty-document", "warning", "A YAML document holds nothing."),
    ("HB0013", "text-cut-by-comment", "warning", "A `#` inside unquoted text began a comment."),
    # The shape of a spec.
    ("HB1001", "unknown-key", "error", "A document has a key that its kind does not know."),
    ("HB1002", "wrong-type", "error", "A field's value is of the wrong type."),
    ("HB1003", "missing-key", "error", "A document lacks a key that its kind needs."),
    ("HB1004", "invalid-name", "error", "A name is outside the form that every provider accepts."),
    ("HB1005", "duplicate-tool", "error", "Two specs declare one tool name or alias."),
    ("HB1006", "confusable-names", "error", "Two names meet in one module name, or differ only in case or form."),
    ("HB1007", "no-specs", "error", "There is no spec to compile."),
    ("HB1008", "value-out-of-range", "error", "A field's value is outside the values it may have."),
    ("HB1009", "unknown-replacement", "error", "`deprecated.use` names a tool that is not declared."),
    ("HB1010", "dynamic-pointer", "error", "A pointer under `dynamic` does not meet a part of the definition."),
    ("HB1011", "contradictory-hints", "error", "Two hints of a tool contradict each other."),
    ("HB1012", "duplicate-server", "error", "Two servers share one name, or differ only in case or form."),
    # JSON Schema.
    ("HB1101", "invalid-schema", "error", "A schema is not valid JSON Schema 2020-12."),
    ("HB1102", "root-not-object", "error", "The parameters of a tool are not an object."),
    ("HB1103", "default-does-not-fit", "error", "A default is refused by its own property's schema."),
    ("HB1104", "enum-member-does-not-fit", "error", "An enum or const value is refused by the schema around it."),
    ("HB1105", "example-does-not-fit", "error", "An example is refused by the tool's parameters."),
    ("HB1106", "required-with-default", "error", "A property is required and has a default."),
    ("HB1107", "unresolved-ref", "error", "A `$ref` points at nothing."),
    ("HB1108", "ref-outside", "error", "A `$ref` leaves the specs folder or the machine."),
    ("HB1109", "unknown-keyword", "error", "A schema has a keyword that JSON Schema 2020-12 does not know."),
    ("HB1110", "unsatisfiable-schema", "error", "No value can fit a schema."),
    ("HB1111", "invalid-pattern", "error", "A regular expression cannot be compiled."),
    ("HB1112", "ref-cycle", "error", "A `$ref` leads back to itself and never to a schema."),
    ("HB1113", "required-undeclared", "error", "`required` names a property that is not declared."),
    ("HB1114", "not-a-schema-type", "error", "`type` names something that is not a JSON Schema type."),
    ("HB1115", "schema-too-deep", "error", "A schema is nested deeper than stubs can be made for."),
    ("HB1116", "schema-explodes", "error", "References multiply until no call could wait for a value to be checked."),
    ("HB1120", "stub-is-any", "warning", "The generator cannot express a schema; its stub is `Any`."),
    # Lint: what a model reads.
    ("HB1201", "description-missing", "warning", "A tool has no description."),
    ("HB1202", "description-too-short", "warning", "A tool's description is too short to choose it by."),
    ("HB1203", "hidden-characters", "error", "A text that a model reads holds invisible or bidirectional characters."),
    ("HB1204", "instruction-like-text", "warning", "A text reads like an instruction to the model."),
    ("HB1205", "parameter-undescribed", "warning", "A parameter has no description."),
    ("HB1206", "open-root", "warning", "The parameters do not say whether more properties may come."),
    ("HB1207", "single-member-enum", "warning", "An enum has one member."),
    ("HB1208", "keyword-parameter", "error", "A keyword-shaped handler cannot take a parameter named like a Python keyword."),
    ("HB1209", "tool-in-no-toolset", "warning", "No toolset holds a tool."),
    ("HB1210", "confusable-parameters", "warning", "Two parameters differ only in case or in Unicode form."),
    ("HB1211", "toolset-misspelt", "warning", "One tool alone names a toolset whose name is a slip away from another's."),
    ("HB1212", "description-unfilled", "info", "A tool's description is still the one that `hermes-build new` wrote."),
    ("HB1290", "suppression-without-reason", "error", "A suppression gives no reason."),
    ("HB1291", "unused-suppression", "warning", "A suppression hides nothing."),
    ("HB1292", "unknown-code", "error", "A suppression or a setting names a code that does not exist."),
    ("HB1293", "not-suppressible", "error", "A suppression names a code that cannot be suppressed."),
    # Moving in.
    ("HB1301", "type-mapped", "warning", "An imported type name was mapped to JSON Schema."),
    ("HB1302", "name-mapped", "warning", "An imported tool name was mapped to one that providers accept."),
    ("HB1303", "duplicate-mapped", "warning", "An imported tool shares its name with another."),
    ("HB1304", "import-refused", "error", "An imported definition cannot be mapped."),
    ("HB1305", "import-changed", "warning", "A part of an imported definition was changed or left out."),
    # Settings.
    ("HB1401", "unknown-setting", "error", "The settings have a key that is not known."),
    ("HB1402", "invalid-setting", "error", "A setting has a value that it cannot have."),
    ("HB1403", "unreadable-settings", "error", "The settings file cannot be read."),
    ("HB1404", "settings-twice", "warning", "Two files hold settings, and one of them is not read."),
    # Toolsets.
    ("HB2001", "unknown-tool", "error", "A toolset names a tool that is not declared."),
    ("HB2002", "unknown-toolset", "error", "A toolset includes a toolset that is not declared."),
    ("HB2003", "include-cycle", "error", "Toolsets include each other in a circle."),
    ("HB2004", "empty-toolset", "error", "A toolset resolves to no tool."),
    ("HB2005", "vain-exclude", "error", "An exclude removes nothing."),
    ("HB2006", "duplicate-toolset", "error", "Two toolsets share one name or alias."),
    ("HB2007", "reserved-toolset", "error", "A toolset takes a reserved name."),
    ("HB2008", "guard-tag", "error", "A toolset holds a tool with a tag that its guards forbid."),
    ("HB2009", "guard-hint", "error", "A toolset holds a tool without a hint that its guards require."),
    ("HB2010", "guard-tools", "error", "A toolset holds more tools than its guards allow."),
    ("HB2011", "guard-tokens", "error", "A toolset's definitions are longer than its guards allow."),
    ("HB2013", "owned-not-listed", "warning", "A toolset lists its tools and leaves out one that it owns."),
    ("HB2012", "repeated-entry", "warning", "A list of a toolset names one thing twice."),
    # Handlers.
    ("HB3001", "handler-missing", "error", "No handler module registers a tool that is declared `handler: self`."),
    ("HB3002", "handler-surplus", "error", "A handler is registered for a tool that no spec declares."),
    ("HB3003", "handler-duplicate", "error", "Two handlers are registered for one tool."),
    ("HB3004", "handler-unreadable", "error", "A handler module cannot be parsed."),
    ("HB3005", "handler-undecided", "warning", "A registration's tool name cannot be read from source."),
    ("HB3006", "handler-not-ours", "error", "A handler is registered for a tool that is bound elsewhere."),
    ("HB3007", "schema-drift", "error", "A handler does not fit the schema of its tool."),
    ("HB3008", "handler-import-failed", "error", "A handler module fails to import."),
    ("HB3009", "handlers-not-found", "error", "A handler package named in the settings does not exist."),
    ("HB3010", "unknown-argument-key", "error", "A handler reads an argument that its tool does not have."),
    # Lock and generated files.
    ("HB5001", "generated-stale", "error", "A generated file differs from what its sources give."),
    ("HB5002", "generated-missing", "error", "A generated file is not there."),
    ("HB5003", "foreign-file", "error", "A file that the compiler did not write stands where it must write."),
    ("HB5004", "lock-stale", "error", "The lock differs from what the sources give."),
    ("HB5005", "lock-unreadable", "error", "The lock cannot be read."),
    ("HB5006", "generated-refused", "error", "Generated code holds something that the compiler never emits."),
    ("HB5007", "template-failed", "error", "A template cannot be rendered."),
    ("HB5008", "write-failed", "error", "A file cannot be written."),
    ("HB5009", "generated-surplus", "error", "A generated file is left from a tool that is gone."),
    ("HB5010", "unknown-template", "warning", "A file in the templates folder has the name of no template."),
    # Bundles.
    ("HB8001", "no-bundle", "error", "A file or folder is no bundle that this version reads."),
    ("HB8002", "archive-damaged", "error", "An archive is not, byte for byte, as bundles are written."),
    ("HB8003", "unsafe-name", "error", "A name in a bundle may lead elsewhere, or two names may meet."),
    ("HB8004", "bundle-file-missing", "error", "A file that a bundle must hold is not there."),
    ("HB8005", "bundle-file-surplus", "error", "A bundle holds something that its manifest does not list."),
    ("HB8006", "bundle-file-changed", "error", "A file of a bundle is not the one that the manifest lists."),
    ("HB8007", "manifest-does-not-fit", "error", "The manifest of a bundle says something else than the files."),
    ("HB8008", "bundle-too-large", "error", "A bundle is larger than is allowed."),
    # Signatures of bundles.
    ("HB8010", "signature-missing", "error", "A bundle that must be signed is not."),
    ("HB8011", "signature-malformed", "error", "The signatures of a bundle cannot be read."),
    ("HB8012", "signature-unknown-key", "error", "No signature of a bundle is by a key that was given."),
    ("HB8013", "signature-invalid", "error", "A signature of a bundle is not the one that its key would give."),
    ("HB8014", "signature-threshold", "error", "Fewer keys have signed a bundle than must."),
    ("HB8015", "signature-of-another", "error", "The signatures of a bundle are about another bundle."),
    ("HB8016", "statement-malformed", "error", "What was signed is no statement about a bundle."),
    ("HB8017", "unusable-key", "error", "A key file holds no key that bundles are signed with."),
    # Installed bundles.
    ("HB8020", "store-unreadable", "error", "The list of installed bundles cannot be read."),
    ("HB8021", "not-installed", "error", "No bundle of a name, or no version of it, is installed."),
    ("HB8022", "nothing-older", "error", "There is no earlier version to go back to."),
    # Making bundles.
    ("HB8101", "import-undecided", "error", "Which module is imported cannot be decided from source."),
    ("HB8102", "import-missing", "error", "A module is imported that no bundle can hold: it is not there."),
    ("HB8103", "tool-not-bundled", "error", "A module of a bundle needs a tool that is not in it."),
    ("HB8104", "dependency-unknown", "warning", "No installed distribution is known to have an imported module."),
    ("HB8105", "file-outside", "error", "A file for a bundle is outside the project."),
    ("HB8106", "link-bundled", "error", "A link leads to a file for a bundle."),
    ("HB8107", "unreadable-bundled", "error", "A file for a bundle cannot be read."),
    ("HB8108", "name-not-portable", "error", "A file for a bundle has a name that not every system takes."),
    ("HB8109", "absolute-path", "error", "A file for a bundle holds a path of the machine that it was made on."),
    ("HB8110", "secret-bundled", "error", "A file for a bundle holds what looks like a secret."),
    ("HB8111", "bundled-too-large", "error", "A file for a bundle is larger than is allowed."),
    ("HB8112", "vain-bundle-setting", "error", "A setting for bundles names what is not there."),
    ("HB8113", "compiled-module", "error", "A module for a bundle is compiled code."),
    ("HB8114", "file-by-path", "warning", "A module for a bundle finds files by its own path."),
    ("HB8115", "module-by-text", "error", "A module for a bundle is named as text to what looks into none."),
    ("HB8116", "data-undecided", "error", "Which data of a package is read cannot be decided from source."),
    ("HB8117", "code-as-data", "error", "Code is named as data of a bundle."),
    ("HB8118", "other-process", "warning", "A module for a bundle starts processes that would import from it."),
    ("HB8150", "dependencies-not-pinned", "error", "The dependencies of a bundle cannot be pinned to versions and files."),
    ("HB8151", "dependency-from-place", "error", "A dependency of a bundle is required from a place, or not found as wheels."),
    ("HB8152", "version-not-usable", "error", "A version that a project states is none that a bundle can have."),
)
# fmt: on

CODES: dict[str, Code] = {row[0]: Code(*row) for row in _ROWS}  # type: ignore[arg-type]


def which_code(text: str) -> tuple[str, ...]:
    """Return the help for a text that is no code: the one that it names, or comes nearest to."""
    by_name = {one.name: one.id for one in CODES.values()}
    group = [code for code in CODES if code[:3] == text[:3]]
    close = text if text in by_name else nearest(text, (*by_name, *group))
    found = ""
    if close in by_name:
        found = f"did you mean `{by_name[close]}` ({close})?"
    elif close is not None:
        found = f"did you mean `{close}`?"
    return (*([found] if found else []), "`hermes-build rules` lists every code")
