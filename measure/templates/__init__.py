"""Jinja2 templates of the reports."""
