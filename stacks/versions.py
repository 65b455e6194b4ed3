"""Every pin that is not a Python package: charts, images, Kubernetes. One a line, each with its source."""

KUBERNETES = (
    "1.35"  # in standard support until 2027-03-27; has the resource.k8s.io/v1 that the DRA driver wants
)
GPU_OPERATOR = "v25.10.1"  # chart gpu-operator, helm.ngc.nvidia.com/nvidia; EKS asks for v25.3.4 or newer
DRA_DRIVER = (
    "25.12.0"  # chart nvidia-dra-driver-gpu, helm.ngc.nvidia.com/nvidia; last before its values were renamed
)
EFA_DEVICE_PLUGIN = "v0.5.30"  # chart aws-efa-k8s-device-plugin, aws.github.io/eks-charts; knows p6 and p6e
KUBE_PROMETHEUS_STACK = "81.6.2"  # chart of prometheus-community, resolved by dependency bots in 2026-02
EXTERNAL_SECRETS = "2.8.0"  # chart of external-secrets, serves external-secrets.io/v1; released 2026-07
KEDA = "2.20.2"  # chart keda, kedacore.github.io/charts; newest of 2026-08, for Kubernetes 1.23 or newer
