"""Every exception the library raises on purpose.

    CcgboError
    ├── SettingError (also ValueError)        an argument or setting breaks its rule
    ├── SpaceError (also ValueError)          a search space that cannot be
    │   ├── InfeasibleSpaceError              no point satisfies the constraints
    │   └── ParamsError                       a point that does not belong to the space
    ├── TellError (also ValueError)           an observation that cannot be taken
    │   └── UnknownTrialError (also KeyError) no trial has that id
    ├── SpaceExhaustedError                   every point of a finite space is used
    ├── NoObservationsError                   an answer was asked for before any observation
    ├── UnsupportedError                      asked for something out of scope, by name
    ├── MissingExtraError (also ImportError)  an optional dependency is not installed
    ├── ObjectiveError                        the objective failed and the user asked to stop on that
    └── StorageError                          a study file that cannot be used
        ├── StudyNotFoundError
        └── StudyExistsError

and the warning

    SpaceWarning (a UserWarning)              a space that may have been meant otherwise than it is read

Messages name the argument as typed, the rule and the value.
"""

from __future__ import annotations


class CcgboError(Exception):
    """Base class of every error below."""


class SettingError(CcgboError, ValueError):
    """An argument or setting breaks its rule."""


class SpaceError(CcgboError, ValueError):
    """A search space that cannot be."""


class InfeasibleSpaceError(SpaceError):
    """No point of the space satisfies its constraints."""


class ParamsError(SpaceError):
    """A point that does not belong to the space."""


class TellError(CcgboError, ValueError):
    """An observation that cannot be taken; the state is unchanged."""


class UnknownTrialError(TellError, KeyError):
    """No trial has that id."""

    def __str__(self) -> str:  # KeyError would print the message quoted
        return str(self.args[0]) if self.args else ""


class SpaceExhaustedError(CcgboError):
    """Every point of a finite space has been used."""


class NoObservationsError(CcgboError):
    """An answer was asked for before any observation that could give it."""


class UnsupportedError(CcgboError):
    """Asked for something that is out of scope."""


class ObjectiveError(CcgboError):
    """The objective failed and the caller asked to stop on that."""


class StorageError(CcgboError):
    """A study file that cannot be used."""


class StudyNotFoundError(StorageError):
    """The file holds no study of that name."""


class StudyExistsError(StorageError):
    """The file already holds a study of that name."""


class MissingExtraError(CcgboError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency: pip install 'ccgbo[{extra}]'")
        self.extra = extra


class SpaceWarning(UserWarning):
    """A space that may have been meant otherwise than it is read."""
