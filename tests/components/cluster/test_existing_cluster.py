"""A cluster that is there: its provider, and a namespace made or left alone."""

from components.cluster.cluster_access import WorkNamespace
from components.cluster.existing_cluster import ExistingCluster, ExistingClusterArgs
from tests.components.recording import deploy, named


def test_the_namespace_is_made_through_the_clusters_own_provider() -> None:
    def program() -> None:
        ExistingCluster(
            "cluster",
            ExistingClusterArgs(
                kubeconfig="some/kubeconfig", context="ours", namespace=WorkNamespace(name="serving")
            ),
        )

    recorder = deploy(program)
    provider = named(recorder, "cluster", "providers:kubernetes")
    assert provider.inputs["kubeconfig"] == "some/kubeconfig"
    assert provider.inputs["context"] == "ours"
    assert named(recorder, "serving", ":Namespace").provider == provider.urn


def test_a_namespace_that_is_the_users_is_left_alone() -> None:
    def program() -> None:
        args = ExistingClusterArgs(
            kubeconfig=None, context=None, namespace=WorkNamespace(name="theirs", make=False)
        )
        assert ExistingCluster("cluster", args).ready == []

    assert not [r for r in deploy(program).recorded if r.type.endswith(":Namespace")]
