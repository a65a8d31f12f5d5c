"""Virtual machines: the command line, the monitor, the console, snapshots."""
