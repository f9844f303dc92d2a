"""Records of tools as far as their availability is concerned, and what they ask for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz012345"


def record(name: str = "t", **requires: Any) -> dict[str, Any]:
    return {"name": name, **({"requires": requires} if requires else {})}


CHECKED = record(check=True)


def command(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / (f"{name}.bat" if os.name == "nt" else name)
    path.write_text("")
    path.chmod(0o755)
