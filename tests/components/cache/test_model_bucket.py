"""The bucket of the models, who may use it, and what pods are told of it."""

import json
from typing import Any

import pytest

from components.cache.model_bucket import ModelBucket, ModelBucketArgs, policy_document, tls_alone
from components.cache.model_cache import Bucket, Download, ModelCache, ModelCacheArgs
from facts.weights import MODEL_ID, MODEL_REVISION, Weights
from ops.evaluate import Resource
from tests.components.recording import Deployed, deploy

KINDS = {
    "bucket:Bucket",
    "bucketPublicAccessBlock:BucketPublicAccessBlock",
    "bucketOwnershipControls:BucketOwnershipControls",
    "bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    "bucketLifecycleConfiguration:BucketLifecycleConfiguration",
    "bucketPolicy:BucketPolicy",
}


def bucket(**more: Any) -> Deployed:
    given: dict[str, Any] = {
        "cluster_name": "ours",
        "namespace": "dynamo",
        "region": "us-east-2",
        "readers": ("graph-k8s-service-discovery", "model-bucket"),
        "writer": "model-download",
    }

    def declare() -> None:
        ModelBucket("model-bucket", ModelBucketArgs(**given | more))

    return deploy(declare)


def of_s3(made: Deployed) -> dict[str, Resource]:
    return {r.type.rpartition("/")[2]: r for r in made.recorded if r.type.startswith("aws:s3/")}


def of_type(made: Deployed, kind: str) -> list[Resource]:
    return [r for r in made.recorded if r.type.endswith(f":{kind}")]


def test_it_is_private_encrypted_and_ends_uploads_that_were_cut_off() -> None:
    made = of_s3(bucket())
    assert made.keys() == KINDS
    said = {kind.partition(":")[2]: resource.inputs for kind, resource in made.items()}
    assert said["Bucket"] == {"bucketPrefix": "dynamo-gpt-oss-models-", "forceDestroy": True}
    assert [v for k, v in said["BucketPublicAccessBlock"].items() if k != "bucket"] == [True] * 4
    assert said["BucketOwnershipControls"]["rule"] == {"objectOwnership": "BucketOwnerEnforced"}
    (encryption,) = said["BucketServerSideEncryptionConfiguration"]["rules"]
    assert encryption == {"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}
    (rule,) = said["BucketLifecycleConfiguration"]["rules"]
    assert rule["abortIncompleteMultipartUpload"] == {"daysAfterInitiation": 1}
    assert rule["status"] == "Enabled"
    assert "expiration" not in rule, "weights stay"


def test_kept_it_keeps_what_protects_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    own = Deployed.RegisterResource

    def register(self: Deployed, request: Any) -> Any:
        if request.retainOnDelete:
            kept.append(request.type.rpartition("/")[2])
        return own(self, request)

    monkeypatch.setattr(Deployed, "RegisterResource", register)
    assert of_s3(bucket(retain=True))["bucket:Bucket"].inputs["forceDestroy"] is False
    assert {*kept} == KINDS
    kept.clear()
    bucket()
    assert not kept


def test_one_that_is_there_is_only_used() -> None:
    made = bucket(bucket="ours", retain=True)
    assert not of_s3(made)
    assert {r.inputs["policy"] for r in of_type(made, "RolePolicy")} == {
        json.dumps(policy_document("arn:aws:s3:::ours", ("s3:GetObject",))),
        json.dumps(
            policy_document("arn:aws:s3:::ours", ("s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"))
        ),
    }


def test_graphs_read_and_the_download_alone_writes() -> None:
    made = bucket(bucket="ours")
    rights = {r.name: r for r in of_type(made, "RolePolicy")}
    said = {r.inputs["serviceAccount"]: r for r in of_type(made, "PodIdentityAssociation")}
    assert said.keys() == {"graph-k8s-service-discovery", "model-bucket", "model-download"}
    for account, association in said.items():
        assert association.inputs["namespace"] == "dynamo"
        role = "model-bucket-writer" if account == "model-download" else "model-bucket-reader"
        assert rights[role].urn in association.dependencies, "a pod is never told of a role without rights"
    policies = {name: json.loads(r.inputs["policy"])["Statement"] for name, r in rights.items()}
    assert policies["model-bucket-reader"][0]["Action"] == ["s3:GetObject"]
    for on_objects, on_list in policies.values():
        assert on_objects["Resource"] == "arn:aws:s3:::ours/model-cache/*"
        assert on_list["Condition"] == {"StringLike": {"s3:prefix": "model-cache/*"}}


def test_nobody_comes_in_without_tls() -> None:
    (statement,) = tls_alone("arn:aws:s3:::ours")["Statement"]
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:*")
    assert statement["Resource"] == ["arn:aws:s3:::ours", "arn:aws:s3:::ours/*"]


def test_the_job_fills_it_from_its_own_disk_and_no_claim_is_made() -> None:
    weights = (Weights(model=MODEL_ID, revision=MODEL_REVISION),)

    def declare() -> None:
        ModelCache(
            "model-cache",
            ModelCacheArgs(
                namespace="dynamo",
                weights=weights,
                download=Download(image="engine", archs=("amd64",), token_secret="hf"),
                bucket=Bucket(name="ours", region="us-east-2", gib=68),
            ),
        )

    made = deploy(declare)
    assert not of_type(made, "PersistentVolumeClaim")
    (programs,) = of_type(made, "ConfigMap")
    assert (programs.inputs["data"]["bucket"], programs.inputs["data"]["region"]) == ("ours", "us-east-2")
    assert {r.name for r in of_type(made, "ServiceAccount")} == {"model-download", "model-bucket"}
    (job,) = of_type(made, "Job")
    assert programs.urn in job.dependencies
    pod = job.inputs["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["serviceAccountName"] == "model-download"
    assert container["command"] == ["python3", "-m", "bucket.fill"]
    assert container["resources"]["requests"]["ephemeral-storage"] == "68Gi"
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes["model-cache"] == {"name": "model-cache", "emptyDir": {"sizeLimit": "68Gi"}}
    assert {mount["name"] for mount in container["volumeMounts"]} <= volumes.keys()
    assert "token" in volumes
