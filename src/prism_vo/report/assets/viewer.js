"use strict";
// A small 3-D viewer: turning, lines, grid and scale bar; the points are drawn by cloud.js.
// World axes: x right, y down, z forward, metres.

function roundLength(wanted) {
  const power = Math.pow(10, Math.floor(Math.log10(wanted)));
  for (const step of [5, 2, 1]) if (step * power <= wanted) return step * power;
  return power;
}

function lengthText(metres) {
  if (metres >= 1) return `${+metres.toFixed(2)} m`;
  return metres >= 0.01 ? `${+(metres * 100).toFixed(1)} cm` : `${+(metres * 1000).toFixed(2)} mm`;
}

// Pixels with depths that points are drawn into, each of them `size` pixels of the canvas wide and high.
class Layer {
  constructor(viewer, size) {
    this.canvas = document.createElement("canvas");
    [this.wide, this.tall] = [viewer.width, viewer.height];
    this.width = this.canvas.width = Math.max(1, Math.round(viewer.width / size));
    this.height = this.canvas.height = Math.max(1, Math.round(viewer.height / size));
    [this.focal, this.ratio] = [viewer.focal / size, viewer.ratio / size];
    this.depths = new Float32Array(this.width * this.height);
    this.pixels = this.canvas.getContext("2d").createImageData(this.width, this.height);
    this.data = new Uint32Array(this.pixels.data.buffer);
  }

  draw(g, cloud, basis, coloring, stride) {
    this.data.fill(0);
    this.depths.fill(Infinity);
    const drawn = cloud.draw(this, basis, coloring, stride);
    this.canvas.getContext("2d").putImageData(this.pixels, 0, 0);
    g.drawImage(this.canvas, 0, 0, this.wide, this.tall);
    return drawn;
  }
}

class Viewer {
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.cloud = new Cloud(scene.cloud, scene);
    this.scene = scene;
    this.overlays = []; // drawn above everything: (context, basis) => …
    this.stride = 1; // while something moves, so many points share one
    this.show = { cloud: true, path: true, truth: true, cameras: true, grid: true };
    this.coloring = "image";
    this.drawnPoints = 0;
    this.listen();
    this.resize();
    this.reset();
  }

  fit(pathOnly) {
    // move and zoom until path and cloud (without its outermost points) fill the view, or the path alone
    const path = this.scene.path.flat();
    this.target = pathOnly ? middle(path) : this.scene.centre.slice();
    this.distance = 2.3 * this.scene.radius;
    const cloud = [], wrong = this.scene.dense ? 0.002 : 0.02; // share of points at either end that may lie anywhere
    for (let n = 0; n < Math.min(this.cloud.count, 2000) && !pathOnly; n++) cloud.push(this.cloud.at(n)); // in no order
    for (let turn = 0; turn < 24; turn++) {
      const b = this.basis(), on = (line) => line.map((p) => this.project(p, b)).filter((q) => q[2] > 0);
      const [near, far] = [on(path), on(cloud)];
      const ends = [0, 1].map((axis) => {
        const sorted = far.map((q) => q[axis]).sort((p, q) => p - q), cut = Math.floor(wrong * sorted.length);
        const all = near.map((q) => q[axis]).concat(sorted.slice(cut, sorted.length - cut));
        return [Math.min(...all), Math.max(...all)];
      });
      const [[x0, x1], [y0, y1]] = ends;
      if (!isFinite(x0 + x1 + y0 + y1)) return;
      const step = this.distance / this.focal, dx = (x0 + x1 - this.width) / 2, dy = (y0 + y1 - this.height) / 2;
      for (let k = 0; k < 3; k++) this.target[k] += step * (dx * b.right[k] + dy * b.down[k]);
      // damped: what is near the eye grows faster than the distance shrinks
      this.distance *= Math.pow(Math.max((x1 - x0) / (0.86 * this.width), (y1 - y0) / (0.8 * this.height), 0.05), 0.6);
    }
  }

  reset(view) {
    [this.yaw, this.pitch] = { top: [0, 1.5707], side: [1.5707, 0.0], front: [0, 0] }[view] || [this.scene.yaw, this.scene.pitch];
    this.fit(view === "path" || view === "close-up");
    this.redraw();
  }

  listen() {
    const c = this.canvas;
    const pointers = new Map();
    let spread = 0;
    c.addEventListener("pointerdown", (e) => { pointers.set(e.pointerId, e); c.setPointerCapture(e.pointerId); spread = 0; });
    c.addEventListener("pointermove", (e) => {
      const last = pointers.get(e.pointerId);
      if (!last) return;
      const dx = e.clientX - last.clientX, dy = e.clientY - last.clientY;
      pointers.set(e.pointerId, e);
      if (pointers.size === 2) {
        const [a, b] = [...pointers.values()];
        const now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
        if (spread) this.zoom(spread / now);
        spread = now;
      } else if (e.shiftKey || e.buttons === 2 || e.buttons === 4) this.pan(dx, dy);
      else this.turn(dx, dy);
    });
    for (const end of ["pointerup", "pointercancel"]) c.addEventListener(end, (e) => { pointers.delete(e.pointerId); spread = 0; });
    c.addEventListener("contextmenu", (e) => e.preventDefault());
    c.addEventListener("wheel", (e) => { e.preventDefault(); this.zoom(Math.exp(e.deltaY * 0.0012)); }, { passive: false });
    c.addEventListener("keydown", (e) => {
      const keys = { ArrowLeft: [-20, 0], ArrowRight: [20, 0], ArrowUp: [0, -20], ArrowDown: [0, 20] };
      if (keys[e.key]) this.turn(...keys[e.key]);
      else if (e.key === "+" || e.key === "=") this.zoom(0.85);
      else if (e.key === "-") this.zoom(1.18);
      else return;
      e.preventDefault();
    });
    new ResizeObserver(() => this.resize()).observe(c);
  }

  turn(dx, dy) {
    this.yaw += dx * 0.006;
    this.pitch = Math.max(-1.5707, Math.min(1.5707, this.pitch + dy * 0.006));
    this.redraw();
  }

  zoom(factor) {
    this.distance = Math.max(0.02 * this.scene.radius, Math.min(20 * this.scene.radius, this.distance * factor));
    this.redraw();
  }

  pan(dx, dy) {
    const step = this.distance / this.focal * this.ratio, { right, down } = this.basis();
    for (let k = 0; k < 3; k++) this.target[k] -= step * (dx * right[k] + dy * down[k]);
    this.redraw();
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.width = Math.max(1, Math.round(box.width * this.ratio));
    this.height = Math.max(1, Math.round(box.height * this.ratio));
    [this.canvas.width, this.canvas.height] = [this.width, this.height];
    this.focal = 1.1 * Math.min(this.width, 1.6 * this.height);
    this.fine = new Layer(this, 1);
    this.coarse = this.ratio > 1 ? new Layer(this, this.ratio) : this.fine; // a fine screen's, while something moves
    this.draw();
  }

  redraw() {
    // while it moves, as many pixels and points as a smooth picture allows; all of them as soon as it rests
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.draw(), 180);
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.drawMoving();
    });
  }

  drawMoving() {
    const start = performance.now(), fewer = this.stride > 1 && this.coarse !== this.fine;
    this.draw(fewer ? this.stride - 1 : this.stride, fewer ? this.coarse : this.fine);
    const spent = performance.now() - start;
    if (spent > 30) this.stride = Math.min(16, this.stride + 1);
    else if (spent < 12) this.stride = Math.max(1, this.stride - 1);
  }

  basis() {
    const cy = Math.cos(this.yaw), sy = Math.sin(this.yaw), cp = Math.cos(this.pitch), sp = Math.sin(this.pitch);
    const forward = [-sy * cp, sp, cy * cp], right = [cy, 0, sy];
    const down = [sy * sp, cp, -cy * sp];
    const eye = this.target.map((t, k) => t - this.distance * forward[k]);
    return { forward, right, down, eye };
  }

  project(p, b) {
    const x = p[0] - b.eye[0], y = p[1] - b.eye[1], z = p[2] - b.eye[2];
    const depth = x * b.forward[0] + y * b.forward[1] + z * b.forward[2];
    return [
      this.width / 2 + this.focal * (x * b.right[0] + y * b.right[1] + z * b.right[2]) / depth,
      this.height / 2 + this.focal * (x * b.down[0] + y * b.down[1] + z * b.down[2]) / depth,
      depth,
    ];
  }

  draw(stride = 1, layer = this.fine) {
    if (!layer || !this.target) return;
    const g = this.context, b = this.basis();
    const css = getComputedStyle(document.documentElement);
    this.ink = (name) => css.getPropertyValue(`--${name}`).trim();
    g.clearRect(0, 0, this.width, this.height);
    if (this.show.grid) this.drawGrid(g, b);
    this.drawnPoints = 0;
    if (this.show.cloud) this.drawnPoints = layer.draw(g, this.cloud, b, this.coloring, stride);
    if (this.show.truth && this.scene.truth.length) this.drawLine(g, b, this.scene.truth, this.ink("truth"), 5.5);
    if (this.show.path) this.scene.path.forEach((part) => this.drawLine(g, b, part, this.ink("accent"), 2.0));
    if (this.show.cameras) this.drawCameras(g, b);
    this.drawScaleBar(g);
    this.overlays.forEach((draw) => draw(g, b));
  }

  segment(g, a, b, basis) {
    // clipped at a plane just before the eye
    const near = 0.01 * this.distance;
    let p = this.project(a, basis), q = this.project(b, basis);
    if (p[2] < near && q[2] < near) return;
    if (p[2] < near || q[2] < near) {
      const t = (near - p[2]) / (q[2] - p[2]);
      const cut = this.project(a.map((v, k) => v + t * (b[k] - v)), basis);
      if (p[2] < near) p = cut; else q = cut;
    }
    g.moveTo(p[0], p[1]);
    g.lineTo(q[0], q[1]);
  }

  stroke(g, color, width, make) {
    g.beginPath();
    make();
    g.strokeStyle = color;
    g.lineWidth = width * this.ratio;
    g.lineJoin = g.lineCap = "round";
    g.stroke();
  }

  drawLine(g, b, line, color, width) {
    this.stroke(g, color, width, () => {
      for (let n = 1; n < line.length; n++) this.segment(g, line[n - 1], line[n], b);
    });
  }

  drawCameras(g, b) {
    const size = this.scene.camera, tall = size * this.scene.aspect;
    this.stroke(g, this.ink("accent"), 1.0, () => {
      for (const [c, r] of this.scene.cameras) {
        const at = (x, y, z) => [0, 1, 2].map((k) => c[k] + r[3 * k] * x + r[3 * k + 1] * y + r[3 * k + 2] * z);
        const corners = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) => at(x * size / 2, y * tall / 2, size));
        corners.forEach((p, k) => { this.segment(g, c, p, b); this.segment(g, p, corners[(k + 1) % 4], b); });
      }
    });
  }

  drawGrid(g, b) {
    const { centre, radius, floor } = this.scene, step = roundLength(radius / 3), half = Math.ceil(2 * radius / step);
    const x0 = Math.round(centre[0] / step), z0 = Math.round(centre[2] / step);
    this.stroke(g, this.ink("grid"), 0.7, () => {
      for (let k = -half; k <= half; k++) {
        const [x, z] = [(x0 + k) * step, (z0 + k) * step];
        const [xa, xb, za, zb] = [(x0 - half) * step, (x0 + half) * step, (z0 - half) * step, (z0 + half) * step];
        this.segment(g, [x, floor, za], [x, floor, zb], b);
        this.segment(g, [xa, floor, z], [xb, floor, z], b);
      }
    });
    this.gridStep = step;
  }

  drawScaleBar(g) {
    const perMetre = this.focal / this.distance, length = roundLength(0.22 * this.width / perMetre), px = length * perMetre;
    const x = 16 * this.ratio, y = this.height - 18 * this.ratio, tick = 5 * this.ratio;
    this.stroke(g, this.ink("ink"), 1.6, () => {
      g.moveTo(x, y - tick); g.lineTo(x, y + tick); g.moveTo(x, y); g.lineTo(x + px, y); g.moveTo(x + px, y - tick); g.lineTo(x + px, y + tick);
    });
    g.fillStyle = this.ink("ink");
    g.font = `${12.5 * this.ratio}px system-ui, sans-serif`;
    const grid = this.show.grid ? ` · grid ${lengthText(this.gridStep)}` : "";
    g.fillText(`${lengthText(length)} at the centre${grid}`, x, y - 10 * this.ratio);
  }
}
