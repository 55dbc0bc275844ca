"""Local steps in this process, for shards in memory or on disk, and the files of shards and local posteriors."""
