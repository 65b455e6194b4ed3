"""Requests to the API server of the embedded cluster."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Self

import aiohttp
import kopf

from embedded.operator.components import Object

RETRY_SECONDS = 0.1
_MANAGER = "dynamo-operator-stand-in"
_CLUSTER_SCOPED = ("CustomResourceDefinition", "DeviceClass", "PersistentVolume", "ResourceSlice",
                   "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")  # fmt: skip


class ApiError(Exception):
    """A request was refused; the message says why, mostly in the API server's words."""


class ConflictError(ApiError):
    """Somebody else changed the object meanwhile: look at it again."""


class Api:
    """The few requests that the stand-in makes, as the user of $KUBECONFIG."""

    def __init__(self) -> None:
        login = kopf.login_with_kubeconfig(settings=kopf.OperatorSettings())
        if login is None:
            raise kopf.LoginError("no kubeconfig: set --kubeconfig")
        self._session = aiohttp.ClientSession(
            login.server,
            headers=login.as_http_headers(),
            connector=aiohttp.TCPConnector(ssl=login.as_ssl_context()),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def until_ready(self) -> None:
        """Return once the API server is ready: it may come up beside the stand-in. Raises ApiError for a stranger."""
        while True:
            with suppress(aiohttp.ClientError):
                async with self._session.get("/readyz") as response:
                    if response.status == HTTPStatus.OK:
                        return
                    if response.status == HTTPStatus.UNAUTHORIZED:
                        raise ApiError("the API server does not know the token of the kubeconfig")
            await asyncio.sleep(RETRY_SECONDS)

    async def request(
        self, method: str, path: str, body: object = None, kind: str = "json", **more: str
    ) -> Any:
        """The answer's JSON, or None for what does not exist (404). more: headers. Raises ApiError.

        Asks again while the server says that it is not ready to answer (429), as it does of a kind that is new.
        """
        headers = {"Content-Type": f"application/{kind}", **more}
        while True:
            async with self._session.request(method, path, json=body, headers=headers) as response:
                if response.status == HTTPStatus.NOT_FOUND:
                    return None
                answer = await response.json()
            if response.status < HTTPStatus.BAD_REQUEST:
                return answer
            if response.status == HTTPStatus.CONFLICT:
                raise ConflictError(answer["message"])
            if response.status != HTTPStatus.TOO_MANY_REQUESTS:
                raise ApiError(answer["message"])
            await asyncio.sleep(RETRY_SECONDS)

    async def apply(self, desired: Object) -> Any:
        """Creates or updates an object by server-side apply; the stand-in's fields win."""
        query = f"?fieldManager={_MANAGER}&force=true"
        return await self.request("PATCH", path_of(desired) + query, desired, "apply-patch+yaml")

    async def patch(self, target: Object, part: object, kind: str = "merge-patch+json", **more: str) -> Any:
        """Updates a part of an object, which is returned, or None if it is gone. more: headers.

        Not by apply: managed fields are kept in the order of applies, and one that comes last would make the user's
        own next apply, which changes nothing, change that order and so the object.
        """
        return await self.request("PATCH", f"{path_of(target)}?fieldManager={_MANAGER}", part, kind, **more)

    async def set_status(self, target: Object, status: Object) -> None:
        """Updates an object's status."""
        path = f"{path_of(target)}/status?fieldManager={_MANAGER}"
        await self.request("PATCH", path, {"status": status}, "merge-patch+json")


def path_of(desired: Object) -> str:
    """The object's path on the API server."""
    return f"{collection_of(desired)}/{desired['metadata']['name']}"


def collection_of(desired: Object) -> str:
    """The path of the collection that the object belongs to."""
    version, kind = desired["apiVersion"], desired["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    scope = "" if kind in _CLUSTER_SCOPED else f"/namespaces/{desired['metadata']['namespace']}"
    name = kind.lower()
    plural = f"{name[:-1]}ies" if name.endswith("y") else f"{name}es" if name.endswith("s") else f"{name}s"
    return f"{root}{scope}/{plural}"


def is_deleted(body: Mapping[str, Any], event: str | None = None) -> bool:
    """Whether the object is gone or being deleted."""
    return event == "DELETED" or "deletionTimestamp" in body["metadata"]
