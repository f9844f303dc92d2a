"""Every module of a project that the handlers of some tools need, to any depth.

The walk starts at the modules that register the tools and follows what each of them imports, with
every package on the way. What stands in the project's source folder is taken; what does not is a
dependency. An import that cannot be decided from source, or that leads to what a bundle cannot
hold, is a finding with its place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hermes_build.bundle.format import hexdigest
from hermes_build.compiler.bundling.answers import Answers
from hermes_build.compiler.bundling.door import Door
from hermes_build.compiler.bundling.facts import Import, Imports, Undecided, Use
from hermes_build.compiler.bundling.modules import RUNTIME, STANDARD, Module, Modules
from hermes_build.compiler.bundling.remembered import Remembered
from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.nearest import did_you_mean
from hermes_build.compiler.project import Project
from hermes_build.layout import module_name

NOT_CARRIED = ("cli", "compiler", "signing", "__main__")
"""The rooms of hermes-build that no bundle carries: a program that runs needs none of them."""


@dataclass(frozen=True, slots=True)
class Outside:
    """An import of what the project does not hold; ``names`` are what is taken of ``module``."""

    module: str
    names: tuple[str, ...]
    span: Span
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class Closure:
    """What was found: ``sources`` maps a module's path in the project to its content's digest.

    ``modules`` maps each module that was taken to its path. ``left_out`` are pairs of another
    module of the same packages and why it was not taken. ``outside`` is in the order of the walk.
    ``data`` are the paths in the project of data files that are read by names in source.
    """

    sources: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)
    outside: tuple[Outside, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    data: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to begin with: handler modules, the tools that are bundled, and those that are not.

    ``others`` maps a tool that is not bundled to the module that registers it, or to None.
    """

    handlers: tuple[str, ...]
    tools: frozenset[str]
    others: Mapping[str, str | None]


def follow(
    project: Project,
    wanted: Wanted,
    door: Door,
    findings: Findings,
    known: Remembered | None = None,
) -> Closure:
    """Follow the imports of the wanted handlers; what stands against bundling is a finding.

    ``known`` is what earlier runs have read, and is told what this one reads.
    """
    walk = _Walk(project, wanted, door, findings, known or Remembered())
    for pattern in project.bundle_modules:
        walk.take_all(pattern)
    for name in sorted(wanted.handlers):
        walk.take(name)
    walk.run()
    walk.judge_undecided()
    walk.judge_registrations()
    walk.answers.judge()
    return Closure(
        dict(sorted(walk.sources.items())),
        dict(sorted(walk.taken.items())),
        tuple(walk.outside.values()),
        tuple(walk.left_out()),
        tuple(sorted(walk.answers.data)),
    )


class _Walk:
    def __init__(
        self, project: Project, wanted: Wanted, door: Door, findings: Findings, known: Remembered
    ) -> None:
        self.project, self.wanted, self.door, self.findings = project, wanted, door, findings
        self.known = known
        self.modules = Modules(project.source_root)
        self.prefix = "" if project.source == "." else f"{project.source}/"
        self.stubs = {module_name(name): name for name in (*wanted.tools, *wanted.others)}
        self.taken: dict[str, str] = {}
        self.sources: dict[str, str] = {}
        self.outside: dict[tuple[str, tuple[str, ...]], Outside] = {}
        self.queue: deque[Module] = deque()
        self.read: dict[str, Imports] = {}
        self.typing: set[str] = set()
        self.absent: dict[str, str] = {}
        self.undecided: list[tuple[str, Undecided]] = []
        self.stars: list[tuple[Module, Import]] = []
        self.crossed: set[tuple[str, str]] = set()
        self.answers = Answers(project, self.modules, self.take, self.note_named, findings)

    def take_all(self, pattern: str) -> None:
        """Take what a pattern of ``bundle-modules`` names: one module, or all of a package."""
        name = pattern.removesuffix(".*")
        found = list(self.modules.below(name)) if name != pattern else [self.modules.find(name)]
        if not any(found):
            self.findings.add(
                "HB8112",
                f"`bundle-modules` names what is not there: `{pattern}`",
                Span(self.project.file),
                help=("a pattern is a module, or a package and `.*`, in the source folder",),
            )
        for one in found:
            if one is not None:
                self.take(one.name)

    def take(self, name: str) -> Module | None:
        """Take a module with the packages that it is in; None where one of them is not there."""
        module = None
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            module = self.modules.find(".".join(parts[:count]))
            if module is None:
                return None
            if module.kind != "namespace" and module.name not in self.taken:
                self.taken[module.name] = self.prefix + module.path
                self.queue.append(module)
        return module

    def run(self) -> None:
        while self.queue:
            module = self.queue.popleft()
            found = self.imports(module)
            self.answers.see(module, found.uses)
            self.undecided += [(module.name, one) for one in found.undecided]
            for one in found.found:
                if one.typing:
                    self.typing.update((one.module, *(f"{one.module}.{n}" for n in one.names)))
                else:
                    self.need(module, one)
            # Nobody asks for more of it: so a large program is followed in little memory.
            self.read[module.name] = Imports(exported=found.exported)

    def imports(self, module: Module) -> Imports:
        """What a module of source imports; a file that cannot be read is reported once."""
        if module.name not in self.read:
            self.read[module.name] = Imports()
            path = self.prefix + module.path
            if module.kind == "native":
                self.findings.add(
                    "HB8113",
                    f"`{module.name}` is compiled code, which runs on one kind of machine alone",
                    Span(path),
                    help=("make a package of it, and let the project depend on that",),
                )
            elif (source := self.door.text(path)) is not None:
                self.sources[path] = hexdigest(source)
                self.read[module.name] = self.parsed(source, path, module)
        return self.read[module.name]

    def parsed(self, source: bytes, path: str, module: Module) -> Imports:
        try:
            return self.known.imports(
                source, self.sources[path], path, module.name, is_package=module.is_package
            )
        except SyntaxError as error:
            span, reason = Span(path, error.lineno or 1, 1, error.lineno or 1, 1), error.msg
        except (ValueError, RecursionError, MemoryError) as error:
            span, reason = Span(path), str(error) or "it is nested too deep"
        self.findings.add("HB8107", f"`{path}` cannot be parsed: {reason}", span)
        return Imports()

    def need(self, module: Module, one: Import) -> None:
        """Take what one import needs, or note that it comes from elsewhere."""
        name = one.module
        output = self.project.output
        if name == output or name.startswith(f"{output}."):
            self.need_generated(module, one)
        elif name.partition(".")[0] == RUNTIME:
            self.need_runtime(module, one)
        elif not self.modules.is_ours(name):
            self.note_outside(one)
        else:
            found = self.take(name)
            if found is None:
                self.miss(module, one, name)
                return
            for each in one.names:
                if each == "*":
                    self.stars.append((found, one))
                    exported = self.imports(found).exported if found.kind == "source" else ()
                    names = exported or ()
                else:
                    names = (each,)
                if found.is_package or found.kind == "namespace":
                    self.need_parts(found, names, one)

    def need_parts(self, package: Module, names: Iterable[str], one: Import) -> None:
        """Take those of the names that are modules of the package: others are its own names."""
        for each in names:
            inner = f"{package.name}.{each}"
            output = self.project.output
            if inner == output or inner.startswith(f"{output}."):
                self.need_generated(package, Import(inner, (), one.span, one.guarded))
            else:
                self.take(inner)

    def need_generated(self, module: Module, one: Import) -> None:
        """Hold an import of the generated package against the tools that are bundled."""
        tools = f"{self.project.output}.tools"
        inner = [f"{one.module}.{name}" for name in one.names] or [one.module]
        for name in inner:
            stub = name.removeprefix(f"{tools}.").partition(".")[0]
            tool = self.stubs.get(stub) if name.startswith(f"{tools}.") else None
            if tool in self.wanted.others:
                self.cross(module.name, str(tool), one.span)

    def cross(self, module: str, tool: str, span: Span) -> None:
        """Report a module that is needed, and needs a tool that the bundle does not have."""
        if (module, tool) not in self.crossed:
            self.crossed.add((module, tool))
            self.findings.add(
                "HB8103",
                f"`{module}` needs the tool `{tool}`, which is in none of these toolsets",
                span,
                label="needed here",
                help=(
                    f"bundle a toolset that holds `{tool}` as well",
                    f"or move what the other tools need out of `{module}`",
                ),
                tool=tool,
            )

    def need_runtime(self, module: Module, one: Import) -> None:
        for name in [f"{one.module}.{each}" for each in one.names] or [one.module]:
            room = name.split(".")[1] if "." in name else ""
            if room in NOT_CARRIED and not one.guarded:
                self.findings.add(
                    "HB8102",
                    f"`{module.name}` imports `{RUNTIME}.{room}`, which no bundle holds",
                    one.span,
                    help=("a handler needs `hermes_build.runtime` alone",),
                )

    def note_outside(self, one: Import) -> None:
        if one.module.partition(".")[0] in STANDARD:
            return
        key = one.module, tuple(name for name in one.names if name != "*")
        known = self.outside.get(key)
        if known is None or (known.guarded and not one.guarded):
            self.outside[key] = Outside(*key, one.span, one.guarded)

    def note_named(self, use: Use) -> None:
        """Note what is named as a text to something that may import it."""
        self.note_outside(Import(use.module.partition(".")[0], (), use.span, guarded=True))

    def miss(self, module: Module, one: Import, name: str) -> None:
        """Note a module of one of our packages that is not there."""
        top = self.modules.find(name.partition(".")[0])
        if top is not None and top.kind == "namespace":
            self.note_outside(one)  # another folder may hold a part of such a package
        elif one.guarded:
            self.absent[name] = "the project does not have it, and goes on without it"
        elif not self.is_told(module.name, name):
            above = name.rpartition(".")[0]
            siblings = [each.name for each in self.modules.below(above)] if above else []
            self.findings.add(
                "HB8102",
                f"`{module.name}` imports `{name}`, which the project does not have",
                one.span,
                help=did_you_mean(name, siblings, self.findings),
            )

    def is_told(self, module: str, known: str) -> bool:
        """Whether ``bundle-modules`` answers for an import in ``module`` of what begins so."""
        for pattern in self.project.bundle_modules:
            package = pattern.removesuffix(".*")
            inside = package != pattern and module.startswith(f"{package}.")
            if module == package or inside:
                return True
            if package != pattern and known.startswith(f"{package}."):
                return True
        return False

    def judge_undecided(self) -> None:
        """Report the imports that nothing decides, now that all that was taken is known."""
        for module, one in self.undecided:
            top, dot, _ = one.known.partition(".")
            made_here = one.maker and self.modules.is_ours(one.maker)
            all_here = one.listed and not self.lacking(one.listed)
            if made_here or all_here or self.is_told(module, one.known):
                continue
            if dot and top and not self.modules.is_ours(top):
                self.note_outside(Import(top, (), one.span, True))
                continue
            begins = f", beyond that a name begins with `{one.known}`" if one.known else ""
            package = one.known.rpartition(".")[0] or module.rpartition(".")[0] or module
            self.findings.add(
                "HB8101",
                f"which modules `{module}` imports here cannot be decided{begins}",
                one.span,
                label=one.why,
                help=(
                    "write the name of the module out, in an import statement",
                    f'or take all that it may be: `bundle-modules = ["{package}.*"]`',
                ),
            )
        self.judge_stars()

    def judge_stars(self) -> None:
        """Report star imports of packages whose list nobody can read, unless all of it is there."""
        for package, star in self.stars:
            if not package.is_package or self.imports(package).exported is not None:
                continue
            lacking = self.lacking(package.name)
            direct = [name for name in lacking if name.rpartition(".")[0] == package.name]
            if direct and not self.is_told(package.name, f"{package.name}."):
                self.findings.add(
                    "HB8101",
                    f"which modules `from {package.name} import *` imports cannot be decided",
                    star.span,
                    label=f"the `__all__` of `{package.name}` cannot be read from source",
                    help=(
                        "write the names in `__all__` out",
                        f'or take all of them: `bundle-modules = ["{package.name}.*"]`',
                    ),
                )

    def lacking(self, package: str) -> list[str]:
        """The modules of a package, to any depth, that were not taken."""
        return [one.name for one in self.modules.below(package) if one.name not in self.taken]

    def judge_registrations(self) -> None:
        """Report modules that were taken and register tools that were not."""
        from hermes_build.compiler.registrations import read_registrations

        homes: dict[str, list[str]] = {}
        for tool, home in sorted(self.wanted.others.items()):
            if home in self.taken and (home, tool) not in self.crossed:
                homes.setdefault(str(home), []).append(tool)
        for home, tools in homes.items():
            path = self.taken[home]
            source = self.door.text(path) or b""
            package = home.rpartition(".")[0]
            rows = read_registrations(source, path, home, package, self.project.output, Findings())
            spans = {row.tool: row.span for row in rows}
            for tool in tools:
                span = spans.get(tool) or spans.get(module_name(tool)) or Span(path)
                self.cross(home, tool, span)

    def left_out(self) -> Iterable[tuple[str, str]]:
        """Every other module of the packages that something was taken of, and why it was not."""
        homes: dict[str, list[str]] = {}
        for tool, home in sorted(self.wanted.others.items()):
            if home is not None:
                homes.setdefault(home, []).append(f"`{tool}`")
        tops = {name.partition(".")[0] for name in (*self.taken, *self.project.handlers)}
        output = self.project.output
        found = dict(self.absent)
        for top in tops - {output}:
            for one in self.modules.below(top):
                name = one.name
                if name in self.taken or name == output or name.startswith(f"{output}."):
                    continue
                if name in homes:
                    found[name] = f"it registers {', '.join(homes[name])}"
                elif name in self.typing:
                    found[name] = "only type checkers import it"
                else:
                    found[name] = "no tool of the bundle needs it"
        return sorted(found.items())
