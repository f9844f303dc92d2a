from typing import Any
from generated.tools import a


@a.implements
def h_a(args: a.Args, **context: Any) -> str:
    return ''
from typing import Any
from generated.tools import b


@b.implements
def h_b(args: b.Args, **context: Any) -> str:
    return ''
