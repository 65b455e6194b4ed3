"""The floor of a synth."""

from benchmarks.synth import packages


def test_a_floor_has_the_packages_of_the_resources_and_no_others() -> None:
    types = [
        "aws:ec2/launchTemplate:LaunchTemplate",
        "aws:eks/cluster:Cluster",
        "kubernetes:core/v1:Secret",
        "kubernetes:helm.sh/v3:Release",
        "kubernetes:nvidia.com/v1beta1:DynamoGraphDeployment",
        "kubernetes:rbac.authorization.k8s.io/v1:Role",
        "pulumi:providers:kubernetes",
        "dynamo-gpt-oss:index:InferenceGraph",
    ]
    assert packages(types) == [
        "pulumi",
        "pulumi_aws.ec2",
        "pulumi_aws.eks",
        "pulumi_kubernetes.apiextensions",
        "pulumi_kubernetes.core.v1",
        "pulumi_kubernetes.helm.v3",
        "pulumi_kubernetes.rbac.v1",
        "pydantic",
    ]
