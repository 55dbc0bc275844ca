"""A recipe opens the describer it was made for, from any folder, and no other."""

from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tagsight.errors import InputError
from tagsight.features import extractor as module
from tagsight.features.backbone import Backbone
from tagsight.features.efficientnet import build_model
from tagsight.features.extractor import NETWORKS, ExtractorConfig, open_extractor, pin_extractor

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


def save_network(path: Path, *, channels: int = 2, gain: float = 1.0) -> Path:
    """A 1x1 convolution of stride 32."""
    kernel = numpy_helper.from_array(np.full((channels, 3, 1, 1), gain, np.float32), "kernel")
    node = helper.make_node("Conv", ["image", "kernel"], ["map"], strides=[32, 32])
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, "h", "w"])
    output = helper.make_tensor_value_info("map", TensorProto.FLOAT, [1, channels, "rows", "columns"])
    graph = helper.make_graph([node], "network", [image], [output], [kernel])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    path.write_bytes(model.SerializeToString())
    return path


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
    with pytest.raises(InputError, match=r"net\.onnx' is not the network that the model was trained with; restore"):
        open_extractor(extractor_config)
    with pytest.raises(InputError, match=r"for vectors of 514 numbers, and .* gives 515"):
        open_extractor(ExtractorConfig(str(save_network(path, channels=3)), None, None, 514))
    path.unlink()
    with pytest.raises(InputError, match=r"net\.onnx' that the model was trained with is missing"):
        open_extractor(extractor_config)
    save_network(path)
    assert open_extractor(extractor_config).fingerprint == extractor_config.fingerprint


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
    whole = Backbone.builtin

    def write_anew(name: str) -> Backbone:
        """The same graph in other bytes, as another version of onnx might write it."""
        model = onnx.load_model_from_string(whole(name).path.read_bytes())
        model.producer_version = "99"
        path = cache / "other.onnx"
        path.write_bytes(model.SerializeToString())
        monkeypatch.setattr("tagsight.features.backbone.cache_builtin", lambda name, folder: path)
        return whole(name)

    monkeypatch.setattr(module.Backbone, "builtin", write_anew)
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
