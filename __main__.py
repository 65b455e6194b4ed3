"""What `pulumi up` runs: settings in, resources and outputs out."""

import pulumi

from stacks.program import build
from stacks.settings import load

for name, value in build(load()).items():
    pulumi.export(name, value)
