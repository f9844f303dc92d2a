"""``hermes-build install``, ``installed``, ``rollback``, ``uninstall`` and ``gc``."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from hermes_build.cli.present import Undecided, counted, say
from hermes_build.cli.refusing import refused
from hermes_build.cli.trusting import Trust, say_unchecked, trust_options

if TYPE_CHECKING:
    from hermes_build.bundle.installed import Installed
    from hermes_build.bundle.store import Removed, Store

_AGAIN = "run it again to finish"


def _store_option(flag: str, help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the option that names the folder, and say in words what goes wrong with it."""

    def adding(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def storing(folder: str | None, **values: Any) -> Any:
            from hermes_build.bundle.format import BundleError
            from hermes_build.bundle.store import Store

            store = Store(folder, lambda: say("another hermes-build is at work there; waiting"))
            try:
                return command(store=store, **values)
            except BundleError as error:
                return refused(error, values.get("path", ""))

        return click.option(
            flag,
            "folder",
            metavar="DIR",
            help=f"{help}; by default $XDG_DATA_HOME/hermes-build or ~/.local/share/hermes-build.",
        )(storing)

    return adding


@click.command("install")
@click.argument("path", metavar="FILE|FOLDER")
@_store_option("--into", "Where to install")
@trust_options
def install_command(path: str, store: Store, trust: Trust) -> int:
    """Verify a bundle, keep it, and make it the current one of its name.

    A bundle that is refused leaves everything as it was. Equal bundles are kept once, and earlier
    versions stay until `gc` removes them: `installed` lists what is there, `rollback NAME` goes
    back to the version before, and `uninstall NAME` removes all of them. `call`, `show` and `diff`
    take the name of an installed bundle.
    """
    from hermes_build.bundle.pythons import unfit
    from hermes_build.bundle.verifying import verify

    with verify(path) as opened:
        lines = trust.check(opened)
        manifest = opened.manifest
        joined = trust.joining()
        done = _changing(store, lambda: store.install(opened, joined))
        for line in lines:
            say(line)
        if not lines:
            say_unchecked(opened)
    if why := unfit(manifest.requires_python):
        say(f"{done.name} {why}: it is kept, and this one will not open it")
    tools = counted(len(manifest.tools), "tool")
    say(f"installed {done.name} with {tools}: {store.archive(done.current)}")
    click.echo(f"bundle sha256:{done.current}")
    return 0


@click.command("installed")
@_store_option("--in", "Where bundles are installed")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def installed_command(store: Store, as_json: bool) -> int:
    """List the installed bundles: name, digest, tools, and the versions to go back to."""
    rows = [_row(store, one) for one in store.installed()]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return 0
    # Its archive is not verified for this, and may say anything.
    from hermes_build.compiler.report.glyphs import visible

    if not rows:
        say(f"nothing is installed in {store.folder}")
    for row in rows:
        click.echo(f"{row['name']}  sha256:{row['digest']}")
        click.echo(f"  {visible(row['damaged'] or ', '.join(row['tools']))}")
        earlier = row["versions"][: row["versions"].index(row["digest"])]
        if earlier:
            click.echo(f"  before: {', '.join(one[:12] for one in reversed(earlier))}")
    return 0


@click.command("rollback")
@click.argument("name")
@click.option("--to", default="", metavar="DIGEST", help="How the digest of the version begins.")
@_store_option("--in", "Where bundles are installed")
def rollback_command(name: str, to: str, store: Store) -> int:
    """Make the version before the current one of NAME the current one."""
    done = _changing(store, lambda: store.rollback(name, to))
    say(f"{done.name} is {done.current[:12]} again")
    click.echo(f"bundle sha256:{done.current}")
    return 0


@click.command("uninstall")
@click.argument("name")
@_store_option("--in", "Where bundles are installed")
def uninstall_command(name: str, store: Store) -> int:
    """Remove NAME from what is installed, with all its versions."""
    _told(_changing(store, lambda: store.uninstall(name), _AGAIN))
    return 0


@click.command("gc")
@click.option(
    "--keep",
    type=click.IntRange(0),
    help="Of each name, keep the current version and this many before it; all by default.",
)
@_store_option("--in", "Where bundles are installed")
def gc_command(keep: int | None, store: Store) -> int:
    """Remove versions of installed bundles that nobody needs, and what killed runs have left."""
    _told(_changing(store, lambda: store.gc(keep), _AGAIN))
    return 0


def _told(done: Removed) -> None:
    for one in done.digests:
        click.echo(f"removed sha256:{one}")
    say(f"removed {counted(len(done.digests), 'version')}, freed {done.bytes:,} bytes")


def _changing(store: Store, change: Callable[[], Any], then: str = "nothing was changed") -> Any:
    """Change the store; what the system refuses is said with the folder's name, and what ``then``.

    Raises:
        Undecided: it cannot be written.
    """
    try:
        return change()
    except OSError as error:
        place = error.filename or store.folder
        raise Undecided(f"{place}: {error.strerror or error}; {then}") from error


def _row(store: Store, one: Installed) -> dict[str, Any]:
    """What is to be said of one name; its archive is looked into, and not verified."""
    from hermes_build.bundle.format import BundleError
    from hermes_build.bundle.verifying import open_files

    row: dict[str, Any] = {
        "name": one.name,
        "digest": one.current,
        "versions": list(one.versions),
        "path": store.archive(one.current),
        "tools": [],
        "toolsets": [],
        "signed": False,
        "damaged": None,
    }
    try:
        with open_files(row["path"]) as opened:
            row["tools"] = list(opened.manifest.tools)
            row["toolsets"] = list(opened.manifest.toolsets)
            row["signed"] = opened.signatures is not None
            if opened.digest != one.current:
                row["damaged"] = "its archive holds another bundle: install it again"
    except (BundleError, OSError) as error:
        row["damaged"] = f"its archive cannot be read ({error}): install it again"
    return row
