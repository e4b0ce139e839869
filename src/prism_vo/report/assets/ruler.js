"use strict";
// Click two points of the map: their distance, with its σ.

class Ruler {
  constructor(viewer, button, output) {
    this.viewer = viewer;
    this.button = button;
    this.output = output;
    this.ends = [];
    this.on = false;
    viewer.overlays.push((g, b) => this.draw(g, b));
    button.addEventListener("click", () => this.toggle());
    viewer.canvas.addEventListener("pointerdown", (e) => { this.pressed = [e.clientX, e.clientY]; });
    viewer.canvas.addEventListener("pointerup", (e) => {
      const [x, y] = this.pressed || [Infinity, 0];
      if (this.on && Math.hypot(e.clientX - x, e.clientY - y) < 5) this.click(e.clientX, e.clientY);
    });
    viewer.canvas.addEventListener("keydown", (e) => { if (e.key === "Escape") this.clear(); });
  }

  toggle() {
    this.on = !this.on;
    this.button.setAttribute("aria-pressed", this.on);
    this.viewer.canvas.classList.toggle("measuring", this.on);
    this.clear();
  }

  clear() {
    this.ends = [];
    this.say(this.on ? "click two points of the map" : "");
    this.viewer.redraw();
  }

  say(text) {
    this.output.textContent = text;
  }

  click(clientX, clientY) {
    const { viewer } = this, box = viewer.canvas.getBoundingClientRect(), b = viewer.basis();
    const x = (clientX - box.left) * viewer.ratio, y = (clientY - box.top) * viewer.ratio;
    const n = viewer.cloud.nearest((p) => viewer.project(p, b), x, y, 10 * viewer.ratio);
    if (n < 0) { this.say("no point of the map there"); return; }
    if (this.ends.length === 2) this.ends = [];
    this.ends.push({ p: viewer.cloud.at(n), sigma: viewer.cloud.sigma[n] });
    this.say(this.ends.length === 1 ? "and the second point" : `distance ${this.text()}`);
    viewer.redraw();
  }

  measured() {
    // σ of a point lies along the line of sight: what of it lies along the ruler, of both ends, and of the scale
    const [a, b] = this.ends, away = b.p.map((v, k) => v - a.p[k]), length = Math.hypot(...away);
    const eye = middle(this.viewer.scene.path.flat());
    const share = ({ p, sigma }) => {
      const sight = p.map((v, k) => v - eye[k]), far = Math.hypot(...sight);
      const along = length > 0 && far > 0 ? sight.reduce((sum, v, k) => sum + v * away[k], 0) / (length * far) : 1;
      return sigma * Math.abs(along);
    };
    return { length, sigma: Math.hypot(share(a), share(b), length * this.viewer.scene.scale_sigma) };
  }

  text() {
    const { length, sigma } = this.measured();
    const [unit, factor] = length >= 1 ? ["m", 1] : ["cm", 100];
    const digits = Math.max(0, Math.min(4, -Math.floor(Math.log10(Math.max(sigma * factor, 1e-4)))));
    return `${(length * factor).toFixed(digits)} ± ${(sigma * factor).toFixed(digits)} ${unit}`;
  }

  draw(g, b) {
    const { viewer } = this, ink = viewer.ink("ruler");
    const marks = this.ends.map(({ p }) => viewer.project(p, b)).filter((q) => q[2] > 0);
    if (marks.length === 2) {
      viewer.stroke(g, viewer.ink("panel"), 5, () => viewer.segment(g, this.ends[0].p, this.ends[1].p, b));
      viewer.stroke(g, ink, 2.4, () => viewer.segment(g, this.ends[0].p, this.ends[1].p, b));
    }
    for (const [x, y] of marks) {
      g.beginPath();
      g.arc(x, y, 5 * viewer.ratio, 0, 2 * Math.PI);
      g.fillStyle = ink;
      g.fill();
      viewer.stroke(g, viewer.ink("panel"), 1.5, () => g.arc(x, y, 5 * viewer.ratio, 0, 2 * Math.PI));
    }
    if (marks.length === 2) this.label(g, marks, ink);
  }

  label(g, marks, ink) {
    const { ratio, width, height } = this.viewer, text = this.text();
    g.font = `600 ${14 * ratio}px system-ui, sans-serif`;
    const wide = g.measureText(text).width + 16 * ratio, tall = 24 * ratio;
    const x = Math.max(4, Math.min(width - wide - 4, (marks[0][0] + marks[1][0]) / 2 - wide / 2));
    const y = Math.max(4, Math.min(height - tall - 4, (marks[0][1] + marks[1][1]) / 2 - tall - 8 * ratio));
    g.fillStyle = this.viewer.ink("panel");
    g.beginPath();
    g.roundRect(x, y, wide, tall, 5 * ratio);
    g.fill();
    this.viewer.stroke(g, ink, 1.2, () => g.roundRect(x, y, wide, tall, 5 * ratio));
    g.fillStyle = this.viewer.ink("ink");
    g.fillText(text, x + 8 * ratio, y + 16.5 * ratio);
  }
}
