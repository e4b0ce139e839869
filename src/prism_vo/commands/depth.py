# SPDX-License-Identifier: Apache-2.0
"""``prism-vo depth``: raw images → focused images, virtual depth, its uncertainty, metric depth, previews."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from prism_vo.lightfield import Decoder
    from prism_vo.types import DecodedFrame

FOLDERS = ("focused", "virtual_depth", "virtual_depth_sigma", "depth", "preview")


def depth(
    *raw: Path,
    out: Path,
    camera: Path | None = None,
    white: Path | None = None,
    near: float = 0.2,
    far: float = float("inf"),
    view: Literal["central", "focal"] | None = None,
) -> None:
    """Decode raw plenoptic images: focused image, virtual depth, its uncertainty, metric depth, a preview.

    Parameters
    ----------
    raw
        Raw images, folders of them, or recordings (folders with camera.yaml and raw/).
    out
        Folder to write; must not exist or be empty. It can be read as a decoded recording afterwards.
    camera
        Calibration (camera.yaml). Default: the one of the recording.
    white
        White image. Default: that of the recording, else vignetting is estimated from the first image.
    near
        Nearest depth searched for, metres.
    far
        Farthest depth searched for, metres.
    view
        Focused view; default: the one named in the calibration.
    """
    from rich.progress import track

    from prism_vo.config import DecodeConfig
    from prism_vo.datasets.images import read_image
    from prism_vo.errors import ConfigError, InputError
    from prism_vo.lightfield import Decoder
    from prism_vo.optics.calibration import load_calibration, save_calibration
    from prism_vo.optics.camera import PlenopticCamera
    from prism_vo.optics.nominal import metric_notice
    from prism_vo.types import RawFrame

    images = _images(raw)
    camera = camera or _beside(raw, "camera.yaml")
    if camera is None:
        raise InputError(
            "No camera file: name one with --camera camera.yaml, or give a recording that holds one."
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(
            f"{out}: holds files already; name another folder with --out, nothing was overwritten."
        )
    white = white or _beside(raw, "white.png")
    calibration = load_calibration(camera)
    lens = PlenopticCamera.from_calibration(calibration)
    decoder = Decoder(lens, DecodeConfig(near=near, far=far, view=view), read_image(white) if white else None)
    names = _names(images)
    for index, path in enumerate(track(images, "decoding", disable=len(images) < 2)):
        frame = decoder.dense(RawFrame(index, float(index), read_image(path), path=path))
        if index == 0:
            for folder in FOLDERS:
                (out / folder).mkdir(parents=True, exist_ok=True)
            save_calibration(calibration, out / "camera.yaml")
            (out / "decoded.yaml").write_text(_format(decoder.view.name), encoding="utf-8")
        _write(out, names[index], decoder, frame)
    print(f"{len(images)} image{'s' if len(images) > 1 else ''} decoded: {out}")
    notice = metric_notice(calibration)
    if notice is not None:
        print(f"note: {notice}")


def _format(view: str) -> str:
    return f"view: {view}\nconvention: 'true'\nvirtual_depth: lifcal16\nsigma: float32\n"


def _images(arguments: Iterable[Path]) -> list[Path]:
    from prism_vo.datasets.images import list_images
    from prism_vo.errors import InputError

    found: list[Path] = []
    for path in arguments:
        if path.is_dir():
            inner = path / "raw" if (path / "raw").is_dir() else path
            found.extend(list_images(inner))
        elif path.is_file():
            found.append(path)
        else:
            raise InputError(f"{path}: no such file or folder.")
    if not found:
        raise InputError("No raw images given: name image files, a folder of them, or a recording.")
    return found


def _beside(arguments: Iterable[Path], name: str) -> Path | None:
    """A file of the recording the images belong to."""
    for path in arguments:
        for folder in (path, path.parent, path.parent.parent):
            if (folder / name).is_file():
                return folder / name
    return None


def _names(images: list[Path]) -> list[str]:
    """File stems, numbered when two images share one."""
    stems = [path.stem for path in images]
    return stems if len(set(stems)) == len(stems) else [f"{n:06d}" for n in range(len(stems))]


def _write(out: Path, name: str, decoder: Decoder, frame: DecodedFrame) -> None:
    import cv2
    import numpy as np

    from prism_vo.lightfield.preview import depth_preview

    assert frame.inv_virtual_depth is not None and frame.variance is not None and frame.valid is not None
    rho, valid = frame.inv_virtual_depth.astype(np.float64), frame.valid
    with np.errstate(divide="ignore", invalid="ignore"):
        metric = np.where(valid, 1.0 / decoder.camera.inv_depth(rho), np.nan)
        metric = np.where(metric > 0, metric, np.where(valid, np.inf, np.nan)).astype(np.float32)
    code = np.where(valid, np.clip(np.rint((1.0 - rho) * 65535.0), 1, 65535), 0).astype(np.uint16)
    sigma = np.where(valid, np.sqrt(frame.variance), np.float32(np.nan)).astype(np.float32)
    focused = frame.color[..., ::-1] if frame.color is not None else np.clip(np.rint(frame.image), 0, 255)
    preview = depth_preview(frame, metric)
    np.save(out / "depth" / f"{name}.npy", metric)
    _save(out / "focused" / f"{name}.png", focused.astype(np.uint8), cv2)
    _save(out / "virtual_depth" / f"{name}.png", code, cv2)
    _save(out / "virtual_depth_sigma" / f"{name}.tiff", sigma, cv2)
    _save(out / "preview" / f"{name}.png", preview[..., ::-1], cv2)


def _save(path: Path, image: NDArray[np.generic], cv2: Any) -> None:
    from prism_vo.atomic import write_bytes_atomically
    from prism_vo.errors import InputError

    done, data = cv2.imencode(path.suffix, image)
    if not done:
        raise InputError(f"{path}: the image could not be encoded.")
    write_bytes_atomically(path, data.tobytes())
