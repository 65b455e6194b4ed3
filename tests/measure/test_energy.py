"""Energy, as AIPerf reads it from a DCGM exporter: here one that counts 700 W for each of two GPUs."""

import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from manifests.benchmark import job as benchmark
from measure.local import run_script
from measure.results import METRIC
from measure.results import load as load_results
from measure.run import RAW
from tests.live import NEWEST, installed
from tests.measure import measured as runs
from tests.waiting import PATIENCE

WATTS, GPUS = 700.0, 2
SHAPE = replace(runs.SHAPE, osl=256)
"""Long beside the third of a second between two readings of the counters."""


class Exporter(BaseHTTPRequestHandler):
    """DCGM exporter's text form; energy is in millijoules since the driver was loaded."""

    def do_GET(self) -> None:
        lines = []
        for index in range(GPUS):
            labels = (
                f'{{gpu="{index}",UUID="GPU-{index}",pci_bus_id="0:{index}",device="nvidia{index}",'
                f'modelName="NVIDIA B200",Hostname="node"}}'
            )
            lines += [
                f"DCGM_FI_DEV_POWER_USAGE{labels} {WATTS}",
                f"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{labels} {1000 * WATTS * time.monotonic():.0f}",
            ]
        body = ("\n".join(lines) + "\n").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def exporter() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/metrics"
    server.shutdown()
    thread.join()
    server.server_close()


def test_energy_of_all_gpus_is_in_the_results(
    aiperf_python: Path,
    live_url: str,
    exporter: str,
    tmp_path: Path,
    short_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(short_path))
    points = benchmark.points(benchmark.at(SHAPE, 1), (1,), 1)
    folder = tmp_path / "run"
    (folder / RAW).mkdir(parents=True)
    plan = benchmark.run_plan(
        points,
        url=live_url,
        tokenizer=str(installed(NEWEST).model),
        results=str(folder / RAW),
        ready_seconds=PATIENCE,
        limit_seconds=2 * PATIENCE,
        telemetry=(exporter,),
    )
    run_script(aiperf_python, plan, print)
    assert not list(short_path.iterdir()), "AIPerf left something"
    runs.described(points).write(folder)
    results = load_results(folder)
    (point,) = results.points
    assert point.energy.watts == pytest.approx(WATTS * GPUS, rel=0.2)
    assert point.energy.joules is not None
    per_token = METRIC["energy"].value(results.run, point)
    assert per_token == point.energy.joules / (10 * SHAPE.osl)
