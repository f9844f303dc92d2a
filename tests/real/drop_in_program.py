"""Print what hermes-agent does on the registry that it is given: its own, or a compiled one.

Run by the interpreter of hermes-agent's own environment, with one argument, JSON:
``{"package": NAME or null, "path": [...], "workspace": FOLDER, "serves": bool}``. With a package,
the compiled registry of that name stands in for ``tools.registry``; ``path`` is searched last.
``serves`` starts a local server that speaks as Home Assistant and SearXNG do.
"""

import asyncio
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module

STATES = [
    {"entity_id": "light.desk", "state": "on", "attributes": {"friendly_name": "Desk"}},
    {"entity_id": "switch.fan", "state": "off", "attributes": {"friendly_name": "Fan"}},
]
RESULTS = {"results": [{"title": "Frozen", "url": "https://example.org/", "content": "A page."}]}


class Services(BaseHTTPRequestHandler):
    """The parts of two services that the tools under test ask for."""

    def do_GET(self):
        """Answer with JSON."""
        answers = {"/api/states": STATES, "/api/states/light.desk": STATES[0], "/search": RESULTS}
        found = answers.get(self.path.partition("?")[0])
        body = json.dumps(found).encode()
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


def serve():
    """Start the services; the tools find them by the environment."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Services)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f"http://127.0.0.1:{server.server_address[1]}"
    os.environ["HASS_URL"] = os.environ["SEARXNG_URL"] = place
    return str(server.server_address[1])


def definitions(model_tools, toolsets):
    """Every listing that the program can be asked for, by the words that ask for it."""
    get = model_tools.get_tool_definitions
    found = {"everything": get(quiet_mode=True)}
    for name in toolsets.get_toolset_names():
        found[f"enabled {name}"] = get([name], quiet_mode=True)
        found[f"disabled {name}"] = get(disabled_toolsets=[name], quiet_mode=True)
    legacy = list(model_tools._LEGACY_TOOLSET_MAP)
    found["legacy names"] = get(legacy, quiet_mode=True)
    found["not quiet"] = get(["hermes-cli"], ["file"])
    found["unknown"] = get(["no-such-toolset"], quiet_mode=True)
    found["raw"] = get(quiet_mode=True, skip_tool_search_assembly=True)
    return found


def reports(model_tools, registry, toolsets):
    """What the program tells of its tools and toolsets."""
    requirements = registry.get_toolset_requirements()
    for one in requirements.values():
        one["check_fn"] = one["check_fn"] is not None
    names = registry.get_all_tool_names()
    owners = registry.get_registered_toolset_names()
    available, unavailable = model_tools.check_tool_availability(quiet=True)
    return {
        "available": [available, unavailable],
        "available toolsets": model_tools.get_available_toolsets(),
        "each toolset": {one: registry.is_toolset_available(one) for one in [*owners, "nothing"]},
        "emoji": {one: registry.get_emoji(one) for one in [*names, "nothing"]},
        "limits": {one: registry.get_max_result_size(one) for one in [*names, "nothing"]},
        "names": names,
        "owned": {one: registry.get_tool_names_for_toolset(one) for one in [*owners, "nothing"]},
        "owners": registry.get_tool_to_toolset_map(),
        "requirements": requirements,
        "schemas": {one: registry.get_schema(one) for one in [*names, "nothing"]},
        "toolset requirements": model_tools.check_toolset_requirements(),
        "toolsets": {
            one: [toolsets.resolve_toolset(one), toolsets.get_toolset_info(one)]
            for one in toolsets.get_toolset_names()
        },
        "tables": [model_tools.TOOL_TO_TOOLSET_MAP, sorted(model_tools.TOOLSET_REQUIREMENTS)],
        "tools": sorted((one.name, one.toolset) for one in registry._tools.values()),
    }


def entry(registry, name):
    """The eleven fields of an entry, functions by their names."""
    found = registry.get_entry(name)
    fields = (
        "name", "toolset", "schema", "requires_env", "is_async", "description", "emoji",
        "max_result_size_chars",
    )  # fmt: skip
    functions = ("handler", "check_fn", "dynamic_schema_overrides")
    return {
        **{one: getattr(found, one) for one in fields},
        **{one: getattr(getattr(found, one), "__qualname__", None) for one in functions},
    }


def calls(model_tools, registry, workspace, serves):
    """Answers to real calls, in their order; none of them leaves this machine."""
    text = os.path.join(workspace, "notes.txt")
    code = os.path.join(workspace, "sums.py")
    answers = {}

    def handle(label, name, args, **context):
        answers[label] = model_tools.handle_function_call(name, args, task_id="drop-in", **context)

    def dispatch(label, name, args, **context):
        answers[label] = registry.dispatch(name, args, **context)

    handle("write", "write_file", {"path": text, "content": "one\ntwo\nthree\n"})
    handle("write json text", "write_file", {"path": code, "content": '{"a": [1, "2"]}'})
    handle("read", "read_file", {"path": text})
    handle("read a part", "read_file", {"path": text, "offset": 2, "limit": 1})
    handle("read, numbers as text", "read_file", {"path": text, "offset": "2", "limit": "1"})
    handle("read json text", "read_file", {"path": code})
    handle("read nothing", "read_file", {"path": os.path.join(workspace, "absent.txt")})
    handle("search text", "search_files", {"pattern": "tw.", "path": workspace})
    handle("search names", "search_files",
           {"pattern": "*.py", "path": workspace, "target": "files"})  # fmt: skip
    handle("patch", "patch",
           {"mode": "replace", "path": text, "old_string": "two", "new_string": "2"})  # fmt: skip
    handle("patch what is not there", "patch",
           {"mode": "replace", "path": text, "old_string": "nine", "new_string": "9"})  # fmt: skip
    handle("terminal", "terminal", {"command": "echo out; echo err >&2; exit 3"})
    handle("terminal, much", "terminal", {"command": "seq 1 20000"})
    handle("processes", "process", {"action": "list"})
    handle("code", "execute_code", {"code": "print(6 * 7)"})
    answers["code"] = {**json.loads(answers["code"]), "duration_seconds": None}
    handle("skills", "skills_list", {})
    handle("skill that is not there", "skill_view", {"name": "nothing"})
    handle("tool of the agent loop", "todo", {"todos": []})
    dispatch("todo", "todo",
             {"todos": [{"id": "1", "content": "Freeze", "status": "pending"}]},
             store=import_module("tools.todo_tool").TodoStore())  # fmt: skip
    dispatch("clarify", "clarify", {"question": "Which?", "choices": ["a", "b"]},
             callback=lambda question, choices: f"{question} {choices}")  # fmt: skip
    if serves:
        handle("home states", "ha_list_entities", {"domain": "light"})
        handle("home state", "ha_get_state", {"entity_id": "light.desk"})
        handle("home, not there", "ha_get_state", {"entity_id": "light.nowhere"})
        handle("web search", "web_search", {"query": "frozen registries"})
        handle("board", "kanban_show", {"task_id": "t_none"})
        handle("plugin", "measure_text", {"text": "four", "times": 2})
        handle("plugin, async", "measure_slowly", {"text": "four"})
        handle("plugin, in place of another", "skills_list", {})
        handle("a handler that raises", "measure_text", {"text": "four", "times": -1})
        handle("longer than its limit", "measure_text", {"text": "four", "times": 50_000})
        handle("a dict", "measure_text", {"text": "four", "times": 0})
        # An async handler, from each kind of caller.
        page = {"urls": ["http://127.0.0.1:1/page"]}
        dispatch("async", "web_extract", page)
        within(dispatch, "async, inside a loop", "web_extract", page)
        thread = threading.Thread(target=dispatch, args=("async, on a thread", "web_extract", page))
        thread.start()
        thread.join()
    # Where the two differ on purpose.
    handle("unknown tool", "read_fil", {"path": text})
    handle("no arguments", "read_file", {})
    handle("a number for text", "read_file", {"path": 5})
    handle("below the minimum", "read_file", {"path": text, "offset": -4})
    handle("no such mode", "patch", {"mode": "rewrite", "path": text})
    handle("no content", "write_file", {"path": os.path.join(workspace, "new.txt")})
    answers["new.txt was made"] = os.path.exists(os.path.join(workspace, "new.txt"))
    handle("arguments that are text", "read_file", "notes.txt")
    handle("unavailable", "browser_back", {})
    return answers


def within(function, *arguments):
    """Call a function inside a running event loop."""

    async def run():
        function(*arguments)

    asyncio.run(run())


def changes(model_tools, registry, toolsets):
    """What is left, step by step, after tools were taken out and names were added."""
    seen = []

    def look(what):
        seen.append({
            "after": what,
            "names": registry.get_all_tool_names(),
            "toolsets": registry.get_registered_toolset_names(),
            "aliases": registry.get_registered_toolset_aliases(),
            "target": registry.get_toolset_alias_target("plans"),
            "validates": toolsets.validate_toolset("plans"),
            "project": toolsets.resolve_toolset("project"),
            "entry": registry.get_entry("project_list") is not None,
            "owner": registry.get_toolset_for_tool("project_list"),
            "listed": [one["function"]["name"] for one in
                       model_tools.get_tool_definitions(quiet_mode=True)],
        })  # fmt: skip

    def step(what, function, *arguments):
        before = registry._generation
        function(*arguments)
        look(what)
        seen[-1]["is a change"] = registry._generation > before

    look("nothing")
    step("an alias", registry.register_toolset_alias, "plans", "project")
    step("one tool removed", registry.deregister, "project_list")
    step("an unknown tool removed", registry.deregister, "no_such_tool")
    for name in registry.get_tool_names_for_toolset("project"):
        step(f"{name} removed", registry.deregister, name)
    seen.append(json.loads(model_tools.handle_function_call("project_list", {})))
    return seen


def main(request):
    """The answers, as JSON values."""
    sys.path += request["path"]
    compiled = None
    if request["package"]:
        compiled = import_module(f"{request['package']}.registry").registry
        import_module("hermes_build.runtime.compat").install(compiled)
    port = serve() if request["serves"] else "no port"
    model_tools = import_module("model_tools")
    toolsets = import_module("toolsets")
    registry = import_module("tools.registry").registry
    names = registry.get_all_tool_names()
    plugins = import_module("hermes_cli.plugins").get_plugin_manager()._plugins
    answer = {
        "is the compiled one": getattr(registry, "compiled", None) is compiled is not None,
        "bound": 0 if compiled is None else sum(name in compiled._bindings for name in names),
        "definitions": definitions(model_tools, toolsets),
        "of the registry": registry.get_definitions(set(names)),
        "reports": reports(model_tools, registry, toolsets),
        "entries": {name: entry(registry, name) for name in names},
        "plugins": {name: one.error for name, one in plugins.items() if one.error},
        "calls": calls(model_tools, registry, request["workspace"], request["serves"]),
        "changes": changes(model_tools, registry, toolsets),
    }
    return json.loads(json.dumps(answer).replace(f":{port}", ":PORT"))


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # what the program prints must not mix with the answer
        json.dump(main(json.loads(sys.argv[1])), answers)
    os._exit(0)
