"""The claim that holds the weights, and the Job that downloads them."""

from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from components.cache.model_cache import Claim, Download, ModelCache, ModelCacheArgs
from manifests.names import RETAINED
from manifests.services import secrets
from ops.evaluate import Resource
from targets.plan import all_weights
from tests.components.recording import Retained, deploy, held, named
from tests.plans import ON_CLUSTER, evaluated, resolved


def cache(**more: Any) -> Callable[[], None]:
    def program() -> None:
        made = resolved()
        args: dict[str, Any] = {
            "namespace": "dynamo",
            "weights": all_weights([made]),
            "download": Download(image=made.image.reference, archs=made.image.archs),
        }
        ModelCache("model-cache", ModelCacheArgs(**args | more))

    return program


@pytest.mark.parametrize("retain", [True, False])
def test_the_claim_outlives_the_stack_if_asked(retain: bool) -> None:
    recorder = Retained()
    deploy(cache(claim=Claim(retain=retain)), recorder)
    claim = named(recorder, "model-cache", ":PersistentVolumeClaim")
    assert recorder.retained == ({"model-cache"} if retain else set())
    assert (RETAINED.items() <= claim.inputs["metadata"]["labels"].items()) is retain


def test_the_claim_takes_the_volume_of_a_lustre_file_system() -> None:
    recorder = deploy(cache(claim=Claim(volume="model-cache-dynamo", own_root=True)))
    spec = named(recorder, "model-cache", ":PersistentVolumeClaim").inputs["spec"]
    assert (spec["volumeName"], spec["storageClassName"]) == ("model-cache-dynamo", "")
    pod = named(recorder, "model-download", ":Job").inputs["spec"]["template"]["spec"]
    (own_root,) = pod["initContainers"]
    assert own_root["command"] == ["python3", "-c", "import os; os.chown('/opt/models', 1000, 1000)"]
    assert own_root["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["CHOWN"]}
    assert "runAsUser" not in pod["containers"][0]["securityContext"]


def test_a_claim_of_ones_own_is_read_checked_and_never_written() -> None:
    recorder = deploy(
        cache(
            claim=Claim(existing="weights"),
            download=Download(environment={"HTTPS_PROXY": "http://proxy:3128"}),
        )
    )
    claim = named(recorder, "weights", ":PersistentVolumeClaim")
    assert claim.read
    assert claim.inputs["id"] == "dynamo/weights"
    pod = named(recorder, "model-download", ":Job").inputs["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    variables = {each["name"]: each["value"] for each in container["env"]}
    assert variables["EXISTING"] == "1"
    assert "HTTPS_PROXY" not in variables
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "weights", "readOnly": True}
    assert container["volumeMounts"][0]["readOnly"] is True


def test_no_other_cache_has_a_root_container() -> None:
    pod = named(deploy(cache(claim=Claim(storage_class="nfs"))), "model-download", ":Job").inputs["spec"][
        "template"
    ]["spec"]
    assert "initContainers" not in pod


AIPERF = "nvcr.io/nvidia/ai-dynamo/aiperf:0.13.0"


@pytest.mark.parametrize(
    ("config", "image", "archs"),
    [
        # Whether AIPerf's image is for ARM64, too, is not known.
        ({}, AIPERF, ["amd64"]),
        ({"graph": {"image": {"tag": "1.4.2-ours"}}}, AIPERF, ["amd64"]),
        (
            {
                "graph": {
                    "image": {"repository": "registry.example.com/vllm", "tag": "1.4.2", "archs": ["amd64"]}
                }
            },
            "registry.example.com/vllm:1.4.2",
            ["amd64"],
        ),
        (
            {
                "graph": {"image": {"repository": "registry.example.com/vllm", "tag": "1.4.2"}},
                "cache": {"image": "registry.example.com/aiperf:0.13.0"},
            },
            "registry.example.com/aiperf:0.13.0",
            ["amd64", "arm64"],
        ),
        (
            {"target": "trtllm-agg-gb200", "graph": {"dynamoVersion": "1.4.2"}},
            "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.4.2",
            ["amd64", "arm64"],
        ),
    ],
    ids=["default", "own tag", "own registry", "own small image", "ARM64"],
)
def test_the_download_runs_in_a_small_image_that_nodes_reach(
    config: dict[str, Any], image: str, archs: list[str]
) -> None:
    made = evaluated(**{"target": "vllm-disagg-h100", **ON_CLUSTER, **config})
    (job,) = [each for each in made.resources if each.name == "model-download" and each.type.endswith(":Job")]
    pod = job.inputs["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == image
    assert container["command"][0] == "python3"
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert [each["values"] for each in term["matchExpressions"]] == [archs]


def rotated(token: str) -> dict[str, Resource]:
    """The token and a cache that uses it."""

    def program() -> None:
        held(secrets.token("dynamo", pulumi.Output.secret(token), None, 60))
        cache(download=Download(token_secret="hf-token-secret"))()

    return {resource.urn: resource for resource in deploy(program).recorded}


def test_a_changed_token_changes_the_secret_alone() -> None:
    """No new download, no restarted worker: nothing but the Secret has another input."""
    before, after = rotated("hf_old"), rotated("hf_new")
    changed = {urn.split("::")[-1] for urn in before if before[urn] != after[urn]}
    assert changed == {"hf-token-secret"}
