"""What graphs need on a cluster: the platform, monitoring, access to secrets, an end."""
