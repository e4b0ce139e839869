# SPDX-License-Identifier: Apache-2.0
"""Numba kernels: sensor samples → rays, view samples → rays, hits → light.

Every random number is a hash of (pixel, sample, key), so that an image does not depend on the order of the work.
"""

# mypy: disallow-untyped-defs=False
from __future__ import annotations

import math

import numpy as np

from prism_vo.compiled import njit
from prism_vo.simulate.records import (
    CONTRAST,
    LAYER,
    MACRO_GAIN,
    MACRO_LAYER,
    MACRO_SCALE,
    NORMAL,
    OWN_LIGHT,
    REFLECT,
    SHADE,
    TRANSMIT,
    UV,
    UV_BY_B,
    UV_BY_X,
)

MACRO_TILES = 0.173  # tiles of the coarse texture to one of the fine one
MACRO_LEVELS = math.log2(MACRO_TILES)
SPECIAL = 1  # flag of a hit whose material reflects or transmits


@njit(nogil=True, cache=True, inline="always")
def _hash(a, b, c):
    """32 well-mixed bits of three integers (finaliser of MurmurHash3)."""
    low = np.uint64(0xFFFFFFFF)
    h = (np.uint64(a) * np.uint64(0x9E3779B1) ^ np.uint64(b) * np.uint64(0x85EBCA77)) & low
    h = (h ^ np.uint64(c) * np.uint64(0xC2B2AE3D)) & low
    h = ((h ^ (h >> np.uint64(16))) * np.uint64(0x85EBCA6B)) & low
    h = ((h ^ (h >> np.uint64(13))) * np.uint64(0xC2B2AE35)) & low
    h = h ^ (h >> np.uint64(16))
    return np.int64(h)


@njit(nogil=True, cache=True)
def rays_raw(row0, row1, sample, sensor, pose, rays):
    """One ray for each lit pixel of rows [row0, row1): camera-model, "Tracing a raw pixel". Returns their number.

    A fixed place in a cell of the pixel, such that all n² places have different columns and rows of n² (the mip level
    of a texture averages about it), with a jittered sector and ring of the micro-lens aperture. Opposite cells take
    opposite points of both: what varies linearly over pixel and aperture, which is most of what four rays see, is
    then integrated without noise.
    """
    cell, side, key = sample.cell, sample.side, sample.key
    b_l0, b = sensor.optics.b_L0, sensor.optics.B
    mm, radius = sensor.optics.pixel, sensor.optics.micro_radius
    lens, weight, pixel = sensor.lens, sensor.weight, sensor.pixel
    lens_centre, lens_kind, inv_micro_focal = sensor.lens_centre, sensor.lens_kind, sensor.inv_micro_focal
    main_focal, cfa = sensor.main_focal, sensor.cfa
    origin, direction, target, kind, channel = (
        rays.origin,
        rays.direction,
        rays.target,
        rays.kind,
        rays.channel,
    )
    width = lens.shape[1]
    distorted = pixel.shape[0] > 1
    count = side * side
    column, row = cell % side, cell // side
    sub_x = (column + (row + 0.5) / side) / side - 0.5
    sub_y = (row + (side - column - 0.5) / side) / side - 0.5
    first = min(cell, count - 1 - cell)
    sign = 1.0 if first == cell else -1.0
    rings = (count + 1) // 2
    tiny = 1.0 / 65536.0
    n = 0
    for y in range(row0, row1):
        for x in range(width):
            if weight[y, x] <= 0.0:
                continue
            own, shared = _hash(x, y, key + first + 7919), _hash(x, y, key)
            if distorted:
                px, py = pixel[y, x, 0] + sub_x * mm, pixel[y, x, 1] + sub_y * mm
            else:
                px, py = pixel[0, 0, 0] + (x + sub_x) * mm, pixel[0, 0, 1] + (y + sub_y) * mm
            i = lens[y, x]
            k = lens_kind[i]
            cx, cy = lens_centre[i, 0], lens_centre[i, 1]
            angle = 2.0 * math.pi * ((first + shared) % count + (own & 0xFFFF) * tiny) / count
            ring = (first + (shared >> 16)) % rings
            r = sign * radius * math.sqrt((ring + (own >> 16) * tiny) / rings)
            ax, ay = r * math.cos(angle), r * math.sin(angle)
            mx = (px - cx - ax) / b + ax * inv_micro_focal[k]
            my = (py - cy - ay) / b + ay * inv_micro_focal[k]
            gx, gy = cx + ax - mx * b_l0, cy + ay - my * b_l0
            dx, dy = mx + gx / main_focal[i], my + gy / main_focal[i]
            ox, oy = -gx * 1e-3, -gy * 1e-3
            for c in range(3):
                origin[n, c] = pose[c, 0] * ox + pose[c, 1] * oy + pose[c, 3]
                direction[n, c] = pose[c, 0] * dx + pose[c, 1] * dy + pose[c, 2]
            target[n] = (y - row0) * width + x
            kind[n] = k
            channel[n] = cfa[y & 1, x & 1]
            n += 1
    return n


@njit(nogil=True, cache=True)
def rays_view(row0, row1, sub_x, sub_y, view, pose, rays):
    """One ray a pixel of a pinhole view (ViewNumbers), at sub-pixel offset (sub_x, sub_y)."""
    focal, cx, cy, z0, width = view.focal, view.cx, view.cy, view.z0, view.width
    origin, direction = rays.origin, rays.direction
    n = 0
    for y in range(row0, row1):
        for x in range(width):
            dx, dy = (x + sub_x - cx) / focal, (y + sub_y - cy) / focal
            for c in range(3):
                # the ray passes (0, 0, z0); started at z = 0 its parameter is z_C itself
                origin[n, c] = pose[c, 3] - z0 * (pose[c, 0] * dx + pose[c, 1] * dy)
                direction[n, c] = pose[c, 0] * dx + pose[c, 1] * dy + pose[c, 2]
            n += 1
    return n


@njit(nogil=True, cache=True, fastmath=True)
def _bilinear(texels, start, size, u, v):
    """Bilinear lookup in one mip level; u, v in tiles, wrapped."""
    mask = size - 1
    x, y = u * size - 0.5, v * size - 0.5
    fx, fy = math.floor(x), math.floor(y)
    ax, ay = x - fx, y - fy
    x0, y0 = int(fx) & mask, int(fy) & mask
    x1, y1 = (x0 + 1) & mask, (y0 + 1) & mask
    top = (1.0 - ax) * texels[start + y0 * size + x0] + ax * texels[start + y0 * size + x1]
    bottom = (1.0 - ax) * texels[start + y1 * size + x0] + ax * texels[start + y1 * size + x1]
    return (1.0 - ay) * top + ay * bottom


@njit(nogil=True, cache=True, fastmath=True)
def _texture(texels, starts, layer, u, v, lod):
    """Trilinear lookup with a footprint of 2^lod texels of the finest level; 0–1."""
    levels = starts.shape[1]
    l0 = min(int(lod), levels - 1)
    size = 1 << (levels - 1 - l0)
    value = _bilinear(texels, starts[layer, l0], size, u, v)
    part = lod - l0
    if part > 0.02 and l0 + 1 < levels:
        value += part * (_bilinear(texels, starts[layer, l0 + 1], size >> 1, u, v) - value)
    return value * (1.0 / 255.0)


@njit(nogil=True, cache=True, fastmath=True)
def shade(count, hits, rays, surfaces, spread, light, flag):
    """Light that the surface at each hit sends back by itself; marks hits whose material also mirrors or transmits."""
    face, bu, bv, depth = hits.face, hits.u, hits.v, hits.depth
    direction, kind, channel, travelled = rays.direction, rays.kind, rays.channel, rays.travelled
    triangles, materials, numbers, tints = (
        surfaces.triangles,
        surfaces.materials,
        surfaces.numbers,
        surfaces.tints,
    )
    sky, texels, starts = surfaces.sky, surfaces.texels, surfaces.starts
    size = float(1 << (starts.shape[1] - 1))
    for i in range(count):
        f = face[i]
        dx, dy, dz = direction[i, 0], direction[i, 1], direction[i, 2]
        c = channel[i]
        if f < 0:
            light[i] = _sky(dx, dy, dz, c, sky, texels, starts)
            flag[i] = 0
            continue
        t = triangles[f]
        b1, b2, z = bu[i], bv[i], depth[i] + travelled[i]
        u = t[UV] + b1 * t[UV_BY_B] + b2 * t[UV_BY_B + 2]
        v = t[UV + 1] + b1 * t[UV_BY_B + 1] + b2 * t[UV_BY_B + 3]
        s = spread[kind[i]]
        p0, p1 = s[0] + s[1] * z, s[2] + s[3] * z
        wide = math.sqrt(p0 * p0 + p1 * p1)
        length = math.sqrt(dx * dx + dy * dy + dz * dz)
        slope = dx * t[NORMAL] + dy * t[NORMAL + 1] + dz * t[NORMAL + 2]
        stretch = min(length / max(abs(slope), 1e-6), 12.0)  # of the footprint on a slanted surface
        density = (
            math.sqrt(
                t[UV_BY_X] * t[UV_BY_X] + t[UV_BY_X + 1] * t[UV_BY_X + 1] + t[UV_BY_X + 2] * t[UV_BY_X + 2]
            )
            * size
        )
        m = numbers[materials[f]]
        taps = int(stretch * 0.6 + 0.6)
        taps = min(max(taps, 1), 6)
        lod = math.log2(max(wide * density * max(stretch / taps, 1.0), 1.0))
        layer = int(m[LAYER])
        if taps == 1:
            grey = _texture(texels, starts, layer, u, v, lod)
        else:
            ex, ey, ez = dx - slope * t[NORMAL], dy - slope * t[NORMAL + 1], dz - slope * t[NORMAL + 2]
            step = wide * stretch / taps / math.sqrt(ex * ex + ey * ey + ez * ez + 1e-12)
            du = (t[UV_BY_X] * ex + t[UV_BY_X + 1] * ey + t[UV_BY_X + 2] * ez) * step
            dv = (t[UV_BY_X + 3] * ex + t[UV_BY_X + 4] * ey + t[UV_BY_X + 5] * ez) * step
            grey = 0.0
            for k in range(taps):
                o = k - 0.5 * (taps - 1)
                grey += _texture(texels, starts, layer, u + o * du, v + o * dv, lod)
            grey /= taps
        if m[MACRO_GAIN] > 0.0:
            # one level is enough for what only varies slowly
            level = min(max(int(lod + MACRO_LEVELS + 0.5), 0), starts.shape[1] - 1)
            wide_u, wide_v = u * m[MACRO_SCALE] + 0.37, v * m[MACRO_SCALE] + 0.11
            macro = _bilinear(
                texels, starts[int(m[MACRO_LAYER]), level], 1 << (starts.shape[1] - 1 - level), wide_u, wide_v
            )
            grey *= 1.0 + m[MACRO_GAIN] * (macro * (1.0 / 255.0) - 0.5)
        grey = 0.5 + m[CONTRAST] * (grey - 0.5)
        tint = tints[materials[f]]
        g = min(max(grey, 0.0), 1.0)
        corner = t[SHADE] + b1 * (t[SHADE + 1] - t[SHADE]) + b2 * (t[SHADE + 2] - t[SHADE])
        light[i] = m[OWN_LIGHT] * g * (tint[0, c] + g * (tint[1, c] - tint[0, c])) * corner
        flag[i] = SPECIAL if m[REFLECT] + m[TRANSMIT] > 0.0 else 0


@njit(nogil=True, cache=True, fastmath=True)
def _sky(dx, dy, dz, c, sky, texels, starts):
    """Cloud layer on a plane overhead, fading into haze at the horizon. ``sky``: [layer, bright, haze] × channel."""
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    up = -dy / length
    if up <= 0.01:
        return sky[2, c]
    inv = 1.0 / (up + 0.15) / length
    cloud = _texture(
        texels, starts, int(sky[0, 0]), dx * inv * 0.23, dz * inv * 0.23, math.log2(2.0 / (up + 0.05))
    )
    fade = min(up * 4.0, 1.0)
    return sky[2, c] + fade * (sky[1, c] * (0.55 + 0.45 * cloud) - sky[2, c])


@njit(nogil=True, cache=True)
def accumulate(count, target, weight, light, out):
    """``out[target] += weight · light``."""
    for i in range(count):
        out[target[i]] += weight[i] * light[i]


@njit(nogil=True, cache=True)
def scatter(count, hits, rays, flag, surfaces, following):
    """Mirrored and transmitted rays of the marked hits → ``following``. Returns their number (at most two a hit)."""
    face, depth, origin, direction = hits.face, hits.depth, rays.origin, rays.direction
    target, kind, channel, weight, travelled = (
        rays.target,
        rays.kind,
        rays.channel,
        rays.weight,
        rays.travelled,
    )
    triangles, materials, numbers = surfaces.triangles, surfaces.materials, surfaces.numbers
    origin2, direction2, target2 = following.origin, following.direction, following.target
    kind2, channel2, weight2 = following.kind, following.channel, following.weight
    travelled2 = following.travelled
    n = 0
    for i in range(count):
        if flag[i] == 0:
            continue
        f = face[i]
        t = triangles[f]
        m = numbers[materials[f]]
        length = math.sqrt(direction[i, 0] ** 2 + direction[i, 1] ** 2 + direction[i, 2] ** 2)
        slope = (
            direction[i, 0] * t[NORMAL] + direction[i, 1] * t[NORMAL + 1] + direction[i, 2] * t[NORMAL + 2]
        )
        cosine = abs(slope) / length
        reflect = (
            m[REFLECT] + (1.0 - m[REFLECT]) * (1.0 - cosine) ** 5 if m[TRANSMIT] > 0.0 else m[REFLECT]
        )  # Schlick, for glass
        transmit = m[TRANSMIT] * (1.0 - reflect)
        for way in range(2):
            share = (reflect if way == 0 else transmit) * weight[i]
            if share < 0.004:
                continue
            away = -1.0 if (slope > 0.0) == (way == 0) else 1.0
            for c in range(3):
                d = direction[i, c] - (2.0 * slope * t[NORMAL + c] if way == 0 else 0.0)
                direction2[n, c] = d
                # a tenth of a millimetre off the surface, on the side the ray leaves to
                origin2[n, c] = origin[i, c] + depth[i] * direction[i, c] + 1e-4 * away * t[NORMAL + c]
            target2[n], kind2[n], channel2[n], weight2[n] = target[i], kind[i], channel[i], share
            travelled2[n] = travelled[i] + depth[i]
            n += 1
    return n
