"""Pulumi ComponentResources; each wraps manifests that graphs/ renders or cloud resources of one concern."""
