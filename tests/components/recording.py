"""Mocks that keep every registration and answer as a finished deployment would."""

from collections.abc import Callable, Sequence
from typing import Any

from components.kubernetes_objects import KubernetesObjects, KubernetesObjectsArgs
from manifests.objects import Named
from ops.evaluate import Recorder, Resource, run


class Deployed(Recorder):
    """A recorder whose resources have ids, and whose cluster serves v1alpha1 graphs."""

    def __init__(self) -> None:
        super().__init__()
        self.registered_outputs: dict[str, dict[str, Any]] = {}

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        response = super().RegisterResource(request)
        response.id = f"{request.name}-id" if request.custom else ""
        return response

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        response = super().ReadResource(request)
        namespace, _, name = request.id.rpartition("/")
        response.properties.update({"metadata": {"name": name, "namespace": namespace}})
        if request.type.endswith(":CustomResourceDefinition"):
            versions = [{"name": "v1alpha1", "served": True}, {"name": "v1beta1", "served": False}]
            response.properties.update({"spec": {"versions": versions}})
        return response

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        self.registered_outputs[request.urn.split("::")[-1]] = dict(request.outputs)
        return super().RegisterResourceOutputs(request)  # type: ignore[no-untyped-call]


class Retained(Deployed):
    """Also keeps what outlives its stack."""

    def __init__(self) -> None:
        super().__init__()
        self.retained: set[str] = set()

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        response = super().RegisterResource(request)
        if request.retainOnDelete:
            self.retained.add(request.name)
        return response


def held(made: Sequence[Named], **more: Any) -> None:
    """Objects as one component."""
    KubernetesObjects("some", KubernetesObjectsArgs(objects=made, **more))


def deploy(program: Callable[[], object], recorder: Deployed | None = None) -> Deployed:
    """Run a program to its end, as `pulumi up` does once everything is made."""
    recorder = recorder or Deployed()
    run(program, recorder, project="dynamo-gpt-oss", stack="test", preview=False)
    return recorder


def named(recorder: Recorder, name: str, kind: str = "") -> Resource:
    """The one resource of that name and type suffix."""
    found = [r for r in recorder.recorded if r.name == name and r.type.endswith(kind)]
    assert len(found) == 1, [r.urn for r in recorder.recorded]
    return found[0]
