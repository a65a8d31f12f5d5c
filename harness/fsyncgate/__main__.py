"""`python -m fsyncgate`."""

from fsyncgate.cli import main

main()
