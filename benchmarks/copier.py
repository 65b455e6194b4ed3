"""The copiers of weights beside what the same machine does without them: `python -m benchmarks.copier`.

From a shared folder: the program of the workers' init container beside `cp` and `dd`, each with the bytes on disk at
the end, and beside `cp` with `sha256sum`, which is the same work. From S3: the program of the bucket's init container
beside a plain parallel download with boto3, without and with `sha256sum`, from moto's server, which is a simulation and
the limit of all. Pods have the AWS CLI 2 with its transfers in C, which moto's server cuts off. PyPI has version 1
alone; `--aws` takes another.

A ratio is the other's time by ours, in one round, so that 1.0 is as fast. The copiers check every byte's SHA-256,
which `cp`, `dd` and the download do not: what it takes of a CPU is shown above, and CPU seconds beside all, since two
CPUs may be the limit here where a GPU node's are not. Every round takes the ways in turn; medians are shown.
"""

import argparse
import hashlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3

from benchmarks.cpu_time import PROJECT
from pods import copy_weights
from pods.bucket.store import PREFIX

MODEL, COMMIT = "openai/gpt-oss-120b", "0" * 40
FOLDER = f"hub/models--{MODEL.replace('/', '--')}"
MARKER = f".complete-{MODEL.replace('/', '--')}-{COMMIT}"
BUCKET, REGION = "weights", "us-east-2"
KEYS = {"AWS_ACCESS_KEY_ID": "moto", "AWS_SECRET_ACCESS_KEY": "moto", "AWS_DEFAULT_REGION": REGION}
AWS = Path(sys.executable).with_name("aws")
SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("http://%s:%s" % server.get_host_and_port(), flush=True)
sys.stdin.read()
"""
Copy = Callable[[Path], object]
"""Copies everything into an empty folder."""


def make_cache(home: Path, files: int, mebibytes: int) -> None:
    """A shared cache with one model of random content, as huggingface_hub lays it out."""
    blobs, snapshot = home / FOLDER / "blobs", home / FOLDER / "snapshots" / COMMIT
    for folder in (blobs, snapshot, home / "tiktoken"):
        folder.mkdir(parents=True)
    for number in range(files):
        content = os.urandom(mebibytes << 20)
        blob = blobs / hashlib.sha256(content).hexdigest()
        blob.write_bytes(content)
        (snapshot / f"model-{number}.safetensors").symlink_to(f"../../blobs/{blob.name}")
    (home / MARKER).write_text(f"{files * mebibytes << 20}\n")


def run(*words: str, **environment: str) -> None:
    """Run a command to its end. Raises CalledProcessError."""
    subprocess.run(words, env=os.environ | environment, cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)


def sha256sum(paths: Iterable[Path]) -> None:
    """What ours do besides, as a command."""
    run("sha256sum", *map(str, paths))


def local(shared: Path) -> Mapping[str, Copy]:
    """Ways from a shared folder, ours first."""
    blobs = sorted((shared / FOLDER / "blobs").iterdir())
    models = json.dumps([{"model": MODEL, "revision": COMMIT}])

    def ours(home: Path) -> None:
        given = {"SHARED": str(shared), "HF_HOME": str(home), "VOCABULARY_PATH": f"{home}/tiktoken"}
        run(sys.executable, copy_weights.__file__, MODELS=models, **given)

    def dd(home: Path) -> None:
        for blob in blobs:
            run("dd", f"if={blob}", f"of={home / blob.name}", "bs=16M", "conv=fsync", "status=none")

    def cp(home: Path) -> None:
        run("cp", *map(str, blobs), str(home))
        run("sync", *(str(home / blob.name) for blob in blobs))

    def checked(home: Path) -> None:
        cp(home)
        sha256sum(home / blob.name for blob in blobs)

    return {"copy_weights.py": ours, "cp, sync, sha256sum": checked, "cp, sync": cp, "dd conv=fsync": dd}


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of moto's S3, in a process of its own."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


def upload(client: Any, shared: Path) -> None:
    """Put the model into the bucket, with the manifest that the download Job leaves."""
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    files = []
    for path in sorted((shared / FOLDER / "snapshots" / COMMIT).iterdir()):
        name, blob = str(path.relative_to(shared)), path.resolve()
        client.upload_file(str(blob), BUCKET, PREFIX + name)
        files.append({"path": name, "size": blob.stat().st_size, "sha256": blob.name})
    manifest = {"model": MODEL, "revision": COMMIT, "files": files}
    key = f"{PREFIX}manifests/{MODEL.replace('/', '--')}-{COMMIT}.json"
    client.put_object(Bucket=BUCKET, Key=key, Body=json.dumps(manifest).encode())


def from_s3(address: str, shared: Path, cli: str) -> Mapping[str, Copy]:
    """Ways from a bucket, ours first. cli: the AWS CLI."""
    client = boto3.client(
        "s3",
        endpoint_url=address,
        region_name=REGION,
        aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
    )
    upload(client, shared)
    names = [str(path.relative_to(shared)) for path in (shared / FOLDER / "snapshots" / COMMIT).iterdir()]
    models = json.dumps([{"model": MODEL, "revision": COMMIT, "tokenizer_only": False}])

    def ours(home: Path) -> None:
        place = {"AWS_ENDPOINT_URL": address, "AWS_REGION": REGION, "BUCKET": BUCKET, "AWS_CLI": cli}
        place |= {"HF_HOME": str(home), "MODELS": models}
        run(sys.executable, "-m", "pods.bucket.fetch", **KEYS, **place)

    def plain(home: Path) -> None:
        def download(name: str) -> None:
            client.download_file(BUCKET, PREFIX + name, str(home / Path(name).name))

        with ThreadPoolExecutor(len(names)) as pool:
            list(pool.map(download, names))

    def checked(home: Path) -> None:
        plain(home)
        sha256sum(home.iterdir())

    return {"bucket/fetch.py": ours, "boto3, sha256sum": checked, "boto3 in parallel": plain}


def cpu() -> float:
    """CPU seconds of this process and of those that it waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def seconds(copy: Copy, home: Path) -> tuple[float, float]:
    """How long one copy into a new folder takes, and how long a CPU."""
    home.mkdir()
    began, used = time.monotonic(), cpu()
    copy(home)
    took = time.monotonic() - began, cpu() - used
    shutil.rmtree(home)
    return took


def hashing() -> float:
    """GB that one CPU takes the SHA-256 of in a second."""
    chunk, digest, began = bytes(1 << 20), hashlib.sha256(), time.process_time()
    for _ in range(256):
        digest.update(chunk)
    return 256 * len(chunk) / 1e9 / (time.process_time() - began)


def compare(ways: Mapping[str, Copy], home: Path, gigabytes: float, rounds: int) -> None:
    """Print each way's seconds, GB/s and CPU seconds, and its time by ours."""
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for counted in range(rounds + 1):
        for name, copy in ways.items():
            took = seconds(copy, home)
            if counted:
                runs[name].append(took)
    ours = next(iter(runs.values()))
    for name, own in runs.items():
        median, used = (statistics.median(each) for each in zip(*own, strict=True))
        ratio = statistics.median(a / b for (a, _), (b, _) in zip(own, ours, strict=True))
        print(f"{name:<22}{median:>9.2f}{gigabytes / median:>8.2f}{used:>8.2f}{ratio:>8.2f}", flush=True)


def main() -> None:
    """Measure both kinds of copies."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.copier")
    parser.add_argument("--files", type=int, default=8, help="files of weights (%(default)s)")
    parser.add_argument("--mebibytes", type=int, default=128, help="size of each (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds (%(default)s)")
    parser.add_argument("--aws", default=str(AWS), help="the AWS CLI (%(default)s)")
    chosen = parser.parse_args()
    gigabytes = chosen.files * chosen.mebibytes * 2**20 / 1e9
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder, s3_server() as address:
        shared, home = Path(folder) / "shared", Path(folder) / "home"
        make_cache(shared, chosen.files, chosen.mebibytes)
        print(
            f"{chosen.files} files of {chosen.mebibytes} MiB; {chosen.rounds} rounds, {os.cpu_count()} CPUs, load "
            f"{os.getloadavg()[0]:.1f}; SHA-256 {hashing():.2f} GB/s a CPU"
        )
        print(f"{'copy':<22}{'seconds':>9}{'GB/s':>8}{'CPU s':>8}{'ratio':>8}", flush=True)
        compare(local(shared), home, gigabytes, chosen.rounds)
        compare(from_s3(address, shared, chosen.aws), home, gigabytes, chosen.rounds)


if __name__ == "__main__":
    main()
