#!/bin/sh
# What `make demo` shows: this repository compiles itself, an agent runs on it, a handler that drifts is
# refused, and a bundle is made, verified, and refused when it was changed.
# Works in a copy: nothing here is changed. Needs `hermes-build` on PATH.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cd "$here"
cp -R pyproject.toml README.md tool_specs toolsets handlers templates examples docs "$copy"
cd "$copy"
HERMES_WORKSPACE=$copy
export HERMES_WORKSPACE

say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }
if ! [ -t 1 ] || [ -n "${NO_COLOR:-}" ]; then say() { printf '\n# %s\n' "$*"; }; fi

say "Specs and toolsets become typed stubs, a frozen registry and a lock."
run hermes-build compile
run hermes-build check
cmp -s hermes-build.lock "$here/hermes-build.lock" && echo "(the lock equals the committed one, byte for byte)"

say "The toolsets and their tools."
run hermes-build show

say "What a model sees of one of them."
run hermes-build export --provider openai --toolset file | head -n 24
echo "    …"

say "A call, with its arguments validated, and one that does not fit."
run hermes-build call read_file '{"path": "README.md", "limit": 6}'
run hermes-build call read_file '{"path": "README.md", "limit": 0}' || true

say "An agent runs on it, against a model that is played by a script: two tools, and a helper of its own."
printf '$ python -m docs.agent_demo\n'
"$(dirname "$(command -v hermes-build)")/python" -m docs.agent_demo

say "Somebody edits the handler and forgets the spec: it now reads another tool's arguments."
sed -e 's/args: read_file\.Args/args: write_file.Args/' \
    -e 's/^from generated\.tools import read_file$/from generated.tools import read_file, write_file/' \
    handlers/read_file.py > edited.py
mv edited.py handlers/read_file.py
diff "$here/handlers/read_file.py" handlers/read_file.py || true

say "The import refuses it, with both places."
printf '$ python -c "import handlers.read_file"\n'
if "$(dirname "$(command -v hermes-build)")/python" -c "import handlers.read_file" 2> refused.txt; then
    echo "the drifted handler was accepted: that is a bug" >&2
    exit 1
fi
sed -n '/^[a-z_.]*SchemaDriftError/,$p' refused.txt

say "So does CI."
if run hermes-build check; then
    echo "check passed a drifted handler: that is a bug" >&2
    exit 1
fi

cp "$here/handlers/read_file.py" handlers/read_file.py

say "A toolset becomes one file: the same bytes on every machine, verified before anything of it runs."
run hermes-build bundle --toolset file --no-deps-lock -o files.hermes
run hermes-build verify files.hermes
run hermes-build call files.hermes read_file '{"path": "README.md", "limit": 1}'
printf '$ python files.hermes call read_file %s\n' "'{\"path\": \"README.md\", \"limit\": 1}'"
"$(dirname "$(command -v hermes-build)")/python" files.hermes call read_file '{"path": "README.md", "limit": 1}'

say "Somebody changes one byte of a handler in it."
LC_ALL=C sed -e 's/reading\.read_file(workspace/reading.read_file(workspacE/' files.hermes > tampered.hermes
if run hermes-build verify tampered.hermes; then
    echo "verify passed a changed bundle: that is a bug" >&2
    exit 1
fi
if run hermes-build call tampered.hermes read_file '{"path": "README.md"}'; then
    echo "a changed bundle was called: that is a bug" >&2
    exit 1
fi
