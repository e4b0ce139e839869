"use strict";
// Points of a map, unpacked, and drawn into the pixels of a canvas with a depth for each pixel. No WebGL: the same
// picture on every machine, with and without a graphics card, and it prints.

function bytes(base64) {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

class Cloud {
  constructor(packed, scene) {
    const { count, low, step } = packed, places = new Uint16Array(bytes(packed.points).buffer);
    this.count = count;
    this.points = new Float32Array(3 * count);
    for (let n = 0; n < 3 * count; n++) this.points[n] = low[n % 3] + step[n % 3] * places[n];
    const length = Float32Array.from({ length: 256 }, (_, k) => packed.finest * Math.pow(2, k / packed.per_octave));
    const unpack = (text) => Float32Array.from(bytes(text), (k) => length[k]);
    this.sigma = unpack(packed.sigma);
    this.sizes = unpack(packed.sizes);
    this.rgb = bytes(packed.colors);
    this.scene = scene;
    this.words = {};
  }

  static word(r, g, b) {
    return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
  }

  colors(how) {
    // of all points as pixels, made when they are first asked for
    if (this.words[how]) return this.words[how];
    const words = this.words[how] = new Uint32Array(this.count), { scene, rgb, points, sigma } = this;
    const table = how === "image" ? null : bytes(how === "height" ? scene.height_table : scene.sigma_table);
    const [low, high] = scene.heights, eye = middle(scene.path.flat());
    for (let n = 0; n < this.count; n++) {
      if (!table) { words[n] = Cloud.word(rgb[3 * n], rgb[3 * n + 1], rgb[3 * n + 2]); continue; }
      const [x, y, z] = points.subarray(3 * n, 3 * n + 3);
      const share = how === "height"
        ? (high - y) / Math.max(high - low, 1e-9) // y points down
        : sigma[n] / Math.max(Math.hypot(x - eye[0], y - eye[1], z - eye[2]), 1e-6) / scene.largest_sigma;
      const k = 3 * Math.max(0, Math.min(255, Math.round(255 * share)));
      words[n] = Cloud.word(table[k], table[k + 1], table[k + 2]);
    }
    return words;
  }

  draw(target, view, how, stride) {
    // every stride-th point, larger for those left out; returns how many lie in the picture
    const { width, height, depths, data, focal, ratio } = target, { points, sizes } = this, words = this.colors(how);
    const [ex, ey, ez] = view.eye, [fx, fy, fz] = view.forward, [rx, ry, rz] = view.right, [dx, dy, dz] = view.down;
    const largest = 9 * ratio, grain = 1.25 * focal * Math.sqrt(stride), cx = width / 2, cy = height / 2;
    let drawn = 0;
    for (let n = 0; n < this.count; n += stride) {
      const m = 3 * n, x = points[m] - ex, y = points[m + 1] - ey, z = points[m + 2] - ez;
      const depth = x * fx + y * fy + z * fz;
      if (depth < 1e-3) continue;
      const scale = focal / depth, wide = grain * sizes[n] / depth;
      const size = wide < 1 ? 1 : wide > largest ? largest : Math.ceil(wide), half = 0.5 * size;
      const x0 = Math.floor(cx + scale * (x * rx + y * ry + z * rz) - half + 0.5);
      const y0 = Math.floor(cy + scale * (x * dx + y * dy + z * dz) - half + 0.5);
      if (x0 < 0 || y0 < 0 || x0 + size > width || y0 + size > height) continue;
      drawn++;
      const word = words[n];
      for (let j = 0, row = y0 * width + x0; j < size; j++, row += width) {
        for (let at = row; at < row + size; at++) if (depth < depths[at]) { depths[at] = depth; data[at] = word; }
      }
    }
    return drawn;
  }

  nearest(project, x, y, reach) {
    // the front-most point about a pixel, or −1
    let front = Infinity, best = -1, bestAway = Infinity;
    const near = [];
    for (let n = 0; n < this.count; n++) {
      const q = project(this.at(n));
      if (!(q[2] > 0) || Math.abs(q[0] - x) > reach || Math.abs(q[1] - y) > reach) continue;
      near.push([n, q[2], Math.hypot(q[0] - x, q[1] - y)]);
      front = Math.min(front, q[2]);
    }
    for (const [n, depth, away] of near) if (depth < 1.02 * front && away < bestAway) [best, bestAway] = [n, away];
    return best;
  }

  at(n) {
    return [this.points[3 * n], this.points[3 * n + 1], this.points[3 * n + 2]];
  }
}

function middle(line) {
  return [0, 1, 2].map((k) => line.reduce((sum, p) => sum + p[k], 0) / Math.max(line.length, 1));
}
