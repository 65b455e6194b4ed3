"""What the kubelet's events say of an image. Pure.

Its words: `kubelet/images/image_manager.go` and `kubelet/events` of Kubernetes.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

PULLING, PULLED = "Pulling", "Pulled"
_IMAGE = re.compile(r'[Ii]mage "([^"]+)"')
_TOOK = re.compile(r"\bin ((?:[\d.]+(?:h|ms|µs|us|m|s))+)")
_PART = re.compile(r"([\d.]+)(h|ms|µs|us|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6}
_BYTES = re.compile(r"Image size: (\d+) bytes")


class Pull(BaseModel):
    """One word of a node about an image. ended: whether it is there now.

    image: as the pod names it, empty where the event does not. seconds: of pulling and unpacking, without the time in
    the kubelet's queue; None where it does not say. size: bytes, as in the registry. present: it was there before.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    pod: str
    node: str | None
    at: datetime
    ended: bool
    image: str
    seconds: float | None = None
    size: int | None = None
    present: bool = False


def pull(event: Mapping[str, Any]) -> Pull | None:
    """None for an event about something else."""
    message = event.get("message") or ""
    if event.get("reason") not in (PULLING, PULLED) or event["involvedObject"].get("kind") != "Pod":
        return None
    # The first, where the kubelet counted several of the same words.
    stamp = event.get("firstTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"]
    image, took, size = _IMAGE.search(message), _TOOK.search(message), _BYTES.search(message)
    return Pull(
        pod=event["involvedObject"]["name"],
        node=event.get("source", {}).get("host") or None,
        at=datetime.fromisoformat(stamp),
        ended=event["reason"] == PULLED,
        image=image[1] if image else "",
        seconds=_seconds(took[1]) if took else None,
        size=int(size[1]) if size else None,
        present="already present" in message,
    )


def _seconds(text: str) -> float:
    """Of a duration as Go writes it: `4m12.3s`."""
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
