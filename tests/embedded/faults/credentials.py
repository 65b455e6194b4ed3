"""Credentials and certificates of the cluster that have expired, or are not those that it knows."""

import base64
import random
import time
from datetime import UTC, datetime
from pathlib import Path

import trustme
import yaml

from embedded import processes
from tests.embedded.faults.remains import Remains
from tests.embedded.faults.stage import BrokenError, Stage

_LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def credentials(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """An expired certificate or token in the kubeconfig, before `up` or while it works; or another token made."""
    stage.start()
    kubeconfig = stage.state / "kubeconfig"
    config = yaml.safe_load(kubeconfig.read_text())
    user, token = config["users"][0]["user"], f"{draw.getrandbits(256):064x}"
    if draw.random() < 0.5:
        user["token"] = token
    else:
        _expire(user)
    when = draw.choice(["before", "meanwhile", "made"])
    if when == "meanwhile":
        verb = stage.begin("up")
        while "embedded cluster on" not in verb.said and not verb.is_over():
            time.sleep(0.02)
        kubeconfig.write_text(yaml.safe_dump(config))
        if (
            not verb.end()
            or len(verb.errors) != 1
            or "nauthorized" not in verb.errors[0]
            or "create" in verb.said
        ):
            raise BrokenError(f"{verb.name} with expired credentials says: {verb.said}")
    elif when == "before":
        kubeconfig.write_text(yaml.safe_dump(config))
    else:
        (stage.state / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
    wrong = stage.converge()
    wrong += stage.leave()
    return 1, wrong


def _expire(user: dict[str, str]) -> None:
    """A client certificate instead of the token, over for years."""
    issued = trustme.CA().issue_cert(common_name="admin", not_after=_LONG_AGO)
    del user["token"]
    for key, pem in (("certificate", issued.cert_chain_pems[0]), ("key", issued.private_key_pem)):
        user[f"client-{key}-data"] = base64.b64encode(pem.bytes()).decode()


def certificates(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """The API server's certificate, also its as etcd's client, expires: before `down`, before `up` or in it.

    The API server and etcd may be killed then, and would start with it.
    """
    wrong, verb = Remains(), None
    if draw.random() < 0.5:
        wrong += stage.converge()
    else:
        stage.start()
        if draw.random() < 0.5:
            verb = stage.begin("up")
            verb.after(stage.moment(draw, "up"))
    _expire_own(stage.state / "pki")
    for name in draw.sample(("etcd", "kube-apiserver"), draw.randint(0, 2)):
        if found := processes.find(stage.state, name):
            found.kill()
    if verb:
        verb.end()
    if draw.random() < 0.5:
        wrong += stage.converge()
    wrong += stage.leave()
    return 1, wrong


def _expire_own(pki: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost", not_after=_LONG_AGO)
    (pki / "ca.crt").write_bytes(authority.cert_pem.bytes())
    (pki / "server.crt").write_bytes(issued.cert_chain_pems[0].bytes())
    (pki / "server.key").write_bytes(issued.private_key_pem.bytes())
