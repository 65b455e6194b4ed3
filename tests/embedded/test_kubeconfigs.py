"""Kubeconfigs that are none, with the control plane's kubectl: verbs say why they see no cluster, and show no token."""

import base64
import os
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import pytest
import trustme
import yaml

from embedded import build
from ops.deploy.status import look
from ops.doctor import DoctorError, check, examine
from ops.evaluate import evaluate
from ops.pulumi.automation import NoStackError, State
from ops.stack.stack import Stack
from targets.errors import UserError
from tests.embedded.conftest import Cluster
from tests.ops.stacks import stack
from tests.project import PROJECT

TOKEN = "QwErTyUiOpAsDfGhJkL"
WHOLE = f"""
apiVersion: v1
kind: Config
current-context: ours
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:9"}}}}]
users: [{{name: u, user: {{token: {TOKEN}}}}}]
contexts: [{{name: ours, context: {{cluster: c, user: u}}}}]
"""
FILES: dict[str, str | bytes | None] = {
    "not there": None,
    "empty": "",
    "binary": b"\x7fELF\x02\x01\x01\x00" + bytes(range(256)),
    "a list": f"- {TOKEN}\n",
    "a text": TOKEN,
    "no YAML": f"users: [{{token: {TOKEN}\n: : [",
    "tabs": WHOLE.replace("\nkind", "\n\tkind"),
    "users of another shape": WHOLE.replace("users: [", "users: [[").replace(
        "}}]\ncontexts", "}}]]\ncontexts"
    ),
    "another kind": WHOLE.replace("kind: Config", "kind: Pod"),
    "another context": WHOLE.replace("name: ours", "name: theirs"),
    "no such user": WHOLE.replace("user: u", "user: nobody"),
    "no such cluster": WHOLE.replace("cluster: c,", "cluster: none,"),
    "bad base64": WHOLE.replace('9"', f'9", certificate-authority-data: "{TOKEN}!"'),
    "a certificate that is none": WHOLE.replace('9"', '9", certificate-authority-data: "YWJj"'),
    "no address": WHOLE.replace("https://127.0.0.1:9", "::nowhere::"),
    "nobody answers": WHOLE,
}


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {build.binary(print)} kubectl "$@"\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("KUBECACHEDIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))


def nowhere() -> NoReturn:
    raise NoStackError("there is none")


def on(folder: Path, name: str) -> Stack:
    path, content = folder / "kubeconfig", FILES[name]
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    cluster = {"kind": "existing", "kubeconfig": str(path), "context": "ours"}
    return stack({"target": "mocker-disagg-cpu", "cluster": cluster})


@pytest.mark.usefixtures("kubectl")
@pytest.mark.parametrize("name", [*FILES, "a folder"])
def test_a_kubeconfig_that_is_none_is_said_to_be(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    if name == "a folder":
        (tmp_path / "kubeconfig").mkdir()
    asked = on(tmp_path, "not there" if name == "a folder" else name)
    assert evaluate(PROJECT, asked.file).resources, "synth asks no cluster"
    found = [str(line) for line in examine(asked, State(nowhere))]
    [about] = [line for line in found if line.startswith("wrong") and "cluster: it does not answer: " in line]
    assert about.endswith("correct cluster.kubeconfig or context")
    with pytest.raises(UserError) as status, ExitStack() as files:
        look(asked, files)()
    assert str(status.value)
    out, err = capfd.readouterr()
    assert TOKEN.lower() not in "\n".join([*found, str(status.value), out, err]).lower()


@pytest.mark.usefixtures("kubectl")
@pytest.mark.parametrize("expired", [False, True], ids=["token", "certificate"])
def test_refused_credentials_are_said_to_be_with_the_key_and_the_context(
    tmp_path: Path, cluster: Cluster, expired: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = _expired() if expired else {"token": TOKEN}
    config["contexts"][0]["name"] = "ours"
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    settings = {"kind": "existing", "kubeconfig": str(path), "context": "ours"}
    asked = stack({"target": "mocker-disagg-cpu", "cluster": settings})
    where = (
        f"the cluster refuses the credentials of cluster.context (ours) in cluster.kubeconfig ({path}): renew them "
        "there, or correct these keys ("
    )
    with pytest.raises(DoctorError) as up:
        check(asked, State(nowhere), lambda _: None)
    assert [line for line in str(up.value).splitlines() if line.startswith(f"cluster: {where}")]
    with pytest.raises(UserError) as status, ExitStack() as files:
        look(asked, files)()
    assert str(status.value).startswith(where)
    assert len(str(status.value).splitlines()) == 1
    out, err = capfd.readouterr()
    assert TOKEN.lower() not in "\n".join([str(up.value), str(status.value), out, err]).lower()


def _expired() -> dict[str, str]:
    issued = trustme.CA().issue_cert(common_name="admin", not_after=datetime(2020, 1, 1, tzinfo=UTC))
    pems = (("certificate", issued.cert_chain_pems[0]), ("key", issued.private_key_pem))
    return {f"client-{key}-data": base64.b64encode(pem.bytes()).decode() for key, pem in pems}
