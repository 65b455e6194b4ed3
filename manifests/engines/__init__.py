"""Command lines and engine files, a module for each engine. Pure."""
