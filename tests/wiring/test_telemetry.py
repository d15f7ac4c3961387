"""What the wiring itself looks after of telemetry."""

from app.wiring.telemetry import DroppedLines


class Board:
    """A status board that keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def set_log_dropped(self, lines: int) -> None:
        self.told.append(lines)


def test_the_status_is_told_of_dropped_lines_only_when_there_are_more() -> None:
    board, counts = Board(), iter([0, 0, 5, 5, 7])
    lines = DroppedLines(lambda: next(counts), board)
    for _ in range(5):
        lines.look()
    assert board.told == [5, 7]
