# SPDX-License-Identifier: Apache-2.0
"""Image pyramids, gradients and interpolation the baselines share."""

from __future__ import annotations

import cv2
import numpy as np

from prism_vo.arrays import Array, Floats


def image_pyramid(image: Floats, levels: int) -> list[Floats]:
    """Means of 2×2, finest first."""
    out = [image]
    for _ in range(levels - 1):
        h, w = (s // 2 * 2 for s in out[-1].shape)
        out.append(out[-1][:h, :w].reshape(h // 2, 2, w // 2, 2).mean((1, 3)).astype(np.float32))
    return out


def bilinear(images: tuple[Floats, ...], u: Array, v: Array) -> list[Array]:
    """Exact bilinear values (OpenCV's are quantised to 1/32 px) of images at positions (N,) inside them."""
    x, y = u.astype(np.intp), v.astype(np.intp)
    a, b = u - x, v - y
    width = images[0].shape[1]
    corner = y * width + x
    weights = ((1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b)
    corners = (corner, corner + 1, corner + width, corner + width + 1)
    return [
        sum((w * image.ravel()[c] for w, c in zip(weights, corners)), np.zeros_like(u)) for image in images
    ]


def sample(image: Floats, u: Floats, v: Floats) -> Floats:
    """Bilinear values of an image at float32 positions of any shape, fast and good to 1/32 px."""
    shape = u.shape
    width = min(4096, max(1, u.size))  # remap refuses maps wider than 32767
    pad = -u.size % width
    x, y = (np.pad(a.ravel(), (0, pad), mode="edge").reshape(-1, width) for a in (u, v))
    out = cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(out, np.float32).ravel()[: u.size].reshape(shape)


def gradients(image: Floats) -> tuple[Floats, Floats]:
    """Central differences along x and y, zero at the border."""
    gx, gy = np.zeros_like(image), np.zeros_like(image)
    gx[:, 1:-1] = 0.5 * (image[:, 2:] - image[:, :-2])
    gy[1:-1] = 0.5 * (image[2:] - image[:-2])
    return gx, gy
