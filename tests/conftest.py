"""How long hypothesis waits: a busy machine is no reason to fail.

Under ``CI`` it has a profile of its own, which is as patient and draws the same examples each time.
"""

import os
from contextlib import suppress

from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
if not os.environ.get("CI"):
    settings.load_profile("patient")

# Each registry keeps its catalogue open, and one process runs thousands of tests.
with suppress(ImportError, OSError, ValueError):
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
