"""Kernels to boot: Debian's packages by suite and series, or a file of the user's own.

`choose(names)` turns what the user asked for into specs; `fetch(spec, cache)` turns a spec into a
`model.Kernel` whose files are there; `Prefetcher` does that ahead of time while other kernels run.
"""

from fsyncgate.kernels.catalogue import Entry, Spec, catalogue, choose
from fsyncgate.kernels.fetch import fetch, recorded
from fsyncgate.kernels.own import Own
from fsyncgate.kernels.prefetch import Prefetcher

__all__ = ["Entry", "Own", "Prefetcher", "Spec", "catalogue", "choose", "fetch", "recorded"]
