# SPDX-License-Identifier: Apache-2.0
"""Errors a user can do something about: one sentence each, caught once in the command line."""


class PrismError(Exception):
    """Base of all errors the program reports in one sentence."""

    exit_code = 2


class InputError(PrismError):
    """A file or folder is missing, damaged, or does not say what it should."""


class OutputError(PrismError):
    """A file cannot be written: the disk is full, a quota is used up, a folder is read-only or gone."""


class CalibrationError(InputError):
    """The camera description is incomplete or optically impossible."""


class ConfigError(PrismError):
    """A setting has a value the program cannot work with."""


class MissingExtraError(PrismError):
    """An optional dependency is not installed; the message says which extra brings it."""


class DegenerateError(PrismError):
    """The data do not determine what was asked for (too few poses, a straight line, no overlap)."""


class ArgumentError(PrismError, TypeError, ValueError):
    """A function was called with something else than it takes; the sentence says what it takes."""


def expect(value: object, kinds: type | tuple[type, ...], name: str, hint: str = "") -> None:
    """Refuse an argument of another type: ``expect(camera, PlenopticCamera, "camera")``."""
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
        advice = f"; {hint}" if hint else ""
        raise ArgumentError(f"{name} must be a {wanted}, not a {type(value).__name__}{advice}.")


def expect_whole(value: object, name: str) -> None:
    """Refuse an argument that is no whole number, of Python or of NumPy."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"{name} must be a whole number, not a {type(value).__name__}.")
