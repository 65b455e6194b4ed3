"""The model cache: a ReadWriteMany claim and the Job that fills it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as kubernetes

from components.manifests import config_map, job
from graphs import model_cache
from graphs.names import CACHE_CLAIM, DOWNLOAD_JOB, RETAINED
from targets.plan import Weights


@dataclass(frozen=True, kw_only=True)
class ModelCacheArgs:
    """weights: the models to download. size: Kubernetes quantity. storage_class: None for the cluster's default.

    image: what the Job runs in. archs: CPU architectures that it holds. token_secret: name of the Secret with the
    Hugging Face token. volume: a PersistentVolume of the stack's own instead of a class. own_root: its root belongs to
    nobody yet (as of a Lustre file system). retain: keep the claim after the stack. source: variables of the download
    that say where from. existing_claim: a claim that is filled already, which is read and checked instead. keeper: the
    claim's provider, None for the component's own.
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
    keeper: kubernetes.Provider | None = None


class ModelCache(pulumi.ComponentResource):
    """The weights on a shared volume; ready when the download Job is complete."""

    claim: kubernetes.core.v1.PersistentVolumeClaim
    download: kubernetes.batch.v1.Job

    def __init__(self, name: str, args: ModelCacheArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:ModelCache", name, None, opts)
        self.claim = self._claim(args)
        self.download = self._download(args)
        self.register_outputs({"claimName": args.existing_claim or CACHE_CLAIM, "jobName": DOWNLOAD_JOB})

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

    def _download(self, args: ModelCacheArgs) -> kubernetes.batch.v1.Job:
        script = config_map(
            model_cache.script_config_map(args.namespace), pulumi.ResourceOptions(parent=self)
        )
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
        )
        return job(
            manifest,
            pulumi.ResourceOptions(
                parent=self,
                depends_on=[self.claim, script],
                custom_timeouts=pulumi.CustomTimeouts(create="3h", update="3h"),
            ),
        )
