from typing import Any
from generated.tools import a


@a.implements
def handler(args: a.Args, **context: Any) -> str:
    return ''
