"""The JSON file beside a network, against the graph it describes."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.networks import save_pooler, save_transformer

from tagsight.errors import InputError
from tagsight.features.backbone import Backbone
from tagsight.features.network_spec import NetworkSpec, read_spec


def write_spec(network: Path, content: Any) -> Path:
    network.with_suffix(".json").write_text(content if isinstance(content, str) else json.dumps(content))
    return network


def test_a_network_without_a_file_has_the_default_spec(tmp_path: Path) -> None:
    assert read_spec(tmp_path / "net.onnx") == NetworkSpec()


def test_every_key_sets_its_field(tmp_path: Path) -> None:
    content = {
        "mean": [127, 127.5, 128],
        "scale": [1, 255, 58.5],
        "size": [518, 392],
        "multiple": 28,
        "input_layout": "NHWC",
        "output_layout": "NTC",
        "outputs": ["tokens", "last"],
        "patch_size": 14,
        "drop_tokens": 5,
    }
    assert content.keys() == set(NetworkSpec._fields)
    assert read_spec(write_spec(tmp_path / "net.onnx", content)) == NetworkSpec(
        (127, 127.5, 128), (1, 255, 58.5), (518, 392), 28, "NHWC", "NTC", ("tokens", "last"), 14, 5
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"net\.json' is not valid JSON"),
        ([1], r"net\.json' is not a JSON object; write it as"),
        ({"mean_": 1}, r"net\.json' has the unknown key 'mean_'; the keys are mean, scale, size"),
        ({"mean": 127}, r"'mean' of '.*net\.json' is 127; it must be a list of three numbers"),
        ({"mean": [1, 2]}, r"'mean' .* is \[1, 2\]; it must be"),
        ({"mean": [1, 2, True]}, r"'mean' .* is \[1, 2, True\]"),
        ('{"mean": [1, 2, NaN]}', r"'mean' .* is \[1, 2, nan\]"),
        ({"scale": [1, 0, 1]}, r"'scale' .* is \[1, 0, 1\]; it must be a list of three numbers from 1e-06"),
        ({"scale": [0.229, 0.224, 0.225]}, r"'scale' .* is for pixels from 0 to 1; multiply 'mean' and 'scale' by 255"),
        ({"size": 0}, r"'size' .* is 0; it must be a whole number from 1 to 4096, or a list \[height, width\]"),
        ({"size": [518]}, r"'size' .* is \[518\]"),
        ({"size": 518.0}, r"'size' .* is 518\.0"),
        ({"outputs": "tokens"}, r"'outputs' .* is 'tokens'; it must be a list of distinct names"),
        ({"outputs": []}, r"'outputs' .* is \[\]"),
        ({"outputs": ["a", "a"]}, r"'outputs' .* is \['a', 'a'\]"),
        ({"output_layout": "TNC"}, r"'output_layout' .* is 'TNC'; it must be one of NCHW, NHWC, NTC"),
        ({"input_layout": "NTC"}, r"'input_layout' .* is 'NTC'; it must be one of NCHW, NHWC"),
        ({"patch_size": None}, r"'patch_size' .* is None; it must be a whole number from 1 to 4096"),
        ({"drop_tokens": -1}, r"'drop_tokens' .* is -1; it must be a whole number from 0 to 1024"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_by_name_and_key(tmp_path: Path, content: Any, message: str) -> None:
    write_spec(tmp_path / "net.onnx", content)
    with pytest.raises(InputError, match=message):
        read_spec(tmp_path / "net.onnx")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (NetworkSpec(size=224), r"net\.onnx takes images of 64 x 96 pixels only, .*net\.json' is 224; remove"),
        (NetworkSpec(size=(96, 64)), r"64 x 96 pixels only, .* is \(96, 64\)"),
        (NetworkSpec(outputs=("lost",)), r"no 4-D or 3-D output 'lost', only map .*'outputs' of .*net\.json"),
        (NetworkSpec(output_layout="NTC"), "no 3-D output to pool, only map"),
        (NetworkSpec(input_layout="NHWC"), r"image of shape \[1, 3, 64, 96\]"),
    ],
)
def test_a_spec_that_the_graph_contradicts_is_refused(tmp_path: Path, spec: NetworkSpec, message: str) -> None:
    path = save_pooler(tmp_path / "net.onnx", shape=(1, 3, 64, 96), output=("map", 1, (1, 3, 16, 24)))
    assert Backbone(path, NetworkSpec(size=(64, 96))).fingerprint == Backbone(path).fingerprint
    with pytest.raises(InputError, match=message):
        Backbone(path, spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (NetworkSpec(size=16), "size 16 and multiple 32"),
        (NetworkSpec(multiple=40), r"multiple 40 .* is not in whole patches of 32 pixels; correct 'multiple'"),
        (NetworkSpec(size=(64, 80), patch_size=32, drop_tokens=1), r"size 64 x 80 .* is not in whole patches of 32"),
        (NetworkSpec(drop_tokens=2), r"tokens with 50 tokens for 224 x 224 pixels, which fits no common patch size"),
        (
            NetworkSpec(patch_size=14),
            "with 50 tokens for 224 x 224 pixels, not in patches of 14; give 'patch_size' and",
        ),
    ],
)
def test_numbers_that_do_not_fit_each_other_are_refused(tmp_path: Path, spec: NetworkSpec, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Backbone(save_transformer(tmp_path / "net.onnx", patch_size=32), spec)
