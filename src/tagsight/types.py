"""Array aliases, and the names of array sizes in code, comments and documentation.

I  photos                       N  regions of all photos         D  length of a feature vector
K  factors = objects + attributes + free, in that column order   E  pairs of neighbouring regions
S  stick sequences (one, or one per kind of factor)              T  sticks of one photo's sequence
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
