"""AIPerf's own parser takes every command that we make."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from manifests.benchmark import command as benchmark_command
from manifests.benchmark import job as benchmark
from targets.catalogue import TARGETS

PARSE = Path(__file__).parent / "parse_aiperf.py"


def parsed(python: Path, commands: list[list[str]], home: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [str(python), str(PARSE)],
        input=json.dumps([words[1:] for words in commands]),
        env={"HOME": str(home), "TMPDIR": str(home), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    verdicts: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return verdicts


def command(name: str, concurrency: int | None = None, telemetry: tuple[str, ...] = ()) -> list[str]:
    shape = TARGETS[name].benchmark
    load = benchmark.at(shape, concurrency or shape.concurrency)
    return benchmark_command.aiperf(
        load, url="http://h:8000", tokenizer="/m", artifacts="/r", telemetry=telemetry
    )


@pytest.fixture(scope="module")
def verdicts(aiperf_python: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    commands = {name: command(name) for name in TARGETS}
    commands |= {f"{name}@1": command(name, 1) for name in TARGETS}
    commands["telemetry"] = command("trtllm-disagg-b200", telemetry=("http://d:9400/metrics",))
    commands["misspelt"] = [*command("trtllm-disagg-b200"), "--concurency", "1"]
    home = tmp_path_factory.mktemp("home")
    return dict(zip(commands, parsed(aiperf_python, list(commands.values()), home), strict=True))


@pytest.mark.parametrize("name", [*TARGETS, *(f"{name}@1" for name in TARGETS), "telemetry"])
def test_aiperf_takes_the_command(verdicts: dict[str, dict[str, Any]], name: str) -> None:
    assert "error" not in verdicts[name]


def test_aiperf_refuses_a_flag_that_it_does_not_know(verdicts: dict[str, dict[str, Any]]) -> None:
    assert "concurency" in verdicts["misspelt"]["error"]


def test_aiperf_understands_what_is_meant(verdicts: dict[str, dict[str, Any]]) -> None:
    assert verdicts["trtllm-disagg-8k"]["settings"] == {
        "model_names": ["openai/gpt-oss-120b"],
        "tokenizer_name": "/m",
        "endpoint_type": "chat",
        "custom_endpoint": "/v1/chat/completions",
        "streaming": True,
        "urls": ["http://h:8000"],
        "prompt_input_tokens_mean": 8192,
        "prompt_input_tokens_stddev": 0.0,
        "prompt_output_tokens_mean": 1024,
        "prompt_output_tokens_stddev": 0.0,
        "extra_inputs": [["max_tokens", 1024], ["min_tokens", 1024], ["ignore_eos", True]],
        "concurrency": 1536,
        "request_count": 15360,
        "warmup_request_count": 1536,
        "conversation_num_dataset_entries": 12800,
        "random_seed": 100,
        "artifact_directory": "/r",
        "use_server_token_count": True,
        "ui_type": "none",
        "no_gpu_telemetry": True,
    }
