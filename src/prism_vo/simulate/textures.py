# SPDX-License-Identifier: Apache-2.0
"""Procedural textures with natural statistics: tileable grey layers and their mip pyramids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Floats

Layer = Floats  # (SIZE, SIZE), 0–1, repeats in both directions
Canvas = NDArray[np.uint8] | Floats
SIZE = 1024
SOFTNESS = 1.8  # texels


@dataclass(frozen=True)
class Atlas:
    """All layers with their mip levels in one array; ``starts[layer, level]`` is where a level begins."""

    texels: NDArray[np.uint8]
    starts: NDArray[np.int64]
    names: tuple[str, ...]

    def layer(self, name: str) -> int:
        """Index of a layer by name."""
        return self.names.index(name)


def make_atlas(layers: dict[str, Layer]) -> Atlas:
    """Pack layers with their pyramids (2×2 means)."""
    parts: list[NDArray[np.uint8]] = []
    starts, at = [], 0
    for layer in layers.values():
        row, level = [], layer.astype(np.float32)
        while True:
            row.append(at)
            parts.append(np.clip(np.rint(level * 255.0), 0, 255).astype(np.uint8).ravel())
            at += level.size
            if level.size == 1:
                break
            level = 0.25 * (level[::2, ::2] + level[1::2, ::2] + level[::2, 1::2] + level[1::2, 1::2])
        starts.append(row)
    return Atlas(np.concatenate(parts), np.array(starts, np.int64), tuple(layers))


@cache
def standard_layer(name: str) -> Layer:
    """One of the layers built-in scenes draw from (made once a process)."""
    return _softened(MAKERS[name](np.random.default_rng(1000 + list(MAKERS).index(name))))


def _softened(layer: Layer) -> Layer:
    """Printed edges are never sharper than a texel or two: a Gaussian, across the tile's border too."""
    pad = 8
    wide = np.pad(layer, pad, mode="wrap")
    return np.asarray(cv2.GaussianBlur(wide, (0, 0), SOFTNESS)[pad:-pad, pad:-pad], np.float32).copy()


def atlas_for(names: set[str], extra: dict[str, Layer] | None = None) -> Atlas:
    """The standard layers of these names, those every scene needs, and any of the user's own."""
    own = extra or {}
    layers = {n: standard_layer(n) for n in sorted((names | {"rough", "clouds"}) - set(own))}
    return make_atlas({**layers, **own})


def spectral_noise(
    rng: np.random.Generator, slope: float, stretch: tuple[float, float] = (1.0, 1.0)
) -> Layer:
    """Gaussian noise with amplitude ∝ frequency^−slope (natural images: about 1), mean 0, deviation 1."""
    fy = np.fft.fftfreq(SIZE)[:, None] * stretch[1]
    fx = np.fft.rfftfreq(SIZE)[None, :] * stretch[0]
    frequency = np.hypot(fx, fy)
    frequency[0, 0] = 1.0
    amplitude = np.maximum(frequency, 3.0 / SIZE) ** -slope
    amplitude[0, 0] = 0.0
    phase = np.exp(2j * np.pi * rng.random(amplitude.shape))
    noise = np.fft.irfft2(amplitude * phase, s=(SIZE, SIZE))
    return np.asarray(noise / noise.std(), np.float32)


def finish(image: NDArray[np.floating], mean: float, deviation: float) -> Layer:
    """Set mean and standard deviation, softly limited to 0.02–0.98."""
    x = (image - image.mean()) / max(float(image.std()), 1e-9)
    return np.clip(mean + deviation * np.clip(x, -2.6, 2.6), 0.02, 0.98).astype(np.float32)


def _wrapped(draw: Callable[[Canvas, int, int], None], canvas: Canvas, x: int, y: int, reach: int) -> None:
    """Draw at (x, y) and at its copies across the tile border."""
    for ox in (-SIZE, 0, SIZE):
        for oy in (-SIZE, 0, SIZE):
            if -reach <= x + ox <= SIZE + reach and -reach <= y + oy <= SIZE + reach:
                draw(canvas, x + ox, y + oy)


def dead_leaves(rng: np.random.Generator, count: int, low: float, high: float, shape: str) -> Layer:
    """Occluding discs, leaves or boxes with power-law sizes: the statistics of natural scenes."""
    canvas = np.full((SIZE, SIZE), 128, np.uint8)  # 8 bit: OpenCV smooths edges only there
    sizes = np.sort((low**-2 - rng.random(count) * (low**-2 - high**-2)) ** -0.5)[::-1]
    for size in sizes:
        x, y = (int(k) for k in rng.integers(0, SIZE, 2))
        grey, angle, slim = (
            float(rng.uniform(13, 242)),
            float(rng.uniform(0, 180)),
            float(rng.uniform(0.3, 0.6)),
        )
        edge = grey * float(rng.uniform(0.6, 0.9))

        def draw(
            image: Canvas,
            px: int,
            py: int,
            s: float = size,
            g: float = grey,
            a: float = angle,
            k: float = slim,
            e: float = edge,
        ) -> None:
            if shape == "box":
                corners = cv2.boxPoints(((px, py), (2 * s, 2 * s * k), a)).astype(np.int32)
                cv2.fillConvexPoly(image, corners, g, cv2.LINE_AA)
                return
            axes = (max(int(s), 1), max(int(s * (k if shape == "leaf" else 1.0)), 1))
            cv2.ellipse(image, (px, py), axes, a, 0, 360, g, -1, cv2.LINE_AA)
            if shape == "leaf" and s > 8:
                tip = (int(px + s * np.cos(np.deg2rad(a))), int(py + s * np.sin(np.deg2rad(a))))
                cv2.line(image, (px, py), tip, e, 1, cv2.LINE_AA)

        _wrapped(draw, canvas, x, y, int(2 * size) + 2)
    return canvas.astype(np.float32) / np.float32(255.0)


def _plain(rng: np.random.Generator) -> Layer:
    return finish(spectral_noise(rng, 1.4), 0.62, 0.018)


def _plaster(rng: np.random.Generator) -> Layer:
    return finish(spectral_noise(rng, 1.05) + 0.4 * np.abs(spectral_noise(rng, 1.2)), 0.55, 0.10)


def _rough(rng: np.random.Generator) -> Layer:
    return finish(spectral_noise(rng, 1.1) + 1.2 * np.tanh(2.0 * spectral_noise(rng, 1.3)), 0.5, 0.19)


def _wood(rng: np.random.Generator) -> Layer:
    grain = spectral_noise(rng, 1.15, (12.0, 1.0))
    yy, _ = np.mgrid[0:SIZE, 0:SIZE]
    rings = np.sin(yy * (2 * np.pi * 24 / SIZE) + 3.0 * spectral_noise(rng, 1.6, (5.0, 1.0)))
    image = 0.55 * grain + 0.35 * rings
    for plank in range(8):
        rows = slice(plank * SIZE // 8, (plank + 1) * SIZE // 8)
        image[rows] = np.roll(image[rows], int(rng.integers(SIZE)), 1) + 0.6 * rng.standard_normal()
        image[rows.start : rows.start + 3] -= 1.6
    return finish(image, 0.48, 0.14)


def _brick(rng: np.random.Generator) -> Layer:
    image = np.full((SIZE, SIZE), 0.8, np.float32)
    h, w = SIZE // 16, SIZE // 8
    for r in range(16):
        for c in range(8):
            x, y, g = c * w + (r % 2) * w // 2, r * h, float(np.clip(rng.normal(0.36, 0.11), 0.1, 0.7))

            def draw(canvas: Canvas, px: int, py: int, grey: float = g) -> None:
                cv2.rectangle(canvas, (px + 3, py + 3), (px + w - 4, py + h - 4), grey, -1)

            _wrapped(draw, image, x, y, w + h)
    return finish(image / 0.2 + 0.5 * spectral_noise(rng, 0.9), 0.45, 0.17)


def _cells(rng: np.random.Generator) -> Layer:
    """Pebbles or paving: Voronoi cells, each with its own grey, dark joints."""
    from scipy.spatial import cKDTree

    seeds = rng.random((1000, 2)) * SIZE
    tree = cKDTree(seeds, boxsize=np.array([SIZE, SIZE]))
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    distance, owner = (np.asarray(a) for a in tree.query(np.stack([xx, yy], -1).reshape(-1, 2) + 0.5, k=2))
    joint = np.clip((distance[:, 1] - distance[:, 0]) / 7.0, 0, 1).reshape(SIZE, SIZE)
    grey = rng.uniform(0.25, 0.9, len(seeds))[owner[:, 0]].reshape(SIZE, SIZE)
    dome = 1.0 - 0.010 * distance[:, 0].reshape(SIZE, SIZE)
    return finish(joint * grey * dome + 0.06 * spectral_noise(rng, 1.0), 0.5, 0.19)


def _posters(rng: np.random.Generator) -> Layer:
    """Sixteen printed sheets: text, shapes and photographs."""
    image = np.zeros((SIZE, SIZE), np.float32)
    photo = dead_leaves(rng, 4000, 6, 120, "disc")
    words = ("PRISM", "light", "4D field", "odometry", "Open 9-17", "Nr. 27", "micro lens", "A3 print")
    n = SIZE // 4
    for k in range(16):
        sheet = np.full((n, n), int(rng.uniform(140, 242)), np.uint8)
        oy, ox = (int(v) for v in rng.integers(0, SIZE - n, 2))
        if k % 3 == 0:
            sheet[20 : n - 50, 16 : n - 16] = 255 * photo[oy : oy + n - 70, ox : ox + n - 32]
        for line in range(3 if k % 3 == 0 else 11):
            y = n - 14 - line * (14 if k % 3 == 0 else 22)
            size = float(rng.uniform(0.45, 1.3))
            text = str(rng.choice(words)) + " " + str(rng.choice(words))
            cv2.putText(
                sheet,
                text,
                (int(rng.integers(4, 40)), y),
                cv2.FONT_HERSHEY_DUPLEX,
                size,
                25,
                1 + k % 2,
                cv2.LINE_AA,
            )
        if k % 3 == 1:
            cv2.circle(sheet, (n // 2, n // 3), n // 5, int(rng.uniform(25, 128)), -1, cv2.LINE_AA)
        cv2.rectangle(sheet, (0, 0), (n - 1, n - 1), 64, 3)
        image[(k // 4) * n : (k // 4 + 1) * n, (k % 4) * n : (k % 4 + 1) * n] = sheet / 255.0
    return np.clip(image + 0.02 * spectral_noise(rng, 1.0), 0.02, 0.98).astype(np.float32)


def _foliage(rng: np.random.Generator) -> Layer:
    return finish(dead_leaves(rng, 5000, 7, 60, "leaf") + 0.05 * spectral_noise(rng, 0.9), 0.45, 0.18)


def _gravel(rng: np.random.Generator) -> Layer:
    return finish(dead_leaves(rng, 16000, 3, 24, "disc") + 0.16 * spectral_noise(rng, 1.0), 0.45, 0.14)


def _asphalt(rng: np.random.Generator) -> Layer:
    image = spectral_noise(rng, 0.75) + 0.7 * spectral_noise(rng, 1.6)
    for _ in range(14):
        walk = np.cumsum(rng.normal(0, 9, (60, 2)), 0) + rng.integers(150, SIZE - 150, 2)
        points = np.clip(walk, 2, SIZE - 3).astype(np.int32)
        cv2.polylines(image, [points], False, -2.5, 2, cv2.LINE_AA)
    return finish(image, 0.36, 0.10)


def _fabric(rng: np.random.Generator) -> Layer:
    yy, xx = np.mgrid[0:SIZE, 0:SIZE] * (2 * np.pi / SIZE)
    pattern = (
        np.sign(np.sin(6 * xx) * np.sin(6 * yy))
        + 0.8 * np.sin(18 * (xx + yy))
        + np.cos(3 * xx) * np.cos(5 * yy)
    )
    return finish(pattern + 0.7 * spectral_noise(rng, 1.0), 0.45, 0.17)


def _grass(rng: np.random.Generator) -> Layer:
    image = spectral_noise(rng, 1.2).copy()
    for _ in range(9000):
        x, y = (int(k) for k in rng.integers(0, SIZE, 2))
        dx, dy = int(rng.normal(0, 7)), -int(rng.uniform(8, 26))
        grey = float(rng.normal(0.2, 1.1))

        def draw(canvas: Canvas, px: int, py: int, a: int = dx, b: int = dy, g: float = grey) -> None:
            cv2.line(canvas, (px, py), (px + a, py + b), g, 1, cv2.LINE_AA)

        _wrapped(draw, image, x, y, 30)
    return finish(image, 0.42, 0.15)


def _facade(rng: np.random.Generator) -> Layer:
    """Four by four windows in plaster, with frames, panes, sills and blinds; one tile is a wall of 12 m."""
    image = 0.62 + 0.06 * spectral_noise(rng, 1.1)
    n = SIZE // 4
    for r in range(4):
        for c in range(4):
            x, y = c * n + n // 4, r * n + n // 5
            w, h = n // 2, int(n * 0.58)
            cv2.rectangle(image, (x - 8, y - 8), (x + w + 8, y + h + 8), 0.85, -1)
            pane = dead_leaves(rng, 40, 12, 60, "disc")[:h, :w] * 0.35 + 0.08
            image[y : y + h, x : x + w] = pane
            blind = int(h * rng.uniform(0, 0.7))
            image[y : y + blind : 5, x : x + w] = 0.7
            for bar in (x, x + w // 2, x + w):
                cv2.line(image, (bar, y), (bar, y + h), 0.9, 5)
            cv2.rectangle(image, (x - 14, y + h + 8), (x + w + 14, y + h + 18), 0.4, -1)
        cv2.line(image, (0, r * n + 6), (SIZE, r * n + 6), 0.42, 5)
    return np.clip(image, 0.02, 0.98).astype(np.float32)


def _clouds(rng: np.random.Generator) -> Layer:
    return finish(np.tanh(1.5 * spectral_noise(rng, 1.7)), 0.55, 0.25)


def _clutter(rng: np.random.Generator) -> Layer:
    return finish(dead_leaves(rng, 6000, 5, 140, "disc") + 0.05 * spectral_noise(rng, 1.0), 0.5, 0.2)


def _print(rng: np.random.Generator) -> Layer:
    return finish(dead_leaves(rng, 3000, 7, 150, "box") + 0.08 * spectral_noise(rng, 1.0), 0.52, 0.2)


def _tiles(rng: np.random.Generator) -> Layer:
    n = SIZE // 8
    grey = np.kron(rng.normal(0.0, 0.5, (8, 8)), np.ones((n, n)))
    image = 0.8 * spectral_noise(rng, 1.2) + grey
    for k in range(8):
        image[k * n : k * n + 5] -= 2.2
        image[:, k * n : k * n + 5] -= 2.2
    return finish(image, 0.55, 0.13)


def _metal(rng: np.random.Generator) -> Layer:
    return finish(spectral_noise(rng, 0.8, (1.0, 20.0)) + 0.8 * spectral_noise(rng, 1.5), 0.5, 0.09)


def _books(rng: np.random.Generator) -> Layer:
    image = np.full((SIZE, SIZE), 0.1, np.float32)
    for shelf in range(4):
        y0, y1 = shelf * SIZE // 4, (shelf + 1) * SIZE // 4
        x = 0
        while x < SIZE:
            w = int(rng.integers(14, 46))
            grey, top = float(rng.uniform(0.15, 0.95)), y0 + int(rng.integers(12, 70))
            cv2.rectangle(image, (x, top), (x + w - 2, y1 - 14), grey, -1)
            for _ in range(int(rng.integers(1, 4))):
                y = int(rng.integers(top + 6, y1 - 20))
                cv2.rectangle(image, (x + 2, y), (x + w - 4, y + int(rng.integers(3, 16))), 1.0 - grey, -1)
            x += w
        cv2.rectangle(image, (0, y1 - 14), (SIZE, y1), 0.6, -1)
    return np.clip(image + 0.03 * spectral_noise(rng, 1.0), 0.02, 0.98).astype(np.float32)


MAKERS: dict[str, Callable[[np.random.Generator], Layer]] = {
    "plain": _plain,
    "plaster": _plaster,
    "rough": _rough,
    "wood": _wood,
    "brick": _brick,
    "cells": _cells,
    "posters": _posters,
    "foliage": _foliage,
    "gravel": _gravel,
    "asphalt": _asphalt,
    "fabric": _fabric,
    "grass": _grass,
    "facade": _facade,
    "clouds": _clouds,
    "clutter": _clutter,
    "print": _print,
    "tiles": _tiles,
    "metal": _metal,
    "books": _books,
}
