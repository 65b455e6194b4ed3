"""`pool`: the GPU nodes."""

from typing import Annotated

from pydantic import AfterValidator, Field

from targets.hardware import INSTANCE_TYPES
from targets.strict import Strict


def _instance_type(name: str) -> str:
    if name not in INSTANCE_TYPES:
        raise ValueError(f"no such instance type here; choose one of {', '.join(INSTANCE_TYPES)}")
    return name


class PoolSettings(Strict):
    """The GPU nodes."""

    instance_type: Annotated[str, AfterValidator(_instance_type)] | None = None
    """EC2 instance type, or the one that an existing cluster's nodes are like; the target's where nothing is said."""
    nodes: int | None = Field(default=None, ge=1, le=64)
    """GPU nodes; as many as the published graph needs where nothing is said."""
