"""The published guides' own command lines against the releases' parsers: what the dialects in manifests/ rest on."""

import pytest

from tests.parsers.harness import MODULES, RELEASES, parse, parse_all

FROM_1_0 = RELEASES[1:]
PARSERS = ("--dyn-reasoning-parser", "gpt_oss", "--dyn-tool-call-parser", "harmony")
NIXL = ("--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}')
VLLM = ("--model", "openai/gpt-oss-120b", "--tensor-parallel-size", "4")
SGLANG = (
    *("--model-path", "openai/gpt-oss-120b", "--served-model-name", "openai/gpt-oss-120b", "--tp", "4"),
    *("--trust-remote-code", "--skip-tokenizer-init"),
    *("--disaggregation-mode", "decode", "--disaggregation-transfer-backend", "nixl"),
)
TRTLLM = (
    *("--model-path", "/model", "--served-model-name", "openai/gpt-oss-120b"),
    *("--extra-engine-args", "prefill.yaml", "--disaggregation-mode", "prefill"),
    *("--max-num-tokens", "20000", "--max-batch-size", "32", "--free-gpu-memory-fraction", "0.9"),
    *("--tensor-parallel-size", "4", "--expert-parallel-size", "4"),
)


EVERYWHERE, NOWHERE, UP_TO_1_3 = RELEASES, (), RELEASES[:4]
LINES: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "frontend": [
        (("--router-mode", "round-robin", "--http-port", "8000"), EVERYWHERE),
        (("--router-mode", "least-loaded"), RELEASES[2:]),
        (("--dyn-chat-processor", "vllm"), NOWHERE),
    ],
    "vllm": [
        (VLLM, EVERYWHERE),
        ((*VLLM, *PARSERS), FROM_1_0),
        ((*VLLM, "--is-prefill-worker"), ("0.4.1",)),
        ((*VLLM, "--is-prefill-worker", *PARSERS), NOWHERE),
        ((*VLLM, "--is-prefill-worker", *NIXL), UP_TO_1_3),
        ((*VLLM, "--disaggregation-mode", "prefill"), NOWHERE),
        ((*VLLM, "--disaggregation-mode", "prefill", *NIXL), FROM_1_0),
    ],
    "sglang": [(SGLANG, EVERYWHERE), ((*SGLANG, *PARSERS), FROM_1_0)],
    "trtllm": [
        (TRTLLM, EVERYWHERE),
        ((*TRTLLM, *PARSERS), FROM_1_0),
        ((*TRTLLM, "--disaggregation-strategy", "prefill_first"), ("0.4.1",)),
        (("--disaggregation-mode", "prefill_and_decode"), UP_TO_1_3),
    ],
    "mocker": [
        (("--model-path", "/model"), EVERYWHERE),
        (("--model-path", "/model", "--disaggregation-mode", "prefill"), FROM_1_0),
    ],
}
"""Per module: a line of the guides or a part of one, and the releases that take it."""


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("release", RELEASES)
def test_guide_lines_parse_on_these_releases_only(release: str, module: str) -> None:
    lines = [line for line, _ in LINES[module]]
    unknown = (*lines[0], "--no-such-flag", "1")
    *verdicts, refusal = parse_all(release, module, [*lines, unknown])
    accepted = {line for line, verdict in zip(lines, verdicts, strict=True) if verdict.accepted}
    assert accepted == {line for line, releases in LINES[module] if release in releases}
    assert all(bool(verdict.error) is not verdict.accepted for verdict in verdicts)
    assert not refusal.accepted
    assert "--no-such-flag" in refusal.error


def test_a_refusal_says_what_the_parser_says() -> None:
    refused = parse("1.2.1", "vllm", (*VLLM, "--disaggregation-mode", "prefill"))
    assert "you must explicitly provide --kv-transfer-config" in refused.error
    refused = parse("1.2.1", "trtllm", ("--dyn-tool-call-parser", "no-such-parser"))
    assert "invalid choice: 'no-such-parser'" in refused.error


def test_a_parser_that_cannot_run_is_an_error_and_no_verdict() -> None:
    with pytest.raises(RuntimeError, match=r"nowhere 1\.2 of Dynamo 1\.2\.1 did not run"):
        parse("1.2.1", "nowhere", ())
