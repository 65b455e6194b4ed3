"""What a user can mend: shown as `error:` lines, never as a traceback."""


class UserError(Exception):
    """Base of the errors that are for users; the message has one sentence a problem."""
