"""Files: atomic writes, records, locks, and protection of the files of users."""
