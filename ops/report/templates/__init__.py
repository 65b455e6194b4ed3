"""The template of a stack's page."""
