"""The handler of `image_generate`.

``OPENAI_API_KEY`` and ``OPENAI_BASE_URL`` name the endpoint, ``HERMES_IMAGE_MODEL`` the model
(`gpt-image-2` by default), and ``HERMES_IMAGE_TIMEOUT`` how many seconds it may take (300 by
default, and no more than 350).
"""

from __future__ import annotations

import os
from typing import Any

from generated.tools import image_generate
from handlers.files.workspace import Workspace
from handlers.models import making
from handlers.models.endpoint import Endpoint, seconds_from
from hermes_build.runtime.result import tool_result

MODEL = "gpt-image-2"


@image_generate.implements
async def handler(args: image_generate.Args, **context: Any) -> str:
    return tool_result(
        await making.generate(
            Workspace.from_environment(),
            Endpoint.from_environment(),
            os.environ.get("HERMES_IMAGE_MODEL") or MODEL,
            args["prompt"],
            args["size"],
            args["n"],
            args.get("path"),
            seconds_from("HERMES_IMAGE_TIMEOUT", 300, 350, os.environ),
        )
    )
