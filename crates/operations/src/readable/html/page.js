
"use strict";
(() => {
  const bar = document.getElementById("tools");
  const query = document.getElementById("query");
  const count = document.getElementById("count");
  const nothing = document.getElementById("nothing");
  const open = document.getElementById("open");
  const articles = [...document.querySelectorAll("main > article")];
  const notes = [...document.querySelectorAll("main > .note")];
  const opened = new Set();
  let texts = null;
  let timer = 0;

  const textOf = (element) => element.textContent.toLowerCase();

  // Marks what was found, without a change to the document.
  const mark = (words, found) => {
    if (!window.Highlight || !CSS.highlights) return;
    CSS.highlights.delete("found");
    const ranges = [];
    for (const article of words.length ? found : []) {
      const nodes = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
      while (nodes.nextNode() && ranges.length < 2000) {
        const text = nodes.currentNode.data.toLowerCase();
        if (text.length !== nodes.currentNode.data.length) continue;
        for (const word of words) {
          for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
            const range = new Range();
            range.setStart(nodes.currentNode, at);
            range.setEnd(nodes.currentNode, at + word.length);
            ranges.push(range);
          }
        }
      }
    }
    if (ranges.length) CSS.highlights.set("found", new Highlight(...ranges));
  };

  const search = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    texts ??= articles.map(textOf);
    for (const details of opened) details.open = false;
    opened.clear();
    const found = [];
    articles.forEach((article, number) => {
      const fits = words.every((word) => texts[number].includes(word));
      article.hidden = !fits;
      if (!fits || !words.length) return;
      found.push(article);
      for (const details of article.querySelectorAll("details:not([open])")) {
        const text = textOf(details);
        if (words.some((word) => text.includes(word))) {
          details.open = true;
          opened.add(details);
        }
      }
    });
    for (const note of notes) note.hidden = words.length > 0;
    count.value = words.length ? `${found.length} of ${articles.length}` : "";
    nothing.hidden = !words.length || found.length > 0;
    mark(words, found);
  };

  query.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 150);
  });
  query.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      query.value = "";
      search();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== query && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      query.focus();
    }
  });
  open.addEventListener("click", () => {
    const all = open.getAttribute("aria-pressed") !== "true";
    for (const details of document.querySelectorAll("main details")) details.open = all;
    opened.clear();
    open.setAttribute("aria-pressed", String(all));
    open.textContent = all ? "Close all" : "Open all";
  });
  bar.hidden = false;
})();
