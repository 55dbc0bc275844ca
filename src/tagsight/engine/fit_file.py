"""Fits and their progress as tensor files: exact numbers with a checksum, written atomically."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tagsight.model.bound import Bound
from tagsight.model.fit import Fit, FitProgress, Sweep
from tagsight.model.state import Appearance, Globals, Scales, Sparsity, Summary
from tagsight.storage.tensor_file import Tensors, load_tensors, save_tensors
from tagsight.types import Array


def save_fit(fit: Fit, path: Path) -> None:
    """Write the result of a fit."""
    save_tensors(path, {"fit": _list_numbers(fit)}, _list_fit(fit, "fit."))


def load_fit(path: Path) -> Fit:
    """Load a file written by `save_fit`."""
    header, tensors = load_tensors(path)
    return _make_fit(header["fit"], tensors, "fit.")


def save_progress(progress: FitProgress, path: Path) -> None:
    """Write the progress of a fit, without its local posteriors (see `local_file`)."""
    header: dict[str, Any] = {"stage": progress.stage, "n_run": progress.n_run, "batches": len(progress.summaries)}
    tensors = _list_globals(progress.state, "state.")
    tensors["sweeps"] = _list_sweeps(progress.sweeps)
    tensors["first_bound"] = np.asarray(progress.first_bound)
    for b, summary in enumerate(progress.summaries):
        tensors |= _list_summary(summary, f"summaries.{b}.")
    if progress.best is not None:
        header["best"] = _list_numbers(progress.best)
        tensors |= _list_fit(progress.best, "best.")
    save_tensors(path, header, tensors)


def load_progress(path: Path) -> FitProgress:
    """Load a file written by `save_progress`."""
    header, tensors = load_tensors(path)
    return FitProgress(
        stage=header["stage"],
        state=_make_globals(tensors, "state."),
        summaries=tuple(_make_summary(tensors, f"summaries.{b}.") for b in range(header["batches"])),
        sweeps=_make_sweeps(tensors["sweeps"]),
        n_run=header["n_run"],
        best=_make_fit(header["best"], tensors, "best.") if "best" in header else None,
        first_bound=float(tensors["first_bound"]),
    )


def _list_numbers(fit: Fit) -> dict[str, Any]:
    return {"n_run": fit.n_run, "converged": bool(fit.converged)}


def _list_fit(fit: Fit, prefix: str) -> Tensors:
    return {
        **_list_globals(fit.state, f"{prefix}state."),
        **_list_summary(fit.summary, f"{prefix}summary."),
        f"{prefix}sweeps": _list_sweeps(fit.sweeps),
    }


def _make_fit(numbers: dict[str, Any], tensors: Tensors, prefix: str) -> Fit:
    return Fit(
        _make_globals(tensors, f"{prefix}state."),
        _make_summary(tensors, f"{prefix}summary."),
        _make_sweeps(tensors[f"{prefix}sweeps"]),
        **numbers,
    )


def _list_globals(state: Globals, prefix: str) -> Tensors:
    return {
        f"{prefix}{part}.{name}": np.asarray(value)
        for part in ("appearance", "scales", "sparsity")
        for name, value in getattr(state, part)._asdict().items()
    } | {f"{prefix}{name}": getattr(state, name) for name in ("affinity", "inverse_shape")}


def _make_globals(tensors: Tensors, prefix: str) -> Globals:
    def values(part: str, names: tuple[str, ...]) -> Iterator[Any]:
        return (_plain(tensors[f"{prefix}{part}.{name}"]) for name in names)

    return Globals(
        Appearance(*values("appearance", Appearance._fields)),
        Scales(*values("scales", Scales._fields)),
        Sparsity(*values("sparsity", Sparsity._fields)),
        tensors[f"{prefix}affinity"],
        tensors[f"{prefix}inverse_shape"],
    )


def _list_summary(summary: Summary, prefix: str) -> Tensors:
    return {f"{prefix}{name}": np.asarray(value) for name, value in summary._asdict().items()}


def _make_summary(tensors: Tensors, prefix: str) -> Summary:
    return Summary._make(_plain(tensors[f"{prefix}{name}"]) for name in Summary._fields)


def _list_sweeps(sweeps: tuple[Sweep, ...]) -> Array:
    rows = [[sweep.number, *sweep.bound] for sweep in sweeps]
    return np.array(rows, np.float64).reshape(-1, 1 + len(Bound._fields))


def _make_sweeps(table: Array) -> tuple[Sweep, ...]:
    return tuple(Sweep(int(number), Bound(*terms)) for number, *terms in table.tolist())


def _plain(value: Array) -> Any:
    return float(value) if value.ndim == 0 else value
