// Tables that are wider than the page can be scrolled with the keyboard, too. The theme wraps them
// after the page has come.
new MutationObserver(() => {
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    wrap.tabIndex = 0;
  }
}).observe(document.documentElement, { childList: true, subtree: true });
