"""The program that runs all workers of a pod: one ends and all end, signals reach them, health speaks for all."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pods import run_workers
from tests.waiting import PATIENCE, eventually

SCRIPT = Path(run_workers.__file__)
SERVE = """
import http.server, pathlib, signal, sys
name, port, folder = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if (folder / f"{name}-ready").exists() or self.path != "/health" else 503)
        self.end_headers()
        self.wfile.write(b"# HELP up\\nup 1\\n\\nrequests{model=\\"m\\"} 2\\n" if self.path == "/metrics" else b"")
    def log_message(self, *_): pass
def drain(*_):
    print("drained", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, drain)
print("serving", flush=True)
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


class Pod:
    """The program with two workers, and what it prints."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
        self.port, self.silent, *ports = (each.getsockname()[1] for each in sockets)
        for each in sockets:
            each.close()
        (folder / "serve.py").write_text(SERVE)
        self.lines = [
            f"{name}: DYN_SYSTEM_PORT={port} {sys.executable} {folder}/serve.py {name} {port} {folder}"
            for name, port in zip(("prefill-0", "decode-0"), ports, strict=True)
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(SCRIPT), *self.lines],
                env={**os.environ, "SYSTEM_PORT": str(self.port), "SYSTEM_HOST": "127.0.0.1"},
                stdout=log,
                stderr=log,
            )
        eventually(lambda: self.text().count("| serving") == 2)

    def text(self) -> str:
        return self.log.read_text()

    def worker(self, name: str) -> int:
        (line,) = (line for line in self.text().splitlines() if f"{name} started as process" in line)
        return int(line.rpartition(" ")[2])

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Pod]:
    made = Pod(tmp_path)
    yield made
    made.process.terminate()  # killed, it would leave its workers behind
    made.process.wait()


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("killed", ["prefill-0", "decode-0"])
def test_when_one_worker_dies_all_end_and_the_container_fails(pod: Pod, killed: str) -> None:
    other = pod.worker("decode-0" if killed == "prefill-0" else "prefill-0")
    os.kill(pod.worker(killed), signal.SIGKILL)
    assert pod.process.wait(timeout=PATIENCE) == 1
    assert f"{killed} ended: SIGKILL" in pod.text()
    assert "drained" in pod.text(), "the other one was asked, not killed"
    assert gone(other)


def test_a_worker_that_ends_by_itself_fails_the_container_too(pod: Pod) -> None:
    os.kill(pod.worker("decode-0"), signal.SIGTERM)
    assert pod.process.wait(timeout=PATIENCE) == 1


EARLY = """
import os, signal, sys
sys.path.insert(0, sys.argv.pop(1))
import run_workers
start = run_workers.subprocess.Popen
def popen(*of_worker, **more):
    process = start(*of_worker, **more)
    os.kill(os.getpid(), signal.SIGTERM)
    return process
run_workers.subprocess.Popen = popen
sys.exit(run_workers.main())
"""
"""The kubelet ends the pod while its first worker is started."""
LATE = """
import sys, time
sys.path.insert(0, sys.argv.pop(1))
import run_workers
relay = run_workers._relay
run_workers._relay = lambda *of_worker: (time.sleep(1), relay(*of_worker))
sys.exit(run_workers.main())
"""
"""As on a loaded machine: what a worker prints is read after its end."""


def run(folder: Path, worker: str, *runner: str, names: Sequence[str] = ("decode-0",), ends: int = 1) -> str:
    """What is printed until all has ended, with workers that run this Python program."""
    (folder / "worker.py").write_text(worker)
    lines = [f"{name}: DYN_SYSTEM_PORT=1 {sys.executable} {folder}/worker.py" for name in names]
    done = subprocess.run(
        [sys.executable, *runner, *lines],
        env={**os.environ, "SYSTEM_PORT": "0", "SYSTEM_HOST": "127.0.0.1"},
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == ends, done.stderr
    return done.stdout


def test_what_a_worker_said_last_is_printed_before_the_container_ends(tmp_path: Path) -> None:
    worker = "import sys\nsys.exit('out of memory')"
    assert "decode-0 | out of memory" in run(tmp_path, worker, "-c", LATE, str(SCRIPT.parent))


def test_a_signal_while_workers_are_started_reaches_those_that_are_and_starts_no_other(
    tmp_path: Path,
) -> None:
    names = ("prefill-0", "decode-0")
    said = run(tmp_path, "import time; time.sleep(9)", "-c", EARLY, str(SCRIPT.parent), names=names, ends=0)
    assert re.findall("(.*) started as", said) == ["workers | prefill-0"]
    assert "prefill-0 ended: SIGTERM" in said


def test_a_process_that_outlives_its_worker_does_not_hold_the_container(tmp_path: Path) -> None:
    worker = (
        "import subprocess, sys\n"
        "outlives = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print('outlives', outlives.pid, flush=True)\n"
        "sys.exit(1)"
    )
    (outlives,) = re.findall(r"decode-0 \| outlives (\d+)", run(tmp_path, worker, str(SCRIPT)))
    os.kill(int(outlives), signal.SIGKILL)


def test_no_end_is_missed_however_close_two_are(tmp_path: Path) -> None:
    for turn in range(20):
        (folder := tmp_path / str(turn)).mkdir()
        pod = Pod(folder)
        pod.process.terminate()
        assert pod.process.wait(timeout=PATIENCE) == 0, pod.text()


def test_only_the_worker_is_asked_to_end_not_its_engine(tmp_path: Path) -> None:
    engine = "import signal, time; signal.signal(15, lambda *_: print('cut off', flush=True)); time.sleep(60)"
    leader = (
        "import signal, subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {engine!r}])\n"
        "def drain(*_):\n"
        "    print('drained', flush=True)\n"
        "    child.kill()\n"
        "    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, drain)\n"
        "print('serving', flush=True)\n"
        "child.wait()\n"
    )
    (tmp_path / "leader.py").write_text(leader)
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                sys.executable,
                str(SCRIPT),
                f"decode-0: DYN_SYSTEM_PORT=1 {sys.executable} {tmp_path}/leader.py",
            ],
            env={**os.environ, "SYSTEM_PORT": "0", "SYSTEM_HOST": "127.0.0.1"},
            stdout=output,
            stderr=output,
        )
    eventually(lambda: "| serving" in log.read_text())
    process.terminate()
    assert process.wait(timeout=PATIENCE) == 0
    assert "drained" in log.read_text()
    assert "cut off" not in log.read_text()


def test_figures_have_a_type_without_which_prometheus_refuses_them(pod: Pod) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{pod.port}/metrics", timeout=PATIENCE) as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_kubelet_s_signal_reaches_every_worker(pod: Pod, number: signal.Signals) -> None:
    pod.process.send_signal(number)
    code = pod.process.wait(timeout=PATIENCE)
    assert code == 0
    assert number is signal.SIGINT or pod.text().count("drained") == 2


def test_health_is_that_of_all_workers(pod: Pod) -> None:
    # A worker that answers too late, as on a loaded machine, is missing until it is asked again.
    eventually(lambda: pod.get("/live") == (200, "ok"))
    assert pod.get("/health") == (503, "prefill-0, decode-0")
    (pod.folder / "prefill-0-ready").touch()
    eventually(lambda: pod.get("/health") == (503, "decode-0"))
    (pod.folder / "decode-0-ready").touch()
    eventually(lambda: pod.get("/health") == (200, "ok"))


def test_metrics_are_those_of_all_workers_by_name(pod: Pod) -> None:
    of_all = [
        "# HELP up",
        'up{worker="prefill-0"} 1',
        'requests{worker="prefill-0",model="m"} 2',
        'up{worker="decode-0"} 1',
        'requests{worker="decode-0",model="m"} 2',
    ]
    # One that answers too late, as on a loaded machine, is left out until it is asked again.
    eventually(lambda: pod.get("/metrics")[1].splitlines() == of_all)


def test_figures_of_a_worker_s_nixl_agent_are_among_its_metrics(pod: Pod) -> None:
    """The pod's port is the only one of the pod that is scraped; the other worker serves in place of an agent."""
    (port,) = re.findall(r"prefill-0: DYN_SYSTEM_PORT=(\d+)", " ".join(pod.lines))
    agent = f"NIXL_TELEMETRY_PROMETHEUS_PORT={port}"
    for said, names in (
        ("NIXL_TELEMETRY_ENABLE=y", ("decode-0", "prefill-0")),
        ("NIXL_TELEMETRY_ENABLE=n", ("prefill-0",)),
    ):
        decode = run_workers.parse(f"decode-0: {said} {agent} DYN_SYSTEM_PORT={pod.silent} python3")
        prefill = run_workers.parse(f"prefill-0: DYN_SYSTEM_PORT={port} python3")
        await_requests(run_workers.Workers([prefill, decode]), names)


def await_requests(workers: run_workers.Workers, names: Sequence[str]) -> None:
    def published() -> list[str]:
        return sorted(
            line for line in workers.metrics().decode().splitlines() if line.startswith("requests{")
        )

    eventually(lambda: published() == [f'requests{{worker="{name}",model="m"}} 2' for name in names])


@pytest.mark.parametrize("line", ["prefill-0", "prefill-0: ", "prefill-0: A=1", ": python3"])
def test_a_line_that_names_no_worker_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="name: VARIABLE=value command"):
        run_workers.parse(line)


def test_words_are_a_shell_s() -> None:
    worker = run_workers.parse("decode-0: A=1 B='x y' python3 -m engine --config '{\"a\":1}'")
    assert worker.variables == {"A": "1", "B": "x y"}
    assert worker.argv == ["python3", "-m", "engine", "--config", '{"a":1}']
