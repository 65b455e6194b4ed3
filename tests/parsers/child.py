"""Runs a parser of one unpacked Dynamo release: `child SITE MODULE MAJOR.MINOR`, argument lists as JSON on stdin.

Prints one JSON list of [accepted, error]. Only imports are stubbed: what Dynamo's parser decides is its own, what the
absent engine's parser would decide comes from the allow-lists in `native`.
"""

import argparse
import asyncio
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import logging
import os
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from tests.parsers import native

ABSENT = frozenset(
    {
        *("PIL", "aiconfigurator", "aiconfigurator_core", "aisimulate", "blake3", "cupy", "huggingface_hub"),
        *("kubernetes", "librosa", "msgpack", "msgspec", "nixl", "numpy", "nvtx", "prometheus_client", "ray"),
        *("redis", "sglang", "soundfile", "tensorrt_llm", "torch", "tqdm", "transformers", "uvloop", "vllm"),
        *("zmq", "zstandard"),
    }
)
"""Top-level packages that a release imports beside its parser and that tests do not install."""

Parse = Callable[[list[str]], object]


class Anything(type):
    """A class every attribute of which is such a class: enough for annotations, bases and decorators."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return anything(name)


def anything(name: str) -> type:
    methods = {
        "__init__": lambda self, *_, **__: None,
        "__init_subclass__": classmethod(lambda cls, **_: None),
        "__call__": lambda self, *_, **__: self,
    }
    return Anything(name, (), methods)


class Absent(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return anything(name)


class AbsentFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers every import below `roots` with an empty package."""

    def __init__(self, roots: frozenset[str]) -> None:
        self.roots = roots

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        inside = any(name == root or name.startswith(root + ".") for root in self.roots)
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if inside else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return Absent(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def engine_arguments(flags: Sequence[native.Flag], unset: dict[str, Any], minor: tuple[int, int]) -> type:
    """The two class methods of vLLM's AsyncEngineArgs and SGLang's ServerArgs that Dynamo's parsers call."""

    class EngineArguments(argparse.Namespace):
        @staticmethod
        def add_cli_args(parser: argparse.ArgumentParser, **_: object) -> argparse.ArgumentParser:
            for flag in flags:
                if flag.since <= minor < flag.until:
                    flag.add(parser)
            parser.set_defaults(**unset)
            return parser

        @classmethod
        def from_cli_args(cls, parsed: argparse.Namespace) -> "EngineArguments":
            return cls(**vars(parsed))

    return EngineArguments


class FullNames(argparse.ArgumentParser):
    """vLLM's FlexibleArgumentParser without its abbreviations and underscore spellings."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "allow_abbrev": False})


def with_sys_argv(function: Callable[[], object]) -> Parse:
    def parse(argv: list[str]) -> object:
        sys.argv = ["worker", *argv]
        return function()

    return parse


def parser_of(module: str, minor: tuple[int, int]) -> Parse:
    """The function that turns the command line of `python -m dynamo.<module>` into a config, in this release."""
    if module == "sglang":
        return sglang_parser(minor)
    if module == "vllm":
        put(
            "vllm.engine.arg_utils",
            "AsyncEngineArgs",
            engine_arguments(native.VLLM, native.VLLM_UNSET, minor),
        )
        put("vllm.utils", "FlexibleArgumentParser", FullNames)
        put("vllm.distributed.kv_events", "KVEventsConfig", argparse.Namespace)
    if module == "trtllm":
        put("tensorrt_llm.llmapi", "BuildConfig", native.BuildConfig)
    path, function = {
        "frontend": ("main", "parse_args"),
        "vllm": ("args", "parse_args"),
        "trtllm": ("utils.trtllm_utils", "cmd_line_args") if minor < (1, 0) else ("args", "parse_args"),
        "mocker": ("main", "cmd_line_args") if minor < (1, 0) else ("args", "parse_args"),
    }[module]
    return with_sys_argv(getattr(importlib.import_module(f"dynamo.{module}.{path}"), function))


def sglang_parser(minor: tuple[int, int]) -> Parse:
    """SGLang's parser takes the arguments as a parameter and, from 1.0 on, fetches the model: here it does not."""
    put("sglang.srt.server_args", "ServerArgs", engine_arguments(native.SGLANG, native.SGLANG_UNSET, minor))
    args: Any = importlib.import_module("dynamo.sglang.args")

    async def no_download(model: str) -> str:
        return model

    args.fetch_model = no_download
    parse: Parse = args.parse_args
    return parse if minor < (1, 0) else lambda argv: asyncio.run(args.parse_args(argv))


def put(module: str, name: str, value: object) -> None:
    """Give an absent module one attribute that means something."""
    setattr(importlib.import_module(module), name, value)


def verdict(parse: Parse, argv: list[str]) -> tuple[bool, str]:
    """What a user would see: parsers refuse with SystemExit after printing or logging, or with ValueError."""
    printed = io.StringIO()
    log = logging.StreamHandler(printed)
    log.setLevel(logging.ERROR)
    logging.getLogger().addHandler(log)
    environment = dict(os.environ)
    try:
        with contextlib.redirect_stderr(printed):
            parse(argv)
    except SystemExit as error:
        return (True, "") if error.code in (0, None) else (False, printed.getvalue().strip())
    except (ValueError, AssertionError, FileNotFoundError) as error:
        return False, f"{type(error).__name__}: {error}"
    finally:
        logging.getLogger().removeHandler(log)
        os.environ.clear()
        os.environ.update(environment)
    return True, ""


def main(site: str, module: str, minor: str) -> None:
    first, second = minor.split(".")
    version = (int(first), int(second))
    sys.path.insert(0, site)
    # The frontend imports an engine only when a flag asks for one, and refuses where there is none.
    roots = ABSENT - {"vllm", "sglang"} if module == "frontend" else ABSENT
    if version < (1, 0):
        roots |= {"dynamo._core", "dynamo.llm", "dynamo.runtime"}
    sys.meta_path.insert(0, AbsentFinder(roots))
    parse = parser_of(module, version)
    answers = [verdict(parse, argv) for argv in json.load(sys.stdin)]
    print(json.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
