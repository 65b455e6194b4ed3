"""A stack's time to live, watched from inside its cluster."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pulumi
import pulumi_kubernetes as kubernetes

from components.manifests import resource
from manifests.services import time_to_live
from manifests.services.time_to_live import TimeToLiveSpec


@dataclass(frozen=True, kw_only=True)
class TimeToLiveArgs:
    """What ends, and when."""

    spec: TimeToLiveSpec
    """How long the stack lives, and which node groups end with it."""


class TimeToLive(pulumi.ComponentResource):
    """The CronJob that ends the stack's graphs and GPU pools when its time is over, with the rights for it."""

    ends_at: pulumi.Output[str | None]
    """When its time is over, as `2026-12-01T11:30:00Z`; None in a synth. An error if it is over, as are the CronJob and
    all that waits for it."""

    def __init__(self, name: str, args: TimeToLiveArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:TimeToLive", name, None, opts)
        script, *account_and_rights, cron_job = time_to_live.manifests(args.spec)
        child = pulumi.ResourceOptions(parent=self)
        clock = resource(script, child)
        assert isinstance(clock, kubernetes.core.v1.ConfigMap)
        self.ends_at = clock.metadata.apply(lambda known: _end(known.creation_timestamp, args.spec.ttl))
        needed = [clock, *(resource(each, child) for each in account_and_rights)]
        resource(
            {**cron_job, "spec": self.ends_at.apply(lambda _: cron_job["spec"])},
            pulumi.ResourceOptions(parent=self, depends_on=needed),
        )
        self.register_outputs({"cronJobName": time_to_live.NAME})


def _end(created: str | None, ttl: str) -> str | None:
    """Raises RunError where the time is over: what the CronJob has ended, Pulumi takes to be there."""
    if created is None:
        return None
    end = time_to_live.end_of(created, ttl)
    if end < datetime.now(UTC):
        raise pulumi.RunError(
            f"ttl: the {ttl} of this stack were over at {end:%Y-%m-%d %H:%M} UTC, and its graphs "
            "and GPU nodes were ended; take it down and bring it up again, or give it another time to live and run "
            "`pulumi up --refresh`"
        )
    return f"{end:%Y-%m-%dT%H:%M:%SZ}"
