"""The exceptions of Taktsight: one short tree, each text one line with what, where, the rule and the remedy.

TaktsightError                 exit code 1
├── ConfigError                exit code 2: what the user wrote can't be run
├── ModelError                 exit code 3: the model file can't be used as asked
│   └── GpuError               exit code 1: the GPU or its driver failed; a new start may help, so systemd makes one
├── SourceError
│   ├── EndOfStream            the source has given its last picture (planned, no fault)
│   └── SourceLost             the source is gone or never came; its owner reopens it (exit code 4 at a command)
├── SinkLost                   the sink can't take a message now; its owner keeps the message (exit code 5)
└── BadOutput                  the engine gave numbers that can't be a detection: the frame is UNKNOWN
"""

from __future__ import annotations

EXIT_CODES = (
    "Exit codes: 0 done; 1 the product failed (the log says how); 2 the configuration or the command line is wrong; "
    "3 the model can't be used; 4 a source can't be used; 5 the broker can't be reached; 130 interrupted."
)


class TaktsightError(Exception):
    """Anything that the product can explain in one line."""

    exit_code = 1


class ConfigError(TaktsightError):
    """The configuration breaks a rule; `faults` holds one line for each fault found."""

    exit_code = 2

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class ModelError(TaktsightError):
    """The model file can't be loaded, or its inputs and outputs can't be used as asked."""

    exit_code = 3


class GpuError(ModelError):
    """The GPU or its driver refused a call, so what was asked to run there can't.

    Not the model's fault: a new process has a new context, and what took the memory may be gone.

    Attributes:
        code: the driver's number for it; None where only a text was given.
    """

    exit_code = 1

    def __init__(self, text: str, code: int | None = None) -> None:
        super().__init__(text)
        self.code = code


class SourceError(TaktsightError):
    """Something about a source of pictures."""

    exit_code = 4


class EndOfStream(SourceError):  # noqa: N818 - the end of a file is not an error
    """The source has given its last picture."""


class SourceLost(SourceError):  # noqa: N818 - named after the event
    """The source can't give pictures now; whoever owns it may open it again."""


class SinkLost(TaktsightError):  # noqa: N818 - named after the event
    """The sink can't take a message now; whoever owns the message keeps it."""

    exit_code = 5


class BadOutput(TaktsightError):  # noqa: N818 - named after the finding
    """The engine's output breaks what its family promises (NaN, a score of 94): never a detection."""
