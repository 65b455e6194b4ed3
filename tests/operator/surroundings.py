"""What the operator stand-in does beside graphs, without its graphs: `python -m tests.operator.surroundings --help`.

It binds the claims of the embedded StorageClass and stands in for NVIDIA's ComputeDomain driver.
"""

import argparse
import asyncio
import os
from pathlib import Path

import kopf

from embedded import operator


async def serve() -> None:
    async with operator.Api() as api:
        await operator.install_compute_domains(api)
        settings = kopf.OperatorSettings()
        settings.posting.enabled = False
        await kopf.operator(settings=settings, memo=kopf.Memo(api=api), standalone=True, clusterwide=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--kubeconfig", type=Path, required=True, help="of the embedded cluster's administrator"
    )
    os.environ["KUBECONFIG"] = str(parser.parse_args().kubeconfig)
    asyncio.run(serve())
