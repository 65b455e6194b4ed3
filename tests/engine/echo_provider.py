"""An `aws` plugin for previews: every resource comes back as it was asked for, and nothing of AWS is reached.

It leaves ids, ARNs and endpoints truly unknown, as the real provider does before a first deployment. Whatever would
have to happen for real is refused: methods that are not here answer with gRPC's `unimplemented`.
"""

import asyncio
import sys
from typing import Any

import grpc.aio  # type: ignore[import-untyped]
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc


class Echo(provider_pb2_grpc.ResourceProviderServicer):
    """The parts of the provider protocol that a preview of new resources uses."""

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
        if not request.preview:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "this aws plugin only previews")
        return provider_pb2.CreateResponse(properties=request.properties)

    async def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.InvokeResponse()


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
