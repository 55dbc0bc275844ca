"""Collections of tagged photos: their formats, vocabulary and pixels."""
