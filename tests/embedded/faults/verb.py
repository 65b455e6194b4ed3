"""`python -m tests.embedded.faults.verb STATE VERB …`: a verb as users run it, on the embedded cluster of that folder.

It keeps no record in out/, where the developer's own are. No Pulumi CLI is used: its way has tests of its own.
"""

import os
import sys
from functools import partial
from pathlib import Path

import yaml

from embedded import credentials
from ops.__main__ import main
from ops.deploy import deploy
from ops.pulumi import automation
from ops.rollout.observer import Observer
from ops.watch.record import Record

KUBECONFIG = "FAULTS_KUBECONFIG"
"""Variable that names the kubeconfig which this verb, and what it starts, gets instead of the cluster's own."""


def _run(state: Path, words: list[str], kubeconfig: str) -> None:
    for verb in ("up", "down"):
        setattr(deploy, verb, partial(getattr(deploy, verb), state=state))
    for kept in (Observer, Record):
        kept.keep = lambda *_: None  # type: ignore[method-assign]
    automation.available = lambda: False
    if kubeconfig:
        given = yaml.safe_load(Path(kubeconfig).read_text())
        setattr(credentials, "_kubeconfig", lambda *_: given)  # noqa: B010
    sys.argv = ["dynamo-gpt-oss", *words]
    main()


if __name__ == "__main__":
    _run(Path(sys.argv[1]), sys.argv[2:], os.environ.get(KUBECONFIG, ""))
