"""Sessions over several Pythons: `nox` runs them all, `nox -s tests-3.13` runs one."""

from __future__ import annotations

import nox

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False
nox.options.reuse_existing_virtualenvs = True


def _install(session: nox.Session, group: str) -> None:
    """Install the project with one of the dependency groups of ``pyproject.toml``."""
    session.install("pip>=25.1")
    session.install("--editable", ".[tools,sign]", "--group", group)


@nox.session(python=["3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """The tests on each supported Python."""
    # Some tests type-check generated code, so the type checkers belong to them.
    _install(session, "dev")
    session.run("pytest", "-n", "auto", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Format, lint, import contracts."""
    _install(session, "lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("lint-imports")
    session.run("lint-imports", ".importlinter-runtime")


@nox.session
def types(session: nox.Session) -> None:
    """Both type checkers: mypy on everything, pyright on what a user writes and gets."""
    _install(session, "types")
    session.run("mypy")
    session.run("pyright")
