"""The error that reaches the user as one sentence instead of a traceback."""


class ExportError(Exception):
    """Something that the user can act on; the message is a full sentence."""
