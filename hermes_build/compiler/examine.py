"""From one source file to what it declares, judged as far as one file can be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from hermes_build.canonical import digest
from hermes_build.compiler.check import Texts, lint, lint_texts
from hermes_build.compiler.diagnostics import Diagnostic, Findings
from hermes_build.compiler.digests import Digests, digests
from hermes_build.compiler.load import Document, Source, Suppression
from hermes_build.compiler.schema import Siblings, check_examples, check_schema, check_shared
from hermes_build.compiler.sources import Sources
from hermes_build.compiler.spec import (
    SHARED_KEYS,
    is_server_document,
    is_shared_document,
    read_servers,
    read_tool,
    read_toolset,
)
from hermes_build.ir import Server, Tool, Toolset

Kind = Literal["specs", "toolsets"]


@dataclass(frozen=True, slots=True)
class Declared:
    """What one file declares: ``texts``, the digests of their documents, stand beside ``tools``.

    ``digests`` do too, once somebody has asked for them with `with_digests`, and ``set_texts``
    stand beside ``toolsets``. ``refs`` names the other files that its references reach, with their
    digests: a verdict on this file holds as long as they stay the same.
    """

    tools: tuple[Tool, ...] = ()
    texts: tuple[str, ...] = ()
    digests: tuple[Digests, ...] = ()
    toolsets: tuple[Toolset, ...] = ()
    set_texts: tuple[str, ...] = ()
    servers: tuple[Server, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    refs: tuple[tuple[str, str], ...] = ()


def examine(source: Source, kind: Kind, sources: Sources, siblings: Siblings) -> Declared:
    """Read and judge one file; the other files are there for its references alone."""
    findings = Findings()
    documents = sources.parsed(source, findings)
    tools: list[Tool] = []
    texts: list[str] = []
    lines = source.text.split("\n") if len(documents) > 1 else [source.text]
    toolsets: list[Toolset] = []
    set_texts: list[str] = []
    servers: list[Server] = []
    # A mistake in another file is remembered with this one: what counts is each file looked into.
    siblings, refs = siblings.watched()
    for nth, doc in enumerate(documents):
        if doc.value is None:
            what = "a document holds nothing but null"
            findings.add("HB0012", what, doc.at(), help=("fill it, or take it out",))
            continue
        if kind == "toolsets":
            toolset = read_toolset(doc, findings)
            if toolset is not None:
                lint_texts(Texts.of(f"`{toolset.name}`", doc, "description"), doc, findings)
                toolsets.append(toolset)
                set_texts.append(_text_digest(lines, documents, nth))
        elif is_server_document(doc.value):
            servers.extend(read_servers(doc, findings))
        elif is_shared_document(doc.value):
            _shared(doc, siblings, findings)
        else:
            tool = _tool(doc, siblings, findings)
            if tool is not None:
                tools.append(tool)
                texts.append(_text_digest(lines, documents, nth))
    return Declared(
        tools=tuple(tools),
        texts=tuple(texts),
        toolsets=tuple(toolsets),
        set_texts=tuple(set_texts),
        servers=tuple(servers),
        suppressions=source.suppressions(),
        findings=tuple(findings),
        refs=tuple((path, _digest(sources, path)) for path in sorted(refs)),
    )


def with_digests(declared: Declared) -> Declared:
    """Return the same with the digests of its tools."""
    pairs = zip(declared.tools, declared.texts, strict=True)
    return replace(declared, digests=tuple(digests(tool, text) for tool, text in pairs))


def _tool(doc: Document, siblings: Siblings, findings: Findings) -> Tool | None:
    """One tool with its schemas bundled; ``None`` when a stage could not finish with it."""
    tool = read_tool(doc, findings)
    if tool is None:
        return None
    ours = tool.handler == "self"
    parameters = check_schema(
        doc, ("parameters",), tool.parameters, findings, root_object=True, ours=ours,
        tool=tool.name, siblings=siblings,
    )  # fmt: skip
    output = None
    if tool.output_schema is not None:
        output = check_schema(
            doc, ("output_schema",), tool.output_schema, findings, root_object=False,
            ours=ours, tool=tool.name, siblings=siblings,
        )  # fmt: skip
        if output is None:
            return None
    if parameters is None or not isinstance(parameters.schema, dict):
        return None
    check_examples(doc, parameters, findings, ours=ours, tool=tool.name)
    lint(tool, doc, findings)
    return replace(
        tool, parameters=parameters.schema, output_schema=None if output is None else output.schema
    )


def _shared(doc: Document, siblings: Siblings, findings: Findings) -> None:
    for key in doc.value:
        if key not in SHARED_KEYS:
            findings.add(
                "HB1001",
                f"unknown key `{key}` beside `$defs`",
                doc.at(key, key=True),
                help=("a document without `name:` holds `$defs` alone, for others to refer to",),
            )
    check_shared(doc, findings, siblings)
    lint_texts(Texts.of("these schemas", doc, "$defs"), doc, findings)


def _text_digest(lines: list[str], documents: tuple[Document, ...], nth: int) -> str:
    """The digest of one document's lines: from its first to the next document's first."""
    if len(documents) > 1:
        end = documents[nth + 1].line - 1 if nth + 1 < len(documents) else len(lines)
        lines = lines[documents[nth].line - 1 : end]
    return digest("\n".join(lines).encode())


def _digest(sources: Sources, path: str) -> str:
    source = sources.get(path)
    return source.digest if source else ""
