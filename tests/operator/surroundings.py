"""What the operator stand-in does beside graphs, without its graphs: `python -m tests.operator.surroundings --help`.

It binds the claims of the embedded StorageClass and stands in for NVIDIA's ComputeDomain driver.
"""

import argparse
import asyncio
import os
from pathlib import Path

import kopf

from embedded.operator import drivers  # noqa: F401  # registers its handlers
from embedded.operator.api import Api
from embedded.operator.definitions import install_compute_domains

kopf.on.login()(kopf.login_with_kubeconfig)


async def serve() -> None:
    async with Api() as api:
        await install_compute_domains(api)
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
