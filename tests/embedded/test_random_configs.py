"""Random configs: each is refused with a message that names a key, or is a graph that the API server accepts."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, get_args

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from embedded.operator.platform import GraphVersion, Platform
from facts.hardware import INSTANCE_TYPES
from facts.releases import LATEST_PATCH
from manifests.graph.deployment import graph_deployment
from stacks.load import parse
from stacks.settings import PROJECT, ConfigError, Settings
from targets.catalogue import TARGETS
from targets.platform import Addon
from tests.embedded.conftest import Cluster, served_graphs

Served = tuple[Platform, GraphVersion]
"""Whose rules a graph has to keep, and in which version it is written."""
KEYS = "|".join(str(field.alias) for field in Settings.model_fields.values())
NAMES_A_KEY = re.compile(rf"{PROJECT}:({KEYS})[\w.\[\]]*: .+")
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=20)


def some(values: Mapping[str, st.SearchStrategy[Any]], most: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    """A few of the keys, so that a config has a chance of being right."""
    chosen = st.lists(st.sampled_from(sorted(values)), max_size=most, unique=True)
    return chosen.flatmap(lambda keys: st.fixed_dictionaries({key: values[key] for key in keys}))


ENV = st.dictionaries(
    st.sampled_from(["A", "NCCL_DEBUG", "HF_TOKEN", "CUDA_VISIBLE_DEVICES", "1X"]), TEXT, max_size=2
)
ROLE = some(
    {
        "replicas": st.integers(0, 4),
        "nodes": st.integers(1, 3),
        "tensorParallel": st.sampled_from([1, 2, 3, 4, 8]),
        "pipelineParallel": st.sampled_from([1, 2, 4]),
        "expertParallel": st.sampled_from([1, 2, 4, 8]),
        "maxNumTokens": st.integers(200, 2_000_000),
        "maxBatchSize": st.integers(0, 2000),
        "maxSeqLen": st.integers(1000, 140_000),
        "freeGpuMemoryFraction": st.floats(0, 1),
        "chunkedPrefill": st.booleans(),
        "loader": st.sampled_from(["threads", "fastsafetensors", "runai", "auto"]),
        "extraArgs": st.lists(st.sampled_from(["--max-beam-width", "1", "--tp=2", "--é"]), max_size=3),
        "env": ENV,
    }
)
IMAGE = some(
    {
        "repository": st.just("registry.example/dynamo"),
        "tag": st.sampled_from(["latest", "1.2.1", "v1.3.1-efa", "a b"]),
        "digest": st.just("sha256:" + "0" * 64),
        "runtimeVersion": st.sampled_from(["1.2.1", "1.3.1", "2"]),
        "archs": st.lists(st.sampled_from(["amd64", "arm64", "riscv"]), unique=True),
        "pullSecret": st.sampled_from(["ngc", "Not_A_Name"]),
    },
    3,
)
NAME = st.one_of(st.from_regex(r"\A[a-z]([-a-z0-9]{0,28}[a-z0-9])?\Z"), TEXT)
GRAPH = {
    "name": NAME,
    "dynamoVersion": st.sampled_from([*LATEST_PATCH.values(), "1.3.0", "1.5.1"]),
    "image": IMAGE,
    "frontend": some(
        {
            "replicas": st.integers(0, 40),
            "routerMode": st.sampled_from(["round-robin", "random", "kv", "fast"]),
            "extraArgs": st.lists(st.sampled_from(["--http-host", "::", "--dyn-chat-processor"]), max_size=2),
            "env": ENV,
        }
    ),
    "prefill": ROLE,
    "decode": ROLE,
    "worker": ROLE,
    "draftRevision": st.sampled_from(["0" * 40, "main"]),
    "transport": st.sampled_from(["pod", "node", "efa", "tcp"]),
    "logLevel": st.sampled_from(["debug", "loud"]),
}
FURTHER = st.fixed_dictionaries(
    {"name": NAME},
    optional={
        "target": st.sampled_from([*TARGETS, "x"]),
        "decode": ROLE,
        "pool": st.sampled_from(["main", "second", "third"]),
    },
)
NODES = {"nodes": st.integers(1, 4), "instanceType": st.sampled_from(list(INSTANCE_TYPES))}
POOL = st.fixed_dictionaries({"name": st.sampled_from(["second", "third", "Third"])}, optional=NODES)
STACK = st.fixed_dictionaries(
    {
        "target": st.sampled_from(list(TARGETS)),
        "cluster": st.just({"kind": "existing"}),
        "platform": st.just({"install": False, "grove": "external"}),
        "cache": some({"localCopy": st.booleans()}),
        "pool": some(NODES),
        "graph": some(GRAPH, 3),
    },
    optional={"graphs": st.lists(FURTHER, max_size=2), "pools": st.lists(POOL, max_size=2)},
)


def test_a_config_is_refused_by_key_or_its_graphs_are_accepted(
    cluster: Cluster, schemas: dict[str, Any], worker_id: str
) -> None:
    accepted: dict[Served, dict[str, Any]] = defaultdict(dict)

    @settings(max_examples=400, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(STACK)
    def throw(values: dict[str, Any]) -> None:
        try:
            stack = parse(values, set())
            plans = stack.graphs
        except ConfigError as refusal:
            event("refused")
            lines = str(refusal).splitlines()
            assert lines
            assert all(NAMES_A_KEY.fullmatch(line) for line in lines), lines
            return
        event("accepted")
        grove = stack.platform.wanted.grove is not Addon.NONE
        platform = Platform(version=stack.platform.wanted.version, grove=grove)
        for plan in plans:
            graph = graph_deployment(plan, "default")
            version = graph["apiVersion"].partition("/")[2]
            graph["metadata"]["annotations"] = {"dynamo-gpt-oss/config": json.dumps(values)}
            accepted[platform, version][json.dumps(graph, sort_keys=True)] = graph

    throw()
    assert sum(map(len, accepted.values())) > 50, "the configs are too wild to show anything"
    assert {version for _, version in accepted} == set(get_args(GraphVersion))
    for (platform, version), graphs in accepted.items():
        group = f"{worker_id}.{version}.of-{platform.version.line}.random.test"
        with served_graphs(cluster, version, schemas, group, platform):
            moved = [graph | {"apiVersion": f"{group}/{version}"} for graph in graphs.values()]
            everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": moved})
            cluster.kubectl("apply", "--server-side", "--dry-run=server", "--filename=-", stdin=everything)
