"""The command group: a command's module is imported when the command is used."""

from __future__ import annotations

import errno
import io
import os
import sys
from importlib import import_module

import click

from hermes_build import __version__

_COMMANDS = {
    "init": ("start", "Start a project that compiles and runs at once."),
    "new": ("start", "Write the spec and the handler of a new tool."),
    "import": ("importing", "Bring in tool definitions that exist elsewhere."),
    "compile": ("compiling", "Write the generated files and the lock."),
    "check": ("checking", "Judge specs, generated files, lock and handlers: the command for CI."),
    "lint": ("checking", "Judge specs and toolsets alone."),
    "show": ("showing", "Show tools, toolsets, and what a model sees of them."),
    "explain": ("showing", "Explain a code, or why a tool is in a toolset."),
    "rules": ("showing", "List every code."),
    "schema": ("publishing", "Print a JSON Schema of our files and reports."),
    "export": ("publishing", "Print definitions in a provider's form."),
    "bundle": ("bundling", "Make one file of some tools and all that they need."),
    "call": ("calling", "Call one tool with JSON arguments."),
    "verify": ("verifying", "Say whether a bundle is the one that was made."),
    "sign": ("keys", "Add a signature to a bundle."),
    "key": ("keys", "Make a key that signs bundles, or tell one by its id."),
    "diff": ("differing", "Say in what two bundles, locks or projects differ."),
    "install": ("installing", "Verify a bundle, and keep it here."),
    "installed": ("installing", "List the installed bundles."),
    "uninstall": ("installing", "Remove an installed bundle."),
    "rollback": ("installing", "Go back to an earlier version of an installed bundle."),
    "gc": ("installing", "Remove what no installed bundle needs any more."),
    "doctor": ("doctoring", "Say what works here, and what is missing."),
}


class Commands(click.Group):
    """Commands by name, in the order in which people meet them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command's name."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module that holds the command, and return it."""
        row = _COMMANDS.get(cmd_name)
        if row is None:
            return None
        module = import_module(f"hermes_build.cli.{row[0]}")
        found: click.Command = getattr(module, f"{cmd_name}_command")
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their purpose, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, row[1]) for name, row in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one gets the nearest name."""
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from hermes_build.compiler.nearest import did_you_mean

            hint = "".join(f" {one}" for one in did_you_mean(args[0], _COMMANDS))
            ctx.fail(f"there is no command `{args[0]}`.{hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hermes-build")
def app() -> None:
    """Compile the tools of LLM agents: YAML specs in, typed stubs and a frozen registry out."""


def run() -> int:
    """Run the command that was asked for, and return the exit code."""
    _prepare_streams()
    try:
        code = app.main(prog_name="hermes-build", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code if error.exit_code != 1 else 2
    except (click.Abort, KeyboardInterrupt):
        return 130
    except SystemExit:
        # So click ends a run when whoever read our output has gone. The rest of it reaches nobody,
        # and neither does the verdict.
        return 2
    except OSError as error:
        return _obstructed(error)
    except Exception:  # a crash of our own ends in words like everything else
        import traceback

        traceback.print_exc()
        click.echo(
            f"hermes-build {__version__} has crashed, and that is a fault of hermes-build, "
            "not of your project. Please report it, with the lines above.",
            err=True,
        )
        return 2
    return code if isinstance(code, int) else 0


def _prepare_streams() -> None:
    """Keep any text printable: a pipe gets UTF-8, a terminal what it can show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _obstructed(error: OSError) -> int:
    """Say what the system refused: a file, or our own output, which has no name."""
    full = not error.filename and error.errno == errno.ENOSPC
    place = "standard output: " if full else f"{error.filename}: " if error.filename else ""
    click.echo(f"Error: {place}{error.strerror or error}", err=True)
    if full and sys.stdout is not None:
        # What is left in the buffer must not fail a second time when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 2
