"""A stand-in for PyTorch: the little that labels.py calls."""
import types

utils = types.SimpleNamespace(data=types.SimpleNamespace(IterableDataset=object, get_worker_info=lambda: None))


def from_numpy(array):
    assert array.flags.writeable and array.flags.c_contiguous
    return array
