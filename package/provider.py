"""What programs in any language may make, and the schema that says so."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any

import pulumi
from pulumi.provider.experimental.analyzer import ComponentDefinition
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.experimental.util import camel_case

from components.cache.model_cache import ModelCache
from components.cluster.eks_cluster import EksCluster
from components.graph.benchmark import Benchmark
from components.graph.inference_graph import InferenceGraph
from components.graph.verification import Verification
from components.nodes.gpu_node_pool import GpuNodePool
from components.services.monitoring import Monitoring
from components.services.platform import DynamoPlatform
from package.arguments import ArgumentProblem, args_from, choices_of, has_default, record_in

NAME, VERSION = "dynamo-gpt-oss", "0.1.0"
COMPONENTS: tuple[type[pulumi.ComponentResource], ...] = (
    EksCluster, GpuNodePool, DynamoPlatform, ModelCache, InferenceGraph, Verification, Benchmark, Monitoring,
)  # fmt: skip
Rules = Callable[[Any], Iterable[tuple[str, str]]]
"""What cannot work of a component's arguments: which argument, and why."""


def _no_rules(_: Any) -> Iterator[tuple[str, str]]:
    yield from ()


class Package(ComponentProvider):
    """Makes components out of plain objects, with the defaults and choices of their records in the schema.

    The SDK's own knows neither: it would demand what has a default, and hand over what nobody checked.
    """

    def __init__(self, rules: Rules = _no_rules) -> None:
        super().__init__(list(COMPONENTS), NAME, version=VERSION)
        self._rules = rules
        self._records = {each.__name__: _args_of(each) for each in COMPONENTS}
        assert self.schema is not None, "the SDK has written one"
        self.described = _schema(json.loads(self.schema), self._records)
        """The schema, as an object."""
        self.schema = json.dumps(self.described)

    def map_inputs(self, inputs: pulumi.Inputs, component_def: ComponentDefinition) -> Any:
        """The component's record of arguments. Raises InputPropertiesError for what is none or cannot work."""
        try:
            args = args_from(self._records[component_def.name], inputs)
        except ArgumentProblem as problem:
            raise _refusal(component_def.name, [(problem.path, problem.reason)]) from None
        if problems := list(self._rules(args)):
            raise _refusal(component_def.name, problems)
        return args


def _refusal(component: str, problems: Iterable[tuple[str, str]]) -> pulumi.InputPropertiesError:
    found: Any = [{"property_path": path, "reason": reason} for path, reason in problems]
    return pulumi.InputPropertiesError(f"{component} cannot be made", found)


def _args_of(component: type[pulumi.ComponentResource]) -> type:
    args: type = component.__init__.__annotations__["args"]
    return args


def _schema(schema: dict[str, Any], records: dict[str, type]) -> dict[str, Any]:
    """The SDK's schema, and of every record what its fields say of themselves."""
    for name, record in records.items():
        resource = schema["resources"][f"{NAME}:index:{name}"]
        resource["requiredInputs"] = _describe(schema, resource["inputProperties"], record)
    for of in schema["types"].values():
        for each in of.get("enum", ()):
            each["name"] = _identifier(each["value"])
    tidied: dict[str, Any] = _tidy({**schema, "config": {}})
    return tidied


def _describe(schema: dict[str, Any], properties: dict[str, Any], record: Any) -> list[str]:
    """Say defaults and choices of a record, and of every record in it; returns what must be given."""
    for each in fields(record):
        described = properties[camel_case(each.name)]
        if isinstance(each.default, str | int | float) and each.default != "":
            described["default"] = getattr(each.default, "value", each.default)
        called, choices = choices_of(each)
        if choices:
            described.pop("type", None)
            described["$ref"] = _enum(schema, called, choices)
        inner = record_in(each.type)
        if inner is not None:
            of = schema["types"][f"{NAME}:index:{inner.__name__}"]
            of["required"] = _describe(schema, of["properties"], inner)
    return sorted(camel_case(each.name) for each in fields(record) if not has_default(each))


def _enum(schema: dict[str, Any], called: str, choices: Iterable[str]) -> str:
    """A reference to an enumeration of names."""
    token = f"{NAME}:index:{called}"
    schema["types"][token] = {"type": "string", "enum": [{"value": each} for each in choices]}
    return f"#/types/{token}"


def _identifier(text: str) -> str:
    """A name in code, as each language's own names are made from: `CapacityBlock`, `P5_48xlarge`."""
    name = ""
    for part in re.findall(r"[A-Za-z0-9]+", text):
        name += f"_{part}" if name and part[0].isdigit() else part[0].upper() + part[1:]
    return f"T{name}" if name[0].isdigit() else name


def _tidy(value: Any, *, item: bool = False) -> Any:
    """As Pulumi's CLI shows it: descriptions in one line and of no items, and nothing that says nothing."""
    if isinstance(value, list):
        return [_tidy(each) for each in value]
    if isinstance(value, str):
        return " ".join(value.split())
    if not isinstance(value, dict):
        return value
    return {
        key: _tidy(each, item=key in ("items", "additionalProperties"))
        for key, each in sorted(value.items())
        if (key == "config" or each not in (None, [], {})) and not (item and key == "description")
    }
