"""Keeps the workers of one pod running, as processes that share its GPUs: all of them, or none.

    python3 run_workers.py "prefill-0: CUDA_VISIBLE_DEVICES=0,1 python3 -m dynamo.vllm ..." "decode-0: ..."

Each argument is one worker: a name, variables of its own, and its command, in a shell's words. When one ends, the
others are told to end too, and the container with them, so that Kubernetes starts all of them anew. SIGTERM and SIGINT
are handed on, for workers to finish what they answer. `/live`, `/health` and `/metrics` on $SYSTEM_PORT speak for all
workers, each of which answers them itself on the DYN_SYSTEM_PORT of its variables. With NIXL_TELEMETRY_ENABLE=y its
NIXL agent's figures, on NIXL_TELEMETRY_PROMETHEUS_PORT, are among the metrics.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Past any proxy of the environment: workers are on this host."""
_SECONDS_TO_END = 60
"""For the others, once one worker has ended. A pod that is to end has its own grace period."""
_SECONDS_TO_ANSWER = 3
_SECONDS_FOR_LAST_LINES = 5
"""What a worker leaves behind in a process group of its own may hold its output open for as long as it likes."""


@dataclass(frozen=True)
class Worker:
    """One line of the command. variables: beside the container's own."""

    name: str
    variables: dict[str, str]
    argv: list[str]


def parse(line: str) -> Worker:
    """`name: A=1 B=2 command argument ...`. Raises ValueError for anything else."""
    name, colon, rest = line.partition(": ")
    words = shlex.split(rest)
    variables = {}
    while words and _VARIABLE.match(words[0]):
        key, _, value = words.pop(0).partition("=")
        variables[key] = value
    if not (colon and name and words):
        raise ValueError(f"a worker is written as 'name: VARIABLE=value command', not as {line!r}")
    return Worker(name, variables, words)


class Workers:
    """The workers' processes, by process id. Each leads a process group, so that its children end with it."""

    def __init__(self, workers: list[Worker]) -> None:
        self.workers = workers
        self._running: dict[int, Worker] = {}
        # Held until this ends: a Popen that is forgotten waits for its process itself, and `run` would miss its end.
        self._processes: list[subprocess.Popen[bytes]] = []
        self._relays: list[threading.Thread] = []
        self._started = False
        self._told: int | None = None

    def run(self) -> int:
        """Start all and wait for all to end. Returns the exit code: of the first that ended unasked, never 0 then."""
        code = 0
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hand_on)
        signal.signal(signal.SIGALRM, lambda *_: self._signal(signal.SIGKILL))
        self._start()
        while self._running:
            # Any child: as the container's first process it also inherits those whose parents ended.
            pid, status = os.wait()
            ended = self._running.pop(pid, None)
            if ended is None:
                continue
            _say(f"{ended.name} ended: {_how(status)}")
            _kill_group(pid)
            if self._told is None:
                code = max(os.waitstatus_to_exitcode(status), 0) or 1
                self._told = signal.SIGTERM
                self._signal(signal.SIGTERM)
                signal.alarm(_SECONDS_TO_END)
        self._await_relays()
        return code

    def _start(self) -> None:
        for worker in self.workers:
            if self._told is not None:
                break
            process = subprocess.Popen(
                worker.argv,
                env={**os.environ, **worker.variables},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._running[process.pid] = worker
            self._processes.append(process)
            self._relays.append(threading.Thread(target=_relay, args=(worker.name, process), daemon=True))
            self._relays[-1].start()
            _say(f"{worker.name} started as process {process.pid}")
        self._started = True
        if self._told is not None:
            self._signal(self._told)

    def missing(self, path: str) -> list[str]:
        """Names of the workers that do not answer a request of their health with 200."""
        return [worker.name for worker in self.workers if not _answers(worker, path)]

    def metrics(self) -> bytes:
        """What all workers publish, each series with its worker's name; one that does not answer is missing."""
        lines: dict[str, None] = {}
        for worker in self.workers:
            for text in (_text(_url(worker, "/metrics")), _telemetry(worker)):
                for line in filter(str.strip, text.splitlines()):
                    lines[line if line.startswith("#") else _labelled(line, worker.name)] = None
        return "".join(f"{line}\n" for line in lines).encode()

    def _await_relays(self) -> None:
        """Until all that workers printed is passed on, or `_SECONDS_FOR_LAST_LINES` are over."""
        deadline = time.monotonic() + _SECONDS_FOR_LAST_LINES
        for relay in self._relays:
            relay.join(timeout=max(0, deadline - time.monotonic()))

    def _hand_on(self, number: int, _: object) -> None:
        self._told = number
        if self._started:  # else those that are there are told once they are known
            self._signal(number)

    def _signal(self, number: int) -> None:
        # As in a pod of its own, the worker alone is asked: engines end their answers at once when they are asked too.
        send = os.killpg if number == signal.SIGKILL else os.kill
        for pid, worker in list(self._running.items()):
            _say(f"{signal.Signals(number).name} to {worker.name}")
            try:
                send(pid, number)
            except ProcessLookupError:
                continue  # it has ended and is not waited for yet


def _kill_group(pid: int) -> None:
    """What a worker leaves behind holds its GPUs."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _relay(name: str, process: "subprocess.Popen[bytes]") -> None:
    assert process.stdout is not None
    for line in process.stdout:
        sys.stdout.buffer.write(name.encode() + b" | " + line)
        sys.stdout.buffer.flush()


def _say(text: str) -> None:
    print(f"workers | {text}", flush=True)


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def _answers(worker: Worker, path: str) -> bool:
    try:
        with _DIRECT.open(_url(worker, path), timeout=_SECONDS_TO_ANSWER):
            return True
    except OSError:
        return False


def _telemetry(worker: Worker) -> str:
    """What the worker's NIXL agent publishes at a port of its own, if it was told to."""
    if worker.variables.get("NIXL_TELEMETRY_ENABLE") != "y":
        return ""
    return _text(f"http://127.0.0.1:{worker.variables['NIXL_TELEMETRY_PROMETHEUS_PORT']}/metrics")


def _text(url: str) -> str:
    try:
        with _DIRECT.open(url, timeout=_SECONDS_TO_ANSWER) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def _url(worker: Worker, path: str) -> str:
    return f"http://127.0.0.1:{worker.variables['DYN_SYSTEM_PORT']}{path}"


def _labelled(line: str, name: str) -> str:
    """A line of Prometheus's text format with one label more."""
    metric, rest = re.split(r"(?=[{\s])", line, maxsplit=1)
    labels = rest[1:] if rest.startswith("{") else "}" + rest
    comma = "" if labels.startswith("}") else ","
    return f'{metric}{{worker="{name}"{comma}{labels}'


def serve_health(workers: Workers, host: str, port: int) -> ThreadingHTTPServer:
    """`/live` and `/health`: 200 if every worker says so, else 503 with the names of those that do not."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                missing, body = [], workers.metrics()
            else:
                missing = (
                    workers.missing(self.path) if self.path in ("/live", "/health") else ["no such path"]
                )
                body = ", ".join(missing).encode() or b"ok"
            self.send_response(503 if missing else 200)
            # Prometheus 3 refuses figures without a type.
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Probes ask every few seconds."""

    server = ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> int:
    """Run what the command line names."""
    workers = Workers([parse(line) for line in sys.argv[1:]])
    serve_health(workers, os.environ.get("SYSTEM_HOST", ""), int(os.environ["SYSTEM_PORT"]))
    return workers.run()


if __name__ == "__main__":
    sys.exit(main())
