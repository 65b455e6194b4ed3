"""An EKS cluster that is there: a GPU pool for it, and a graph with its models in a namespace of this program's own."""

import pulumi
import pulumi_aws as aws
import pulumi_dynamo_gpt_oss as dynamo
import pulumi_kubernetes as kubernetes

config = pulumi.Config()
theirs = aws.eks.Cluster.get("theirs", config.require("cluster"))
team = kubernetes.core.v1.Namespace("team")
gpus = dynamo.GpuNodePool(
    "gpus",
    cluster={
        "name": theirs.name,
        "vpc_id": theirs.vpc_config.vpc_id,
        "security_group_id": theirs.vpc_config.cluster_security_group_id,
    },
    subnets={"us-east-2a": config.require("subnet")},
    instance_type=dynamo.InstanceType.P5_48XLARGE,
)
weights = dynamo.ModelCache("weights", namespace=team.metadata.name)
chat = dynamo.InferenceGraph(
    "chat",
    namespace=team.metadata.name,
    claim=weights.claim_name,
    graph={"target": dynamo.Target.VLLM_DISAGG_H100, "knobs": {"decode": {"maxBatchSize": 64}}},
    opts=pulumi.ResourceOptions(depends_on=[gpus]),
)
pulumi.export("endpoint", chat.endpoint)
