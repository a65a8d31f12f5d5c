"""fsyncgate: what fsync does on real kernels when the disk fails."""
