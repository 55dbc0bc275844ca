import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

def connected_components(csgraph: coo_array | csr_array, directed: bool = True) -> tuple[int, NDArray[np.int32]]: ...
