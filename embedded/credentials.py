"""Keys, token and kubeconfig of the embedded cluster; its owner alone can read them."""

import base64
import re
import secrets
import shutil
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import trustme
import yaml
from cryptography import x509

from embedded.files import fill, write_whole

CONTEXT = "dynamo-gpt-oss-embedded"
"""Of the kubeconfig, its cluster and its user."""
_KEYS = ("ca.crt", "server.crt", "server.key", "sa.key")
_PEM = "-----BEGIN .*-----END [A-Z ]+-----\n"
_TOKEN = "[0-9a-f]{64},admin,admin,system:masters\n"
_LEAST = timedelta(days=1)
"""How long certificates still have to be valid: longer than any verb works with them."""


def write(state: Path, kubeconfig: Path, port: int) -> bool:
    """Make what of `pki/` and `tokens.csv` is missing, damaged or expired, and the kubeconfig of the only user.

    The user may do all. port: of the API server. True if keys or token were made: who has read earlier ones is to read
    them again.
    """
    pki, tokens = state / "pki", state / "tokens.csv"
    made = False
    if not _are_keys(pki):
        shutil.rmtree(pki, ignore_errors=True)
        fill(pki, _write_keys)
        made = True
    if not _is_token(tokens):
        _write(tokens, f"{secrets.token_hex(32)},admin,admin,system:masters\n")
        made = True
    _write(kubeconfig, yaml.safe_dump(_kubeconfig(port, pki / "ca.crt", tokens)))
    return made


def are_whole(state: Path) -> bool:
    """Whether `write` would make neither keys nor token anew."""
    return _are_keys(state / "pki") and _is_token(state / "tokens.csv")


def _are_keys(pki: Path) -> bool:
    return all(_holds(pki / name, _PEM) for name in _KEYS) and _are_valid(pki)


def _is_token(tokens: Path) -> bool:
    return _holds(tokens, _TOKEN)


def _holds(path: Path, pattern: str) -> bool:
    """Whether it is a file of such text. What it should be is written in one step: others have damaged it since."""
    with suppress(OSError, UnicodeError):
        return bool(re.fullmatch(pattern, path.read_text(), re.DOTALL))
    return False


def _are_valid(pki: Path) -> bool:
    """Whether the certificates are ones, and valid now and for a while."""
    now = datetime.now(UTC)
    with suppress(ValueError):
        found = [
            x509.load_pem_x509_certificate((pki / f"{name}.crt").read_bytes()) for name in ("ca", "server")
        ]
        return all(
            each.not_valid_before_utc <= now and now + _LEAST < each.not_valid_after_utc for each in found
        )
    return False


def _write_keys(pki: Path) -> None:
    """An authority whose own key is forgotten, its one certificate, and a key to sign service accounts with."""
    pki.mkdir(mode=0o700)
    authority = trustme.CA(organization_name="dynamo-gpt-oss embedded")
    server = authority.issue_cert("127.0.0.1", "localhost", common_name="kube-apiserver")
    _write(pki / "ca.crt", authority.cert_pem.bytes().decode())
    _write(pki / "server.crt", server.cert_chain_pems[0].bytes().decode())
    _write(pki / "server.key", server.private_key_pem.bytes().decode())
    _write(pki / "sa.key", authority.issue_cert("service-accounts").private_key_pem.bytes().decode())


def _write(path: Path, text: str) -> None:
    write_whole(path, text, mode=0o600)


def _kubeconfig(port: int, authority: Path, tokens: Path) -> dict[str, Any]:
    trusted = base64.b64encode(authority.read_bytes()).decode()
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": trusted}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CONTEXT, "cluster": cluster}],
        "users": [{"name": CONTEXT, "user": {"token": tokens.read_text().partition(",")[0]}}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
        "current-context": CONTEXT,
    }
