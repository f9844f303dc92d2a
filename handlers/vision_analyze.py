"""The handler of `vision_analyze`.

``OPENAI_API_KEY`` and ``OPENAI_BASE_URL`` name the endpoint, ``HERMES_VISION_MODEL`` the model
(`gpt-5.4-mini` by default), and ``HERMES_VISION_TIMEOUT`` how many seconds an answer may take (120
by default, and no more than 170).
"""

from __future__ import annotations

import os
from typing import Any

from generated.tools import vision_analyze
from handlers.files.workspace import Workspace
from handlers.models import seeing
from handlers.models.endpoint import Endpoint, seconds_from

MODEL = "gpt-5.4-mini"


@vision_analyze.implements
async def handler(args: vision_analyze.Args, **context: Any) -> str:
    return await seeing.analyse(
        Workspace.from_environment(),
        Endpoint.from_environment(),
        os.environ.get("HERMES_VISION_MODEL") or MODEL,
        args["image"],
        args["question"],
        seconds_from("HERMES_VISION_TIMEOUT", 120, 170, os.environ),
    )
