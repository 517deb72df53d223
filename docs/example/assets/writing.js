// The writing player: what a network writes for a source, token by token, and what it looks at.
//
// window.wugWriting(element, data) fills an element with the player, in place of what was there.
//   data.source       [column]: the tokens that it reads, those of begin and end included
//   data.written      [index]: the tokens that it writes; the last is "end" if it ended itself
//   data.target       [index]: the right answer; may be absent
//   data.outcome      "right", "stopped early", "stopped late" or "wrote wrongly"; may be absent
//   data.first_error  index of the first token that is wrong; null if none is
//   data.attention    [layer][written][column]: weights from 0 to 1; may be absent
// It returns { numTokens, show(index) }, with indices from 0. It needs writing.css and site.css.
// Tokens only ever become text nodes.
// On pages of the report every <figure class="writing"> is drawn from the JSON inside it.
"use strict";

(() => {
  const PLAY_MILLISECONDS = 350;
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  const html = (name, attributes = {}, ...content) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...content);
    return element;
  };

  // What each written token looks at: of one layer, or the mean over all.
  function weights(attention, layer, index) {
    if (!attention || !attention.length) return null;
    const rows = (layer === null ? attention : [attention[layer]]).map((one) => one[index]);
    if (rows.some((row) => !row)) return null;
    return rows[0].map((_, column) => (
      rows.reduce((sum, row) => sum + row[column], 0) / rows.length));
  }

  function sentence({ source, written, target, first_error: first }, index, looks) {
    const parts = [`Token ${index + 1}: ${written[index]}.`];
    if (looks) {
      const most = looks.indexOf(Math.max(...looks));
      parts.push(`It looks most at ${source[most]} (${looks[most].toFixed(2)}).`);
    }
    if (first === index) parts.push(`Here it goes wrong: ${target?.[index] ?? "the end"} is right.`);
    return parts.join(" ");
  }

  function verdict({ outcome, target, written, first_error: first }) {
    if (typeof outcome !== "string") return [];
    const right = outcome === "right";
    const pill = html("span", { class: `pill ${right ? "held" : "broken"}` },
      right ? "✓ right" : `✕ ${outcome}`);
    const facts = [["answer", pill], ["tokens written", `${written.length}`]];
    if (target) facts.push(["tokens of the right answer, with its end", `${target.length + 1}`]);
    if (typeof first === "number") facts.push(["first error at token", `${first + 1}`]);
    return [html("dl", { class: "facts" }, ...facts.map(([name, value]) =>
      html("div", {}, html("dt", {}, name), html("dd", {}, value))))];
  }

  const line = (name, tokens) => html("div", { class: "line" },
    html("span", { class: "label" }, name),
    html("div", { class: "tokens", role: "group", "aria-label": name }, ...tokens));

  window.wugWriting = (element, data) => {
    const { source, written, target, attention, first_error: first } = data;
    const layers = attention?.length ?? 0;
    let [current, layer, timer] = [Math.max(0, written.length - 1), null, null];
    if (typeof first === "number" && first < written.length) current = first;

    const play = html("button", { type: "button", class: "play" });
    const slider = html("input", { type: "range", min: 1, max: Math.max(1, written.length),
      "aria-label": "Token" });
    const count = html("output", { class: "count" });
    const said = html("p", { class: "said", "aria-live": "polite" });
    const reads = source.map((label) => html("span", { class: "token" }, label));
    const writes = written.map((label, index) => {
      const wrong = typeof first === "number" && index >= first
        && label !== (target?.[index] ?? (index === target?.length ? "end" : ""));
      const button = html("button", { type: "button", class: `token${wrong ? " wrong" : ""}` },
        label);
      button.addEventListener("click", () => stopAt(index));
      return button;
    });
    const wants = target && [...target, "end"].map((label, index) => html("span",
      { class: `token${index === first ? " wanted" : ""}` }, label));
    const chips = layers < 2 ? [] : [null, ...attention.keys()].map((one) => {
      const button = html("button", { type: "button" },
        one === null ? "All layers" : `Layer ${one + 1}`);
      button.addEventListener("click", () => { layer = one; show(); });
      return [one, button];
    });

    function show() {
      slider.value = current + 1;
      count.textContent = `token ${current + 1} of ${written.length}`;
      slider.setAttribute("aria-valuetext", count.textContent);
      const looks = written.length ? weights(attention, layer, current) : null;
      said.textContent = written.length ? sentence(data, current, looks) : "It writes nothing.";
      reads.forEach((token, column) => {
        const share = looks ? clamp(looks[column], 0, 1) : 0;
        token.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
        token.title = looks ? `attention ${share.toFixed(2)}` : "";
      });
      writes.forEach((token, index) => {
        token.classList.toggle("later", index > current);
        token.setAttribute("aria-pressed", String(index === current));
      });
      for (const [one, button] of chips) button.setAttribute("aria-pressed", String(one === layer));
    }
    function pause() {
      clearInterval(timer);
      timer = null;
      play.textContent = "▶ Play";
    }
    const go = (index) => { current = clamp(index, 0, Math.max(0, written.length - 1)); show(); };
    const stopAt = (index) => { pause(); go(index); };
    play.addEventListener("click", () => {
      if (timer) { pause(); return; }
      if (current === written.length - 1) go(0);
      play.textContent = "❚❚ Pause";
      timer = setInterval(() => {
        if (current < written.length - 1 && element.offsetParent) go(current + 1);
        else pause();
      }, PLAY_MILLISECONDS);
    });
    slider.addEventListener("input", () => stopAt(slider.valueAsNumber - 1));

    element.classList.add("writing-player");
    element.replaceChildren(...verdict(data),
      html("div", { class: "controls" }, play, slider, count),
      ...(chips.length ? [html("div", { class: "chips", role: "group", "aria-label": "Layers" },
        ...chips.map(([, button]) => button))] : []), said,
      line("reads", reads), line("writes", writes), ...(wants ? [line("right", wants)] : []));
    stopAt(current);
    return { numTokens: written.length, show: stopAt };
  };

  function start(figure) {
    const block = figure.querySelector('script[type="application/json"]');
    window.wugWriting(figure.querySelector(".player"), JSON.parse(block.textContent));
    figure.dataset.drawn = "";
  }

  // Examples that nobody has chosen yet, and pages that are not in sight, are drawn when they are.
  document.addEventListener("DOMContentLoaded", () => {
    const seen = new ResizeObserver((entries) => {
      for (const { target } of entries.filter((entry) => entry.target.offsetParent)) {
        seen.unobserve(target);
        start(target);
      }
    });
    for (const figure of document.querySelectorAll("figure.writing")) seen.observe(figure);
  });
})();
