"""Run the stack's program in this process, on the SDK's mock monitor: no Pulumi CLI, no network, no credentials."""

import asyncio
import gc
import os
import runpy
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, cast

import pulumi
from google.protobuf.json_format import MessageToDict
from pulumi.runtime import get_root_resource, mocks, rpc, set_all_config, set_mocks
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import SETTINGS, set_root_resource
from pulumi.runtime.stack import run_pulumi_func

from ops.pulumi.stack_file import StackFile

UNKNOWN = "[computed]"
"""Stands for a value that only a deployment can know."""


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One registered resource. inputs: as the engine would get them, secrets wrapped in Secret, unknowns as UNKNOWN.

    replace_on_changes: fields whose change replaces the resource. options: what else changes its behaviour, by Pulumi's
    name, those that are set. aliases: URNs that it had before. read: whether it is looked up rather than managed.
    """

    urn: str
    type: str
    parent: str
    dependencies: tuple[str, ...]
    property_dependencies: Mapping[str, tuple[str, ...]]
    provider: str
    inputs: Mapping[str, Any]
    protect: bool = False
    replace_on_changes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    read: bool = False

    @property
    def name(self) -> str:
        """The logical name, which ends the URN."""
        return self.urn.rpartition("::")[2]


@dataclass(frozen=True)
class Secret:
    """A secret value; only what applies resources may open it."""

    value: Any = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Every resource of a stack in dependency order, and its outputs."""

    stack: str
    resources: tuple[Resource, ...]
    outputs: Mapping[str, Any]


class _NoMocks(mocks.Mocks):
    """The recorder answers registrations itself; calls to a cloud have no answer before a deployment."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        raise NotImplementedError("the recorder registers resources")

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        return {}, []


class Recorder(mocks.MockMonitor):
    """Keeps every registration and answers it as a preview does: inputs come back, the rest stays unknown."""

    def __init__(self) -> None:
        super().__init__(_NoMocks())
        self.recorded: list[Resource] = []

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """The engine's URN: types of all ancestors but the stack, then the resource's own."""
        ancestors = parent.split("::")[2] if parent else ""
        own = type_ if ancestors in ("", "pulumi:pulumi:Stack") else f"{ancestors}${type_}"
        return "::".join([f"urn:pulumi:{pulumi.get_stack()}", pulumi.get_project(), own, name])

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        urn = self.make_urn(request.parent, request.type, request.name)
        if request.type != "pulumi:pulumi:Stack":
            self._record(request, urn, request.object, read=False)
        return resource_pb2.RegisterResourceResponse(urn=urn, object=request.object)

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        urn = self.make_urn(request.parent, request.type, request.name)
        self._record(request, urn, request.properties, read=True)
        return resource_pb2.ReadResourceResponse(urn=urn, properties=request.properties)

    def _record(self, request: Any, urn: str, properties: Any, *, read: bool) -> None:
        by_property = {} if read else request.propertyDependencies
        inputs = plain(properties)
        if read:
            identity = UNKNOWN if request.id == rpc.UNKNOWN else request.id
            inputs = {"id": identity} | {key: value for key, value in inputs.items() if value is not None}
        self.recorded.append(
            Resource(
                urn=urn,
                type=request.type,
                parent=request.parent,
                dependencies=tuple(sorted(request.dependencies)),
                property_dependencies={
                    key: tuple(sorted(by_property[key].urns))
                    for key in sorted(by_property)
                    if by_property[key].urns
                },
                provider=request.provider.rpartition("::")[0],
                inputs=inputs,
                protect=not read and bool(request.protect),
                replace_on_changes=() if read else tuple(request.replaceOnChanges),
                options={} if read else _options(request),
                aliases=() if read else tuple(self._alias(request, alias) for alias in request.aliases),
                read=read,
            )
        )

    def _alias(self, request: Any, alias: Any) -> str:
        """The URN that an alias stands for: what it leaves out is as it is now."""
        if alias.urn:
            return str(alias.urn)
        spec = alias.spec
        parent = "" if spec.noParent else spec.parentUrn or request.parent
        return self.make_urn(parent, spec.type or request.type, spec.name or request.name)


def _options(request: Any) -> dict[str, Any]:
    """What of a registration's options changes what the engine does, but for protect and replaceOnChanges."""
    timeouts = request.customTimeouts
    hooks = {kind.name: list(getattr(request.hooks, kind.name)) for kind in request.hooks.DESCRIPTOR.fields}
    options = {
        "deleteBeforeReplace": request.deleteBeforeReplace,
        "retainOnDelete": request.retainOnDelete,
        "deletedWith": request.deletedWith,
        "ignoreChanges": list(request.ignoreChanges),
        "customTimeouts": {
            step: getattr(timeouts, step)
            for step in ("create", "update", "delete")
            if getattr(timeouts, step)
        },
        "hooks": {kind: names for kind, names in hooks.items() if names},
    }
    return {option: value for option, value in options.items() if value}


def evaluate(project: Path, stack_file: StackFile) -> Evaluation:
    """Run the project's `__main__.py` with the stack's config as a preview would.

    Raises pulumi.RunError with the message that `pulumi up` would show.
    """
    recorder, program = Recorder(), str(project / "__main__.py")
    with _config(stack_file), _project_modules(project), _without_collector():
        outputs = run(
            lambda: runpy.run_path(program, run_name="__main__"),
            recorder,
            project=stack_file.project,
            stack=stack_file.stack,
            preview=True,
        )
    resources = tuple(dependency_order(recorder.recorded))
    return Evaluation(stack=stack_file.stack, resources=resources, outputs=outputs)


def run(
    program: Callable[[], object], recorder: Recorder, *, project: str, stack: str, preview: bool
) -> dict[str, Any]:
    """Run a program against the recorder until nothing of it is outstanding; returns its outputs.

    Raises what the program raises. What an earlier run left behind, even one that failed, is forgotten first.
    """

    def without_result() -> None:
        program()  # Pulumi would take a returned value for an awaitable program

    with event_loop() as loop:
        set_root_resource(cast(pulumi.Resource, None))
        set_mocks(_NoMocks(), project, stack, preview=preview, monitor=recorder)
        loop.run_until_complete(run_pulumi_func(without_result))
        return loop.run_until_complete(_outputs())


@contextmanager
def event_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A program's own event loop. What it leaves unfinished ends with it: the next program would wait for that."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    SETTINGS.outputs.clear()  # of Outputs made outside any program
    try:
        yield loop
    finally:
        pending = asyncio.all_tasks(loop)  # of a program that was refused half-way
        for task in pending:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_default_executor())  # registrations under way
        SETTINGS.outputs.clear()
        # A refusal has been raised; every output that waited for it would tell it again.
        loop.set_exception_handler(lambda *_: None)
        loop.close()
        asyncio.set_event_loop(None)


async def _outputs() -> dict[str, Any]:
    root: Any = get_root_resource()
    return dict(sorted(plain(await rpc.serialize_properties(root.outputs, {})).items()))


def plain(properties: Any) -> dict[str, Any]:
    """A registration's Struct as Python values: whole numbers as int, secrets as Secret, unknowns as UNKNOWN."""
    value: dict[str, Any] = _plain(MessageToDict(properties))
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        signature = value.get(rpc._special_sig_key)
        if signature == rpc._special_secret_sig:
            return Secret(_plain(value["value"]))
        if signature == rpc._special_resource_sig:
            return value["urn"]
        return {key: _plain(item) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return UNKNOWN if value == rpc.UNKNOWN else value


def dependency_order(resources: Iterable[Resource]) -> Iterator[Resource]:
    """Parents, providers and dependencies before what needs them; ties by URN, so that the order never varies."""
    by_urn = {resource.urn: resource for resource in resources}
    needs = {
        urn: {u for u in (r.parent, r.provider, *r.dependencies) if u in by_urn} for urn, r in by_urn.items()
    }
    sorter = TopologicalSorter(needs)
    sorter.prepare()
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        for urn in ready:
            yield by_urn[urn]
        sorter.done(*ready)


@contextmanager
def _config(stack_file: StackFile) -> Iterator[None]:
    """The stack's config in the environment, as Pulumi's language host hands it to a program."""
    handed = stack_file.environment()
    before = {name: os.environ.get(name) for name in handed}
    os.environ.update(handed)
    set_all_config(dict(stack_file.config), sorted(stack_file.secret_keys))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        set_all_config({}, [])


@contextmanager
def _project_modules(project: Path) -> Iterator[None]:
    """The project's folder as working directory and first on the module path, as under `pulumi up`."""
    before = Path.cwd()
    os.chdir(project)
    sys.path.insert(0, str(project))
    try:
        yield
    finally:
        sys.path.remove(str(project))
        os.chdir(before)


@contextmanager
def _without_collector() -> Iterator[None]:
    """The program's modules and resources stay: a search for garbage among them takes time and finds none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
