"""Money and data that a verb is about to spend or to delete, said before it does."""
