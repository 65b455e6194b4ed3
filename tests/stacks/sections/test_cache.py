"""Where weights and vocabulary come from: a mirror, a proxy, a claim of one's own; and what is refused."""

from typing import Any

import pytest

from manifests.graph.deployment import graph_deployment
from stacks.load import parse
from stacks.plan import StackPlan
from stacks.settings import ConfigError

STACK: dict[str, Any] = {"target": "trtllm-disagg-b200", "cluster": {"kind": "existing"}}
MIRROR = "https://hf.example.com"


def settings(**more: Any) -> StackPlan:
    return parse({**STACK, **more}, set())


def test_mirror_proxy_and_vocabulary_reach_the_downloads_environment() -> None:
    made = settings(
        huggingFace={"endpoint": MIRROR},
        cache={
            "vocabularyUrl": "https://files.example.com/o200k_base.tiktoken",
            "proxy": {"https": "http://proxy.example.com:3128", "noProxy": [".example.com", "10.0.0.0/8"]},
        },
    )
    assert {**made.secrets.hugging_face.variables(), **made.cache.variables()} == {
        "HF_ENDPOINT": MIRROR,
        "HF_HUB_DISABLE_XET": "1",
        "VOCABULARY_URL": "https://files.example.com/o200k_base.tiktoken",
        "HTTPS_PROXY": "http://proxy.example.com:3128",
        "NO_PROXY": ".example.com,10.0.0.0/8",
    }


def test_nothing_said_adds_nothing() -> None:
    made = settings()
    assert not {**made.secrets.hugging_face.variables(), **made.cache.variables()}


@pytest.mark.parametrize(
    "section",
    [
        {"huggingFace": {"endpoint": "https://user:secret@hf.example.com"}},
        {"cache": {"proxy": {"https": "http://user:secret@proxy.example.com:3128"}}},
        {"cache": {"vocabularyUrl": "files.example.com/words"}},
    ],
    ids=["endpoint with a password", "proxy with a password", "no scheme"],
)
def test_addresses_with_passwords_or_without_a_scheme_are_refused(section: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"write an address .* without user or password"):
        settings(**section)


def test_a_claim_of_ones_own_needs_nothing_else_said() -> None:
    with pytest.raises(ConfigError) as error:
        settings(cache={"existingClaim": "weights", "size": "200Gi", "retain": True})
    assert str(error.value) == (
        "dynamo-gpt-oss:cache: {existingClaim, size, retain}: existingClaim 'weights' is there and filled; leave out "
        "retain, size"
    )


def test_the_downloads_image_says_its_version() -> None:
    with pytest.raises(ConfigError) as error:
        settings(cache={"image": "registry.example.com/aiperf:latest"})
    assert str(error.value) == (
        "dynamo-gpt-oss:cache.image: 'registry.example.com/aiperf:latest': says no version; write aiperf:TAG or a "
        "digest"
    )
    made = settings(cache={"existingClaim": "weights", "image": "registry.example.com/aiperf:0.13.0"})
    assert made.cache.image == "registry.example.com/aiperf:0.13.0"


def test_every_pod_mounts_the_claim_of_ones_own() -> None:
    for transport, pods in (("pod", 2), ("node", 3)):
        made = settings(cache={"existingClaim": "weights", "localCopy": True}, graph={"transport": transport})
        text = str(graph_deployment(made.main, "dynamo"))
        assert text.count("'claimName': 'weights'") == pods
        assert "'claimName': 'model-cache'" not in text
    assert made.checks.benchmark.job(made.main, "dynamo").weights == "weights"


@pytest.mark.parametrize(
    ("cache", "refusal"),
    [
        ({"localCopy": "pod"}, "dynamo-gpt-oss:cache.localCopy: 'pod': choose true, false or node"),
    ],
)
def test_a_copy_of_the_node_is_refused(cache: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings(cache=cache)
    assert str(error.value) == refusal


def test_a_copy_of_the_node_is_for_any_claim() -> None:
    made = settings(
        cache={"existingClaim": "weights", "localCopy": "node"},
        cluster={"kind": "existing", "namespace": "ours"},
    )
    assert made.main.cache.node_folder == "/var/lib/kubelet/dynamo-gpt-oss/ours"
    assert settings(cache={"localCopy": True}).main.cache.node_folder is None


def test_what_engines_compile_is_kept_beside_any_cache() -> None:
    for cache in ({}, {"existingClaim": "weights"}, {"localCopy": "node"}):
        made = settings(cache={**cache, "node": {"compiled": True}}, graph={"transport": "node"})
        assert made.main.cache.compiled_folder == "/var/lib/kubelet/dynamo-gpt-oss/dynamo.compiled"
    assert settings(graph={"transport": "node"}).main.cache.compiled_folder is None
