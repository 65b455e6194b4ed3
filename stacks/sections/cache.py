"""`cache`: the shared cache of model weights."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from targets.knobs import ObjectName
from targets.strict import Strict

CacheKind = Literal["class", "efs", "fsx"]


class CacheSettings(Strict):
    """The shared cache of model weights."""

    kind: CacheKind = "class"
    """`class` uses a StorageClass of the cluster, `efs` Amazon EFS, `fsx` Amazon FSx for Lustre."""
    storage_class: ObjectName | None = None
    """StorageClass whose claims can be ReadWriteMany (kind class); the cluster's default where nothing is said."""
    size: str = Field(default="100Gi", pattern=r"^[1-9][0-9]*(Gi|Ti)$")
    """Size of the claim, in Gi or Ti; EFS grows by itself, FSx is sold from 1200 GiB in steps of 2400."""
    file_system: Annotated[str, StringConstraints(pattern=r"^fs-[0-9a-f]{8,40}$")] | None = None
    """An EFS file system that is there already, with mount targets that the cluster's nodes reach (kind efs)."""
    throughput: Literal[125, 250, 500, 1000] = 250
    """MB/s for each TiB (kind fsx)."""
    retain: bool = False
    """Whether weights, claim and namespace outlive the stack, so that the next deployment downloads nothing."""
    local_copy: bool = False
    """Whether every worker pod copies the weights to its node's disks before the engine starts."""

    @model_validator(mode="after")
    def _keys_of_the_kind(self) -> "CacheSettings":
        if self.kind != "class" and self.storage_class is not None:
            raise ValueError(f"storageClass is for kind class; kind {self.kind} makes its own")
        if self.kind != "efs" and self.file_system is not None:
            raise ValueError(f"fileSystem is for kind efs, not {self.kind}")
        if self.kind == "fsx" and self.retain:
            raise ValueError(
                "retain is for kind class or efs; a Lustre file system keeps hold of the stack's subnets"
            )
        return self
