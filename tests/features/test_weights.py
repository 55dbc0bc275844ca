import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from tagsight.errors import InputError
from tagsight.features.weights import read_weights

MAGIC = 0x1950A86A20F9469CFC6C
MACHINE = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}


def write_pickles(path, *things):
    path.write_bytes(b"".join(pickle.dumps(thing, protocol=2) for thing in things))
    return path


def test_tensors_hold_the_numbers_that_torch_reads(weights_by_network):
    """Expected values printed by torch.load; the stem is stored with strides (1, 32, 288, 96)."""
    weights = weights_by_network["lite0"]
    assert len(weights) == 296
    assert sum(values.size for values in weights.values()) == 4694073
    np.testing.assert_array_equal(
        weights["_conv_stem.weight"][0, 0, 1],
        np.array([0.9208119511604309, 1.2259163856506348, -0.03736136853694916], np.float32),
    )
    np.testing.assert_array_equal(
        weights["_fc.weight"][3, :3],
        np.array([1.51114072650671e-05, -0.016320208087563515, 0.025907158851623535], np.float32),
    )
    assert weights["_blocks.7._depthwise_conv.weight"][9, 0, 2, 0] == np.float32(0.0510425865650177)
    assert weights["_bn0.num_batches_tracked"].shape == ()


def test_reading_needs_no_torch(weights_path):
    code = (
        "import sys; from pathlib import Path; from tagsight.features.weights import read_weights;"
        f"read_weights(Path({str(weights_path)!r})); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class Attack:
    """Unpickling it calls `call(*arguments)`."""

    def __init__(self, call, *arguments):
        self.reduction = (call, arguments)

    def __reduce__(self):
        return self.reduction


@pytest.mark.parametrize("place", ["instead of everything", "as a tensor", "among the storage keys"])
def test_a_pickle_that_runs_a_command_is_refused_before_it_runs(tmp_path, place):
    marker = tmp_path / "owned"
    attack = Attack(os.system, f"touch {marker}")
    contents = {
        "instead of everything": [attack],
        "as a tensor": [MAGIC, 1001, MACHINE, {"_conv_stem.weight": attack}],
        "among the storage keys": [MAGIC, 1001, MACHINE, {}, [attack]],
    }
    path = write_pickles(tmp_path / "evil.pth", *contents[place])
    with pytest.raises(InputError, match=r"evil\.pth.*system, which no weights file needs"):
        read_weights(path)
    assert not marker.exists()


@pytest.mark.parametrize("call", [eval, getattr, __import__, open, subprocess.Popen, np.fromfile])
def test_no_callable_but_the_listed_ones_is_found(tmp_path, call):
    path = write_pickles(tmp_path / "evil.pth", MAGIC, 1001, MACHINE, {"w": Attack(call, "x")})
    with pytest.raises(InputError, match="which no weights file needs"):
        read_weights(path)


def test_a_renamed_rebuild_function_in_the_real_file_is_refused(tmp_path, weights_path):
    path = tmp_path / "evil.pth"
    path.write_bytes(weights_path.read_bytes().replace(b"ctorch._utils\n_rebuild_tensor_v2\n", b"cos\nsystem\n"))
    with pytest.raises(InputError, match="system, which no weights file needs"):
        read_weights(path)


@pytest.mark.parametrize("size", [0, 1, 20, 100, 5000, 60000, 18_000_000])
def test_a_truncated_file_is_an_error_that_names_it(tmp_path, weights_path, size):
    path = tmp_path / "short.pth"
    path.write_bytes(weights_path.read_bytes()[:size])
    with pytest.raises(InputError, match=r"short\.pth is not a readable weights file"):
        read_weights(path)


def test_a_tensor_that_reaches_beyond_its_storage_is_refused(tmp_path, weights_path):
    """The stem's strides are the tuple (1, 32, 288, 96): make the last one 120."""
    content = weights_path.read_bytes()
    strides = b"(K\x01K M \x01K\x60t"
    assert strides in content
    path = tmp_path / "wide.pth"
    path.write_bytes(content.replace(strides, b"(K\x01K M \x01K\x78t", 1))
    with pytest.raises(InputError, match=r"\(32, 3, 3, 3\) reaches beyond its storage of 864"):
        read_weights(path)


@pytest.mark.parametrize("content", [[3], [MAGIC, 7], [MAGIC, 1001, {"little_endian": False}]])
def test_other_pickles_are_refused(tmp_path, content):
    with pytest.raises(InputError, match=r"other\.pth"):
        read_weights(write_pickles(tmp_path / "other.pth", *content))


def test_an_entry_that_is_not_a_tensor_is_refused(tmp_path):
    path = write_pickles(tmp_path / "list.pth", MAGIC, 1001, MACHINE, {"w": [1, 2]}, [])
    with pytest.raises(InputError, match="'w' is not a tensor"):
        read_weights(path)


def test_errors_of_zip_checkpoints_and_missing_files_have_a_remedy(tmp_path):
    path = tmp_path / "new.pth"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.pkl", b"")
    with pytest.raises(InputError, match="_use_new_zipfile_serialization=False"):
        read_weights(path)
    with pytest.raises(InputError, match="reinstall"):
        read_weights(tmp_path / "absent.pth")
