"""Block devices and file systems in the guest: device-mapper, mounts, which sectors hold what."""
