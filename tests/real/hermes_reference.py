"""Print what hermes-agent itself says of its tools and toolsets.

Run by the interpreter of hermes-agent's own environment; it shares no code with the import that it
is compared with, and asks hermes-agent's own functions.
"""

import json
import os
from importlib import import_module


def reference():
    """The program's own answers, as JSON values."""
    import_module("model_tools")
    toolsets = import_module("toolsets")
    registry = import_module("tools.registry").registry
    entries = {name: registry.get_entry(name) for name in registry.get_all_tool_names()}
    answer = {
        "async": sorted(name for name, entry in entries.items() if entry.is_async),
        "checked": sorted(name for name, entry in entries.items() if entry.check_fn),
        "rewritten": sorted(n for n, entry in entries.items() if entry.dynamic_schema_overrides),
        "limits": {name: entry.max_result_size_chars for name, entry in entries.items()},
    }
    for entry in entries.values():
        # What this machine has installed is not what is compared: every tool counts as available,
        # and as the program declares it.
        entry.check_fn = None
        entry.dynamic_schema_overrides = None
    names = list(toolsets.TOOLSETS)
    return {
        **answer,
        "schemas": {name: registry.get_schema(name) for name in entries},
        "owners": registry.get_tool_to_toolset_map(),
        "emoji": {name: registry.get_emoji(name) for name in entries},
        "definitions": registry.get_definitions(set(entries)),
        "descriptions": {name: toolsets.TOOLSETS[name]["description"] for name in names},
        "resolved": {
            name: toolsets.resolve_toolset(name, include_registry=False) for name in names
        },
    }


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # what the program prints at import must not mix with the answer
        json.dump(reference(), answers)
    os._exit(0)
