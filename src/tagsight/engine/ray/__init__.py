"""Local steps on a Ray cluster: one actor per part of the photos.

An actor may die at any moment. Ray then restarts it, possibly on another machine, and repeats its pending calls,
possibly twice. So operations that change a posterior are numbered (`worker.Operation`). A restarted actor loads its
last commit and repeats the operations since then, with bit-identical results. An actor that has already performed an
operation returns the stored result.
"""
