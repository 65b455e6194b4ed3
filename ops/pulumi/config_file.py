"""A stack's config for one update that differs from its file, which stays as it is."""

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ops.pulumi import yaml_file
from ops.pulumi.stack_file import StackFile


@contextmanager
def config_file(project: Path, file: StackFile, changed: Collection[str]) -> Iterator[Path | None]:
    """What `pulumi --config-file` reads: the stack's own file but for the changed keys; None where none is changed.

    Secrets stay encrypted as they are. changed: full keys, of values that hold no secret.
    """
    if not changed:
        yield None
        return
    content = yaml_file.read(project / f"Pulumi.{file.stack}.yaml")
    short = {key.partition(":")[2] for key in changed if key.startswith(f"{file.project}:")}
    kept = {
        key: value
        for key, value in (content.get("config") or {}).items()
        if key not in changed and key not in short
    }
    config = kept | {key: json.loads(file.config[key]) for key in changed}
    with TemporaryDirectory(prefix="dynamo-gpt-oss-") as folder:
        path = Path(folder) / f"Pulumi.{file.stack}.yaml"
        path.write_text(json.dumps({**content, "config": config}))  # JSON is YAML
        yield path
