"""The template and the stylesheet of every page."""
