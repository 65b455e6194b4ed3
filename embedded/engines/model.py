"""Writes the simulated model's directory: `python -m embedded.engines.model DIR`.

Everything is generated: a byte-level BPE trained on generated text, with harmony's special tokens at their
real ids; a configuration with GPT-OSS-120B's figures (openai/gpt-oss-120b, config.json); a chat template of
our own. There are no weights. The tokens are not GPT-OSS's, so token counts of a text differ from the real ones.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copy

from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from embedded.engines import script

SPECIAL_TOKENS = {
    "<|startoftext|>": 199998,
    "<|endoftext|>": 199999,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
}
"""Ids of o200k_harmony (openai/harmony, registry of encodings)."""

CONTEXT_LENGTH = 131072
CONFIG = {
    "architectures": ["GptOssForCausalLM"],
    "model_type": "gpt_oss",
    "num_hidden_layers": 36,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "num_local_experts": 128,
    "num_experts_per_tok": 4,
    "hidden_size": 2880,
    "head_dim": 64,
    "sliding_window": 128,
    "max_position_embeddings": CONTEXT_LENGTH,
    "vocab_size": 201088,
    "eos_token_id": 200002,
    "pad_token_id": 199999,
}


def write(folder: Path) -> None:
    """Writes the five files of the model directory into `folder`, the same bytes every time."""
    _write(folder / "config.json", CONFIG)
    _write(folder / "generation_config.json", {"eos_token_id": [200002, 199999, 200012]})
    _write(folder / "tokenizer.json", _tokenizer())
    _write(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": CONTEXT_LENGTH,
            "bos_token": "<|startoftext|>",
            "eos_token": "<|return|>",
            "pad_token": "<|endoftext|>",
        },
    )
    copy(Path(__file__).with_name("chat_template.jinja"), folder)


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _tokenizer() -> dict[str, object]:
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    trainer = BpeTrainer(vocab_size=4096, initial_alphabet=ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(_corpus(), trainer)
    # add_special_tokens() would number them after the trained vocabulary: the real ids need the file itself.
    data: dict[str, object] = json.loads(tokenizer.to_str())
    data["model"]["vocab"].update(SPECIAL_TOKENS)  # type: ignore[index]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    data["added_tokens"] = [{"id": id_, "content": text, **flags} for text, id_ in SPECIAL_TOKENS.items()]
    return data


def _corpus() -> Iterator[str]:
    """Text of the kind that the script writes, so that a word is about a token."""
    for effort in ("low", "medium", "high"):
        for question in ("is everything up and running?", "what is disaggregated serving?"):
            prompt = f"Reasoning: {effort}\n<|start|>user<|message|>{question}<|end|><|start|>assistant"
            completion = script.complete(prompt)
            yield from [completion.head + script.FILLER + completion.tail] * 3


if __name__ == "__main__":
    write(Path(sys.argv[1]))
