"""Kubernetes clusters: made, existing, or another stack's; and the way to their API server."""
