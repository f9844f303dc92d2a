"""What the catalogue of a bundle says, read strictly: see `hermes_build.layout`.

A runtime finds a record by its key and believes it. So whatever it could find must be what its key
says, and there are no keys that nobody looks for.
"""

from __future__ import annotations

from json import JSONDecoder, JSONEncoder
from typing import Any, NoReturn

from hermes_build import layout
from hermes_build.bundle.format import BundleError, hexdigest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    Record: TypeAlias = dict[str, Any]

ANEW = "make the bundle anew from its project"
"""What helps where the files of a bundle contradict each other."""

_KINDS = (
    layout.TOOL,
    layout.TOOLSET,
    layout.TOOL_ALIAS,
    layout.TOOLSET_ALIAS,
    layout.MODULE,
)
_decode = JSONDecoder().decode
_encode = JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class Facts:
    """What a catalogue says of tools, toolsets and handler modules, by their names.

    Attributes:
        path: its file in the bundle.
        format: the runtime format.
        digest: of its records, in hexadecimal digits.
        tools: the name of every tool, in the order of their bytes.
        toolsets: every toolset, to its resolved tools.
        modules: every tool that has a handler module, to that module.

    Raises:
        BundleError: ``HB8007``, it is no catalogue. `records_of_tools` and `records_of_toolsets`
            look closer.
    """

    def __init__(self, data: bytes, path: str) -> None:
        self.path = path
        first, _, body = data.partition(b"\n")
        self.digest = hexdigest(body)
        self._texts = self._parted(body)
        self.tools = tuple(self._texts[layout.TOOL])
        self.toolsets = {
            name: self._names(layout.TOOLSET, name, "resolved")
            for name in self._texts[layout.TOOLSET]
        }
        self.modules: dict[str, str] = {}
        for module in self._texts[layout.MODULE]:
            for name in self._names(layout.MODULE, module, "tools"):
                if self.modules.setdefault(name, module) != module:
                    self._damaged(f"two modules have a handler of {name}")
        header = self._parsed(first.decode("utf-8", "replace").removeprefix(f"{layout.HEADER}\t"))
        self.format = header.get("format")
        if type(self.format) is not int:
            self._damaged("it does not state its format")
        stated = {
            "format": self.format,
            "digest": self.digest,
            "tools": len(self.tools),
            "toolsets": len(self.toolsets),
        }
        if first != f"{layout.HEADER}\t{_encode(stated)}".encode():
            self._damaged("its first line does not fit the others")

    def records_of_tools(self) -> dict[str, Record]:
        """Every tool's record, as `hermes_build.layout` says what is in one.

        Raises:
            BundleError: ``HB8007``, a record is not the one that its key names, or what else is
                said of the tool is not what the record says.
        """
        records = self._records(layout.TOOL, layout.TOOL_FIELDS)
        for name, record in records.items():
            what = f"the record of the tool {name}"
            schema = record.get("schema")
            if not isinstance(schema, dict) or [*schema] != ["name", "description", "parameters"]:
                self._damaged(f"{what} has no definition")
            if schema["name"] != name or not isinstance(schema["parameters"], dict):
                self._damaged(f"{what} defines another one")
            if record.get("module") != self.modules.get(name):
                self._damaged(f"{what} names another module than the one that has its handler")
        self._check_aliases(layout.TOOL_ALIAS, records)
        return records

    def records_of_toolsets(self) -> dict[str, Record]:
        """Every toolset's record; raises what `records_of_tools` raises."""
        records = self._records(layout.TOOLSET, layout.TOOLSET_FIELDS)
        known = set(self.tools)
        for name, resolved in self.toolsets.items():
            for other in resolved:
                if other not in known:
                    self._damaged(f"the toolset {name} holds {other}, which is no tool of it")
        self._check_aliases(layout.TOOLSET_ALIAS, records)
        return records

    def _parted(self, body: bytes) -> dict[str, dict[str, str]]:
        """The JSON texts of the records, by the kind of their keys and the rest of these."""
        if body and not body.endswith(b"\n"):
            self._damaged("its last line is cut off")
        try:
            lines = body.decode().split("\n")[:-1]
        except UnicodeDecodeError:
            self._damaged("it is not UTF-8")
        parted: dict[str, dict[str, str]] = {kind: {} for kind in _KINDS}
        last = ""
        for line in lines:
            key, _, text = line.partition("\t")
            if key <= last:  # of UTF-8, bytes have the order of characters
                self._damaged(f"{key!r} is not in order")
            last = key
            for kind in _KINDS:
                if key.startswith(kind):
                    parted[kind][key[len(kind) :]] = text
                    break
            else:
                self._damaged(f"nobody looks for {key!r}")
        return parted

    def _records(self, kind: str, fields: Sequence[str]) -> dict[str, Record]:
        records = {}
        for name, text in self._texts[kind].items():
            record = records[name] = self._parsed(text)
            if record.get("name") != name:
                self._damaged(f"the record {kind}{name} is that of another name")
            if [*record] != [key for key in fields if key in record] or _encode(record) != text:
                self._damaged(f"the record {kind}{name} is not as hermes-build writes it")
        return records

    def _check_aliases(self, kind: str, records: dict[str, Record]) -> None:
        named = {}
        for name, record in records.items():
            for alias in record.get("aliases", ()):
                named[alias] = _encode({"name": name})
        if named != self._texts[kind]:
            self._damaged("its aliases are not those that its records name")

    def _names(self, kind: str, name: str, field: str) -> list[str]:
        names = self._parsed(self._texts[kind][name]).get(field)
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
            self._damaged(f"`{field}` of {kind}{name} is not a list of names")
        return names

    def _parsed(self, text: str) -> Record:
        try:
            value = _decode(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            self._damaged("a line cannot be read")
        return value

    def _damaged(self, what: str) -> NoReturn:
        raise BundleError("HB8007", f"{self.path} is no catalogue: {what}", self.path, ANEW)
