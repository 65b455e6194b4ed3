"""docs/targets.md is what the catalogue, the knobs and the differences say."""

from docs.generate.differences import DIFFERENCES
from docs.generate.targets import document
from facts.releases import DEFAULT, LATEST_PATCH, RELEASE_COSTS
from targets.catalogue import TARGETS
from tests.project import PROJECT

FILE = PROJECT / "docs" / "targets.md"


def test_the_file_is_up_to_date() -> None:
    assert FILE.read_text() == document(), "run `python -m docs.generate.targets > docs/targets.md`"


def test_it_shows_every_target_with_its_source_and_every_difference_with_its_reason() -> None:
    text = FILE.read_text()
    for target in TARGETS.values():
        assert f"\n## {target.name}\n" in text
        assert target.source in text
    for difference in DIFFERENCES:
        assert difference.reason in text


def test_it_shows_what_every_release_costs() -> None:
    text = FILE.read_text().split("\n## Dynamo releases\n")[1].split("\n## ")[0]
    assert f"default is {DEFAULT}. " in text
    for line, release in LATEST_PATCH.items():
        assert f"| {release} | {'; '.join(RELEASE_COSTS.get(line, ('',)))}" in text


def test_it_shows_the_values_of_the_sources() -> None:
    text = FILE.read_text()
    guide = text.split("\n## trtllm-disagg-b200\n")[1].split("\n## ")[0]
    for row in (
        "| prefill: tokens in a step | 20000 |",
        "| decode: tokens in a step | 16384 |",
        "| decode: largest CUDA graph | 128 |",
        "| prefill: share of GPU memory | 0.9 |",
        "| decode: file `cache_transceiver_config.max_tokens_in_buffer` | `65536` |",
        "| environment `TRTLLM_ENABLE_PDL` | `1` |",
    ):
        assert row in guide
