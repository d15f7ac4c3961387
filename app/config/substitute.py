"""`${NAME}` in a value: replaced by the environment variable, once, never again inside what it held."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_TOKEN = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{")


@dataclass(frozen=True, slots=True)
class Substituted:
    """A text after substitution.

    Attributes:
        variables: the names that were replaced, in order.
        fault: why it could not be done, or empty. Never holds any of the text.
    """

    text: str
    variables: tuple[str, ...] = ()
    fault: str = ""


def substitute(text: str, environment: Mapping[str, str]) -> Substituted:
    """Replace every `${NAME}`; `$${` stands for a literal `${`, and a `$` before anything else for itself."""
    variables: list[str] = []
    faults: list[str] = []

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if match.group() == "$${":
            return "${"
        if name is None:
            faults.append("`${` must be followed by a variable's name and `}`; for a literal `${` write `$${`")
            return ""
        variables.append(name)
        if name not in environment:
            faults.append(f"the environment variable {name} is not set; set it (it may be empty) or write the value")
        return environment.get(name, "")

    replaced = _TOKEN.sub(value, text)
    return Substituted(replaced, tuple(variables), "; ".join(dict.fromkeys(faults)))
