"""What keeps a function from becoming native code."""


class NotNativeError(Exception):
    """The function has an operation, a type or a size that is not emitted; the text names it."""
