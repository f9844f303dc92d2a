"""The ``__main__.py`` of a bundle, which Python runs when it is given an archive."""

TEXT = """\
import os, sys
if sys.version_info < (3, 11):
    sys.stderr.write("error: this bundle runs on Python 3.11 and newer, and this is Python ")
    sys.stderr.write("%d.%d.%d: run it by another one\\n" % sys.version_info[:3])
    sys.exit(2)
path = os.path.dirname(os.path.abspath(__file__))
# An unpacked bundle stays what its manifest says: no byte code is written into it, and that of
# this file, which Python wrote before it ran it, is taken away.
sys.dont_write_bytecode = True
cache = os.path.join(path, "__pycache__")
try:
    for name in os.listdir(cache):
        if name.startswith("__main__."):
            os.unlink(os.path.join(cache, name))
    os.rmdir(cache)
except OSError:
    pass
# The runtime in here comes before every other that is installed, or was imported at start-up.
sys.path[0] = os.path.join(path, "runtime")
for name in [one for one in sys.modules if one.partition(".")[0] == "hermes_build"]:
    del sys.modules[name]
from hermes_build.runtime.standalone import main
sys.exit(main(path, sys.argv[1:]))
"""
"""The text of a bundle's ``__main__.py``."""
