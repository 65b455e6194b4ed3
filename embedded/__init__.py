"""A Kubernetes control plane with simulated GPU nodes for newcomers and tests; never part of a real cluster."""
