"""A process that measures the stack `dev` on an embedded cluster of its own, for a test that ends it.

python -m tests.embedded.bench_session STATE OUT LEASES
"""

import sys
from pathlib import Path

from measure import lease
from ops import sites
from ops.pulumi import automation

SHAPE = {"isl": 64, "osl": 16, "concurrency": 4, "requests": 24}


def measure(state: Path, out: Path) -> Path:
    """Up, verify, benchmark, report, down, without a Pulumi CLI whatever this machine has."""
    automation.available = lambda: False
    return sites.measure(
        "dev",
        {"shape": "tiny", "shapes": {"tiny": SHAPE}, "sweep": (1, 4)},
        embedded=False,
        teardown=True,
        seconds=300,
        out=out,
        report=lambda text: print(text, flush=True),
        state=state,
    )


if __name__ == "__main__":
    lease.LEASES = Path(sys.argv[3])
    measure(Path(sys.argv[1]), Path(sys.argv[2]))
