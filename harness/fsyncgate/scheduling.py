"""Who runs what, when several workers share a run."""

from typing import Any

from xdist.scheduler import LoadScopeScheduling  # pyright: ignore[reportMissingTypeStubs]  # it has none

from fsyncgate.nodes import case_of


class ByPlace(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Work is handed out a file system of a kernel at a time."""

    def _split_scope(self, nodeid: str) -> str:
        return (case_of(nodeid) or nodeid).rpartition("/")[0].rpartition("/")[0].rpartition("/")[0]

    def remove_node(self, node: Any) -> str | None:
        """Give what a worker had still to do to the others, but for the case with which it died.

        That one stays unknown: to run it again would hide what happened.
        """
        died: str | None = None
        for unit in self.assigned_work.pop(node).values():
            left = [nodeid for nodeid, completed in unit.items() if not completed]
            if left and died is None:
                died = left.pop(0)
                unit[died] = True
            if left:
                self.workqueue[self._split_scope(left[0])] = unit
        for other in self.assigned_work:
            if other in self.registered_collections:  # the one that comes in its place has none yet
                self._reschedule(other)
        return died
