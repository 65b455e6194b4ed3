"""Pulumi ComponentResources; each wraps objects that manifests/ renders or cloud resources of one concern."""
