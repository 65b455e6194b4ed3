"""What users may turn on an engine: each knob once, with what every engine calls it. Pure.

All else follows from a field here: the key below a role in a stack's file with its documentation, the value that a
target publishes, the worker's command line or engine file, and the refusals of a knob that an engine lacks and of an
argument that says what a knob says. Sources of the flags: the argument parsers of Dynamo 0.4.1 to 1.6.1, of vLLM 0.26
and of SGLang 0.5.9 to 0.5.21; of the loaders, both engines' releases that `facts/engines.py` names.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from facts.engines import Engine
from targets.strict import Strict

GpuCount = Literal[1, 2, 4, 8]
MODEL_CONTEXT = 131072
"""Positions the model was trained for (`max_position_embeddings` of its config.json), in tokens."""


@dataclass(frozen=True)
class Flag:
    """An argument with a value. also: other spellings that the engine's parser takes."""

    name: str
    also: tuple[str, ...] = ()

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every way to write it, ours first."""
        return (self.name, *self.also)

    def words(self, value: object) -> tuple[str, ...]:
        """What a command line says for a value."""
        return (self.name, str(value))


@dataclass(frozen=True)
class Switch:
    """What a command line says for yes and for no, as words; nothing where that is the engine's default."""

    yes: tuple[str, ...]
    no: tuple[str, ...]

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every option of it."""
        return tuple(words[0] for words in (self.yes, self.no) if words)

    def words(self, value: object) -> tuple[str, ...]:
        """What a command line says for a value."""
        return self.yes if value else self.no


@dataclass(frozen=True)
class Choice:
    """What a command line says for each value, as words. Its options are the user's to write until the knob is set."""

    said: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def spellings(self) -> tuple[str, ...]:
        """No option is the knob's alone."""
        return ()

    def words(self, value: object) -> tuple[str, ...]:
        """What a command line says for a value; nothing for one that the engine does not know."""
        return dict(self.said).get(str(value), ())


_THREADS = ("--model-loader-extra-config", '{"enable_multithread_load":true}')
_RUNAI = ("--load-format", "runai_streamer")
Argument = Flag | Switch | Choice


@dataclass(frozen=True, kw_only=True)
class Knob:
    """What a setting is called. title: in the tables of targets. engine_file: its key in TensorRT-LLM's YAML, by dots.

    An engine without an argument for it has no such setting, but TensorRT-LLM where its YAML has a key.
    """

    title: str
    vllm: Argument | None = None
    sglang: Argument | None = None
    trtllm: Argument | None = None
    mocker: Argument | None = None
    engine_file: str | None = None

    def argument(self, engine: Engine) -> Argument | None:
        """How the engine's command line says it."""
        match engine:
            case Engine.VLLM:
                return self.vllm
            case Engine.SGLANG:
                return self.sglang
            case Engine.TRTLLM:
                return self.trtllm
            case Engine.MOCKER:
                return self.mocker

    def known_to(self, engine: Engine) -> bool:
        """Whether the engine has such a setting."""
        return self.argument(engine) is not None or (engine is Engine.TRTLLM and self.engine_file is not None)


class Parallelism(Strict):
    """How one worker is spread over GPUs."""

    tensor_parallel: Annotated[
        GpuCount | None,
        Knob(
            title="tensor parallel",
            vllm=Flag("--tensor-parallel-size", also=("-tp",)),
            # `--tp` is the abbreviation that argparse takes, as Dynamo's own manifests do.
            sglang=Flag("--tp", also=("--tp-size", "--tensor-parallel-size")),
            trtllm=Flag("--tensor-parallel-size"),
            engine_file="tensor_parallel_size",
        ),
    ] = None
    """GPUs that one layer is split over."""
    pipeline_parallel: Annotated[
        GpuCount | None,
        Knob(
            title="pipeline parallel",
            vllm=Flag("--pipeline-parallel-size", also=("-pp",)),
            sglang=Flag("--pp-size", also=("--pipeline-parallel-size",)),
            trtllm=Flag("--pipeline-parallel-size"),
            engine_file="pipeline_parallel_size",
        ),
    ] = None
    """Groups of layers, each on GPUs of its own."""
    expert_parallel: Annotated[
        GpuCount | None,
        Knob(
            title="expert parallel",
            trtllm=Flag("--expert-parallel-size"),
            engine_file="moe_expert_parallel_size",
        ),
    ] = None
    """GPUs that the experts are spread over (TensorRT-LLM)."""

    @property
    def gpus(self) -> int:
        """GPUs of one worker: tensor × pipeline parallelism (experts share the tensor-parallel GPUs)."""
        return (self.tensor_parallel or 0) * (self.pipeline_parallel or 1)


class Limits(Strict):
    """What an engine takes on at once."""

    max_num_tokens: Annotated[
        int | None,
        Knob(
            title="tokens in a step",
            vllm=Flag("--max-num-batched-tokens"),
            sglang=Flag("--max-prefill-tokens"),
            trtllm=Flag("--max-num-tokens"),
            mocker=Flag("--max-num-batched-tokens"),
            engine_file="max_num_tokens",
        ),
    ] = Field(default=None, ge=256, le=1_048_576)
    """Tokens in one engine step; lower it when CUDA runs out of memory."""
    max_batch_size: Annotated[
        int | None,
        Knob(
            title="sequences in a step",
            vllm=Flag("--max-num-seqs"),
            sglang=Flag("--max-running-requests"),
            trtllm=Flag("--max-batch-size"),
            mocker=Flag("--max-num-seqs"),
            engine_file="max_batch_size",
        ),
    ] = Field(default=None, ge=1, le=8192)
    """Sequences in one engine step; at most what the CUDA graphs were captured for."""
    max_seq_len: Annotated[
        int | None,
        Knob(
            title="tokens of a sequence",
            vllm=Flag("--max-model-len"),
            sglang=Flag("--context-length"),
            trtllm=Flag("--max-seq-len"),
            engine_file="max_seq_len",
        ),
    ] = Field(default=None, ge=1024, le=MODEL_CONTEXT)
    """Tokens of one sequence, prompt and answer together."""
    free_gpu_memory_fraction: Annotated[
        float | None,
        Knob(
            title="share of GPU memory",
            vllm=Flag("--gpu-memory-utilization"),
            sglang=Flag("--mem-fraction-static"),
            trtllm=Flag("--free-gpu-memory-fraction"),
            engine_file="kv_cache_config.free_gpu_memory_fraction",
        ),
    ] = Field(default=None, ge=0.1, le=0.95)
    """Share of GPU memory: of what loading leaves (TensorRT-LLM) or of all; lower it when CUDA runs out of memory."""
    chunked_prefill: Annotated[
        bool | None,
        Knob(
            title="chunked prefill",
            vllm=Switch(yes=("--enable-chunked-prefill",), no=("--no-enable-chunked-prefill",)),
            sglang=Switch(yes=(), no=("--chunked-prefill-size", "-1")),
            engine_file="enable_chunked_prefill",
        ),
    ] = None
    """Whether long prompts are processed in pieces."""


class Loading(Strict):
    """How an engine reads the weights."""

    loader: Annotated[
        Literal["threads", "fastsafetensors", "runai"] | None,
        Knob(
            title="loader of the weights",
            vllm=Choice(
                (
                    ("threads", _THREADS),
                    ("fastsafetensors", ("--load-format", "fastsafetensors")),
                    ("runai", _RUNAI),
                )
            ),
            sglang=Choice((("threads", _THREADS), ("runai", _RUNAI))),
        ),
    ] = None
    """How the weights are read: several files at once, by fastsafetensors into GPU memory (vLLM), or by Run:ai's
    streamer."""


class EngineKnobs(Loading, Limits, Parallelism):
    """Settings of an engine; None leaves one to the engine."""

    def values(self) -> Iterator[tuple[str, Any]]:
        """Name and value of those that have one."""
        return ((name, value) for name, value in self if name in KNOBS and value is not None)

    def override(self, by: "EngineKnobs") -> "EngineKnobs":
        """These settings with whatever the others have a value for."""
        return self.model_copy(update=dict(by.values()))


KNOBS: Mapping[str, Knob] = {
    name: knob
    for name, field in EngineKnobs.model_fields.items()
    for knob in field.metadata
    if isinstance(knob, Knob)
}
"""Every knob, by the name of its field."""
