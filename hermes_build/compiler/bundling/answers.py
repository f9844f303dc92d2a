"""What a bundle answers to uses of modules otherwise than by an import: data, or a finding."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator

from hermes_build.compiler.bundling.data import CODE, find_data
from hermes_build.compiler.bundling.facts import Use
from hermes_build.compiler.bundling.modules import Module, Modules
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.project import Project

_NO_DATA = (*CODE, ".pyi", "py.typed")
"""Endings of files in packages that no program reads as its data."""


class Answers:
    """Sees what each module that is taken in does, and judges all of it at the end.

    ``data`` are the paths in the project of data files that are named in source. ``take`` takes a
    module in, and ``outside`` notes one that the project does not hold.
    """

    def __init__(
        self,
        project: Project,
        modules: Modules,
        take: Callable[[str], object],
        outside: Callable[[Use], object],
        findings: Findings,
    ) -> None:
        self.project, self.modules, self.findings = project, modules, findings
        self.take, self.outside = take, outside
        self.prefix = "" if project.source == "." else f"{project.source}/"
        self.data: set[str] = set()
        self.unknown: list[tuple[str, Use, str]] = []

    def see(self, module: Module, uses: tuple[Use, ...]) -> None:
        """Judge the uses of one module, and take in what they name."""
        paths = [one for one in uses if one.kind == "path" and self._is_ours(one.module)]
        if paths:
            self._report_path(module, min(paths, key=lambda one: (one.span.line, one.span.column)))
        processes = [one for one in uses if one.kind == "process"]
        if processes:
            self._report_process(module, processes[0])
        for one in uses:
            if one.kind == "text":
                self._name(module, one)
            elif one.kind == "data":
                self._read(module, one)

    def _is_ours(self, name: str) -> bool:
        return not name or self.modules.is_ours(name)

    def _name(self, module: Module, use: Use) -> None:
        """Take in the module that a text names, which its user will not find in the bundle."""
        if not self.modules.is_ours(use.module):
            self.outside(use)
            return
        parts = use.module.split(".")
        names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
        name = next((one for one in names if self.modules.find(one) is not None), parts[0])
        self.take(name)
        self.findings.add(
            "HB8115",
            f"`{module.name}` names `{name}` to `{use.what}`, which finds no module of a bundle",
            use.span,
            label="named as text",
            help=(
                "import it, and hand the module, the class or the function on itself",
                'or make the name of the module\'s own, as `f"{__package__}.words"` is',
            ),
        )

    def _read(self, module: Module, use: Use) -> None:
        """Take in the data that a module reads, as far as that is known."""
        if use.module and not self.modules.is_ours(use.module):
            return
        found = self.modules.find(use.module) if use.module else None
        if use.module and found is None:
            return  # the import of it is a finding
        folder = "" if found is None else self._folder(found)
        path = posixpath.normpath(posixpath.join(folder, use.file or "."))
        where = self.project.source_root / path
        if found is None or use.file is None or where.is_dir():
            self.unknown.append((module.name, use, path if found is not None else ""))
        elif path.endswith(".py"):
            self.take(path.removesuffix(".py").replace("/", ".").removesuffix(".__init__"))
        elif where.is_file() or where.is_symlink():
            self.data.add(self.prefix + path)

    def _folder(self, module: Module) -> str:
        return module.path if module.kind == "namespace" else posixpath.dirname(module.path)

    def judge(self) -> None:
        """Report data that may be read and is not taken in, now that all that is taken is known."""
        named = set(find_data(self.project, (), Findings())) if self.unknown else set()
        for module, use, folder in self.unknown:
            inside = self.prefix + folder + "/" if folder else ""
            if folder and any(one.startswith(inside) for one in named):
                continue
            files = (self.prefix + one for one in self._files(folder)) if folder else iter(("",))
            lacking = next((one for one in files if one not in self.data), None)
            if lacking is None:
                continue
            what = f"data of `{use.module}`" if folder else "data of a package"
            shown = f"{folder}/*" if folder else "acme/data/*"
            self.findings.add(
                "HB8116",
                f"`{module}` reads {what}, and which files these are cannot be decided",
                use.span,
                label=f"may be `{lacking}`" if lacking else "the package's name is computed",
                help=(
                    "write the path of the file out, from the package on",
                    f'or name all that it may be: `bundle-data = ["{shown}"]`',
                ),
            )

    def _files(self, folder: str) -> Iterator[str]:
        """The data files in a folder of the source folder, to any depth, sorted."""
        root = self.project.source_root
        for above, folders, names in os.walk(root / folder):
            folders[:] = sorted(one for one in folders if one != "__pycache__" and one[0] != ".")
            for name in sorted(names):
                if not name.startswith(".") and not name.lower().endswith(_NO_DATA):
                    yield os.path.relpath(os.path.join(above, name), root).replace(os.sep, "/")

    def _report_path(self, module: Module, use: Use) -> None:
        whose = "its own file" if not use.module else f"the file of `{use.module}`"
        self.findings.add(
            "HB8114",
            f"`{module.name}` asks for {whose}, and in a bundle there is none to open",
            use.span,
            label="a path that leads into the bundle",
            help=("read data by `importlib.resources`, and name it in `bundle-data`",),
        )

    def _report_process(self, module: Module, use: Use) -> None:
        self.findings.add(
            "HB8118",
            f"`{module.name}` starts processes by `{use.what}`, and those do not open the bundle",
            use.span,
            label="works only where the process is forked",
            help=("use threads, or start a program that is handed its source as a text",),
        )
