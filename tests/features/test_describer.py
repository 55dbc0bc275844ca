"""A recipe opens the describer it was made for, from any folder, and no other."""

from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from tests.networks import save_network

from tagsight.errors import InputError
from tagsight.features import extractor as module
from tagsight.features.backbone import Backbone
from tagsight.features.efficientnet import build_model
from tagsight.features.extractor import NETWORKS, ExtractorConfig, open_extractor, pin_extractor, relocate_network

# Of the built-in networks and the default settings. A change refuses every model that was trained before it.
BUILTIN = {
    "deep": "7f3a3cbe52b199ac7f8cec8abbef0e2619d200ebceaa77ec723a04916903f1b0",
    "deep-small": "4176f539b088e91cf0998cd7f1f291322d68f370edfdc372ced3069be547c2db",
}
LENGTHS = {"deep": 120 + 352 + 1280 + 512, "deep-small": 112 + 320 + 1280 + 512}
# Of the graphs that GRAPH_REVISION stands for: raise that number when you change these.
GRAPHS = {
    "deep": "65ea79ccf95fa2fe6f2712b562157236b6e38b6a9436719fa3c847e494b66422",
    "deep-small": "2d0c2c784eb490e1aa86dfdc9595a3192aee6882179220086cdf9a116b5dad00",
}


def test_a_pinned_recipe_opens_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_network(tmp_path / "net.onnx")
    monkeypatch.chdir(tmp_path)
    extractor_config = pin_extractor(ExtractorConfig("net.onnx"))
    monkeypatch.chdir("/")
    assert open_extractor(extractor_config).fingerprint == extractor_config.fingerprint
    assert extractor_config == ExtractorConfig(str(tmp_path / "net.onnx"), None, extractor_config.fingerprint, 2 + 512)


def test_a_changed_network_is_refused_by_name(tmp_path: Path) -> None:
    path = save_network(tmp_path / "net.onnx")
    extractor_config = pin_extractor(ExtractorConfig(str(path)))
    save_network(path, gain=1.5)
    with pytest.raises(
        InputError,
        match=r"net\.onnx' is not the network that the model was trained with; give the path of that network",
    ):
        open_extractor(extractor_config)
    with pytest.raises(InputError, match=r"for vectors of 514 numbers, and .* gives 515"):
        open_extractor(ExtractorConfig(str(save_network(path, channels=3)), None, None, 514))
    path.unlink()
    with pytest.raises(InputError, match=r"net\.onnx' that the model was trained with is missing"):
        open_extractor(extractor_config)
    save_network(path)
    assert open_extractor(extractor_config).fingerprint == extractor_config.fingerprint


def test_a_moved_network_is_opened_from_its_new_path(tmp_path: Path) -> None:
    path = save_network(tmp_path / "net.onnx")
    extractor_config = pin_extractor(ExtractorConfig(str(path)))
    moved = path.rename(tmp_path / "moved.onnx")
    relocated = relocate_network(extractor_config, moved)
    assert relocated == extractor_config._replace(features=str(moved))
    assert open_extractor(relocated).fingerprint == extractor_config.fingerprint


def test_a_backbone_that_does_not_fit_the_model_is_refused_by_name(tmp_path: Path) -> None:
    extractor_config = pin_extractor(ExtractorConfig(str(save_network(tmp_path / "net.onnx"))))
    other = save_network(tmp_path / "other.onnx", gain=1.5)
    with pytest.raises(InputError, match=r"other\.onnx' is not the network that the model was trained with; give the"):
        relocate_network(extractor_config, other)
    with pytest.raises(InputError, match=r"there is no backbone '.*absent\.onnx'"):
        relocate_network(extractor_config, tmp_path / "absent.onnx")
    with pytest.raises(InputError, match=r"the built-in features 'deep', and '.*other\.onnx' was given"):
        relocate_network(ExtractorConfig("deep"), other)


@pytest.mark.parametrize(("features", "fingerprint"), [("deep", BUILTIN["deep-small"]), ("deep-small", "0" * 64)])
def test_another_builtin_network_is_refused(
    cache: Path, monkeypatch: pytest.MonkeyPatch, features: str, fingerprint: str
) -> None:
    monkeypatch.setenv("TAGSIGHT_CACHE", str(cache))
    with pytest.raises(InputError, match="the built-in network is not the network that the model was trained with"):
        open_extractor(ExtractorConfig(features, None, fingerprint))


def test_a_path_that_no_model_file_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not valid Unicode text; rename the file"):
        pin_extractor(ExtractorConfig(str(tmp_path / "\udcff.onnx")))


@pytest.mark.parametrize("features", NETWORKS)
def test_fingerprints_do_not_depend_on_machine_or_libraries(
    cache: Path,
    weights_by_network: dict[str, dict[str, np.ndarray]],
    monkeypatch: pytest.MonkeyPatch,
    features: str,
) -> None:
    monkeypatch.setenv("TAGSIGHT_CACHE", str(cache))
    extractor_config = pin_extractor(ExtractorConfig(features))
    assert (extractor_config.fingerprint, extractor_config.length) == (BUILTIN[features], LENGTHS[features])
    whole = module.open_builtin

    def write_anew(name: str) -> Backbone:
        """The same graph in other bytes, as another version of onnx might write it."""
        model = onnx.load_model_from_string(whole(name).path.read_bytes())
        model.producer_version = "99"
        path = cache / "other.onnx"
        path.write_bytes(model.SerializeToString())
        monkeypatch.setattr("tagsight.features.efficientnet.cache_builtin", lambda name, folder: path)
        return whole(name)

    monkeypatch.setattr(module, "open_builtin", write_anew)
    assert pin_extractor(ExtractorConfig(features)) == extractor_config
    network = NETWORKS[features]
    assert (
        hash_graph(onnx.load_model_from_string(build_model(weights_by_network[network], network))) == GRAPHS[features]
    )


def hash_graph(model: onnx.ModelProto) -> str:
    total = sha256()
    for node in model.graph.node:
        attributes = sorted((one.name, repr(helper.get_attribute_value(one))) for one in node.attribute)
        total.update(repr((node.op_type, list(node.input), list(node.output), attributes)).encode())
    for stored in model.graph.initializer:
        values = numpy_helper.to_array(stored)
        total.update(repr((stored.name, values.shape, str(values.dtype))).encode() + values.tobytes())
    return total.hexdigest()
