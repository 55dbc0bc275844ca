"""Train on planted photos and leave a page in a folder that shows what was learned."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from tagsight import StackedIBP
from tagsight.data.planted import draw_appearance, draw_planted

N_OBJECTS, N_ATTRIBUTES, N_FREE = 5, 8, 4
KINDS = ["object"] * N_OBJECTS + ["attribute"] * N_ATTRIBUTES + ["free"] * N_FREE

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>tagsight: planted factors</title>
<style>body {{ font: 16px/1.5 system-ui; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
img {{ width: 100% }} td, th {{ padding: .1rem 1rem .1rem 0; text-align: left }}</style>
<h1>Planted factors, learned from tags alone</h1>
<p>300 photos of 30 regions were drawn from the model: {n_objects} objects, {n_attributes} attributes and
{n_free} factors that no tag names. Trained on tags of whole photos, {n_sweeps} sweeps; the truth below was
kept aside.</p>
<img src="planted.png" alt="The bound after every sweep, and how learned and true appearances correlate">
<table><tr><th>factor</th><th>kind</th><th>F1 over regions</th><th>correlation of appearance</th></tr>
{rows}</table>
</html>"""


def main(folder: Path) -> None:
    truth = draw_appearance(len(KINDS), 64, seed=0)
    photos = draw_planted(truth, N_FREE, n_photos=300, n_regions=30, noise=0.5, seed=1)
    model = StackedIBP(N_OBJECTS, N_ATTRIBUTES, N_FREE, seed=0)
    model.fit(photos.X, photos.tags, groups=photos.groups, edges=photos.edges)

    correlation = np.corrcoef(model.appearance_mean_, truth)[: len(KINDS), len(KINDS) :]
    partner = correlation.argmax(axis=1)  # free factors come in any order
    found, real = model.assign_ > 0.5, photos.assign[:, partner]
    f1 = 2 * (found & real).sum(axis=0) / (found.sum(axis=0) + real.sum(axis=0))

    folder.mkdir(exist_ok=True)
    draw_figure(model.bound_, correlation, folder / "planted.png")
    rows = "".join(
        f"<tr><td>{k}</td><td>{kind}</td><td>{f1[k]:.3f}</td><td>{correlation[k, partner[k]]:.3f}</td></tr>"
        for k, kind in enumerate(KINDS)
    )
    page = folder / "index.html"
    page.write_text(
        PAGE.format(n_objects=N_OBJECTS, n_attributes=N_ATTRIBUTES, n_free=N_FREE, n_sweeps=model.n_sweeps_, rows=rows)
    )
    print(f"lowest F1 {f1.min():.3f}, lowest correlation {correlation.max(axis=1).min():.3f}; see {page}")


def draw_figure(bounds: list[float], correlation: np.ndarray, path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), width_ratios=[1.2, 1])
    left.plot(range(1, len(bounds) + 1), np.array(bounds) / 1e3, marker="o", markersize=3)
    left.set(xlabel="sweep", ylabel="bound (thousand nats)", title="The bound rises")
    image = right.imshow(correlation, vmin=-1, vmax=1, cmap="RdBu_r")
    right.set(xlabel="true factor", ylabel="learned factor", title="Appearance: learned against true")
    figure.colorbar(image, ax=right, label="correlation")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
