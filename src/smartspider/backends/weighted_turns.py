"""Fair turns among runs, for the slots of a worker that cannot be divided by weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class WeightedTurns:
    """Counts what each run was served, divided by its weight: the run that was served least is next.

    No run falls behind by more than one, so an idle run gathers no credit.
    """

    def __init__(self) -> None:
        self._served: dict[int, float] = {}
        self._turn = 0.0

    @property
    def turn(self) -> float:
        """The service count of the run that was served last, before it was served."""
        return self._turn

    def served(self, run_id: int) -> float:
        """Return what a run was served."""
        return max(self._served.get(run_id, 0.0), self._turn - 1.0)

    def keep(self, runs: Iterable[int]) -> None:
        """Forget all other runs."""
        self._served = {run_id: self.served(run_id) for run_id in runs}

    def charge(self, got: Mapping[int, float]) -> None:
        """Add what runs got, divided by their weights."""
        served = {run_id: self.served(run_id) for run_id in got}
        self._turn = max([self._turn, *served.values()])
        self._served |= {run_id: served[run_id] + share for run_id, share in got.items()}
