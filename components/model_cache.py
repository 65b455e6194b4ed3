"""The model cache: a ReadWriteMany claim or a bucket, and the Job that fills it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as kubernetes

from components.manifests import config_map, job
from graphs import bucket, model_cache, objects
from graphs.names import CACHE_CLAIM, DOWNLOAD_JOB, RETAINED
from targets.plan import Weights


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """name: may be known only once it is made. region: of it and of the cluster. gib: of disk to download to."""

    name: pulumi.Input[str]
    region: str
    gib: int


@dataclass(frozen=True, kw_only=True)
class ModelCacheArgs:
    """weights: the models to download. size: Kubernetes quantity. storage_class: None for the cluster's default.

    image: what the Job runs in. archs: CPU architectures that it holds. token_secret: name of the Secret with the
    Hugging Face token. volume: a PersistentVolume of the stack's own instead of a class. own_root: its root belongs to
    nobody yet (as of a Lustre file system). retain: keep the claim after the stack. source: variables of the download
    that say where from. existing_claim: a claim that is filled already, which is read and checked instead. bucket:
    where the models go instead of a claim. keeper: the claim's provider, None for the component's own.
    """

    namespace: str
    weights: tuple[Weights, ...]
    size: str
    storage_class: str | None
    image: str
    archs: tuple[str, ...]
    token_secret: str | None
    pull_secret: str | None
    volume: str | None = None
    own_root: bool = True
    retain: bool = False
    source: Mapping[str, str] = field(default_factory=dict)
    existing_claim: str | None = None
    bucket: Bucket | None = None
    keeper: kubernetes.Provider | None = None


class ModelCache(pulumi.ComponentResource):
    """The weights on a shared volume or in a bucket; ready when the download Job is complete."""

    download: kubernetes.batch.v1.Job

    def __init__(self, name: str, args: ModelCacheArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:ModelCache", name, None, opts)
        if args.bucket is None:
            script = config_map(
                model_cache.script_config_map(args.namespace), pulumi.ResourceOptions(parent=self)
            )
            needed: list[pulumi.Resource] = [self._claim(args), script]
            store = {"claimName": args.existing_claim or CACHE_CLAIM}
        else:
            needed, store = self._programs(args.namespace, args.bucket), {}
        self.download = self._download(args, needed)
        self.register_outputs({**store, "jobName": DOWNLOAD_JOB})

    def _claim(self, args: ModelCacheArgs) -> kubernetes.core.v1.PersistentVolumeClaim:
        if args.existing_claim:
            return kubernetes.core.v1.PersistentVolumeClaim.get(
                args.existing_claim,
                f"{args.namespace}/{args.existing_claim}",
                opts=pulumi.ResourceOptions(parent=self),
            )
        manifest = model_cache.claim(
            args.namespace, size=args.size, storage_class=args.storage_class, volume=args.volume
        )
        # A class that binds on first use would be waited for before the Job, its first user, exists.
        manifest["metadata"]["annotations"] = {"pulumi.com/skipAwait": "true"}
        if args.retain:
            manifest["metadata"]["labels"] |= RETAINED
        return kubernetes.core.v1.PersistentVolumeClaim(
            CACHE_CLAIM,
            metadata=manifest["metadata"],
            spec=manifest["spec"],
            opts=pulumi.ResourceOptions(
                parent=self, retain_on_delete=args.retain, provider=args.keeper if args.retain else None
            ),
        )

    def _programs(self, namespace: str, said: Bucket) -> list[pulumi.Resource]:
        """What says where the bucket is, and the accounts of Jobs that use it."""
        child = pulumi.ResourceOptions(parent=self)
        programs = bucket.config_map(namespace, bucket=said.name, region=said.region)
        accounts = [objects.service_account(name, namespace) for name in (bucket.WRITER, bucket.NAME)]
        return [
            config_map(programs, child),
            *(
                kubernetes.core.v1.ServiceAccount(
                    each["metadata"]["name"], metadata=each["metadata"], opts=child
                )
                for each in accounts
            ),
        ]

    def _download(self, args: ModelCacheArgs, needed: Sequence[pulumi.Resource]) -> kubernetes.batch.v1.Job:
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
        return job(
            manifest,
            pulumi.ResourceOptions(
                parent=self,
                depends_on=list(needed),
                custom_timeouts=pulumi.CustomTimeouts(create="3h", update="3h"),
            ),
        )
