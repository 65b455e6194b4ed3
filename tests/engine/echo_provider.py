"""A plugin that only echoes: every resource comes back as it was asked for, and nothing of AWS or a cluster is reached.

A preview leaves ids, ARNs and endpoints truly unknown, as the real provider does before a first deployment; what is
created gets an id, a name, an ARN and what a program cannot do without. A change counts a launch template's version up.
What replaces a resource it takes from the same table as `ops diff`.
"""

import asyncio
import sys
from typing import Any

import grpc.aio  # type: ignore[import-untyped]
from google.protobuf import json_format, struct_pb2
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from ops.diff.replacements import forcing

VERSION = "latestVersion"
_GRAPH_CRD = {"spec": {"versions": [{"name": name, "served": True} for name in ("v1alpha1", "v1beta1")]}}
_COMPUTED: dict[str, dict[str, Any]] = {
    "aws:ec2/subnet:Subnet": {"availabilityZone": "us-east-2a"},
    "aws:eks/cluster:Cluster": {
        "endpoint": "https://192.0.2.1",
        "certificateAuthority": {"data": ""},
        "identities": [{"oidcs": [{"issuer": "https://oidc.example.com"}]}],
        "vpcConfig": {"clusterSecurityGroupId": "sg-0123456789abcdef0"},
    },
    "aws:eks/nodeGroup:NodeGroup": {"resources": [{"autoscalingGroups": [{"name": "asg"}]}]},
    "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition": _GRAPH_CRD,
    "kubernetes:helm.sh/v3:Release": {"status": {"status": "deployed"}},
}
"""By type: what else a program reads of something that was made."""
_ANSWERS = {
    "aws:eks/getAddonVersion:getAddonVersion": {"version": "v1.0.0"},
    "aws:ssm/getParameter:getParameter": {"value": "1.35.0-20261122"},
}
"""By function: what AWS is asked of a stack that is there. All others are answered with nothing, as by nobody."""


class Echo(provider_pb2_grpc.ResourceProviderServicer):
    """The parts of the provider protocol that previews and changes use."""

    def __init__(self, version: str) -> None:
        self._version = version

    async def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802 the protocol's names
        return plugin_pb2.PluginInfo(version=self._version)

    async def Attach(self, request: Any, context: Any) -> Any:  # noqa: N802
        return Empty()

    async def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802
        return Empty()

    async def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    async def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    async def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True, acceptResources=True)

    async def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    async def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.preview:
            return provider_pb2.CreateResponse(properties=request.properties)
        made = _made(request.type, request.name, json_format.MessageToDict(request.properties))
        return provider_pb2.CreateResponse(id=request.name, properties=_struct(made | {VERSION: 1}))

    async def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
        there = _made(request.type, request.name, json_format.MessageToDict(request.properties))
        return provider_pb2.ReadResponse(id=request.id, inputs=request.inputs, properties=_struct(there))

    async def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        different = request.old_inputs != request.news
        changes = provider_pb2.DiffResponse.DIFF_SOME if different else provider_pb2.DiffResponse.DIFF_NONE
        old, new = (json_format.MessageToDict(each) for each in (request.old_inputs, request.news))
        replaces = [field for field in forcing(request.type) if _at(old, field) != _at(new, field)]
        return provider_pb2.DiffResponse(changes=changes, replaces=replaces)

    async def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.preview:
            return provider_pb2.UpdateResponse(properties=request.news)
        made = _made(request.type, request.name, json_format.MessageToDict(request.news))
        return provider_pb2.UpdateResponse(properties=_struct(made | {VERSION: request.olds[VERSION] + 1}))

    async def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        return Empty()

    async def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.InvokeResponse(**{"return": _struct(_ANSWERS.get(request.tok, {}))})


def _made(kind: str, name: str, asked: dict[str, Any]) -> dict[str, Any]:
    """What a resource is once it is there."""
    computed = dict(_COMPUTED.get(kind, {}))
    if kind.startswith("aws:"):
        computed |= {"arn": f"arn:aws:echo:us-east-2:123456789012:{name}"} | (
            {} if "name" in asked else {"name": f"{name}-0123456"}
        )
    return computed | {
        key: {**computed[key], **value} if isinstance(value, dict) and key in computed else value
        for key, value in asked.items()
    }


def _at(inputs: Any, path: str) -> Any:
    for part in path.split("."):
        inputs = inputs.get(part) if isinstance(inputs, dict) else None
    return inputs


def _struct(properties: dict[str, Any]) -> Any:
    return json_format.ParseDict(properties, struct_pb2.Struct())


async def serve(version: str) -> None:
    """Serve on a free port of this machine and tell the engine which."""
    server = grpc.aio.server()
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Echo(version), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
