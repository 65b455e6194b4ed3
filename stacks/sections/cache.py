"""`cache`: the shared cache of model weights."""

from pydantic import Field

from targets.knobs import ObjectName
from targets.strict import Strict


class CacheSettings(Strict):
    """The shared cache of model weights."""

    storage_class: ObjectName | None = None
    """StorageClass whose claims can be ReadWriteMany; the cluster's default where nothing is said."""
    size: str = Field(default="100Gi", pattern=r"^[1-9][0-9]*(Gi|Ti)$")
    """Size of the claim, in Gi or Ti."""
