#!/bin/sh
# `make demo`: this repository compiles itself, and shows what comes of it.
set -eu

say() { printf '\n== %s\n\n' "$*"; }
run() {
    printf '$ %s\n' "$*"
    "$@"
}

say "Compile the specs of this repository"
run hermes-build compile

say "The toolsets, and the tools in them"
run hermes-build show

say "What a model sees of one tool"
run hermes-build show read_file

say "Call it"
run hermes-build call read_file '{"path": "README.md", "limit": 12}'

say "A call that does not fit is refused before any handler runs"
run hermes-build call read_file '{"path": "README.md", "limit": 0}' || true

say "A handler that has drifted from its schema is refused when it is imported"
run sed -n '/^from/,$p' docs/demo/drifted.py
if refusal=$(python docs/demo/drifted.py 2>&1); then
    echo "the drifted handler was taken, which must not happen" >&2
    exit 1
fi
printf '\n%s\n' "$refusal"
case $refusal in
*docs/demo/drifted.py:*tool_specs/read_file.yaml:* | *tool_specs/read_file.yaml:*docs/demo/drifted.py:*) ;;
*)
    echo "the refusal does not show both places" >&2
    exit 1
    ;;
esac

say "Everything is fresh"
run hermes-build check
