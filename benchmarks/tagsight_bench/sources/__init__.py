"""Collections with truth: one file each."""
