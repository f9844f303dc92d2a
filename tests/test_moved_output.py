"""Handlers that still register with the package that `output` once named."""

from __future__ import annotations

from pathlib import Path

from tests.command_line import handler, hermes, spec, write


def _moved(root: Path, output: str, **settings: str) -> Path:
    lines = "".join(f'{key} = "{value}"\n' for key, value in settings.items())
    return write(
        root,
        {
            "hermes-build.toml": f'output = "{output}"\nhandlers = ["acme.handlers"]\n{lines}',
            "tool_specs/calc.yaml": spec("calc", handler="self"),
            "tool_specs/half.yaml": spec("half", handler="self"),
            "acme/handlers/calc.py": handler("calc", output="acme.compiled"),
            "acme/handlers/half.py": (
                "from ..compiled.registry import registry\n\n\n"
                '@registry.handler("half")\ndef half(args):\n    return "1"\n'
            ),
        },
    )


def test_registrations_with_the_old_package_are_one_finding_a_module(tmp_path: Path) -> None:
    root = _moved(tmp_path, "acme.tools")
    done = hermes(root, "compile", "--format", "concise")
    said = "imports `acme.compiled`, but `output` is `acme.tools`"
    assert done.out.splitlines() == [
        f"acme/handlers/calc.py:3:1: error[HB3001] `acme/handlers/calc.py:3` {said}",
        f"acme/handlers/half.py:1:1: error[HB3001] `acme/handlers/half.py:1` {said}",
    ]
    assert "registered with it: `calc`" in hermes(root, "compile").out
    assert hermes(_moved(root, "acme.compiled"), "compile").code == 0


def test_a_registry_of_something_else_hides_no_missing_handler(tmp_path: Path) -> None:
    root = _moved(tmp_path, "acme.tools")
    write(root, {"acme/handlers/half.py": "from other.registry import registry\nregistry(1)\n"})
    done = hermes(root, "compile", "--format", "concise")
    assert done.codes == ["HB3001", "HB3001"]
    assert "no handler module registers `half`" in done.out


def test_a_wrong_source_folder_is_named_where_handlers_are_not_found(tmp_path: Path) -> None:
    root = _moved(tmp_path, "acme.compiled", source="src")
    out = hermes(root, "compile").out
    assert "the handler package `acme.handlers` does not exist" in out
    assert "make the folder `src/acme/handlers`" in out
    assert "`source` is `src`" in out
