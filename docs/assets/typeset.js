// Typesets every equation of the page with the KaTeX that lies beside this file: nothing is fetched from elsewhere.
for (const element of document.querySelectorAll(".arithmatex")) {
  const latex = element.textContent.trim().replace(/^\\[([]|\\[)\]]$/g, "");
  katex.render(latex, element, { displayMode: element.tagName === "DIV", throwOnError: false });
}
