"""The components as a Pulumi package: arguments from any language, the schema, and what is refused."""
