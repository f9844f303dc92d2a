"""The JSON data of model instances that a handler returns, as pydantic has them.

Told by their ``model_dump``, so that nothing is imported that the program did not import itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def is_model(value: object) -> bool:
    """Whether a value can dump itself as JSON data."""
    return callable(getattr(type(value), "model_dump", None))


def data_of(model: Any, *, without_defaults: bool = False) -> Any:
    """A model, and all models in it, as JSON data under the names of the schema.

    A property that may be left out is a field whose default is None, and so one that was left out
    reads as None, which the schema mostly forbids. Such fields are not among the data. A field that
    was set to None is, unless ``without_defaults`` and None is its default. Any other value is.
    """
    chosen = "exclude_defaults" if without_defaults else "exclude_unset"
    # The first knows nothing of None, the second nothing of defaults that nobody set.
    filled = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return _both(filled, model.model_dump(mode="json", by_alias=True, **{chosen: True}))


def _both(filled: Any, chosen: Any) -> Any:
    """All that either of two dumps of one value holds."""
    if isinstance(filled, dict) and isinstance(chosen, dict):
        merged = {key: _both(one, chosen.get(key, one)) for key, one in filled.items()}
        return {**merged, **{key: one for key, one in chosen.items() if key not in filled}}
    if isinstance(filled, list) and isinstance(chosen, list) and len(filled) == len(chosen):
        return [_both(one, other) for one, other in zip(filled, chosen, strict=True)]
    return chosen
