"""Maps of many photos averaged over their regions on a GPU; the weights are those of `features.pooling`.

Every region's mean is summed cell after cell, as on the CPU: it does not depend on the other photos.
"""

# pyright: reportMissingImports=false

from collections.abc import Sequence

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn.functional import embedding_bag


def pool_maps(values: Tensor, weights: Sequence[sparse.csr_array]) -> Tensor:
    """(all regions, C): the first of the maps `values` (n, C, rows, columns), each averaged by its (R, cells)."""
    cells = values[: len(weights)].permute(0, 2, 3, 1).contiguous().view(-1, values.shape[1])
    n_cells = values.shape[2] * values.shape[3]
    index = np.concatenate([w.indices + i * n_cells for i, w in enumerate(weights)], dtype=np.int64)
    lengths = np.concatenate([np.diff(w.indptr) for w in weights])
    start = np.concatenate([[0], np.cumsum(lengths)])
    share = np.concatenate([w.data for w in weights])
    index, start, share = (torch.from_numpy(array).to(values.device) for array in (index, start, share))
    return embedding_bag(index, cells, start, mode="sum", per_sample_weights=share, include_last_offset=True)
