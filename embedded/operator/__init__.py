"""A stand-in for Dynamo's operator on the embedded cluster: `python -m embedded.operator --help`.

Scaffolding for newcomers and tests, never for a real cluster. It serves definitions.yaml, refuses what admission.yaml
refuses, and makes of each graph what the real operator of the platform's release makes: without Grove a Deployment and
Service a component (deployments.py, generations.py), with Grove the pods that Grove's own operator would make
(grove.py). It also stands in for NVIDIA's ComputeDomain driver and for the storage provisioner of the embedded cluster
(drivers.py).

Not simulated: what no graph of this project has; DynamoComponentDeployments, which stand between a graph and its
Deployments; counts of replicas in a graph's status; a webhook, which fails while its operator is away; releases before
1.0, which renew workers in place; `nvidia.com/deployment-strategy: Recreate`; LeaderWorkerSet; what Grove adds to pods;
the words that the operator adds to command lines of workers that span nodes.
"""
