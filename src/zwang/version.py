"""The version of zwang, below everything that writes it into a file."""

__version__ = "0.2.0"
