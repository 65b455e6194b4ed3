"""Shipped stacks as texts to be looked at: what goes to Kubernetes, the dashboards, and what goes to AWS.

What is a file elsewhere is named instead of repeated: a program of `pods/`, a dashboard, a graph of `golden/targets`.
Whatever differs from that file is written out.
"""

import base64
import json
import runpy
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import pytest
import yaml
from pulumi.runtime import set_all_config

from manifests.graph.workers import engine_files
from ops.diff.changes import MISSING
from ops.diff.compare import field_changes
from ops.evaluate import UNKNOWN, Recorder, Resource, dependency_order, run
from ops.pulumi.stack_file import StackFile
from ops.synth import is_manifest, mask
from stacks.load import from_text
from targets.plan import GraphPlan
from tests.golden_graphs import CASES, documents, plan
from tests.project import PROJECT

MANY = 60
"""A graph that differs from its target's in more lines is written out whole."""


class _WithIdentities(Recorder):
    """Knows what each resource of AWS will be called, as a preview does not."""

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        response = super().RegisterResource(request)
        if request.type.startswith("aws:"):
            identity = _identity(request.type, request.name)
            response.id = f"<{identity}>"
            response.object.update({"arn": f"<arn of {identity}>"})
            if request.type == "aws:eks/cluster:Cluster":
                network = {"clusterSecurityGroupId": f"<security group of {identity}>"}
                response.object.update({"vpcConfig": network})
        return response


def _identity(type_: str, name: str) -> str:
    return f"{type_.rpartition(':')[2]} {name}"


@cache
def resources(stack: str) -> tuple[Resource, ...]:
    """What the stack registers, in dependency order; of AWS's answers ids and ARNs are known, by names of ours."""
    file, recorder = StackFile.load(PROJECT, stack), _WithIdentities()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(PROJECT)
        for name, value in file.environment().items():
            patch.setenv(name, value)
        set_all_config(dict(file.config), sorted(file.secret_keys))
        program = partial(runpy.run_path, "__main__.py", run_name="__main__")
        run(program, recorder, project=file.project, stack=stack, preview=True)
        set_all_config({}, [])
    return tuple(dependency_order(recorder.recorded))


@cache
def graphs(stack: str) -> dict[str, GraphPlan]:
    """The stack's graphs by name."""
    file = StackFile.load(PROJECT, stack)
    return {graph.name: graph for graph in from_text(file.config, set(file.secret_keys)).graphs}


def kubernetes(stack: str) -> str:
    """Every object and every chart, in dependency order."""
    found = [each for each in resources(stack) if is_manifest(each) or _is_chart(each)]
    return _dumped_all(_object(stack, each) for each in found)


def _is_chart(resource: Resource) -> bool:
    return resource.type == "kubernetes:helm.sh/v3:Release"


def _object(stack: str, resource: Resource) -> dict[str, Any]:
    written: dict[str, Any] = mask(resource.inputs)
    if _is_chart(resource):
        return {"kind": "Release", **written}
    if written["kind"] == "DynamoGraphDeployment":
        return _as_published(graphs(stack)[written["metadata"]["name"]], written)
    if written["kind"] == "ConfigMap":
        held = {name: config_entry(stack, name, text) for name, text in written.get("data", {}).items()}
        return {**written, "data": held}
    return written


def _as_published(graph: GraphPlan, written: dict[str, Any]) -> dict[str, Any]:
    """A graph by the file that it is nearly equal to, and by what is different."""
    name = _published(graph)
    if name is None:
        return written
    differences = {
        each.path: None if each.after is MISSING else each.after
        for each in field_changes(_documents(name)[0], written)
    }
    if yaml.safe_dump(differences).count("\n") > MANY:
        return written
    return {"kind": written["kind"], "as in": f"targets/{name}.yaml", "but": differences}


def _published(graph: GraphPlan) -> str | None:
    name = f"{graph.target.name}-{graph.version}"
    return name if name in _cases() else None


@cache
def _cases() -> dict[str, GraphPlan]:
    return {file: plan(target, values) for file, target, values in CASES}


@cache
def _documents(name: str) -> list[Any]:
    return documents(_cases()[name])


def config_entry(stack: str, name: str, text: str) -> str:
    """A ConfigMap's entry: the file that it is, or else its text."""
    for path in sorted((PROJECT / "pods").rglob(name)):
        if path.read_text() == text:
            return f"the file {path.relative_to(PROJECT)}"
    if text == dashboards(stack).get(name):
        return f"the file dashboards/{stack}/{name}"
    published = filter(None, map(_published, graphs(stack).values()))
    for case in published:
        if engine_files(_cases()[case]).get(name) == text:
            return f"as in targets/{case}.yaml"
    return text


@cache
def dashboards(stack: str) -> dict[str, str]:
    """The dashboards' JSON by name, as Grafana gets it."""
    maps = [each.inputs for each in resources(stack) if each.type == "kubernetes:core/v1:ConfigMap"]
    return {name: text for each in maps for name, text in each["data"].items() if name.endswith(".json")}


def aws(stack: str) -> str | None:
    """Every resource of AWS, its provider and the versions that are held; None for a stack that has none.

    What AWS answers is `<the resource>` or `<arn of it>`, or `<1 of>` the resources that it comes from. JSON is shown
    as what it says, user data as its text.
    """
    found = resources(stack)
    if not any(each.type.startswith("aws:") for each in found):
        return None
    kinds = {each.urn: _identity(each.type, each.name) for each in found}
    entries: dict[str, dict[str, Any]] = {}
    for each in found:
        if each.type.startswith(("aws:", "pulumi:")):
            entries.setdefault(each.type, {})[each.name] = _entry(each, kinds)
    return str(yaml.dump(entries, Dumper=_Readable, sort_keys=True, width=1000, allow_unicode=True))


def _entry(resource: Resource, kinds: Mapping[str, str]) -> dict[str, Any]:
    entry = {}
    for key, value in mask(resource.inputs).items():
        sources = [kinds[urn] for urn in resource.property_dependencies.get(key, ())]
        entry[key] = _base64(value) if key == "userData" else _opened(value, sources)
    options = dict(resource.options)
    if resource.replace_on_changes:
        options["replaceOnChanges"] = list(resource.replace_on_changes)
    if resource.protect:
        options["protect"] = True
    if resource.read:
        options["read"] = True
    return entry | ({"(options)": options} if options else {})


def _opened(value: Any, sources: list[str]) -> Any:
    """The value with JSON parsed, and with what is unknown named by the resources that it comes from."""
    if isinstance(value, Mapping):
        return {key: _opened(each, sources) for key, each in value.items()}
    if isinstance(value, list):
        return [_opened(each, sources) for each in value]
    if value == UNKNOWN:
        return f"<{'1 of ' if len(sources) > 1 else ''}{', '.join(sources)}>"
    if isinstance(value, str) and value.startswith(("{", "[")):
        return _opened(json.loads(value), sources)
    return value


def _base64(text: str) -> str:
    return text if text == UNKNOWN else base64.b64decode(text).decode()


class _Readable(yaml.SafeDumper):
    """Texts of several lines stand as they are."""

    def ignore_aliases(self, _: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _text)


def _dumped_all(documents: Iterator[Any]) -> str:
    dumped = yaml.dump_all(documents, Dumper=_Readable, sort_keys=True, width=1000, allow_unicode=True)
    return str(dumped)
