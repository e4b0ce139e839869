# SPDX-License-Identifier: Apache-2.0
"""camera.yaml: exact round trip, and one sentence naming file and key for every fault."""

from __future__ import annotations

import copy

import pytest
import yaml

from prism_vo.errors import InputError
from prism_vo.optics.calibration import Calibration, load_calibration, save_calibration

EXAMPLE = """
format: prism-vo/camera/1
sensor:      {width: 2048, height: 2048, pixel_size_um: 5.5, bayer: null}
main_lens:
  focal_length_mm: 16.0            # f_L
  mla_distance_mm: 15.30
  principal_point_px: [1018.6, 1029.5]
  distortion: {radial: [1e-5, 0.0], tangential: [0.0, -3e-6]}
mla:
  sensor_distance_mm: 0.35
  layout: hexagonal
  pitch_px: 23.4
  rotation_rad: 0.004
  origin_px: [1022.4, 1020.7]
  border_px: 1.0
  lens_types:
    - {focus_virtual_depth: 2.2}
    - {focus_virtual_depth: 3.0}
    - {focus_virtual_depth: 4.2}
totally_focused: {scale: 2, view: central}
response: {gamma: 1.0}
uncertainty: null
frame_rate: 10.0
"""


def write(tmp_path, change=None):
    data = yaml.safe_load(EXAMPLE.replace("1e-5", "1.0e-5").replace("-3e-6", "-3.0e-6"))
    data = copy.deepcopy(data)
    if change is not None:
        change(data)
    path = tmp_path / "camera.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def test_the_documented_example_loads(tmp_path):
    path = tmp_path / "camera.yaml"
    path.write_text(EXAMPLE)
    calibration = load_calibration(path)
    assert calibration.main_lens.distortion.radial == (1e-5, 0.0)  # also without a decimal point
    assert calibration.mla.lens_types[2].focus_virtual_depth == 4.2


def test_round_trip_is_exact(tmp_path):
    def awkward(data):
        data["main_lens"]["focal_length_mm"] = 16.0 + 1 / 3
        data["mla"]["rotation_rad"] = 1e-7 / 3
        data["uncertainty"] = {"names": ["f_L"], "covariance": [[1e-12]]}

    calibration = load_calibration(write(tmp_path, awkward))
    save_calibration(calibration, tmp_path / "again.yaml")
    assert load_calibration(tmp_path / "again.yaml") == calibration


def test_rare_keys_are_read_and_written_only_when_they_say_something(tmp_path):
    def rare(data):
        data["nominal"] = ["focal_length_mm", "mla_distance_mm"]
        data["main_lens"]["distortion"]["centre_px"] = [1000.5, 1020.25]

    calibration = load_calibration(write(tmp_path, rare))
    assert calibration.main_lens.distortion_centre_px == (1000.5, 1020.25)
    save_calibration(calibration, tmp_path / "again.yaml")
    assert load_calibration(tmp_path / "again.yaml") == calibration
    save_calibration(load_calibration(write(tmp_path)), tmp_path / "plain.yaml")
    text = (tmp_path / "plain.yaml").read_text()
    assert "nominal" not in text and "centre_px" not in text


def put(*keys, value):
    def change(data):
        for key in keys[:-1]:
            data = data[key]
        data[keys[-1]] = value

    return change


def drop(*keys):
    def change(data):
        for key in keys[:-1]:
            data = data[key]
        del data[keys[-1]]

    return change


@pytest.mark.parametrize(
    "change, words",
    [
        (put("main_lens", "focal_lenght_mm", value=3.0), "did you mean 'focal_length_mm'"),
        (put("mla", "lens_types", 1, "focus_virtual_dpeth", value=3.0), "did you mean 'focus_virtual_depth'"),
        (put("sensr", value={}), "did you mean 'sensor'"),
        (put("mla", "zzz", value=1), "known here: border_px"),
        (drop("mla", "pitch_px"), "'mla.pitch_px' is missing"),
        (put("sensor", "width", value="wide"), "'sensor.width': Input should be a valid integer"),
        (put("sensor", "width", value="2048"), "'sensor.width'"),
        (put("main_lens", "focal_length_mm", value=-16.0), "'main_lens.focal_length_mm'.*or equal to 0.1"),
        (put("sensor", "pixel_size_um", value=5e-324), "'sensor.pixel_size_um'.*or equal to 0.1"),
        (put("mla", "sensor_distance_mm", value=1e-320), "'mla.sensor_distance_mm'.*or equal to 0.001"),
        (put("main_lens", "focal_length_mm", value=float("nan")), "finite"),
        (put("main_lens", "focal_length_mm", value=True), "valid number"),
        (put("main_lens", "mla_distance_mm", value=2.0), "virtual depth above 40"),
        (put("mla", "pitch_px", value=900.0), "fewer than three micro-lenses"),
        (put("sensor", "height", value=65536), "one side is more than 8 times the other"),
        (put("mla", "border_px", value=11.0), "nothing of a micro-image"),
        (put("mla", "lens_types", value=[]), "at least 1"),
        (put("mla", "layout", value="round"), "'hexagonal' or 'rectangular'"),
        (put("format", value="prism-vo/camera/9"), "'format'"),
        (put("nominal", value=["focal_length"]), "'nominal.0'.*'focal_length_mm'"),
        (put("sensor", value=[1, 2]), "'sensor'"),
        (put("totally_focused", "view", value="side"), "'central' or 'focal'"),
    ],
)
def test_faults(tmp_path, change, words):
    path = write(tmp_path, change)
    with pytest.raises(InputError, match=words) as error:
        load_calibration(path)
    message = str(error.value)
    assert message.startswith(str(path)) and "\n" not in message


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "found nothing"),
        (b"- a\n- b\n", "found a list"),
        (b"a: [1, 2\n", "not a valid YAML file .line"),
        (b"\xff\xfe\x00\x01", "not a valid YAML file"),
        (b"sensor: 1\nsensor: 2\n", "'sensor' is given twice"),
        (b"when: 2024-99-99\n", "not a valid YAML file"),
    ],
)
def test_files_that_are_not_yaml(tmp_path, content, words):
    path = tmp_path / "camera.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        load_calibration(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_calibration(tmp_path / "camera.yaml")


def test_models_are_immutable():
    calibration = Calibration.model_validate(yaml.safe_load(EXAMPLE))
    with pytest.raises(ValueError):
        calibration.frame_rate = 3.0
