"""The floor of a synth."""

import subprocess
import sys

from benchmarks.synth import imports, packages


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


def test_a_floor_runs_the_packages_that_the_sdk_would_put_off() -> None:
    program = imports(["pulumi_aws.vpc", "pulumi_kubernetes.core.v1"])
    for rest in ("pulumi_aws.vpc.security_group_egress_rule", "pulumi_kubernetes.core.v1.Secret"):
        checked = f"{program}\nimport sys; assert {rest!r} in sys.modules"
        subprocess.run([sys.executable, "-c", checked], check=True)
