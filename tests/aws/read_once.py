"""What botocore and moto read anew for every session and every account though it never changes, read once.

Models of services are megabytes of JSON, and moto makes IAM for six partitions, each with AWS's own thousand policies:
tests on an account spent most of their time with that.
"""

import copy
import functools
import os
from typing import Any

from botocore.loaders import JSONFileLoader


class _Anew(JSONFileLoader):  # type: ignore[misc]
    """For moto, which adds to the models that it reads: what a client is asked for must be AWS's."""

    load_file = JSONFileLoader.load_file


# Before moto, which makes sessions when it is imported.
_parse = functools.cache(functools.partial(JSONFileLoader.load_file, JSONFileLoader()))
JSONFileLoader.load_file = lambda _, path: _parse(path)

from moto.core.loaders import Loader  # noqa: E402
from moto.iam.models import IAMBackend  # noqa: E402
from moto.settings import load_iam_aws_managed_policies  # noqa: E402

os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"  # a thousand of them, of which no program here starts one

Loader.FILE_LOADER_CLASS = _Anew

_iam: Any = IAMBackend
_read = _iam._init_aws_policies
_POLICIES: dict[tuple[str, str], list[Any]] = {}


def _policies(backend: Any) -> list[Any]:
    """AWS's own policies, which nobody changes; copies, since each counts what it is attached to."""
    if not load_iam_aws_managed_policies():
        return []
    key = backend.account_id, backend.region_name
    if key not in _POLICIES:
        _POLICIES[key] = _read(backend)
    return [copy.copy(each) for each in _POLICIES[key]]


_iam._init_aws_policies = _policies
