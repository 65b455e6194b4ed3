"""`cluster.json` of a state folder: that it is the embedded cluster's, where its programs are, and its ports."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from embedded import processes
from embedded.files import write_whole

NAME = "cluster.json"
_OWNERS = {"etcd": "etcd", "api": "kube-apiserver"}
"""Which daemon listens on which port."""


def is_there(state: Path) -> bool:
    """Whether the folder is ours; damaged or half written it says so too."""
    return any(state.glob(f"{NAME}*"))


def write(state: Path, programs: Mapping[str, str], ports: Mapping[str, int]) -> None:
    """Replace it."""
    write_whole(state / NAME, json.dumps({**programs, "ports": ports}), mode=0o600)


def read(state: Path) -> dict[str, Any]:
    """Paths by program, and `ports` by `etcd` and `api`. Empty if there is none, or none that can be read."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        record: dict[str, Any] = json.loads((state / NAME).read_text())
        if Path(record["controlplane"]).exists() and all(0 < record["ports"][key] < 2**16 for key in _OWNERS):
            return record
    return {}


def ports(state: Path) -> dict[str, int]:
    """The recorded ports, or new ones once somebody else has taken one of them."""
    recorded: dict[str, int] = read(state).get("ports", {})
    if recorded and all(
        processes.find(state, _OWNERS[key]) or processes.is_free(port) for key, port in recorded.items()
    ):
        return recorded
    return dict(zip(_OWNERS, processes.free_ports(len(_OWNERS)), strict=True))
