"""What `pulumi up` runs: the stack's config in, resources and outputs out."""

import os
import signal

import pulumi

from stacks.load import load
from stacks.program import build

if "PULUMI_AUTOMATION_API" in os.environ:
    # Where a verb drives Pulumi, a Ctrl-C comes from there; Python would answer it with a traceback.
    signal.signal(signal.SIGINT, lambda *_: os._exit(1))

for name, value in build(load()).items():
    pulumi.export(name, value)
