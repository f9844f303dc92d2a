"""How a full compile grows with the number of tools: time for each tool, from 100 to 10,000.

python -m benchmarks.growth [--sizes 100 1000 10000]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.processes import COMMAND, cpu_ms
from benchmarks.programs import make_project

LINEAR = 1.3
"""How much dearer a tool may be in the largest project than in one of a tenth of its size."""


def main() -> int:
    """Measure, print, and return 1 when growth is not linear."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000, 3000, 10_000])
    options = parser.parse_args()
    print("full compile on one core")
    per_tool: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as name:
        fixed = 0.0
        for size in [1, *options.sizes]:
            root = Path(name) / f"project{size}"
            make_project(root, size, compiled=False)
            total = cpu_ms([*COMMAND, "compile", "--jobs", "1"], root)
            shutil.rmtree(root)
            if size == 1:
                fixed = total
                print(f"  {size:>6} tool   {total:9.0f} ms  (imports, mostly: taken off below)")
                continue
            per_tool[size] = (total - fixed) / size
            print(f"  {size:>6} tools  {total:9.0f} ms  {per_tool[size]:6.2f} ms a tool")
    largest = max(per_tool)
    tenth = min(per_tool, key=lambda size: abs(size - largest / 10))
    ratio = per_tool[largest] / per_tool[tenth]
    print(f"  a tool of {largest} costs {ratio:.2f}x one of {tenth}  goal {LINEAR}x")
    return int(ratio > LINEAR)


if __name__ == "__main__":
    sys.exit(main())
