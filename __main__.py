"""What `pulumi up` runs: the stack's config in, resources and outputs out."""

import pulumi

from stacks.load import load
from stacks.program import build

for name, value in build(load()).items():
    pulumi.export(name, value)
