"""What Pulumi runs of a package that was added from this folder."""

import runpy
import sys
from pathlib import Path

# Python put this folder there, in which `manifests` is another module than the project's.
sys.path[0] = str(Path(__file__).resolve().parents[1])
runpy.run_module("package", run_name="__main__", alter_sys=True)
