"""Which release of EKS's machine image nodes run."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws.held import held
from facts.hardware import Arch, InstanceType
from facts.versions import KUBERNETES

_IMAGES = "/aws/service/eks/optimized-ami"
_PARAMETER = f"{_IMAGES}/{{kubernetes}}/amazon-linux-2023/{{arch}}/{{variant}}/recommended/release_version"
"""SSM parameter that AWS publishes for each Kubernetes version (EKS user guide, "Retrieve recommended AMI IDs")."""
_ARCH = {Arch.AMD64: "x86_64", Arch.ARM64: "arm64"}


@dataclass(frozen=True, kw_only=True)
class Versions:
    """What control plane, add-ons and nodes are."""

    kubernetes: str = KUBERNETES
    """Minor version of Kubernetes, as `1.35`."""
    updated: str = ""
    """Any text, such as a day: another has what AWS recommends now taken, which replaces the nodes."""

    @property
    def until(self) -> str:
        """What releases are held for."""
        return "-".join(filter(None, (self.kubernetes, self.updated)))


def node_release(
    name: str, instance: InstanceType, versions: Versions, opts: pulumi.ResourceOptions
) -> pulumi.Output[str]:
    """The release that AWS recommends for such nodes, as it was when it was first asked for."""
    parameter = _PARAMETER.format(
        kubernetes=versions.kubernetes,
        arch=_ARCH[instance.arch],
        variant="nvidia" if instance.gpus else "standard",
    )
    found = aws.ssm.get_parameter_output(name=parameter, opts=pulumi.InvokeOutputOptions(parent=opts.parent))
    return held(f"{name}-release", found.apply(lambda known: known.value), versions.until, opts)
