"""An `aws` plugin that only echoes: every resource comes back as it was asked for, and nothing of AWS is reached.

A preview leaves ids, ARNs and endpoints truly unknown, as the real provider does before a first deployment; what is
created gets an id and no other computed value, but for a launch template its version, which each change counts up.
"""

import asyncio
import sys
from typing import Any

import grpc.aio  # type: ignore[import-untyped]
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

VERSION = "latestVersion"


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
        return provider_pb2.CreateResponse(id=request.name, properties=_versioned(request.properties, 1))

    async def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        different = request.old_inputs != request.news
        changes = provider_pb2.DiffResponse.DIFF_SOME if different else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=changes)

    async def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.preview:
            return provider_pb2.UpdateResponse(properties=request.news)
        return provider_pb2.UpdateResponse(properties=_versioned(request.news, request.olds[VERSION] + 1))

    async def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        return Empty()

    async def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.InvokeResponse()


def _versioned(properties: Any, version: float) -> Any:
    properties[VERSION] = version
    return properties


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
