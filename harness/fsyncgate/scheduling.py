"""Who runs what, when several workers share a run."""

from xdist.scheduler import LoadScopeScheduling  # pyright: ignore[reportMissingTypeStubs]  # it has none

from fsyncgate.controller import case_of


class ByPlace(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Work is handed out a file system of a kernel at a time."""

    def _split_scope(self, nodeid: str) -> str:
        return (case_of(nodeid) or nodeid).rpartition("/")[0].rpartition("/")[0].rpartition("/")[0]
