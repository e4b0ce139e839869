"use strict";
// Light or dark: as the system says, until the button is pressed; paper is always light and shows what is folded.

(function () {
  const root = document.documentElement;
  function choose(name) {
    root.dataset.theme = name;
    document.dispatchEvent(new Event("themechange"));
  }
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  choose(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => choose(dark.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () => choose(root.dataset.theme === "dark" ? "light" : "dark"));
  let before = root.dataset.theme;
  window.addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    choose("light");
    document.querySelectorAll("details").forEach((d) => { d.open = true; });
  });
  window.addEventListener("afterprint", () => choose(before));
})();
