# SPDX-License-Identifier: Apache-2.0
"""The bars of the decoder on a recording by another simulator, where it is at hand."""

import os
from pathlib import Path

import numpy as np
import pytest
from light_fields import changed

from prism_vo.datasets.images import read_image
from prism_vo.evaluate.decoding import decoding_metrics, psnr
from prism_vo.lightfield import Decoder
from prism_vo.optics.calibration import load_calibration
from prism_vo.optics.camera import PlenopticCamera
from prism_vo.types import RawFrame

RECORDING = Path(os.environ.get("PRISM_VO_DATA", Path(__file__).parents[3] / "shared" / "data")) / "table_60"
pytestmark = pytest.mark.skipif(not RECORDING.is_dir(), reason="recording not present")


@pytest.fixture(scope="module", params=[None, "RGGB"], ids=["grey", "declared as a mosaic"])
def decoder(request: pytest.FixtureRequest) -> Decoder:
    calibration = changed(load_calibration(RECORDING / "camera.yaml"), sensor={"bayer": request.param})
    camera = PlenopticCamera.from_calibration(calibration)
    return Decoder(camera, white=read_image(RECORDING / "white.png"))


@pytest.mark.parametrize("frame", [0, 25, 50])
def test_bars(decoder: Decoder, frame: int) -> None:
    name = f"{frame:06d}"
    decoded = decoder.dense(RawFrame(frame, 0.0, read_image(RECORDING / "raw" / f"{name}.png")))
    depth = np.load(RECORDING / "depth" / f"{name}.npy").astype(np.float64)
    reference = read_image(RECORDING / "reference" / f"{name}.png")
    truth = decoder.camera.inv_virtual_depth(1.0 / depth)
    m = decoding_metrics(decoded.inv_virtual_depth, decoded.variance, truth, depth, reference)
    assert abs(m.bias) <= 2e-4
    assert m.error <= 2.5e-3
    assert m.gross <= 0.005
    assert m.coverage >= 0.85
    assert all(0.85 <= h <= 1.2 for h in (m.honesty, *m.honesty_by_depth))
    assert psnr(decoded.image, reference) >= 35.0
