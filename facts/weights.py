"""The models, and what of them a graph's pods read. Pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

MODEL_ID = "openai/gpt-oss-120b"
MODEL_REVISION = "b5c939de8f754692c1647ca79fbf85e8c1e70f8a"
"""Commit of the weights on Hugging Face that the published recipes pin."""
DRAFT_MODEL_ID = "nvidia/gpt-oss-120b-Eagle3-v3"
"""EAGLE3 draft model; no source publishes a commit to pin."""
WEIGHTS_GB = {MODEL_ID: 65.3, DRAFT_MODEL_ID: 3.0}
"""GB (10⁹ bytes) of a model: 60.8 GiB, OpenAI's model card of gpt-oss, without the copies in other formats.

No source states the draft's: at most an embedding and a head of 201,088 × 2,880 in 16 bits (2.3 GB), and one layer.
"""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """A Hugging Face model in the cache."""

    model: str
    """Its name there, with its owner."""
    revision: str
    """A commit, or `main` where none is pinned."""
    tokenizer_only: bool = False
    """Whether everything but the weights themselves is enough."""


SERVED = Weights(model=MODEL_ID, revision=MODEL_REVISION)


@dataclass(frozen=True, kw_only=True)
class CacheUse:
    """Where the pods of a graph find the models that they read."""

    weights: tuple[Weights, ...] = ()
    """Those models, the served one first."""
    local_copy: bool = False
    """Whether workers read them from a copy on their node's disks."""
    node_folder: str | None = None
    """Folder of the nodes' disks that has one copy for all pods of its node; None for a copy in each pod."""
    compiled_folder: str | None = None
    """Folder of the nodes' disks that keeps what engines compile; None where that goes with their pods."""
    from_bucket: bool = False
    """Whether every pod copies what it reads of them from a bucket; no claim holds them then."""
    claim: str | None = None
    """Claim of somebody's own that holds them, None for the stack's."""


SHARED_CACHE = CacheUse()
"""The stack's own claim, read where it is."""


def gigabytes(weights: Iterable[Weights]) -> float:
    """GB (10⁹ bytes) of models; of tokenizers alone none."""
    return sum(WEIGHTS_GB[each.model] for each in weights if not each.tokenizer_only)


def room_gib(weights: Iterable[Weights]) -> int:
    """GiB of disk for models: a tenth more than they have."""
    return math.ceil(1.1 * gigabytes(weights) * 1e9 / 2**30)
