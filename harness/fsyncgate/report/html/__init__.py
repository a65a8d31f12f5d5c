"""A run as one HTML page: no network, no build step; what it shows comes from the store alone."""

from fsyncgate.report.html.page import write

__all__ = ["write"]
