"""The CustomResourceDefinitions that the operator stand-in serves: closed, one version each.

Scaffolding of the embedded cluster; a real cluster gets its definitions from the dynamo-platform chart. Field
names, enums, patterns and limits are those of Dynamo's DynamoGraphDeployment in the platform's release. Left out, and
so refused by the API server, is what the stand-in cannot simulate: autoscaling, checkpoint, eppConfig, experimental,
failover, gpuMemoryService, modelRef, providerOverride, topologyConstraint, and v1alpha1's frontendSidecar and ingress.
"""

from collections.abc import Mapping
from typing import Any, Literal

from targets import releases

Version = Literal["v1alpha1", "v1beta1"]

COMPONENT_KIND = "DynamoComponentDeployment"
ADAPTER_KIND = "DynamoGraphDeploymentScalingAdapter"
SIMULATED = {"dynamo-gpt-oss/simulated": "true"}
"""Label of everything that the stand-in creates."""


class Schema(dict[str, Any]):
    """An OpenAPI v3 structural schema, ready to be served."""


_SCALARS: dict[type, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int32", "minimum": 0},
}


def _schema(shape: Any, *rules: str, **more: Any) -> Schema:
    """The closed schema of a shape; rules: CEL expression and message, in turns; more: further keywords.

    A shape is str, bool, int (int32, not negative), a Schema, [shape], {str: shape} for a map of any keys, or
    {"key": shape} for an object; a key that ends in "!" is required.
    """
    if isinstance(shape, Schema):
        schema = shape
    elif isinstance(shape, list):
        schema = Schema(type="array", items=_schema(shape[0]))
    elif isinstance(shape, dict) and str in shape:
        schema = Schema(type="object", additionalProperties=_schema(shape[str]))
    elif isinstance(shape, dict):
        schema = Schema(type="object", properties={key.rstrip("!"): _schema(shape[key]) for key in shape})
        required = [key[:-1] for key in shape if key.endswith("!")]
        schema |= {"required": required} if required else {}
    else:
        schema = Schema(_SCALARS[shape])
    validations = [
        {"rule": rule, "message": text} for rule, text in zip(rules[::2], rules[1::2], strict=True)
    ]
    return Schema(schema | more | ({"x-kubernetes-validations": validations} if validations else {}))


_TEXTS = _schema({str: str})
_NAME = _schema(str, minLength=1)
_INT_OR_STRING = Schema(
    {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
)
_QUANTITY = _schema(
    _INT_OR_STRING, pattern=r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
)
_METADATA = {"annotations": _TEXTS, "finalizers": [str], "labels": _TEXTS, "name": str, "namespace": str}
_REPLACED = {"Quantity": _QUANTITY, "IntOrString": _INT_OR_STRING, "ObjectMeta": _schema(_METADATA)}
_KEPT = ("type", "format", "required", "enum", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
         "x-kubernetes-map-type")  # fmt: skip


def structural(schemas: Mapping[str, Any], name: str) -> Schema:
    """The schema `name` of an API server's OpenAPI v3 document as a closed structural schema without references.

    schemas: `components.schemas` of `/openapi/v3/api/v1`. Raises KeyError for a name that it does not hold.
    """
    return _REPLACED.get(name.rpartition(".")[2]) or _resolved(schemas, schemas[name])


def _resolved(schemas: Mapping[str, Any], node: Mapping[str, Any]) -> Schema:
    for part in (node, *node.get("allOf", ())):
        if "$ref" in part:
            return structural(schemas, part["$ref"].rpartition("/")[2])
    resolved = Schema({key: node[key] for key in _KEPT if key in node})
    if "properties" in node:
        resolved["properties"] = {
            key: _with_default(_resolved(schemas, value), value, key in node.get("required", ()))
            for key, value in node["properties"].items()
        }
    for key in {"items", "additionalProperties"} & node.keys():
        resolved[key] = _resolved(schemas, node[key])
    return resolved


def _with_default(schema: Schema, node: Mapping[str, Any], required: bool) -> Schema:
    """The property with its default, unless that is Go's zero value: the document has one for every required field,
    which would then never be missed, and {} for every struct, which would add fields that nobody wrote.
    """
    default = node.get("default")
    return (
        schema
        if default in (None, {}) or (required and not default)
        else Schema(schema | {"default": default})
    )


def _optional(schema: Schema, name: str, **properties: Schema) -> Schema:
    required = [key for key in schema.get("required", ()) if key != name]
    return Schema(schema | {"required": required, "properties": schema["properties"] | properties})


_SINCE_1_3 = {"minAvailable": _schema(int, minimum=1)}
_SINCE_1_4 = {
    "runtimeVersionOverride": _schema(str, pattern=r"^((0|[1-9][0-9]{0,3})\.){2}(0|[1-9][0-9]{0,3})$")
}
_COMPONENT_RULES_SINCE_1_3 = (
    "!has(self.minAvailable) || self.?replicas.orValue(1) == 0 || self.minAvailable <= self.?replicas.orValue(1)",
    "minAvailable must be less than or equal to replicas unless replicas is 0",
    "!has(oldSelf.minAvailable) || (has(self.minAvailable) && self.minAvailable == oldSelf.minAvailable)",
    "minAvailable is immutable after creation",
)
_NO_RESTART_ON_CREATE = {
    "rule": "oldSelf.hasValue() || !has(self.restart)",
    "message": "spec.restart must be unset on create; set spec.restart.id after creation to request a restart",
    "optionalOldSelf": True,
}
_NODE_COUNT = _schema(int, minimum=2, default=2)


def _common_component(release: releases.Version) -> dict[str, Any]:
    return {
        "globalDynamoNamespace": bool,
        "replicas": int,
        **(_SINCE_1_3 if release >= releases.Version(1, 3) else {}),
        **(_SINCE_1_4 if release >= releases.Version(1, 4) else {}),
    }


def _component_rules(release: releases.Version) -> tuple[str, ...]:
    return _COMPONENT_RULES_SINCE_1_3 if release >= releases.Version(1, 3) else ()


def _component(version: Version, pod_spec: Schema, release: releases.Version) -> dict[str, Any]:
    """A component's shape as the API version has it."""
    shape = (_v1alpha1_component if version == "v1alpha1" else _v1beta1_component)(pod_spec)
    return _common_component(release) | shape


def _v1alpha1_component(pod_spec: Schema) -> dict[str, Any]:
    container: Schema = pod_spec["properties"]["containers"]["items"]
    fields = container["properties"]
    amounts = {"cpu": str, "memory": str, "gpu": str, "gpuType": str, "custom": _TEXTS}
    return {
        "annotations": _TEXTS,
        "componentType": str,
        "dynamoNamespace": str,
        "envFromSecret": str,
        "envs": [fields["env"]["items"]],
        "extraPodMetadata": {"annotations": _TEXTS, "labels": _TEXTS},
        "extraPodSpec": _optional(pod_spec, "containers", mainContainer=_optional(container, "name")),
        "labels": _TEXTS,
        "livenessProbe": fields["livenessProbe"],
        "multinode": {"nodeCount!": _NODE_COUNT},
        "readinessProbe": fields["readinessProbe"],
        "resources": {"claims": [{"name!": str, "request": str}], "limits": amounts, "requests": amounts},
        "scalingAdapter": {"enabled": _schema(bool, default=False)},
        "serviceName": str,
        "sharedMemory": _schema(
            {"disabled": bool, "size": _QUANTITY},
            "(has(self.disabled) && self.disabled) || "
            "(has(self.size) && quantity(self.size).isGreaterThan(quantity('0')))",
            "size is required when disabled is false",
        ),
        "subComponentType": str,
        "volumeMounts": [{"mountPoint": str, "name!": str, "useAsCompilationCache": _schema(bool, default=False)}],
    }  # fmt: skip


def _v1alpha1_spec(pod_spec: Schema, release: releases.Version) -> dict[str, Any]:
    variable = pod_spec["properties"]["containers"]["items"]["properties"]["env"]["items"]
    service = _component("v1alpha1", pod_spec, release)
    claim = _schema(
        {"create": bool, "name!": str, "size": _QUANTITY, "storageClass": str, "volumeAccessMode": str},
        "!has(self.create) || !self.create || "
        "(has(self.size) && has(self.storageClass) && has(self.volumeAccessMode))",
        "When create is true, size, storageClass, and volumeAccessMode are required",
    )
    return {
        "envs": [variable],
        "pvcs": _schema([claim], maxItems=100),
        "services": _schema({str: _schema(service, *_component_rules(release))}, maxProperties=25),
    }


def _v1beta1_component(pod_spec: Schema) -> dict[str, Any]:
    executor = "nvidia.com/vllm-distributed-executor-backend"
    annotations = _schema(
        {str: _schema(str, maxLength=262144)},
        f'!("{executor}" in self) || self["{executor}"].lowerAscii() in ["mp", "ray"]',
        "podTemplate backend annotation must be mp or ray, case-insensitively",
    )
    return {
        "compilationCache": {"mountPath": str, "pvcName!": _NAME},
        "frontendSidecar": str,
        "multinode": {"nodeCount": _NODE_COUNT},
        "name!": _schema(_NAME, maxLength=63, pattern="^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$"),
        "podTemplate": {"metadata": _METADATA | {"annotations": annotations}, "spec": pod_spec},
        "scalingAdapter": {},
        "sharedMemorySize": _QUANTITY,
        "type": _schema(str, enum=["frontend", "worker", "prefill", "decode", "planner", "epp"]),
    }


def _v1beta1_spec(pod_spec: Schema, release: releases.Version) -> dict[str, Any]:
    variable = pod_spec["properties"]["containers"]["items"]["properties"]["env"]["items"]
    components = _schema(
        [_schema(_component("v1beta1", pod_spec, release), *_component_rules(release))],
        "self.filter(c, has(c.type) && c.type == 'epp').size() <= 1",
        "at most one component may have type epp",
        "self.all(c1, self.filter(c2, c2.name.lowerAscii() == c1.name.lowerAscii()).size() == 1)",
        "component names must be unique case-insensitively",
        maxItems=25,
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    return {"components": components, "env": [variable]}


def dynamo_graph_deployment(
    version: Version, pod_spec: dict[str, Any], release: releases.Version
) -> dict[str, Any]:
    """The DynamoGraphDeployment definition of an operator's release, in one API version.

    One version because the API server cannot convert between the two, and server-side apply fails on an object
    that has fields of both. pod_spec: `structural(..., "io.k8s.api.core.v1.PodSpec")` of the same API server.
    """
    alpha = version == "v1alpha1"
    strategy = _schema(str, enum=["Sequential", "Parallel"], default="Sequential")
    spec = _schema(
        {
            "annotations": _TEXTS,
            "backendFramework": _schema(str, enum=["sglang", "vllm", "trtllm"]),
            "labels": _TEXTS,
            **({"priorityClassName": str} if release >= releases.Version(1, 3) else {}),
            "restart": {"id!": _NAME, "strategy": {"order": [str], "type": strategy}},
            **(_v1alpha1_spec if alpha else _v1beta1_spec)(Schema(pod_spec), release),
        },
    )
    if release >= releases.Version(1, 3):
        spec["x-kubernetes-validations"] = [_NO_RESTART_ON_CREATE]
    time, generation = _schema(str, format="date-time"), _schema(int, format="int64")
    status = {
        "conditions": [_CONDITION],
        "observedGeneration": generation,
        "rollingUpdate": {
            "endTime": time,
            "phase": _schema(str, enum=["Pending", "InProgress", "Completed", "Failed", ""]),
            "startTime": time,
            "updatedServices" if alpha else "updatedComponents": [str],
        },
        "services" if alpha else "components": {str: _replica_status(version)},
        "state!": _schema(
            str, enum=["initializing", "pending", "successful", "failed"], default="initializing"
        ),
    }
    columns = {
        "Ready": '.status.conditions[?(@.type=="Ready")].status',
        "State": ".status.state",
        "Backend": ".spec.backendFramework",
    }
    return _definition(
        "nvidia.com", "DynamoGraphDeployment", version, {"spec!": spec, "status": status}, columns, "dgd"
    )


def dynamo_component_deployment(
    version: Version, pod_spec: dict[str, Any], release: releases.Version
) -> dict[str, Any]:
    """The DynamoComponentDeployment definition of an operator's release: what it makes of one component first."""
    framework = {"backendFramework": _schema(str, enum=["sglang", "vllm", "trtllm"])}
    spec = _schema(_component(version, Schema(pod_spec), release) | framework)
    status = {
        "conditions": [_CONDITION],
        "observedGeneration": _schema(int, format="int64"),
        "service" if version == "v1alpha1" else "component": _replica_status(version),
    }
    columns = {
        "Available": '.status.conditions[?(@.type=="Available")].status',
        "Backend": ".spec.backendFramework",
    }
    return _definition(
        "nvidia.com", COMPONENT_KIND, version, {"spec": spec, "status": status}, columns, "dcd"
    )


_CONDITION = {
    "lastTransitionTime!": _schema(str, format="date-time"), "message!": str,
    "observedGeneration": _schema(int, format="int64"), "reason!": str, "status!": str, "type!": str,
}  # fmt: skip


def _replica_status(version: Version) -> Schema:
    kinds = ["PodClique", "PodCliqueScalingGroup", "Deployment", "LeaderWorkerSet"]
    return _schema(
        {
            "availableReplicas": int, "componentKind!": _schema(str, enum=kinds), "componentNames": [str],
            "readyReplicas": int, "replicas!": int, "runtimeNamespace": str, "scheduledReplicas": int,
            "updatedReplicas!": int,
        }
        | ({"componentName!": str} if version == "v1alpha1" else {})
    )  # fmt: skip


def scaling_adapter() -> dict[str, Any]:
    """The DynamoGraphDeploymentScalingAdapter definition in nvidia.com/v1alpha1, with its scale subresource."""
    spec = {"dgdRef!": {"name!": _NAME, "serviceName!": _NAME}, "replicas!": int}
    status = {"lastScaleTime": _schema(str, format="date-time"), "replicas": int, "selector": str}
    columns = {"DGD": ".spec.dgdRef.name", "Service": ".spec.dgdRef.serviceName"}
    definition = _definition(
        "nvidia.com", ADAPTER_KIND, "v1alpha1", {"spec": spec, "status": status}, columns, "dgdsa"
    )
    definition["spec"]["versions"][0]["subresources"]["scale"] = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    return definition


def compute_domain() -> dict[str, Any]:
    """The ComputeDomain definition (resource.nvidia.com/v1beta1), as NVIDIA's DRA driver serves it."""
    spec = _schema(
        {"numNodes!": int, "channel!": {"resourceClaimTemplate!": {"name!": _NAME}}},
        "self == oldSelf",
        "A computeDomain.spec is immutable",
    )
    status = {"status": _schema(str, enum=["Ready", "NotReady"])}
    columns = {"Status": ".status.status"}
    return _definition(
        "resource.nvidia.com", "ComputeDomain", "v1beta1", {"spec!": spec, "status": status}, columns
    )


def _definition(
    group: str, kind: str, version: str, shape: dict[str, Any], columns: dict[str, str], *short: str
) -> dict[str, Any]:
    singular = kind.lower()
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            *({"name": name, "type": "string", "jsonPath": path} for name, path in columns.items()),
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        "schema": {
            "openAPIV3Schema": _schema(
                {"apiVersion": str, "kind": str, "metadata": Schema(type="object"), **shape}
            )
        },
    }
    names = {"kind": kind, "listKind": f"{kind}List", "plural": f"{singular}s", "singular": singular}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{singular}s.{group}", "labels": SIMULATED},
        "spec": {
            "group": group,
            "names": names | {"shortNames": list(short)},
            "scope": "Namespaced",
            "versions": [served],
        },
    }
