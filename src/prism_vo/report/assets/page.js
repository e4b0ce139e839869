"use strict";
// Wires the controls of the page to the viewer and the pictures.

(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement, $ = (id) => document.getElementById(id);

  function showScene() {
    const viewer = window.prismViewer = new Viewer($("space"), data.scene);
    new Ruler(viewer, $("ruler"), $("measure"));
    document.addEventListener("themechange", () => viewer.draw());
    document.querySelectorAll("[data-show]").forEach((button) => button.addEventListener("click", () => {
      const name = button.dataset.show;
      viewer.show[name] = !viewer.show[name];
      button.setAttribute("aria-pressed", viewer.show[name]);
      viewer.redraw();
    }));
    document.querySelectorAll("[data-view]").forEach((button) => button.addEventListener("click", () => viewer.reset(button.dataset.view)));
    $("coloring").addEventListener("change", (e) => { viewer.coloring = e.target.value; viewer.redraw(); });
  }
  if (data.scene) showScene(); // without a pose there is nothing to draw

  const slider = $("slider");
  function showKeyframe() {
    const k = data.keyframes[+slider.value];
    if (!k) return;
    $("which").textContent = k.title;
    for (const [name, uri] of Object.entries(k.pictures)) $(`picture-${name}`).src = uri;
    for (const [id, text] of Object.entries(k.captions)) $(id).textContent = text;
  }
  if (slider) {
    slider.addEventListener("input", showKeyframe);
    showKeyframe();
  }

  const dialog = $("large");
  document.querySelectorAll(".pictures img").forEach((image) => image.addEventListener("click", () => {
    dialog.querySelector("img").src = image.src;
    dialog.showModal();
  }));
  dialog.addEventListener("click", () => dialog.close());
  root.dataset.ready = "yes";
})();
