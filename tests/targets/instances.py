"""Which instance types run a target."""

from facts.hardware import INSTANCE_TYPES
from targets.catalogue import TARGETS


def instance_names(name: str) -> str:
    """Those that hold its largest worker, as messages list them."""
    target = TARGETS[name]
    largest = max(worker.gpus for worker in target.workers)
    return ", ".join(
        instance.name
        for instance in INSTANCE_TYPES.values()
        if instance.gpu in (target.gpu_models or (None,))
        and instance.arch in target.archs
        and instance.gpus >= largest
    )
