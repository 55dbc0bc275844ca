"""Local steps on a Ray cluster: one actor a part of the photos, the same summaries as elsewhere.

An actor may die at any moment, and Ray then starts it again, perhaps elsewhere, and calls it again, perhaps twice. So
what changes a posterior is numbered (`worker.Operation`): an actor that comes back reads its last commit and repeats,
bit for bit, the operations since; one that has done an operation already answers as it did.
"""
