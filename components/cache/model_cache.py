"""The model cache: a ReadWriteMany claim or a bucket, and the Job that fills it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components.manifests import job, name_of, rendered, resource
from facts.weights import SERVED, Weights
from manifests import objects
from manifests.benchmark.job import AIPERF_IMAGE
from manifests.cache import bucket, model_cache
from manifests.names import CACHE_CLAIM, RETAINED
from manifests.objects import UNAWAITED, annotate


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """An S3 bucket for models."""

    name: pulumi.Input[str]
    """Its name."""
    region: pulumi.Input[str]
    """Of the bucket and of the cluster."""
    gib: int
    """Of disk to download to."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A ReadWriteMany claim that models are kept on."""

    size: pulumi.Input[str] = "100Gi"
    """A Kubernetes quantity."""
    storage_class: pulumi.Input[str] | None = None
    """Its StorageClass; by default the cluster's default."""
    volume: pulumi.Input[str] | None = None
    """A PersistentVolume to take instead of one that a class makes."""
    own_root: bool = False
    """Whether the volume's root belongs to nobody yet, as of a Lustre file system."""
    retain: bool = False
    """Whether it stays when its stack goes."""
    existing: pulumi.Input[str] | None = None
    """A claim that is filled already, which is read and checked instead of all this."""


@dataclass(frozen=True, kw_only=True)
class Download:
    """The Job that gets the models."""

    image: pulumi.Input[str] = AIPERF_IMAGE
    """What it runs in: `python3` with huggingface_hub, which AIPerf's small image and every Dynamo runtime have."""
    archs: Sequence[str] = ("amd64",)
    """CPU architectures that the image holds; by default the one that AIPerf's is known to be for."""
    token_secret: pulumi.Input[str] | None = None
    """Name of a Secret with a Hugging Face token under HF_TOKEN."""
    pull_secret: pulumi.Input[str] | None = None
    """Name of the image's pull Secret."""
    environment: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """Variables that say where from, as HF_ENDPOINT and HTTPS_PROXY."""


@dataclass(frozen=True, kw_only=True)
class ModelCacheArgs:
    """What is cached, where, and what downloads it."""

    namespace: pulumi.Input[str]
    """Namespace of claim and Job, which is the graphs'."""
    weights: Sequence[Weights] = (SERVED,)
    """The models to download; by default GPT-OSS-120B."""
    claim: Claim = field(default_factory=Claim)
    """Where they are kept."""
    bucket: Bucket | None = None
    """Where they go instead of a claim."""
    download: Download = field(default_factory=Download)
    """The Job."""


class ModelCache(pulumi.ComponentResource):
    """The weights on a shared volume or in a bucket; ready when the download Job is complete."""

    claim_name: pulumi.Output[str] | None
    """Name of the claim, once it is filled; none with a bucket."""

    def __init__(
        self,
        name: str,
        args: ModelCacheArgs,
        opts: pulumi.ResourceOptions | None = None,
        keeper: kubernetes.Provider | None = None,
    ) -> None:
        """keeper: provider of a claim that is retained, None for the component's own."""
        super().__init__("dynamo-gpt-oss:index:ModelCache", name, None, opts)
        if args.bucket is None:
            config_map = rendered(model_cache.script_config_map, args.namespace)
            script = resource(config_map, pulumi.ResourceOptions(parent=self))
            needed: list[pulumi.Resource] = [self._claim(args, keeper), script]
        else:
            needed = self._programs(args.namespace, args.bucket)
        done = self._download(args, needed)
        self.claim_name = None
        if args.bucket is None:
            claim = args.claim.existing or CACHE_CLAIM
            self.claim_name = pulumi.Output.all(claim, done.urn).apply(lambda known: str(known[0]))
        self.register_outputs({"claimName": self.claim_name})

    def _claim(self, args: ModelCacheArgs, keeper: kubernetes.Provider | None) -> pulumi.Resource:
        wanted = args.claim
        if wanted.existing:
            return kubernetes.core.v1.PersistentVolumeClaim.get(
                name_of(wanted.existing, CACHE_CLAIM),
                pulumi.Output.concat(args.namespace, "/", wanted.existing),
                opts=pulumi.ResourceOptions(parent=self),
            )
        manifest = rendered(
            lambda namespace: model_cache.claim(
                namespace, size=wanted.size, storage_class=wanted.storage_class, volume=wanted.volume
            ),
            args.namespace,
        )
        if wanted.retain:
            manifest["metadata"]["labels"] |= RETAINED
        # A class that binds on first use would be waited for before the Job, its first user, exists.
        return resource(
            annotate(manifest, UNAWAITED),
            pulumi.ResourceOptions(
                parent=self, retain_on_delete=wanted.retain, provider=keeper if wanted.retain else None
            ),
        )

    def _programs(self, namespace: pulumi.Input[str], store: Bucket) -> list[pulumi.Resource]:
        """What says where the bucket is, and the accounts of Jobs that use it."""

        def render(namespace: str) -> list[dict[str, Any]]:
            programs = bucket.config_map(namespace, bucket=store.name, region=store.region)
            accounts = (objects.service_account(name, namespace) for name in (bucket.WRITER, bucket.NAME))
            return [programs, *accounts]

        made = rendered(render, namespace)
        return [resource(each, pulumi.ResourceOptions(parent=self)) for each in made]

    def _download(self, args: ModelCacheArgs, needed: Sequence[pulumi.Resource]) -> pulumi.Resource:
        wanted = args.download
        manifest = rendered(
            lambda namespace: model_cache.download_job(
                namespace,
                weights=args.weights,
                image=wanted.image,
                archs=wanted.archs,
                token_secret=wanted.token_secret,
                pull_secret=wanted.pull_secret,
                own_root=args.claim.own_root,
                source=wanted.environment,
                existing_claim=args.claim.existing,
                bucket_gib=args.bucket.gib if args.bucket else None,
            ),
            args.namespace,
        )
        return job(manifest, self, needed, "3h")
