"""Which secrets of AWS the External Secrets operator may read."""

from components.services.secret_access import SecretAccess, SecretAccessArgs
from manifests.services.secrets import AwsSecret
from tests.components.recording import deploy, named

HF = AwsSecret(name="tokens/hf", region="us-east-1", key="token")


def test_external_secrets_reads_the_named_secrets_and_no_others() -> None:
    arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:ngc-AbCdEf"

    def program() -> None:
        read = [HF, AwsSecret(name=arn, region="us-east-1", key=None)]
        SecretAccess("secret-access", SecretAccessArgs(cluster_name="dynamo", secrets=read))

    recorder = deploy(program)
    document = named(recorder, "secret-access", "rolePolicy:RolePolicy").inputs["policy"]
    assert '"arn:aws:secretsmanager:us-east-1:*:secret:tokens/hf-??????"' in document
    assert f'"{arn}"' in document
    association = named(recorder, "secret-access", ":PodIdentityAssociation").inputs
    assert (association["namespace"], association["serviceAccount"]) == (
        "external-secrets",
        "external-secrets",
    )
