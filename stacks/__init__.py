"""A stack's settings and the program that they describe."""
