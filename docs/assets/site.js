// What is moved sideways can be reached by the keyboard: blocks of code, tables and pictures wider than the page.
window.addEventListener("load", () => {
  for (const part of document.querySelectorAll("pre > code, .md-typeset__scrollwrap, .md-typeset p:has(> img)")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  }
});
