"""`cluster`: where the stack runs."""

from typing import Literal

from targets.knobs import ObjectName
from targets.strict import Strict


class ExistingCluster(Strict):
    """A cluster that is there, reached through a kubeconfig."""

    kind: Literal["existing"]
    kubeconfig: str | None = None
    """Path of the kubeconfig, relative to the project; kubectl's own default where nothing is said."""
    context: str | None = None
    """Context in the kubeconfig; its current one where nothing is said."""
    namespace: ObjectName = "dynamo"
    """Namespace of everything that this stack puts on the cluster."""
    create_namespace: bool = True
    """Whether the stack makes the namespace, and deletes it with itself."""
