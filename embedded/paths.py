"""Where the embedded cluster keeps what it builds and what it runs."""

from pathlib import Path

from platformdirs import user_cache_path

PROJECT = Path(__file__).resolve().parent.parent
CACHE = user_cache_path("dynamo-gpt-oss")
"""Builds and downloads, keyed by content; survives `make down`."""
STATE = PROJECT / ".embedded"
"""Everything a running embedded cluster owns: kubeconfig, certificates, etcd data, pid files, logs."""
KUBECONFIG = STATE / "kubeconfig"
