"""`cache`: the shared cache of model weights."""

from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from targets.knobs import ObjectName, PinnedImage
from targets.strict import Strict

CacheKind = Literal["class", "efs", "fsx", "s3"]


Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/@]+(/\S*)?$")]
"""An http or https URL without user and password, which would be readable in the Job."""


def _one_problem(value: Any, parse: ValidatorFunctionWrapHandler) -> Any:
    """What is none of several types has one thing wrong with it, not one for each type."""
    try:
        return parse(value)
    except ValidationError:
        raise ValueError("choose true, false or node") from None


class ProxySettings(Strict):
    """The way out to the internet, where a cluster has no other."""

    http: Url | None = None
    """Proxy for http addresses (`HTTP_PROXY`)."""
    https: Url | None = None
    """Proxy for https addresses, which all published sources are (`HTTPS_PROXY`)."""
    no_proxy: tuple[str, ...] = ()
    """Hosts and domains that are reached without it (`NO_PROXY`)."""


class NodeSettings(Strict):
    """What a GPU node keeps beside the weights."""

    compiled: bool = False
    """Whether what engines compile and tune at start outlives their pods, in a folder of the node (hostPath)."""


class _Download(Strict):
    """How the Job gets what it fills the cache with."""

    vocabulary_url: Url | None = None
    """Where o200k_base.tiktoken is downloaded from, with OpenAI's checksum; by default OpenAI's store."""
    proxy: ProxySettings = ProxySettings()
    """The download's way out to the internet."""
    image: PinnedImage | None = None
    """Image of the download, with a tag or digest: `python3` with huggingface_hub. By default AIPerf's, which is small;
    the graph's on ARM64 and where `graph.image.repository` names one."""

    def variables(self) -> dict[str, str]:
        """What the download's environment says of vocabulary and proxy."""
        values = {
            "VOCABULARY_URL": self.vocabulary_url,
            "HTTP_PROXY": self.proxy.http,
            "HTTPS_PROXY": self.proxy.https,
            "NO_PROXY": ",".join(self.proxy.no_proxy) or None,
        }
        return {name: value for name, value in values.items() if value is not None}


class CacheSettings(_Download):
    """The shared cache of model weights."""

    kind: CacheKind = "class"
    """`class` uses a StorageClass of the cluster, `efs` Amazon EFS, `fsx` Amazon FSx for Lustre, `s3` a bucket that
    every pod copies from."""
    storage_class: ObjectName | None = None
    """StorageClass whose claims can be ReadWriteMany (kind class); by default the cluster's default."""
    size: str = Field(default="100Gi", pattern=r"^[1-9][0-9]*(Gi|Ti)$")
    """Size of the claim, in Gi or Ti; EFS grows by itself, FSx is sold from 1200 GiB in steps of 2400."""
    file_system: Annotated[str, StringConstraints(pattern=r"^fs-[0-9a-f]{8,40}$")] | None = None
    """An EFS file system that is there already, as output `fileSystemId` of an earlier life of the stack (kind efs)."""
    mount_targets: bool | None = None
    """Whether the stack makes the file system's mount targets, in the cluster's subnets (kind efs). By default
    it does for a file system of its own, and for any in a VPC of its own. EFS allows them in one VPC at a time."""
    bucket: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")] | None = None
    """A bucket of the cluster's region that is there already, as output `bucket` of an earlier life of the stack (kind
    s3)."""
    throughput: Literal[125, 250, 500, 1000] = 250
    """MB/s for each TiB (kind fsx)."""
    retain: bool = False
    """Whether weights, claim and namespace outlive the stack, so that the next deployment downloads nothing. Of
    `efs` and `s3` the file system or the bucket alone."""

    local_copy: Annotated[bool | Literal["node"], WrapValidator(_one_problem)] = False
    """Whether every worker pod copies the weights to its node's disks before the engine starts; always so with `s3`.
    `node`: one copy for all worker pods of a node, in a folder of the node (hostPath), made while it pulls images."""

    node: NodeSettings = NodeSettings()
    """What a GPU node keeps beside the weights."""
    existing_claim: ObjectName | None = None
    """A claim of the namespace that is filled already, in Hugging Face's layout; nothing is downloaded."""

    @property
    def copies(self) -> bool:
        """Whether worker pods load a copy of the weights."""
        return bool(self.local_copy) or self.kind == "s3"

    @property
    def copies_to_nodes(self) -> bool:
        """Whether that is one copy a node."""
        return self.local_copy == "node"

    @model_validator(mode="after")
    def _nothing_to_fill(self) -> "CacheSettings":
        if self.existing_claim is not None:
            given = self.model_fields_set - {"existing_claim", "local_copy", "image", "node"}
            if given:
                names = sorted(type(self).model_fields[name].alias or name for name in given)
                raise ValueError(
                    f"existingClaim {self.existing_claim!r} is there and filled; leave out {', '.join(names)}"
                )
        return self

    @model_validator(mode="after")
    def _keys_of_the_kind(self) -> "CacheSettings":
        if self.kind != "class" and self.storage_class is not None:
            raise ValueError(f"storageClass is for kind class; kind {self.kind} makes its own")
        if self.kind != "efs" and self.file_system is not None:
            raise ValueError(f"fileSystem is for kind efs, not {self.kind}")
        if self.kind != "efs" and self.mount_targets is not None:
            raise ValueError(f"mountTargets is for kind efs, not {self.kind}")
        if self.mount_targets is False and self.file_system is None:
            raise ValueError(
                "mountTargets: false is for a fileSystem that has them; a new one cannot be mounted"
            )
        if self.kind != "s3" and self.bucket is not None:
            raise ValueError(f"bucket is for kind s3, not {self.kind}")
        if self.kind == "s3" and (of_claims := {"size", "throughput"} & self.model_fields_set):
            raise ValueError(
                f"{' and '.join(sorted(of_claims))}: a bucket has none; leave it out with kind s3"
            )
        if self.kind == "s3" and "local_copy" in self.model_fields_set and not self.local_copy:
            raise ValueError(
                "localCopy: false: with kind s3 there is nothing to load from but a copy; leave it out"
            )
        if self.kind == "fsx" and self.retain:
            raise ValueError(
                "retain is for kind class, efs or s3; a Lustre file system keeps hold of the stack's subnets"
            )
        return self
