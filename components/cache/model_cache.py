"""The model cache: a ReadWriteMany claim or a bucket, and the Job that fills it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as kubernetes

from components.manifests import job, resource
from facts.weights import Weights
from manifests import objects
from manifests.cache import bucket, model_cache
from manifests.names import CACHE_CLAIM, DOWNLOAD_JOB, RETAINED
from manifests.objects import UNAWAITED, annotate


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """An S3 bucket for models."""

    name: pulumi.Input[str]
    region: str
    """Of the bucket and of the cluster."""
    gib: int
    """Of disk to download to."""


@dataclass(frozen=True, kw_only=True)
class ModelCacheArgs:
    """What is cached, where, and what downloads it."""

    namespace: str
    weights: tuple[Weights, ...]
    """The models to download."""
    size: str
    """Of the claim, a Kubernetes quantity."""
    storage_class: str | None
    """None for the cluster's default."""
    image: str
    """What the Job runs in."""
    archs: tuple[str, ...]
    """CPU architectures that the image holds."""
    token_secret: str | None
    """Name of the Secret with the Hugging Face token."""
    pull_secret: str | None
    volume: str | None = None
    """A PersistentVolume of the stack's own instead of a class."""
    own_root: bool = True
    """Whether the volume's root belongs to nobody yet, as of a Lustre file system."""
    retain: bool = False
    """Whether the claim stays when the stack goes."""
    source: Mapping[str, str] = field(default_factory=dict)
    """Variables of the download that say where from."""
    existing_claim: str | None = None
    """A claim that is filled already, which is read and checked instead."""
    bucket: Bucket | None = None
    """Where the models go instead of a claim."""
    keeper: kubernetes.Provider | None = None
    """The claim's provider, None for the component's own."""


class ModelCache(pulumi.ComponentResource):
    """The weights on a shared volume or in a bucket; ready when the download Job is complete."""

    def __init__(self, name: str, args: ModelCacheArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:ModelCache", name, None, opts)
        if args.bucket is None:
            script = resource(
                model_cache.script_config_map(args.namespace), pulumi.ResourceOptions(parent=self)
            )
            needed: list[pulumi.Resource] = [self._claim(args), script]
            store = {"claimName": args.existing_claim or CACHE_CLAIM}
        else:
            needed, store = self._programs(args.namespace, args.bucket), {}
        self._download(args, needed)
        self.register_outputs({**store, "jobName": DOWNLOAD_JOB})

    def _claim(self, args: ModelCacheArgs) -> pulumi.Resource:
        if args.existing_claim:
            return kubernetes.core.v1.PersistentVolumeClaim.get(
                args.existing_claim,
                f"{args.namespace}/{args.existing_claim}",
                opts=pulumi.ResourceOptions(parent=self),
            )
        manifest = model_cache.claim(
            args.namespace, size=args.size, storage_class=args.storage_class, volume=args.volume
        )
        if args.retain:
            manifest["metadata"]["labels"] |= RETAINED
        # A class that binds on first use would be waited for before the Job, its first user, exists.
        return resource(
            annotate(manifest, UNAWAITED),
            pulumi.ResourceOptions(
                parent=self, retain_on_delete=args.retain, provider=args.keeper if args.retain else None
            ),
        )

    def _programs(self, namespace: str, model_bucket: Bucket) -> list[pulumi.Resource]:
        """What says where the bucket is, and the accounts of Jobs that use it."""
        programs = bucket.config_map(namespace, bucket=model_bucket.name, region=model_bucket.region)
        accounts = [objects.service_account(name, namespace) for name in (bucket.WRITER, bucket.NAME)]
        return [resource(each, pulumi.ResourceOptions(parent=self)) for each in (programs, *accounts)]

    def _download(self, args: ModelCacheArgs, needed: Sequence[pulumi.Resource]) -> pulumi.Resource:
        manifest = model_cache.download_job(
            args.namespace,
            weights=args.weights,
            image=args.image,
            archs=args.archs,
            token_secret=args.token_secret,
            pull_secret=args.pull_secret,
            own_root=args.volume is not None and args.own_root,
            source=args.source,
            existing_claim=args.existing_claim,
            bucket_gib=args.bucket.gib if args.bucket else None,
        )
        return job(manifest, self, needed, "3h")
