"""The rules: each takes plain properties of resources and yields a sentence for every problem. Pure.

A rule's docstring is what it demands. Most look at one resource, so that Pulumi asks before it makes it; those of
STACK_RULES look at all of them.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from facts.hardware import INSTANCE_TYPES
from policy.iam import statements, wide
from policy.pods import containers, moving_models, pods, privileges
from policy.resource import STACK, UNKNOWN, Resource, is_true, listed, tags, texts
from stacks.sections.policy import PolicySettings, Rule

ResourceRule = Callable[[Resource, PolicySettings], Iterator[str]]
StackRule = Callable[[Sequence[Resource], PolicySettings], Iterator[tuple[Resource, str]]]
_WORLD = {"0.0.0.0/0", "::/0"}
_NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
_LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_CLUSTER = "aws:eks/cluster:Cluster"
_RELEASE = "kubernetes:helm.sh/v3:Release"
_NODE_TAGS = {"project", "stack", "Name"}
_TOKENS = re.compile(
    r"\bhf_[A-Za-z0-9]{20,}|\bnvapi-[\w-]{20,}|\b(AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_\w{30,}|\bgithub_pat_\w{20,}"
    r"|\bsk-[\w-]{20,}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
"""What tokens of Hugging Face, NVIDIA, AWS, GitHub and OpenAI, JSON web tokens and private keys look like."""
_SECRET_NAME = re.compile(r"(^|_)(TOKEN|PASSWORD|PASSWD|SECRET|API_?KEY|SECRET_ACCESS_KEY)$", re.IGNORECASE)
_MOVING_TAG = re.compile(r"^\D*$")
"""A tag without a digit, such as `latest` or `stable`."""
_WIDE_POLICY = re.compile(r"/(AdministratorAccess|PowerUserAccess|IAMFullAccess|\w+FullAccess)$")


def owner_and_ttl(resource: Resource, _: PolicySettings) -> Iterator[str]:
    """GPU nodes say who answers for them, and how long they live where that is not a Capacity Block's to say."""
    if not _is_gpu_group(resource):
        return
    given = tags(resource)
    if not given.get("owner"):
        yield "no tag `owner`: say in tags.owner who answers for these GPUs"
    if not given.get("ttl") and resource.inputs.get("capacityType") != "CAPACITY_BLOCK":
        yield "no tag `ttl`: say in tags.ttl how long these GPUs may live"


def price_ceiling(resources: Sequence[Resource], settings: PolicySettings) -> Iterator[tuple[Resource, str]]:
    """The stack costs no more by the hour than policy.maxUsdPerHour, and all its prices are known."""
    for stack in (resource for resource in resources if resource.type == STACK):
        parts = (stack.inputs.get("cost") or {}).get("perHourByPart") or {}
        unknown = [name for name, usd in parts.items() if not isinstance(usd, int | float)]
        known = sum(usd for usd in parts.values() if isinstance(usd, int | float))
        if unknown:
            yield stack, f"no list has the price of {', '.join(unknown)}; name it in prices"
        if known > settings.max_usd_per_hour:
            yield (
                stack,
                (f"{known:.2f} USD an hour; policy.maxUsdPerHour allows {settings.max_usd_per_hour:.2f}"),
            )


def on_demand_gpus(resources: Sequence[Resource], settings: PolicySettings) -> Iterator[tuple[Resource, str]]:
    """No more GPUs are bought on demand, without reservation or Capacity Block, than policy.maxOnDemandGpus."""
    by_urn = {resource.urn: resource for resource in resources}
    total = 0
    for group in (each for each in resources if each.type == _NODE_GROUP):
        templates = [
            by_urn[urn]
            for urn in group.dependencies
            if urn in by_urn and by_urn[urn].type == _LAUNCH_TEMPLATE
        ]
        reserved = any(_reservation(template) for template in templates)
        if group.inputs.get("capacityType", "ON_DEMAND") != "ON_DEMAND" or reserved:
            continue
        types = [
            *listed(group.inputs.get("instanceTypes")),
            *(t.inputs.get("instanceType") for t in templates),
        ]
        a_node = max((INSTANCE_TYPES[name].gpus for name in types if name in INSTANCE_TYPES), default=0)
        total += int(group.inputs["scalingConfig"]["desiredSize"]) * a_node
        if a_node and total > settings.max_on_demand_gpus:
            yield (
                group,
                (
                    f"{total} GPUs on demand up to here; policy.maxOnDemandGpus allows {settings.max_on_demand_gpus}"
                ),
            )


def protected_production(resource: Resource, settings: PolicySettings) -> Iterator[str]:
    """Where policy.production is set, the cluster is protected: no destroy deletes it by mistake."""
    if settings.production and resource.type == _CLUSTER:
        if not is_true(resource.inputs.get("deletionProtection")):
            yield "AWS would delete this cluster; set cluster.deletionProtection"
        if not resource.protect:
            yield "Pulumi would delete this cluster; set cluster.deletionProtection"


def no_open_endpoint(resource: Resource, _: PolicySettings) -> Iterator[str]:
    """Nothing is open to the internet: no API server, no security group, no Service or Ingress without keys."""
    inputs = resource.inputs
    if resource.type == _CLUSTER:
        access = inputs.get("vpcConfig") or {}
        ranges = listed(access.get("publicAccessCidrs"))
        if access.get("endpointPublicAccess") is not False and access.get("publicAccessCidrs") != UNKNOWN:
            if not ranges:
                yield "the API server lets in the whole internet where publicAccessCidrs says nothing"
            yield from (
                f"{each} opens the API server to the internet" for each in _WORLD.intersection(ranges)
            )
    elif resource.type.endswith((":SecurityGroupIngressRule", ":SecurityGroup", ":SecurityGroupRule")):
        yield from (f"lets in {each}" for each in sorted(_WORLD.intersection(_let_in(resource))))
    elif resource.type == _RELEASE:
        yield from (
            f"values.{path}: {kind} opens a service of the chart without keys"
            for path, kind in texts(inputs.get("values"))
            if path.endswith("service.type") and kind in ("LoadBalancer", "NodePort")
        )
    elif inputs.get("kind") == "Ingress":
        yield "an Ingress has no keys; use ingress, whose route has a SecurityPolicy"
    elif inputs.get("kind") == "Service" and (kind := inputs.get("spec", {}).get("type")) in (
        "LoadBalancer", "NodePort",
    ):  # fmt: skip
        yield f"a Service of type {kind} has no keys; use ingress, whose route has a SecurityPolicy"


def keys_at_the_ingress(resources: Sequence[Resource], _: PolicySettings) -> Iterator[tuple[Resource, str]]:
    """Every HTTPRoute has a SecurityPolicy that asks who calls."""
    policies = [each.inputs for each in resources if each.inputs.get("kind") == "SecurityPolicy"]
    for route in (each for each in resources if each.inputs.get("kind") == "HTTPRoute"):
        metadata = route.inputs["metadata"]
        asked = any(
            {"apiKeyAuth", "jwt", "oidc", "basicAuth", "extAuth"} & each["spec"].keys()
            and each["metadata"].get("namespace") == metadata.get("namespace")
            and any(
                target.get("kind") == "HTTPRoute" and target.get("name") == metadata["name"]
                for target in each["spec"].get("targetRefs", ())
            )
            for each in policies
        )
        if not asked:
            yield route, "no SecurityPolicy asks for keys on this route: the API is open to everyone"


def imdsv2(resource: Resource, _: PolicySettings) -> Iterator[str]:
    """Nodes answer metadata requests of IMDSv2 alone."""
    if resource.type in (_LAUNCH_TEMPLATE, "aws:ec2/instance:Instance"):
        options = resource.inputs.get("metadataOptions") or {}
        if options.get("httpTokens") != "required" and options.get("httpEndpoint") != "disabled":
            yield "metadataOptions.httpTokens is not `required`: IMDSv1 gives the node's rights to any request"


def encryption(resource: Resource, _: PolicySettings) -> Iterator[str]:
    """Disks, file systems and Kubernetes secrets are encrypted."""
    inputs = resource.inputs
    if resource.type == _LAUNCH_TEMPLATE:
        for disk in listed(inputs.get("blockDeviceMappings")):
            if not is_true((disk.get("ebs") or {}).get("encrypted")):
                yield f"disk {disk.get('deviceName')} is not encrypted"
    elif resource.type == "aws:efs/fileSystem:FileSystem" and not is_true(inputs.get("encrypted")):
        yield "the file system is not encrypted"
    elif resource.type == _CLUSTER and "secrets" not in (inputs.get("encryptionConfig") or {}).get(
        "resources", ()
    ):
        yield "Kubernetes secrets are not encrypted by a key of the cluster's own"
    elif (
        inputs.get("kind") == "StorageClass"
        and inputs.get("provisioner") == "ebs.csi.aws.com"
        and not is_true((inputs.get("parameters") or {}).get("encrypted"))
    ):
        yield "volumes of this class are not encrypted"


def pinned_versions(resource: Resource, _: PolicySettings) -> Iterator[str]:
    """Images, charts, machine images, add-ons and model revisions are named by what never moves."""
    inputs = resource.inputs
    for container in containers(resource):
        image = str(container.spec.get("image", ""))
        tag = image.rpartition("/")[2].partition(":")[2]
        # A container that overrides part of another, as an operator's profiler, names no image.
        if image not in ("", UNKNOWN) and "@sha256:" not in image and _MOVING_TAG.match(tag):
            yield f"{container.name}: image {image} moves; say a version or a digest"
        yield from moving_models(container)
    if resource.type == _RELEASE:
        version = str(inputs.get("version") or inputs.get("chart", "")).removeprefix("oci://")
        if not re.search(r"(^v?|-v?)\d+\.\d+\.\d+[\w.+-]*(\.tgz)?$", version):
            yield f"chart {inputs.get('chart')}: version {inputs.get('version')!r} moves; say one exactly"
    elif resource.type == "aws:eks/addon:Addon" and not inputs.get("addonVersion"):
        yield f"add-on {inputs.get('addonName')}: no addonVersion, so AWS chooses one with every update"
    elif (
        resource.type == _NODE_GROUP
        and not inputs.get("releaseVersion")
        and inputs.get("amiType") != "CUSTOM"
    ):
        yield "no releaseVersion, so AWS chooses the machine image"


def unprivileged_pods(resource: Resource, _: PolicySettings) -> Iterator[str]:
    """Pods are unprivileged and see nothing of their node; a container with an EFA device may be privileged."""
    for path, pod in pods(resource.inputs):
        for key in ("hostNetwork", "hostPID", "hostIPC"):
            if pod.get(key):
                yield f"{path.removeprefix('.')}: {key} shows the node to the pod"
        for volume in pod.get("volumes") or ():
            if "hostPath" in volume:
                yield f"volume {volume.get('name')}: {volume['hostPath'].get('path')} of the node"
    for container in containers(resource):
        if not container.has_efa():
            yield from (f"{container.name}: {problem}" for problem in privileges(container))


def no_wildcard_rights(resource: Resource, _: PolicySettings) -> Iterator[str]:
    """No role may do everything, neither on AWS nor on the cluster."""
    inputs = resource.inputs
    if resource.type == "aws:iam/rolePolicyAttachment:RolePolicyAttachment":
        if found := _WIDE_POLICY.search(str(inputs.get("policyArn", ""))):
            yield f"{found[1]} allows more than anything here needs"
    elif resource.type.startswith("aws:iam/"):
        for statement in statements(resource):
            yield from wide(statement)
    elif inputs.get("kind") in ("Role", "ClusterRole"):
        for rule in inputs.get("rules") or ():
            for key in ("verbs", "resources"):
                if "*" in rule.get(key, ()):
                    yield f"a rule with * in {key}"
    elif inputs.get("kind") == "ClusterRoleBinding" and inputs["roleRef"].get("name") == "cluster-admin":
        yield "binds cluster-admin"


def fixed_node_tags(resource: Resource, _: PolicySettings) -> Iterator[str]:
    """Launch templates carry only tags that never change: any other, once changed, replaces the nodes."""
    if resource.type == _LAUNCH_TEMPLATE:
        for specification in listed(resource.inputs.get("tagSpecifications")):
            if moving := sorted((specification.get("tags") or {}).keys() - _NODE_TAGS):
                yield f"{specification.get('resourceType')}: tags {', '.join(moving)} would replace nodes when changed"


def no_plain_secrets(resource: Resource, _: PolicySettings) -> Iterator[str]:
    """Tokens, keys and passwords stand in Secrets alone: neither in other objects nor as values of the environment."""
    if resource.inputs.get("kind") == "Secret" or resource.type.startswith("pulumi:"):
        return
    for path, text in texts(resource.inputs):
        if _TOKENS.search(text):
            yield f"{path} holds what looks like a token; put it into a Secret"
    for container in containers(resource):
        for variable in container.spec.get("env") or ():
            name = str(variable.get("name"))
            if _SECRET_NAME.search(name) and variable.get("value") not in (None, ""):
                yield f"{container.name}: {name} has its value in plain text; take it from a Secret"


RESOURCE_RULES: dict[Rule, ResourceRule] = {
    Rule.OWNER_AND_TTL: owner_and_ttl,
    Rule.PROTECTED_PRODUCTION: protected_production,
    Rule.NO_OPEN_ENDPOINT: no_open_endpoint,
    Rule.IMDSV2: imdsv2,
    Rule.ENCRYPTION: encryption,
    Rule.PINNED_VERSIONS: pinned_versions,
    Rule.UNPRIVILEGED_PODS: unprivileged_pods,
    Rule.NO_WILDCARD_RIGHTS: no_wildcard_rights,
    Rule.FIXED_NODE_TAGS: fixed_node_tags,
    Rule.NO_PLAIN_SECRETS: no_plain_secrets,
}
STACK_RULES: dict[Rule, StackRule] = {
    Rule.PRICE_CEILING: price_ceiling,
    Rule.ON_DEMAND_GPUS: on_demand_gpus,
    Rule.KEYS_AT_THE_INGRESS: keys_at_the_ingress,
}


def _is_gpu_group(resource: Resource) -> bool:
    labels = resource.inputs.get("labels") or {}
    ami = str(resource.inputs.get("amiType"))
    return resource.type == _NODE_GROUP and ("NVIDIA" in ami or "nvidia.com/gpu.present" in labels)


def _reservation(template: Resource) -> bool:
    target = (template.inputs.get("capacityReservationSpecification") or {}).get("capacityReservationTarget")
    return bool(target)


def _let_in(resource: Resource) -> Iterator[str]:
    """Address ranges that a security group or a rule of one lets in."""
    inputs = resource.inputs
    if inputs.get("type", "ingress") == "ingress":
        for rule in (inputs, *listed(inputs.get("ingress"))):
            for key in ("cidrIpv4", "cidrIpv6", "cidrBlocks", "ipv6CidrBlocks"):
                yield from listed(rule.get(key))
