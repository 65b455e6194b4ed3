"""Dynamo's own simulated engine, with the flags of the project's: `python -m benchmarks.mocker`.

It runs in Dynamo's environment (embedded/dynamo.py) and takes no time for anything, so that what is measured is what
passes its tokens on.
"""

import runpy
import sys
from types import ModuleType

from embedded.engines import scripted, worker

_BYTES_OF_A_TOKEN = 73728
"""In the KV cache: 2 × 36 layers × 8 KV heads × 64 dimensions × 2 bytes (gpt-oss-120b's config.json)."""
_NO_TIME = "10000"
"""Times its usual pace. Its help says 0 for none at all; 1.4.2 takes that for 1."""


def main() -> None:
    """Serve until SIGTERM."""
    asked = scripted.parser().parse_args()
    # All that it wants of transformers is the size of a token, which is given.
    sys.modules["transformers"] = stand_in = ModuleType("transformers")
    stand_in.AutoConfig = None  # type: ignore[attr-defined]
    sys.argv[1:] = [
        *("--model-path", str(asked.model_path), "--model-name", asked.served_model_name),
        *("--endpoint", f"dyn://{asked.namespace}.backend.generate", "--block-size", str(worker.BLOCK)),
        *("--speedup-ratio", _NO_TIME, "--kv-bytes-per-token", str(_BYTES_OF_A_TOKEN)),
    ]
    runpy.run_module("dynamo.mocker", run_name="__main__")


if __name__ == "__main__":
    main()
