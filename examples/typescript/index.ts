// An EKS cluster of another stack: a GPU pool for it, and a graph with its models in that stack's namespace.
import * as dynamo from "@pulumi/dynamo-gpt-oss";
import * as pulumi from "@pulumi/pulumi";

const theirs = new pulumi.StackReference(new pulumi.Config().require("eks"));
const text = (output: string): pulumi.Output<string> => theirs.requireOutput(output).apply(String);
const namespace = text("namespace");
const gpus = new dynamo.GpuNodePool("gpus", {
    cluster: { name: text("cluster"), vpcId: text("vpcId"), securityGroupId: text("securityGroupId") },
    subnets: { "us-east-2a": text("subnet") },
    instanceType: dynamo.InstanceType.P5_48xlarge,
});
const weights = new dynamo.ModelCache("weights", { namespace });
const chat = new dynamo.InferenceGraph("chat", {
    namespace,
    graph: { target: dynamo.Target.VllmDisaggH100, knobs: { decode: { maxBatchSize: 64 } } },
}, { dependsOn: [gpus, weights] });
export const endpoint = chat.endpoint;
