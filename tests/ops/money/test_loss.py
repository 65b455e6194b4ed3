"""Which data goes with a stack, by states that earlier versions of this project left."""

from ops.money.loss import data_of
from tests.engine.record import STATES, read


def test_what_is_retained_is_kept_and_the_rest_goes() -> None:
    loss = data_of(read(STATES / "4b076b2-prod.jsonl"))
    assert loss.kept == ("EFS file system model-cache", "PersistentVolumeClaim dynamo/model-cache")
    assert loss.gone == (
        "log group dynamo-prod-control-plane (nothing brings it back)",
        "Prometheus's series in namespace monitoring (nothing brings it back)",
    )


def test_without_retain_the_claim_goes() -> None:
    loss = data_of(read(STATES / "4b076b2-dev.jsonl"))
    assert loss.gone == ("PersistentVolumeClaim dynamo/model-cache (the next `up` fills it again)",)
    assert loss.kept == ()


def test_what_the_stack_only_reads_is_not_its_own() -> None:
    read_only = {"type": "aws:s3/bucket:Bucket", "id": "somebody-s", "external": True}
    assert data_of([read_only]).gone == ()
    assert data_of([read_only | {"external": False}]).gone == (
        "S3 bucket somebody-s (the next `up` fills it again)",
    )
