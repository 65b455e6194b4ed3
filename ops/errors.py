"""What users can mend: shown as `error:` lines, never as a traceback."""


class OpsError(Exception):
    """Base of the verbs' own errors; the message has one sentence a problem."""
