"""What users read when a stack's file is wrong: every kind of refusal with its whole message, one problem a line."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from facts.hardware import INSTANCE_TYPES
from facts.versions import DYNAMO
from stacks.load import from_text, parse
from stacks.settings import PROJECT, ConfigError, Settings
from targets.catalogue import TARGETS
from targets.knobs import GraphKnobs
from tests.targets.instances import instance_names

STACK: dict[str, Any] = {"target": "trtllm-disagg-b200", "cluster": {"kind": "existing", "efa": True}}
TARGET_NAMES, INSTANCE_NAMES = ", ".join(TARGETS), ", ".join(INSTANCE_TYPES)
ROLE_KEYS = (
    "replicas, maxReplicas, nodes, tensorParallel, pipelineParallel, expertParallel, maxNumTokens, maxBatchSize, "
    "maxSeqLen, freeGpuMemoryFraction, chunkedPrefill, loader, extraArgs, env"
)
GRAPH_KEYS = ", ".join(str(field.alias) for field in GraphKnobs.model_fields.values())
TOP_KEYS = ", ".join(str(field.alias) for field in Settings.model_fields.values())

REFUSED: dict[str, tuple[Mapping[str, Any], str]] = {
    "unknown target": (
        {"target": "vllm-h100"},
        f"target: 'vllm-h100': no such target; choose one of {TARGET_NAMES}",
    ),
    "unknown key": (
        {"graf": {"name": "a"}},
        f"graf: unknown key, given {{name}} (did you mean graph?); known keys: {TOP_KEYS}",
    ),
    "unknown key below": (
        {"graph": {"decode": {"replica": 2}}},
        f"graph.decode.replica: unknown key, given 2 (did you mean replicas?); known keys: {ROLE_KEYS}",
    ),
    "unknown key of a list's item": (
        {"graphs": [{"name": "a", "decode": {"zzz": 2}}]},
        f"graphs[0].decode.zzz: unknown key, given 2; known keys: {ROLE_KEYS}",
    ),
    "text for a mapping": (
        {"graph": {"decode": 5}},
        f"graph.decode: 5 is not an object; write its keys below it: {ROLE_KEYS}",
    ),
    "key of another section": (
        {"graph": {"ttl": "3d"}},
        f"graph.ttl: unknown key, given '3d' (did you mean tags.ttl?); known keys: {GRAPH_KEYS}",
    ),
    "number for a text of another form": (
        {"cache": {"size": 100}},
        "cache.size: 100 is not text; write a size in Gi or Ti, for example 100Gi",
    ),
    "mapping for a list": (
        {"graphs": {"name": "a"}},
        "graphs: {name} is not a list; write each item with a dash below it",
    ),
    "neither true nor false": (
        {"pool": {"parallelPull": "fast"}},
        "pool.parallelPull: 'fast' is not allowed; choose true or false",
    ),
    "below the bound": (
        {"graph": {"decode": {"replicas": 0}}},
        "graph.decode.replicas: 0: input should be greater than or equal to 1",
    ),
    "above the bound": (
        {"graph": {"decode": {"freeGpuMemoryFraction": 1.5}}},
        "graph.decode.freeGpuMemoryFraction: 1.5: input should be less than or equal to 0.95",
    ),
    "truth for a number": (
        {"graphs": [{"name": "a", "decode": {"replicas": True}}]},
        "graphs[0].decode.replicas: True: a number is wanted",
    ),
    "what nobody sees": (
        {"cluster": {"kind": "existing", "context": "a\u202eb"}},
        "cluster.context: holds the character U+202E, which cannot be seen; leave it out",
    ),
    "what nobody sees, in a name and in a list": (
        {"graph": {"decode": {"env": {"A\x00": "b"}, "extraArgs": ["--x", "\x1b[31m"]}}},
        "graph.decode.env: holds the character U+0000, which cannot be seen; leave it out\n"
        f"{PROJECT}:graph.decode.extraArgs[1]: holds the character U+001B, which cannot be seen; leave it out",
    ),
    "what nobody sees, beside other mistakes": (
        {"a\u202e": 1, "graph": {"name": "a\x1b"}, "pool": {"nodes": 0}},
        "a\\u202e: holds the character U+202E, which cannot be seen; leave it out\n"
        f"{PROJECT}:graph.name: holds the character U+001B, which cannot be seen; leave it out\n"
        f"{PROJECT}:pool.nodes: 0: input should be greater than or equal to 1",
    ),
    "a plain token beside another mistake": (
        {"ngc": {"apiKey": "x"}, "pool": {"nodes": 0}},
        "pool.nodes: 0: input should be greater than or equal to 1\n"
        f"{PROJECT}:ngc.apiKey: the value is not encrypted; set it with `pulumi config set --secret --path "
        f"{PROJECT}:ngc.apiKey`",
    ),
    "neither off nor an object": (
        {"verify": "no"},
        "verify: 'no' is not an object; write its keys below it: enabled, timeoutSeconds, or `off` in its place",
    ),
    "UltraServer of another kind, on nodes that are there": (
        {"pool": {"capacity": {"ultraserver": "u-1"}}},
        "pool.capacity.ultraserver: 'u-1' is not allowed; choose u-p6e-gb200x36 or u-p6e-gb200x72",
    ),
    "no number": (
        {"graph": {"decode": {"maxBatchSize": "many"}}},
        "graph.decode.maxBatchSize: 'many': input should be a valid integer, unable to parse string as an integer",
    ),
    "none of the choices": (
        {"graph": {"frontend": {"routerMode": "fast"}}},
        "graph.frontend.routerMode: 'fast' is not allowed; choose one of 'round-robin', 'random' or 'kv'",
    ),
    "none of the sizes": (
        {"graph": {"decode": {"tensorParallel": 3}}},
        "graph.decode.tensorParallel: 3 is not allowed; choose one of 1, 2, 4 or 8",
    ),
    "a time to live in words": (
        {"tags": {"ttl": "2 days"}},
        "tags.ttl: '2 days': write hours (48h), days (2d) or never",
    ),
    "another model": (
        {"model": "openai/gpt-oss-20b"},
        "model: unknown key, given 'openai/gpt-oss-20b': this program serves openai/gpt-oss-120b alone; `target` says "
        "how",
    ),
    "another model of a graph": (
        {"graph": {"model": "openai/gpt-oss-20b"}},
        "graph.model: unknown key, given 'openai/gpt-oss-20b': this program serves openai/gpt-oss-120b alone; `target` "
        "says how",
    ),
    "no object name": (
        {"graph": {"name": "GPT_OSS"}},
        "graph.name: 'GPT_OSS': write lower-case letters, digits and dashes, no dash first or last, for example team-a",
    ),
    "no variable name": (
        {"graph": {"decode": {"env": {"1X": "y"}}}},
        "graph.decode.env.1X: '1X': write letters, digits and underscores, no digit first, for example DYN_LOG",
    ),
    "no commit": (
        {"graph": {"draftRevision": "main"}},
        "graph.draftRevision: 'main': write the 40 digits of a commit, no branch or tag, for example "
        "0123456789abcdef0123456789abcdef01234567",
    ),
    "no digest": (
        {"graph": {"image": {"digest": "sha256:1"}}},
        "graph.image.digest: 'sha256:1': write sha256: and 64 digits, for example "
        f"sha256:{'0123456789abcdef' * 4}",
    ),
    "no version": (
        {"graph": {"dynamoVersion": "1.2"}},
        f"graph.dynamoVersion: '1.2': write a version as MAJOR.MINOR.PATCH; choose one of {', '.join(DYNAMO)}",
    ),
    "unsupported release": (
        {"graph": {"dynamoVersion": "1.5.1"}},
        f"graph.dynamoVersion: '1.5.1': Dynamo 1.5.1 is not supported; choose one of {', '.join(DYNAMO)}",
    ),
    "unknown instance type": (
        {"pool": {"instanceType": "p4d.24xlarge"}},
        f"pool.instanceType: 'p4d.24xlarge': no such instance type here; choose one of {INSTANCE_NAMES}",
    ),
    "further graph without a name": (
        {"graphs": [{"target": "trtllm-disagg-8k"}]},
        "graphs[0].name: missing; it has no default: Name of the DynamoGraphDeployment",
    ),
    "a shape of the benchmark without its prompts' length": (
        {"benchmark": {"shapes": {"long": {"osl": 1, "concurrency": 1}}}},
        "benchmark.shapes.long.isl: missing; it has no default: Tokens of each prompt",
    ),
    "an unknown key of a shape": (
        {"benchmark": {"shapes": {"long": {"isl": 1, "ols": 1, "osl": 1, "concurrency": 1}}}},
        "benchmark.shapes.long.ols: unknown key, given 1 (did you mean osl?); known keys: isl, osl, concurrency, "
        "requests, warmup, datasetEntries, seed",
    ),
    "further graph of an unknown target": (
        {"graphs": [{"name": "a", "target": "x"}]},
        f"graphs[0].target: 'x': no such target; choose one of {TARGET_NAMES}",
    ),
    "graphs of one name": (
        {"pool": {"nodes": 2}, "graphs": [{"name": "gpt-oss-disagg"}]},
        "graphs[0].name: 'gpt-oss-disagg' is the name of more than one graph of the stack; choose another",
    ),
    "more graphs than the pool holds": (
        {"graphs": [{"name": "second"}]},
        "pool: its graphs together need 16 GPUs (gpt-oss-disagg 8 + second 8), whole workers on nodes, but it has "
        "8 (1 × p6-b200.48xlarge (8 × B200 each)); raise pool.nodes",
    ),
    "further graph for other hardware": (
        {"graphs": [{"name": "second", "target": "vllm-disagg-h100"}]},
        "pool.instanceType: p6-b200.48xlarge has B200 GPUs, but target vllm-disagg-h100 is for H100 or H200; "
        f"choose one of {instance_names('vllm-disagg-h100')}, or another pool for graphs[0].pool",
    ),
    "what checks refuse": (
        {"graph": {"decode": {"tensorParallel": 8}}},
        "graph: gpt-oss-disagg needs 12 GPUs (prefill 1×4 + decode 1×8), but the pool has 8 "
        "(1 × p6-b200.48xlarge (8 × B200 each)); lower tensorParallel or replicas, or raise pool.nodes",
    ),
    "platform older than the graph": (
        {"platform": {"install": False, "version": "1.2.1"}, "graph": {"dynamoVersion": "1.3.1"}},
        "platform.version: 1.2.1 is older than graph.dynamoVersion 1.3.1; use a platform of 1.3 or newer, or lower "
        "graph.dynamoVersion",
    ),
    "plain token": (
        {"huggingFace": {"token": "hf_visible"}},
        "huggingFace.token: the value is not encrypted; set it with "
        "`pulumi config set --secret --path dynamo-gpt-oss:huggingFace.token`",
    ),
    "two loads to size for": (
        {"sizing": {"concurrency": 8, "requestRate": 2}},
        "sizing: {concurrency, requestRate}: concurrency and requestRate are two ways to say the load; leave one out",
    ),
    "a profiler that does not know the model on these GPUs": (
        {"platform": {"version": "1.2.1"}, "graph": {"dynamoVersion": "1.2.1"}, "sizing": {}},
        "sizing: the profiler of Dynamo 1.2.1 is not known to have data of openai/gpt-oss-120b with trtllm on B200; "
        "without, it looks at the size of the weights alone; set platform.version to 1.4.2 or newer, which runs "
        "earlier graphs too",
    ),
    "a profiler that knows the model with another engine only": (
        {"target": "vllm-disagg-h100", "platform": {"version": "1.4.2"}, "sizing": {}},
        "sizing: the profiler of Dynamo 1.4.2 is not known to have data of openai/gpt-oss-120b with vllm on H100; "
        "without, it looks at the size of the weights alone; set platform.version to 1.6.1 or newer, which runs "
        "earlier graphs too",
    ),
    "a size for simulated engines": (
        {"target": "mocker-disagg-cpu", "platform": {"version": "1.6.1"}, "sizing": {}},
        "sizing: target mocker-disagg-cpu simulates its engine, and the profiler knows vllm, sglang and trtllm; choose "
        "a target with an engine or leave the key out",
    ),
    "prompts to size for that the model cannot read": (
        {"platform": {"version": "1.6.1"}, "sizing": {"isl": 131072}},
        "sizing.isl: 131072 tokens of prompt and 256 of answer are more than the model's 131072; lower sizing.isl or "
        "sizing.osl",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_this_message(name: str) -> None:
    values, message = REFUSED[name]
    with pytest.raises(ConfigError) as refusal:
        parse({**STACK, **values}, set())
    assert str(refusal.value) == f"{PROJECT}:{message}"


def test_every_problem_gets_a_line_of_its_own() -> None:
    with pytest.raises(ConfigError) as refusal:
        parse({**STACK, "graph": {"decode": {"replicas": 0}, "prefill": {"replicas": 65}}}, set())
    assert str(refusal.value).splitlines() == [
        f"{PROJECT}:graph.prefill.replicas: 65: input should be less than or equal to 64",
        f"{PROJECT}:graph.decode.replicas: 0: input should be greater than or equal to 1",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cluster": {"kind": "existing"}}, f"target: missing; choose one of {TARGET_NAMES}"),
        (
            {"target": "trtllm-disagg-b200"},
            "cluster: missing; write its kind below it, one of existing, eks, existing-eks, stack",
        ),
    ],
)
def test_a_missing_key_lists_the_choices(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse(given, set())
    assert str(refusal.value) == f"{PROJECT}:{message}"


def test_a_number_is_text_where_pulumi_writes_one_and_is_to_be_quoted_elsewhere() -> None:
    tags = parse({**STACK, "tags": {"owner": 7, "more": {"costCenter": 1234}}}, set()).billing.tags
    assert (tags.owner, tags.more["costCenter"]) == ("7", "1234")
    with pytest.raises(ConfigError) as refusal:
        parse({**STACK, "cluster": {"kind": "eks", "region": "us-east-2", "version": 1.34}}, set())
    assert str(refusal.value) == f"{PROJECT}:cluster.version: 1.34 is not text; write it in quotes"


def test_an_encrypted_token_is_taken_and_hidden() -> None:
    settings = parse({**STACK, "huggingFace": {"token": "hf_secret"}}, {"huggingFace"})
    assert settings.secrets.hugging_face.token is not None
    assert "hf_secret" not in repr(settings)


@pytest.mark.parametrize(
    ("key", "cluster", "written"),
    [
        ("kubernetes:context", {"kind": "existing"}, "cluster: { context: … }"),
        ("kubernetes:kubeconfig", {"kind": "existing", "context": "c"}, "cluster: { kubeconfig: … }"),
        ("aws:profile", {"kind": "eks", "region": "us-east-2"}, "cluster: { aws: { profile: … } }"),
    ],
)
def test_a_providers_key_that_would_lead_elsewhere_is_refused(
    key: str, cluster: dict[str, Any], written: str
) -> None:
    config = {f"{PROJECT}:target": "mocker-disagg-cpu", f"{PROJECT}:cluster": json.dumps(cluster), key: "x"}
    with pytest.raises(ConfigError) as refusal:
        from_text(config, set())
    assert str(refusal.value) == f"{key}: nothing reads it; write {PROJECT}:{written}"


def test_structured_values_come_as_json_and_the_target_as_text() -> None:
    config = {
        f"{PROJECT}:target": "mocker-disagg-cpu",
        f"{PROJECT}:cluster": json.dumps({"kind": "existing"}),
        "aws:region": "us-east-1",
    }
    assert from_text(config, set()).main.name == "mocker-disagg"
    with pytest.raises(ConfigError) as refusal:
        from_text({**config, f"{PROJECT}:graph": "gpt-oss", f"{PROJECT}:ngc": "nvapi-1"}, set())
    assert str(refusal.value).splitlines() == [
        f"{PROJECT}:graph: 'gpt-oss' is not an object; write its keys below it: {GRAPH_KEYS}",
        f"{PROJECT}:ngc: [secret] is not an object; write its keys below it: apiKey, awsSecret",
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_the_target_alone_gives_a_pool_that_holds_it(target: str) -> None:
    plan = parse({**STACK, "target": target}, set()).main
    assert plan.gpus <= plan.pool.gpus
    assert plan.pool.instance.gpu in (TARGETS[target].gpu_models or (None,))


def test_more_replicas_never_add_nodes_by_themselves() -> None:
    with pytest.raises(ConfigError, match=r"graph: gpt-oss-disagg needs 12 GPUs"):
        parse({**STACK, "graph": {"decode": {"replicas": 2}}}, set())
    said = parse({**STACK, "graph": {"decode": {"replicas": 2}}, "pool": {"nodes": 2}}, set())
    assert said.main.gpus == 12


def test_namespace_and_graph_fit_a_label_together() -> None:
    cluster = {"kind": "existing", "namespace": "n" * 48}
    assert parse({**STACK, "cluster": cluster}, set()).main.name == "gpt-oss-disagg"
    for characters, room in ((49, 13), (63, 0)):
        said = rf"graph\.name: 'gpt-oss-disagg' has 14 characters, and .* room for {room} of"
        with pytest.raises(ConfigError, match=said):
            parse({**STACK, "cluster": cluster | {"namespace": "n" * characters}}, set())


def test_the_platform_is_of_the_newest_graph_s_release() -> None:
    values = {
        **STACK,
        "pool": {"nodes": 2},
        "graphs": [{"name": "second", "dynamoVersion": "1.6.1"}],
    }
    settings = parse(values, set())
    assert str(settings.platform.wanted.version) == "1.6.1"
    assert [str(plan.version) for plan in settings.graphs] == ["1.4.2", "1.6.1"]
    assert [plan.name for plan in settings.graphs] == ["gpt-oss-disagg", "second"]


def test_workers_over_efa_hear_of_the_pool_s_other_graphs() -> None:
    """Two of them on one node would see each other's GPUs, so neither is privileged there."""
    efa, second = {"transport": "efa"}, {"name": "second", "transport": "efa"}
    values = {**STACK, "pool": {"nodes": 2}, "graph": efa}
    assert parse(values, set()).main.grants == "privileged"
    both = {**values, "graphs": [second]}
    assert [plan.grants for plan in parse(both, set()).graphs] == ["capabilities", "capabilities"]
    more = {"instanceType": "p6-b200.48xlarge", "nodes": 2}
    apart = {**values, "pools": [{"name": "more", **more}], "graphs": [{**second, "pool": "more"}]}
    assert [plan.grants for plan in parse(apart, set()).graphs] == ["privileged", "privileged"]
    with pytest.raises(ConfigError, match=r"graphs\[0\]\.kvTransfer\.grants: 'privileged' shows"):
        parse({**both, "graphs": [{**second, "kvTransfer": {"grants": "privileged"}}]}, set())
