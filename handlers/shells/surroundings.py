"""What a command runs in: the shell, the folder, and the environment variables it is given."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping

from handlers.files.workspace import Workspace
from handlers.refusal import Refusal, refusing

PASSED = "HERMES_TERMINAL_ENV"
"""Names of variables, separated by commas, that are passed on although they look like credentials;
``*`` passes on all."""

_CREDENTIAL = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY|AUTH_KEY|TOKEN|SECRET|[A-Z]*PASSWORD|PASSWD"
    r"|PASSPHRASE|CREDENTIALS?)(?:_|$)",
    re.IGNORECASE,
)
_PTY = {"TERM": "xterm-256color", "PAGER": "cat", "GIT_PAGER": "cat"}


def shell() -> str:
    """The path of bash where there is one, else of the system's sh."""
    for path in ("/bin/bash", "/usr/bin/bash"):
        if os.access(path, os.X_OK):
            return path
    return shutil.which("bash") or "/bin/sh"


def environment(pty: bool, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables of a command: the program's own, without what looks like a credential.

    The keys to the program's services are not the commands' to read: what a model read elsewhere
    may have asked it to send them away. `PASSED` names those that commands need.
    """
    passed = {name.strip() for name in environ.get(PASSED, "").split(",")}
    given = {
        name: value
        for name, value in environ.items()
        if "*" in passed or name in passed or not _CREDENTIAL.search(name)
    }
    # A pager would wait for keys that nobody presses.
    return {**given, **_PTY} if pty else given


def folder(workspace: Workspace, workdir: str) -> str:
    """The absolute path of the folder to run in: ``workdir`` from the workspace's root on.

    A command can go where the user can, so that this folder may lie outside of the workspace.

    Raises:
        Refusal: when it is no folder, or may not be entered.
    """
    if "\0" in workdir:
        raise Refusal("The workdir cannot hold a NUL character.")
    with refusing(workdir):
        try:
            path = os.path.realpath(os.path.join(workspace.root, os.path.expanduser(workdir)))
            if not os.path.isdir(path):
                what = "is not a folder" if os.path.exists(path) else "does not exist"
                raise Refusal(f"The workdir {workdir} {what}.", workdir=workdir)
            if not os.access(path, os.X_OK):
                raise Refusal(f"The workdir {workdir} may not be entered.", workdir=workdir)
        except UnicodeEncodeError:
            raise Refusal("The workdir cannot hold half of a surrogate pair.") from None
    return path
