"""Our commands beside the published ones: what differs is listed, with its reason."""

from dataclasses import replace
from typing import Any

import pytest

from manifests.benchmark import command as benchmark_command
from manifests.benchmark.job import published_shapes
from manifests.benchmark.published import (
    AIPERF,
    GENAI_PERF,
    WHERE,
    WHY_OURS_DIFFERS,
    differences,
    parse_flags,
)


def words(shape: str, tool: Any = benchmark_command.aiperf) -> list[str]:
    made: list[str] = tool(published_shapes()[shape], url="U", tokenizer="T", artifacts="A")
    return made


@pytest.mark.parametrize(
    ("shape", "differs"),
    [
        (
            "32000/256",
            ["--extra-inputs nvext", "--no-gpu-telemetry", "--ui", "--use-server-token-count", "-H"],
        ),
        *(
            (
                shape,
                [
                    "--extra-inputs max_tokens",
                    "--extra-inputs min_tokens",
                    "--no-gpu-telemetry",
                    "--num-dataset-entries",
                    "--output-tokens-stddev",
                    "--random-seed",
                    "--synthetic-input-tokens-stddev",
                    "--ui",
                    "--use-server-token-count",
                    "--warmup-request-count",
                ],
            )
            for shape in ("128/1000", "8192/1024")
        ),
    ],
)
def test_aiperfs_command_is_the_published_one_but_for_what_is_listed(shape: str, differs: list[str]) -> None:
    found = differences(parse_flags(words(shape)), AIPERF[shape])
    assert list(found) == differs
    assert all(found.values())


def test_genai_perfs_command_is_the_published_one() -> None:
    made = words("32000/256", benchmark_command.genai_perf)
    assert differences(parse_flags(made), GENAI_PERF["32000/256"]) == {}
    assert made[made.index("--") + 1 :] == [
        *("-v", "--max-threads", "500"),
        *("-H", "Authorization: Bearer NOT USED", "-H", "Accept: text/event-stream"),
    ]


def test_every_listed_difference_is_one() -> None:
    found = {key for shape in AIPERF for key in differences(parse_flags(words(shape)), AIPERF[shape])}
    assert found == WHY_OURS_DIFFERS.keys()


def test_a_difference_that_nobody_explained_is_an_error() -> None:
    changed = replace(published_shapes()["8192/1024"], concurrency=1)
    argv = benchmark_command.aiperf(changed, url="U", tokenizer="T", artifacts="A")
    with pytest.raises(KeyError, match="--concurrency"):
        differences(parse_flags(argv), AIPERF["8192/1024"])


def test_only_places_may_differ_unexplained() -> None:
    assert set(WHERE) == {"--url", "--artifact-dir", "--tokenizer"}
