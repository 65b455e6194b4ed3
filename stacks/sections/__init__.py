"""One module for each key of a stack's config; pydantic models only."""
