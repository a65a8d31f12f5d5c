"""What all tests share: machines are booted only when asked for, and Hypothesis has no deadline."""

import pytest
from hypothesis import settings

# A deadline fails on a busy host, and tells nothing of the code.
settings.register_profile("fsyncgate", deadline=None)
settings.load_profile("fsyncgate")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--vm", action="store_true", help="run the tests that boot real kernels as well")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.vm:
        return
    left_out = [item for item in items if item.get_closest_marker("vm")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("vm")]
