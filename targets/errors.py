"""What a user can mend: shown as `error:` lines, never as a traceback."""


class UserError(Exception):
    """Base of the errors that are for users; the message has one sentence a problem."""


class Refusal(UserError, ValueError):
    """What was asked for cannot work; the message names the key, the value and what is allowed."""
