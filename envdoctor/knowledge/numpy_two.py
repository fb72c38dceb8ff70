"""First releases that run under NumPy 2: wheels of older ones were compiled against the binary interface of NumPy 1.

Source: the tables of https://github.com/numpy/numpy/issues/26191, https://github.com/apache/arrow/issues/39532
(pyarrow) and https://github.com/pytorch/pytorch/issues/107302 (torch).
"""

from __future__ import annotations

FIRST = {
    "torch": "2.3.0",
    "pandas": "2.2.2",
    "pyarrow": "16.0.0",
    "scipy": "1.13.0",
    "scikit-learn": "1.4.2",
    "matplotlib": "3.8.4",
    "numba": "0.60.0",
    "contourpy": "1.2.1",
    "opencv-python": "4.10.0.84",
    "opencv-python-headless": "4.10.0.84",
}
