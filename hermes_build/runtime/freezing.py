"""JSON data that is handed to many, and that none of them may change.

Frozen dicts and lists are dicts and lists: `json.dumps`, ``==`` and `isinstance` see no difference.
Every copy is plain: ``copy()``, ``|``, ``+`` and slices give a plain dict or list of the same
members, `copy.deepcopy` and `pickle` one that is plain throughout.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, SupportsIndex


def freeze(value: Any) -> Any:
    """Freeze JSON data throughout: each dict and list in it is copied to one that stays as it is.

    What is frozen already, and what is neither a dict nor a list, is handed back itself.
    """
    kind = value.__class__
    if kind is FrozenDict or kind is FrozenList:
        return value
    if isinstance(value, dict):
        frozen = dict.__new__(FrozenDict)
        dict.update(frozen, {key: freeze(one) for key, one in value.items()})
        return frozen
    if isinstance(value, list):
        frozen_list = list.__new__(FrozenList)
        list.extend(frozen_list, map(freeze, value))
        return frozen_list
    return value


def _refuse(self: object, *_: object, **__: object) -> NoReturn:
    """Raise TypeError: the value is shared."""
    raise TypeError(
        "This value is shared and cannot be changed; change a copy of it, which copy.deepcopy() "
        "makes."
    )


class FrozenDict(dict["str", "Any"]):
    """A dict that stays as it was made, as does every dict and list in it."""

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> FrozenDict:
        """Take what `dict` takes, and freeze every value."""
        return freeze(dict(*args, **kwargs))  # type: ignore[no-any-return]

    def __init__(self, *_: Any, **__: Any) -> None:
        """Change nothing: the value was made by ``__new__``, and this may be called again."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Be copied and pickled as a plain dict."""
        return dict, (dict(self),)

    if not TYPE_CHECKING:  # for a type checker they are what a dict has
        __setitem__ = __delitem__ = __ior__ = _refuse
        clear = pop = popitem = setdefault = update = _refuse


class FrozenList(list["Any"]):
    """A list that stays as it was made, as does every dict and list in it."""

    __slots__ = ()

    def __new__(cls, *args: Any) -> FrozenList:
        """Take what `list` takes, and freeze every member."""
        return freeze(list(*args))  # type: ignore[no-any-return]

    def __init__(self, *_: Any) -> None:
        """Change nothing: the value was made by ``__new__``, and this may be called again."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Be copied and pickled as a plain list."""
        return list, (list(self),)

    if not TYPE_CHECKING:  # for a type checker they are what a list has
        __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
        append = clear = extend = insert = pop = remove = reverse = sort = _refuse
