"""A stack's time to live, watched from inside its cluster."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components.manifests import config_map
from graphs import time_to_live
from graphs.time_to_live import TimeToLiveSpec


@dataclass(frozen=True, kw_only=True)
class TimeToLiveArgs:
    """spec: how long, and what ends."""

    spec: TimeToLiveSpec


class TimeToLive(pulumi.ComponentResource):
    """The CronJob that ends the stack's graphs and GPU pools when its time is over, with the rights for it."""

    cron_job: kubernetes.batch.v1.CronJob
    ends_at: pulumi.Output[str | None]
    """When its time is over, as `2026-12-01T11:30:00Z`; None in a synth. An error if it is over, as are the CronJob and
    all that waits for it."""

    def __init__(self, name: str, args: TimeToLiveArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:TimeToLive", name, None, opts)
        script, account, role, binding, cron_job = time_to_live.manifests(args.spec)
        child = pulumi.ResourceOptions(parent=self)
        clock = config_map(script, child)
        self.ends_at = clock.metadata.apply(lambda known: _end(known.creation_timestamp, args.spec.ttl))
        made: list[pulumi.Resource] = [
            clock,
            kubernetes.core.v1.ServiceAccount(time_to_live.NAME, metadata=account["metadata"], opts=child),
            *self._rights(role, binding),
        ]
        self.cron_job = kubernetes.batch.v1.CronJob(
            time_to_live.NAME,
            metadata=cron_job["metadata"],
            spec=self.ends_at.apply(lambda _: cron_job["spec"]),
            opts=pulumi.ResourceOptions(parent=self, depends_on=made),
        )
        self.register_outputs({"cronJobName": time_to_live.NAME})

    def _rights(self, role: dict[str, Any], binding: dict[str, Any]) -> list[pulumi.Resource]:
        child = pulumi.ResourceOptions(parent=self)
        return [
            kubernetes.rbac.v1.Role(
                time_to_live.NAME, metadata=role["metadata"], rules=role["rules"], opts=child
            ),
            kubernetes.rbac.v1.RoleBinding(
                time_to_live.NAME,
                metadata=binding["metadata"],
                role_ref=binding["roleRef"],
                subjects=binding["subjects"],
                opts=child,
            ),
        ]


def _end(created: str | None, ttl: str) -> str | None:
    """Raises RunError where the time is over: what the CronJob has ended, Pulumi takes to be there."""
    if created is None:
        return None
    end = time_to_live.end_of(created, ttl)
    if end < datetime.now(UTC):
        raise pulumi.RunError(
            f"dynamo-gpt-oss:tags.ttl: the {ttl} of this stack were over at {end:%Y-%m-%d %H:%M} UTC, and its graphs "
            "and GPU nodes were ended; take it down and bring it up again, or give it another time to live and run "
            "`pulumi up --refresh`"
        )
    return f"{end:%Y-%m-%dT%H:%M:%SZ}"
