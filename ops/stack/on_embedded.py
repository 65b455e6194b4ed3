"""A stack as it is put on the embedded cluster: the same graph, with simulated GPUs of the same type."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from embedded.paths import KUBECONFIG
from ops.pulumi.stack_file import StackFile
from stacks.load import from_text
from stacks.plan import StackPlan
from stacks.settings import PROJECT

WHOLE = ("target", "graph", "graphs", "benchmark")
"""Sections that mean the same on any cluster; what is not named here is about a cloud or a platform."""
PARTS = {
    "cache": ("size", "retain", "localCopy"),
    "huggingFace": ("token",),
    "platform": ("version", "grove"),
    "pool": ("instanceType", "nodes"),
    "pools": ("name", "instanceType", "nodes"),
}
"""Keys of other sections that do."""


def on_embedded(stack_file: StackFile) -> StackFile:
    """The stack's config with the cluster, platform and pool of the embedded cluster.

    Each stack gets a namespace of its own, so that stacks with graphs of one name can be there together.
    """
    values = {key.removeprefix(f"{PROJECT}:"): text for key, text in stack_file.config.items()}
    sections: dict[str, Any] = {
        "cluster": {
            "kind": "existing",
            "kubeconfig": _kubeconfig(),
            "namespace": stack_file.stack,
            "efa": _has_efa(json.loads(values.get("cluster", "{}"))),
        },
        "platform": {"install": False},
        "verify": {"enabled": False},  # no pod runs anything; `ops verify` talks to the live endpoint
    }
    for name, keys in PARTS.items():
        if name in values:
            content = json.loads(values[name])
            parts = (
                [_part(each, keys) for each in content] if isinstance(content, list) else _part(content, keys)
            )
            sections[name] = sections.get(name, {}) | parts if isinstance(parts, dict) else parts
    config = {key: _as_simulated(values[key]) for key in WHOLE if key in values}
    config |= {key: json.dumps(section, sort_keys=True) for key, section in sections.items()}
    return replace(stack_file, config={f"{PROJECT}:{key}": text for key, text in sorted(config.items())})


def is_embedded(plan: StackPlan, project: Path) -> bool:
    """Whether the stack's own cluster is the embedded one."""
    cluster = plan.cluster
    kubeconfig = getattr(cluster, "kubeconfig", None)
    return kubeconfig is not None and (project / kubeconfig).resolve() == KUBECONFIG


def plan_of(stack_file: StackFile) -> StackPlan:
    """The stack's plan. Raises stacks.settings.ConfigError."""
    return from_text(stack_file.config, set(stack_file.secret_keys))


def _part(section: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: section[key] for key in keys if key in section}


def _has_efa(cluster: Mapping[str, Any]) -> bool:
    """Whether the stack's own cluster has AWS's network, which simulated nodes then show."""
    return bool(cluster.get("efa", cluster.get("kind") != "existing"))


def _kubeconfig() -> str:
    return str(KUBECONFIG.relative_to(KUBECONFIG.parent.parent))


def _as_simulated(text: str) -> str:
    """A section without `image.build`, `.mirror` and `maxReplicas`: nothing is made, or scaled, where no pod runs."""
    try:
        section = json.loads(text)
    except ValueError:
        return text  # a plain value
    for graph in section if isinstance(section, list) else [section]:
        for name, part in graph.items() if isinstance(graph, dict) else ():
            for key in ("build", "mirror") if name == "image" else ("maxReplicas",):
                if isinstance(part, dict):
                    part.pop(key, None)
    return json.dumps(section, sort_keys=True)
