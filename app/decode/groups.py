"""Which classes suppress one another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.config.sections import Nms
from app.errors import ConfigError


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """A group number for every class.

    Attributes:
        of_class: int64 (classes,); None: all classes are one group. A class past its end is a group of its own.
    """

    of_class: NDArray[np.int64] | None

    def of(self, classes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64 (n,), the groups of n boxes."""
        table = self.of_class
        if table is None:
            return np.zeros(len(classes), np.int64)
        if len(table) == 0:
            return classes
        known = classes < len(table)
        return np.where(known, table[np.where(known, classes, 0)], classes)


def read_groups(section: Nms, names: tuple[str, ...]) -> Groups:
    """Number the groups that a configuration asks for: per class, all together, or as its lists say.

    Raises:
        ConfigError: a list names a class that the network has not, or a class stands in two lists.
    """
    if section.agnostic:
        return Groups(None)
    table = np.arange(len(names), dtype=np.int64)
    faults: list[str] = []
    taken: set[str] = set()
    for group in section.groups:
        unknown = [name for name in group if name not in names]
        faults += [f"nms.groups: the network has no class {name!r}; it has {', '.join(names)}" for name in unknown]
        faults += [f"nms.groups: class {name!r} stands in two groups; join them" for name in group if name in taken]
        taken.update(group)
        members = [index for index, name in enumerate(names) if name in group]
        table[members] = min(members, default=0)
    if faults:
        raise ConfigError(*faults)
    return Groups(table)
