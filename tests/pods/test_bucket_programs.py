"""The programs that fill a bucket and copy from it: as the pods' ConfigMap has them, through a real AWS CLI, on a real
S3 API (moto's server).

Not real: the S3 behind that API, the hub (a stand-in lays files out as huggingface_hub does), and the CLI's major
version: PyPI has 1, which knows no CRT client, where the pods have 2.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from manifests.cache import bucket
from pods.bucket.store import PREFIX
from tests.waiting import PATIENCE

MODEL, COMMIT, LATER, LARGE_ONE = "openai/gpt-oss-120b", "b5c9", "c0de", "1a49e"
FOLDER = "hub/models--openai--gpt-oss-120b"
MANIFEST = f"manifests/openai--gpt-oss-120b-{COMMIT}.json"
SNAPSHOT = f"{FOLDER}/snapshots/{COMMIT}"
VOCABULARY = "tiktoken/o200k_base.tiktoken"
REGION = "us-east-2"
WEIGHTS = {
    "model-0.safetensors": b"0" * 5000,
    "model-1.safetensors": b"1" * 3000,
    "tokenizer/tokenizer.json": b"words",
}
LARGE = {f"model-{n}.safetensors": bytes([n]) * (12 << 20) for n in range(2)}
"""Files of 12 MiB, of which S3 takes several parts."""
SLOW = "[default]\ns3 =\n  max_bandwidth = 2MB/s\n  max_concurrent_requests = 1\n"
"""One file after the other, each of six seconds."""
HUB = """
import fnmatch, hashlib, json, os
from pathlib import Path

home, hub = Path(os.environ["HF_HOME"]), Path(os.environ["HUB"])
with (hub / "asked").open("a") as asked:
    asked.write(os.environ["MODELS"] + "\\n")
for each in json.loads(os.environ["MODELS"]):
    folder = home / "hub" / f"models--{each['model'].replace('/', '--')}"
    source = hub / each["revision"]
    commit = (source / "COMMIT").read_text() if (source / "COMMIT").exists() else each["revision"]
    for path in (p for p in sorted((source / "files").rglob("*")) if p.is_file()):
        if each["tokenizer_only"] and path.suffix == ".safetensors":
            continue
        content = path.read_bytes()
        stored = folder / "blobs" / hashlib.sha256(content).hexdigest()
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_bytes(content + (b"!" if (source / "BROKEN").exists() else b""))
        link = folder / "snapshots" / commit / path.relative_to(source / "files")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(stored, link.parent))
    if commit != each["revision"]:
        (folder / "refs").mkdir(exist_ok=True)
        (folder / "refs" / each["revision"]).write_text(commit)
words = Path(os.environ["VOCABULARY_PATH"])
words.mkdir(exist_ok=True)
(words / "o200k_base.tiktoken").write_bytes(b"vocabulary")
"""
SHRINKS_IT = """#!{python}
import os, sys
if "--recursive" in sys.argv:
    import boto3
    boto3.client("s3").put_object(Bucket=os.environ["BUCKET"], Key="{key}", Body=b"0" * 4000)
os.execv("{aws}", ["{aws}", *sys.argv[1:]])
"""
"""An AWS CLI before which somebody makes an object smaller."""
WAITS = """#!{python}
import pathlib, subprocess, sys, time
done = subprocess.run(["{aws}", *sys.argv[1:]])
if "--recursive" in sys.argv:
    end = time.monotonic() + {patience}
    while not pathlib.Path("{seen}").exists():
        if time.monotonic() > end:
            sys.exit("no checksum was taken")
        time.sleep(0.01)
    print("waited for a checksum", flush=True)
sys.exit(done.returncode)
"""
"""An AWS CLI that ends only after a checksum was taken."""
SEES = """
import hashlib, pathlib, sys
if "bucket.fetch" in sys.orig_argv:
    digests = hashlib.sha256
    def sha256(*words):
        pathlib.Path("{seen}").touch()
        return digests(*words)
    hashlib.sha256 = sha256
"""
SYNCS = """
import os, pathlib, sys
if "bucket.fetch" in sys.orig_argv:
    sync = os.fsync
    def fsync(number):
        sync(number)
        if not list(pathlib.Path("{node}").glob(".complete*")):
            with open("{synced}", "a") as synced:
                print(os.readlink(f"/proc/self/fd/{{number}}"), file=synced)
    os.fsync = fsync
"""
"""Writes down which files are synced before there is a marker."""
AWS = Path(sys.executable).with_name("aws")


@dataclass
class World:
    """One bucket, and the folders of a hub and of pods."""

    folder: Path
    bucket: str
    s3: Any
    environment: dict[str, str]

    def publish(self, revision: str, files: Mapping[str, bytes], commit: str = "") -> None:
        """Put a revision on the hub. commit: what its name stands for, if it is one."""
        for name, content in files.items():
            path = self.folder / "hub" / revision / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if commit:
            (self.folder / "hub" / revision / "COMMIT").write_text(commit)

    def start(
        self, program: str, pod: str, *revisions: str, tokenizer: bool = False, **more: str
    ) -> subprocess.Popen[str]:
        """Run a program in a pod, as a group of processes of its own. more: of the environment."""
        home = self.folder / pod
        home.mkdir(exist_ok=True)
        models = [{"model": MODEL, "revision": each, "tokenizer_only": tokenizer} for each in revisions]
        own = {
            "HF_HOME": str(home),
            "MODELS": json.dumps(models),
            "VOCABULARY_PATH": f"{home}/tiktoken",
            "AWS_CONFIG_FILE": str(self.folder / "programs" / "bucket" / f"{program}.config"),
        }
        return subprocess.Popen(
            [sys.executable, "-m", f"bucket.{program}"], cwd=self.folder / "programs", text=True,
            env=self.environment | own | more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip

    def run(self, program: str, pod: str, *revisions: str, ends: int = 0, **more: Any) -> str:
        """Run it to its end. Returns what it said."""
        running = self.start(program, pod, *revisions, **more)
        said, _ = running.communicate()
        assert running.returncode == ends, said
        return said

    def objects(self) -> dict[str, tuple[int, str]]:
        """Size and time of every object, by path."""
        found = self.s3.list_objects_v2(Bucket=self.bucket).get("Contents", [])
        return {o["Key"].removeprefix(PREFIX): (o["Size"], str(o["LastModified"])) for o in found}

    def put(self, path: str, content: bytes) -> None:
        """Somebody else's upload."""
        self.s3.put_object(Bucket=self.bucket, Key=PREFIX + path, Body=content)

    def asked(self) -> list[Any]:
        """What the hub was asked for."""
        lines = self.folder / "hub" / "asked"
        return [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def new_world(address: str, folder: Path) -> World:
    """An empty bucket, the programs as pods mount them, and a hub with one revision."""
    name = hashlib.sha256(str(folder).encode()).hexdigest()[:32]
    keys = {"AWS_ACCESS_KEY_ID": "moto", "AWS_SECRET_ACCESS_KEY": "moto", "AWS_DEFAULT_REGION": REGION}
    programs = folder / "programs" / "bucket"
    programs.mkdir(parents=True)
    for file, text in bucket.config_map("dynamo", bucket=name, region=REGION)["data"].items():
        (programs / file).write_text(text)
    (programs / "download_model.py").write_text(HUB)
    said = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment = said | keys | {
        "AWS_CLI": str(AWS), "AWS_ENDPOINT_URL": address, "AWS_REGION": REGION, "BUCKET": name,
        "HOME": str(folder), "HUB": str(folder / "hub"),
    }  # fmt: skip
    s3 = boto3.client(
        "s3", endpoint_url=address, region_name=REGION,
        aws_access_key_id="moto", aws_secret_access_key="moto",
    )  # fmt: skip
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
    made = World(folder, name, s3, environment)
    made.publish(COMMIT, WEIGHTS)
    return made


@pytest.fixture
def world(address: str, tmp_path: Path) -> World:
    return new_world(address, tmp_path)


@pytest.fixture(scope="module")
def once_filled(address: str, tmp_path_factory: pytest.TempPathFactory) -> World:
    made = new_world(address, tmp_path_factory.mktemp("filled"))
    made.publish(LARGE_ONE, LARGE)
    said = made.run("fill", "job", COMMIT, LARGE_ONE)
    assert f"complete: {MODEL}@{COMMIT}" in said
    return made


@pytest.fixture
def filled(once_filled: World, world: World) -> World:
    """A bucket with the first one's objects, and a hub that was never asked."""
    for path in once_filled.objects():
        source = {"Bucket": once_filled.bucket, "Key": PREFIX + path}
        world.s3.copy_object(Bucket=world.bucket, Key=PREFIX + path, CopySource=source)
    return world


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def watched(what: Callable[[], bool], running: subprocess.Popen[str]) -> None:
    """Come back once it is so; the program must not end before."""
    while not what():
        assert running.poll() is None, running.communicate()[0]
        time.sleep(0.01)


def kill(running: subprocess.Popen[str]) -> None:
    """As the kernel ends a container: all its processes at once."""
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()


def test_a_node_gets_what_the_hub_has(filled: World) -> None:
    world = filled
    assert "complete: openai/gpt-oss-120b@b5c9" in world.run("fetch", "node", COMMIT)
    files = {f"{SNAPSHOT}/{name}": content for name, content in WEIGHTS.items()}
    files |= {VOCABULARY: b"vocabulary"}
    found = tree(world.folder / "node")
    marker = json.loads(found.pop(f".complete-openai--gpt-oss-120b-{COMMIT}"))
    assert marker == {"files": {path: len(content) for path, content in files.items()}}
    assert found == files
    manifest = json.loads(
        world.s3.get_object(Bucket=world.bucket, Key=PREFIX + MANIFEST)["Body"].read().decode()
    )
    sums = {each["path"]: each["sha256"] for each in manifest["files"]}
    assert sums == {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
    assert world.run("fetch", "node", COMMIT).endswith("has all models: nothing to copy\n")


def test_a_files_bytes_are_on_the_disk_before_its_marker(filled: World) -> None:
    """A node that loses its power keeps names, and not what was in memory alone."""
    node, synced = filled.folder / "node", filled.folder / "synced"
    (filled.folder / "programs" / "sitecustomize.py").write_text(SYNCS.format(node=node, synced=synced))
    more: dict[str, Any] = {"PYTHONPATH": str(filled.folder / "programs")}
    filled.run("fetch", "node", COMMIT, **more)
    files = {path for path in tree(node) if not path.startswith(".complete")}
    assert {str(Path(path).relative_to(node)) for path in synced.read_text().splitlines()} == files
    # As after a copy that was cut off.
    synced.unlink()
    next(node.glob(".complete*")).unlink()
    assert "download: " not in filled.run("fetch", "node", COMMIT, **more)
    assert len(synced.read_text().splitlines()) == len(files)


@pytest.mark.parametrize(
    "marker", ["as it was", "", "8015\n"], ids=["a file is short", "empty", "an older one"]
)
def test_a_marker_alone_is_not_believed(filled: World, marker: str) -> None:
    node = filled.folder / "node"
    filled.run("fetch", "node", COMMIT)
    whole = tree(node)
    os.truncate(node / SNAPSHOT / "model-0.safetensors", 4096)
    if marker != "as it was":
        next(node.glob(".complete*")).write_text(marker)
    assert filled.run("fetch", "node", COMMIT).count("download: ") == 1
    assert tree(node) == whole


def test_who_needs_no_weights_copies_none(filled: World) -> None:
    filled.run("fetch", "frontend", COMMIT, tokenizer=True)
    copied = {path for path in tree(filled.folder / "frontend") if not path.startswith(".complete")}
    assert copied == {f"{SNAPSHOT}/tokenizer/tokenizer.json", VOCABULARY}


def test_a_bucket_that_has_all_is_not_touched(filled: World) -> None:
    before = filled.objects()
    nobody = "http://127.0.0.1:9"
    said = filled.run("fill", "another job", COMMIT, HTTP_PROXY=nobody, http_proxy=nobody)
    assert "nothing to download" in said, "S3 needs no proxy"
    assert "nothing to download" in filled.run("fill", "mocker's job", COMMIT, tokenizer=True)
    assert filled.objects() == before
    assert filled.asked() == []


def test_another_revision_comes_beside_the_first(filled: World) -> None:
    before = filled.objects()
    filled.publish(LATER, {"model-0.safetensors": b"2" * 4000})
    filled.publish("main", {"config.json": b"{}"}, commit="d00d")
    filled.run("fill", "job", COMMIT, LATER, "main")
    after = filled.objects()
    assert before.items() <= after.items(), "the vocabulary, which both have, is not uploaded again"
    assert [each["revision"] for each in filled.asked()[0]] == [LATER, "main"]
    filled.run("fetch", "node", LATER)
    assert tree(filled.folder / "node")[f"{FOLDER}/snapshots/{LATER}/model-0.safetensors"] == b"2" * 4000
    assert f"{SNAPSHOT}/model-0.safetensors" not in tree(filled.folder / "node")
    filled.run("fetch", "by name", "main")
    assert tree(filled.folder / "by name")[f"{FOLDER}/refs/main"] == b"d00d"
    assert tree(filled.folder / "by name")[f"{FOLDER}/snapshots/d00d/config.json"] == b"{}"


def test_a_fill_that_is_killed_goes_on_where_it_was(world: World) -> None:
    world.publish(LARGE_ONE, LARGE)
    slow = world.folder / "slow.config"
    slow.write_text(SLOW)
    running = world.start("fill", "job", LARGE_ONE, AWS_CONFIG_FILE=str(slow))
    first = f"{FOLDER}/snapshots/{LARGE_ONE}/model-0.safetensors"

    def uploads() -> list[Any]:
        return list(world.s3.list_multipart_uploads(Bucket=world.bucket).get("Uploads", []))

    watched(lambda: first in world.objects() and bool(uploads()), running)
    kill(running)
    before = world.objects()
    assert not [path for path in before if path.startswith("manifests/")]
    assert "is not there" in world.run("fetch", "node", LARGE_ONE, ends=1)
    assert uploads(), "what a rule of the bucket's ends"
    # Another pod: of the first one's disk nothing is left.
    said = world.run("fill", "next job", LARGE_ONE)
    assert before.items() <= world.objects().items()
    assert f"{first} is there" in said
    world.run("fetch", "node", LARGE_ONE)


def test_a_copy_that_is_killed_goes_on_where_it_was(filled: World) -> None:
    world = filled
    slow = world.folder / "slow.config"
    slow.write_text(SLOW)
    running, node = world.start("fetch", "node", LARGE_ONE, AWS_CONFIG_FILE=str(slow)), world.folder / "node"

    def weights() -> list[Path]:
        return [path for path in node.rglob("model-*") if path.is_file()]

    watched(lambda: {p.suffix == ".safetensors" for p in weights()} == {True, False}, running)
    kill(running)
    whole = {path: path.stat().st_ino for path in weights() if path.suffix == ".safetensors"}
    there = {*(path.name for path in node.rglob("*") if path.is_file())} & {*LARGE, "o200k_base.tiktoken"}
    assert len(whole) == 1
    assert not list(node.glob(".complete*"))
    said = world.run("fetch", "node", LARGE_ONE)
    assert {path: path.stat().st_ino for path in whole} == whole
    copied = {Path(line.split()[1]).name for line in said.splitlines() if line.startswith("download: ")}
    assert copied == {*LARGE, "o200k_base.tiktoken"} - there
    assert {path.suffix for path in weights()} == {".safetensors"}, "nothing half is left"
    for name, content in LARGE.items():
        assert (node / FOLDER / "snapshots" / LARGE_ONE / name).read_bytes() == content


def test_a_pod_that_is_told_to_end_ends_its_copy(filled: World) -> None:
    world = filled
    slow = world.folder / "slow.config"
    slow.write_text(SLOW)
    running, node = world.start("fetch", "node", LARGE_ONE, AWS_CONFIG_FILE=str(slow)), world.folder / "node"
    watched(lambda: bool(list(node.rglob("model-*"))), running)
    running.terminate()
    running.communicate()  # ends once the CLI, too, has let go of the output
    assert running.returncode == 128 + signal.SIGTERM
    assert not list(node.glob(".complete*"))


def test_a_file_that_shrank_is_named_before_anything_is_copied(filled: World) -> None:
    path = f"{SNAPSHOT}/model-0.safetensors"
    filled.put(path, b"0" * 4000)
    said = filled.run("fetch", "node", COMMIT, ends=1)
    assert f"s3://{filled.bucket}/{PREFIX}{path} has 4000 bytes, not 5000" in said
    assert "run job/model-download again" in said
    assert tree(filled.folder / "node") == {}
    assert f"{path} has 4000" not in filled.run("fetch", "frontend", COMMIT, tokenizer=True)


def test_a_file_that_shrinks_while_it_is_copied_is_named(filled: World) -> None:
    path, cli = f"{SNAPSHOT}/model-0.safetensors", filled.folder / "aws"
    cli.write_text(SHRINKS_IT.format(python=sys.executable, key=PREFIX + path, aws=AWS))
    cli.chmod(0o755)
    said = filled.run("fetch", "node", COMMIT, ends=1, AWS_CLI=str(cli))
    assert f"{path}: 4000 of 5000 bytes were copied" in said
    assert path not in tree(filled.folder / "node")
    assert not list((filled.folder / "node").glob(".complete*"))


def test_a_file_with_another_content_is_named_and_copied_again(filled: World) -> None:
    path, node = f"{SNAPSHOT}/model-1.safetensors", filled.folder / "node"
    filled.put(path, b"x" * 3000)
    said = filled.run("fetch", "node", COMMIT, ends=1)
    wrong, right = (hashlib.sha256(content).hexdigest() for content in (b"x" * 3000, b"1" * 3000))
    assert f"{path}: sha256 {wrong}, not {right} as its manifest says" in said
    assert path not in tree(node)
    assert not list(node.glob(".complete*"))
    kept = {p: p.stat().st_ino for p in node.rglob("*") if p.is_file()}
    # What the message says.
    filled.s3.delete_object(Bucket=filled.bucket, Key=PREFIX + path)
    filled.run("fill", "next job", COMMIT)
    said = filled.run("fetch", "node", COMMIT)
    assert said.count("download: ") == 1
    assert tree(node)[path] == b"1" * 3000
    assert {p: p.stat().st_ino for p in kept} == kept


def test_what_was_there_before_and_is_something_else_is_replaced(world: World) -> None:
    path = f"{SNAPSHOT}/model-1.safetensors"
    world.put(path, b"x" * 3000)
    world.run("fill", "job", COMMIT)
    world.run("fetch", "node", COMMIT)
    assert tree(world.folder / "node")[path] == b"1" * 3000


def test_a_download_that_is_not_what_the_hub_calls_it_is_not_uploaded(world: World) -> None:
    (world.folder / "hub" / COMMIT / "BROKEN").touch()
    said = world.run("fill", "job", COMMIT, ends=1)
    assert "model-0.safetensors" in said
    assert "is not what the hub has under that name" in said
    assert world.objects() == {}


def test_a_download_that_fails_says_why_itself(world: World) -> None:
    (world.folder / "programs" / "bucket" / "download_model.py").write_text("import sys; sys.exit('gated')")
    assert world.run("fill", "job", COMMIT, ends=1) == "gated\n"


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"BUCKET": "of-nobody"}, "NoSuchBucket"),
        ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "delete the pod"),
    ],
)
def test_what_aws_says_is_the_last_word(world: World, environment: dict[str, str], reason: str) -> None:
    more = {"AWS_EC2_METADATA_DISABLED": "true"}
    said = world.run("fetch", "pod", COMMIT, ends=1, **environment, **more)
    assert reason in said.splitlines()[-1]


def test_pods_of_one_node_copy_once(filled: World) -> None:
    """The second one waits while the first one holds the folder, and then finds everything."""
    slow = filled.folder / "slow.config"
    slow.write_text(SLOW)
    node = filled.folder / "node"
    first = filled.start("fetch", "node", LARGE_ONE, AWS_CONFIG_FILE=str(slow), OF_NODE="1")
    watched(lambda: bool(list(node.rglob("model-*"))), first)
    second = filled.start("fetch", "node", LARGE_ONE, OF_NODE="1")
    assert second.stdout is not None
    assert second.stdout.readline().endswith(f" another pod copies to {node}; waiting for it\n")
    assert first.poll() is None
    said, _ = first.communicate()
    assert first.returncode == 0, said
    assert second.communicate()[0].endswith("has all models: nothing to copy\n")
    assert all(path.stat().st_mode & 0o020 for path in node.rglob("*")), "another user of the group may go on"


def test_a_killed_copy_of_a_node_is_completed_by_the_next_pod(filled: World) -> None:
    """Who waited for its lock goes on, and trusts nothing that the first one left half."""
    slow = filled.folder / "slow.config"
    slow.write_text(SLOW)
    node = filled.folder / "node"
    first = filled.start("fetch", "node", LARGE_ONE, AWS_CONFIG_FILE=str(slow), OF_NODE="1")
    watched(lambda: bool(list(node.rglob("model-*"))), first)
    second = filled.start("fetch", "node", LARGE_ONE, OF_NODE="1")
    assert second.stdout is not None
    assert "waiting for it" in second.stdout.readline()
    kill(first)
    said, _ = second.communicate()
    assert second.returncode == 0, said
    for name, content in LARGE.items():
        assert (node / FOLDER / "snapshots" / LARGE_ONE / name).read_bytes() == content
    assert {path.suffix for path in node.rglob("model-*") if path.is_file()} == {".safetensors"}


def test_a_disk_without_room_is_refused_before_a_byte_is_copied(filled: World) -> None:
    """As on a disk that has 16 bytes too few."""
    path = f"{SNAPSHOT}/model-0.safetensors"
    usage = filled.folder / "programs" / "sitecustomize.py"
    usage.write_text(
        "import shutil\nusage = shutil.disk_usage\n"
        "shutil.disk_usage = lambda path: usage(path)._replace(free=7999)\n"
    )
    said = filled.run("fetch", "node", COMMIT, ends=1, PYTHONPATH=str(usage.parent))
    assert said.splitlines()[-1] == (
        f"the disk of {filled.folder / 'node'} has 0.0 GB free, but 0.0 GB are to be copied; the node needs more room "
        "for its pods"
    )
    assert path not in tree(filled.folder / "node")


def test_a_file_is_checked_while_others_are_copied(filled: World) -> None:
    """Here the CLI ends only once the checksum of a file was taken."""
    cli, node = filled.folder / "aws", filled.folder / "node"
    seen = filled.folder / "seen"
    cli.write_text(WAITS.format(python=sys.executable, aws=AWS, seen=seen, patience=PATIENCE))
    cli.chmod(0o755)
    (filled.folder / "programs" / "sitecustomize.py").write_text(SEES.format(seen=seen))
    said = filled.run(
        "fetch", "node", LARGE_ONE, AWS_CLI=str(cli), PYTHONPATH=str(filled.folder / "programs")
    )
    assert said.count("waited for a checksum") == 1
    for name, content in LARGE.items():
        assert (node / FOLDER / "snapshots" / LARGE_ONE / name).read_bytes() == content
