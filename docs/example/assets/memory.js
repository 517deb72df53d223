// The memory player: what a network wrote where, and read when, step by step. It needs player.js.
//
// window.wugMemory(element, data) fills an element with the player. All weights are from 0 to 1.
//   data.writes      [step][cell], data.reads [step][head][cell]: where it wrote and read
//   data.usage       [step][cell]
//   data.memory      [step][cell][word]: any numbers
//   data.links       [step][cell][cell]: to, from
//   data.modes       [step][head]: shares of backward links, content and forward links
//   data.masks       [step][head][word]; may be absent
//   data.asked       [step]: whether an answer is due
//   data.labels      [step]: what is seen in a step, as text; may be absent, and instead
//   data.inputs      [step][channel], with data.targets and data.outputs [step][channel]: bits
//   data.said        [step]: the network's answer as text, and data.due, the right one; may be absent
//   data.facts       a list of [name, value], both texts
"use strict";

(() => {
  const { html, svg, range, controls, facts, startAll } = window.wugPlayer;
  const PLAY_MILLISECONDS = 450;
  const LABELS = 64;
  const CELL = 15;
  const BIT = 7;
  const GAP = 12;
  const BAR = 60;
  const LINKS = "links: row after column";
  const LETTER = 6;
  const MODES = ["backward links", "content", "forward links"];
  const COLOURS = ["#cc79a7", "#009e73", "#e69f00"];

  const share = (value) => Math.min(Math.max(value, 0), 1);
  const square = (x, y, width, height, kind, opacity, title) => svg("rect",
    { x, y, width, height, class: kind, "fill-opacity": share(opacity).toFixed(3) },
    ...(title ? [svg("title", {}, title)] : []));
  const label = (text, x, y, attributes = {}) => svg("text", { x, y, ...attributes }, text);
  const mostRead = (heads, cell) => Math.max(...heads.map((weights) => weights[cell]));
  const peak = (weights) => weights.reduce((best, value, i) => (value > weights[best] ? i : best), 0);

  // Time goes to the right: what is seen, the cells with writes and reads, and what is said.
  function timeline(data, width, choose) {
    const steps = data.writes.length;
    const cells = data.writes[0].length;
    const pitch = Math.max(9, Math.min(34, (width - LABELS - 4) / steps));
    const wide = Math.ceil(LABELS + pitch * steps + 4);
    const left = (step) => LABELS + pitch * step;
    const parts = [];
    let y = 4;
    const bits = (name, rows, kind, tall = BIT) => {
      const channels = rows[0].length;
      parts.push(label(name, LABELS - 8, y + tall * channels / 2 + 4,
        { "text-anchor": "end", class: "label" }));
      rows.forEach((row, step) => row.forEach((value, channel) => {
        parts.push(square(left(step), y + tall * channel, pitch - 1, tall - 1, kind,
          0.05 + 0.95 * value, `${name}, step ${step + 1}, bit ${channel + 1}: ${value}`));
      }));
      y += tall * channels + GAP;
    };
    const words = (name, list, right) => {
      const size = Math.max(7, Math.min(12, pitch * 0.8));
      const longest = Math.max(...list.map((text) => text.length), 1);
      const tall = longest > 2 ? Math.ceil(longest * size * 0.62) + 6 : size + 6;
      parts.push(label(name, LABELS - 8, y + tall / 2 + 4, { "text-anchor": "end", class: "label" }));
      list.forEach((text, step) => {
        if (!text) return;
        const middle = left(step) + pitch / 2;
        const wrong = right && right[step] !== text;
        const place = longest > 2 ? { transform: `translate(${middle + size / 3} ${y + tall - 3}) `
          + "rotate(-90)" } : { x: middle, y: y + tall - 4, "text-anchor": "middle" };
        parts.push(svg("text", { ...place, style: `font-size:${size}px`,
          class: wrong ? "token wrong" : "token" }, text));
      });
      y += tall + GAP;
    };

    if (data.labels) words("seen", data.labels);
    if (data.inputs) bits("seen", data.inputs, "bit");
    const top = y;
    range(cells).forEach((cell) => {
      const row = y + CELL * cell;
      parts.push(label(`cell ${cell + 1}`, LABELS - 8, row + CELL - 4,
        { "text-anchor": "end", class: "label" }));
      range(steps).forEach((step) => {
        const write = data.writes[step][cell];
        const read = mostRead(data.reads[step], cell);
        parts.push(square(left(step), row, pitch - 1, CELL - 1, "back", 1));
        parts.push(square(left(step), row, pitch - 1, CELL - 1, "write", write));
        if (read > 0.04) {
          const radius = Math.max(0.5, Math.sqrt(share(read)) * Math.min(pitch, CELL) * 0.36);
          parts.push(svg("circle", { cx: left(step) + (pitch - 1) / 2, cy: row + (CELL - 1) / 2,
            r: radius.toFixed(2), class: "read" }));
        }
        parts.push(svg("rect", { x: left(step), y: row, width: pitch, height: CELL, class: "hit" },
          svg("title", {}, `step ${step + 1}, cell ${cell + 1}: written ${write.toFixed(2)}, `
            + `read ${read.toFixed(2)}, used ${data.usage[step][cell].toFixed(2)}`)));
      });
    });
    y += CELL * cells;
    range(steps).filter((step) => data.asked[step] > 0.5).forEach((step) => {
      parts.push(svg("rect", { x: left(step), y: y + 2, width: pitch - 1, height: 3, class: "due" }));
    });
    y += GAP + 2;
    parts.push(label("read by", LABELS - 8, y + 13, { "text-anchor": "end", class: "label" }));
    data.modes.forEach((heads, step) => {
      let above = y;
      MODES.forEach((name, mode) => {
        const mean = heads.reduce((sum, head) => sum + head[mode], 0) / heads.length;
        parts.push(svg("rect", { x: left(step), y: above, width: pitch - 1,
          height: Math.max(0, 18 * mean), fill: COLOURS[mode] },
        svg("title", {}, `step ${step + 1}: ${name} ${mean.toFixed(2)}`)));
        above += 18 * mean;
      });
    });
    y += 18 + GAP;
    const due = (rows) => rows.map((row, step) => row.map((v) => (data.asked[step] > 0.5 ? v : 0)));
    if (data.targets) {
      bits("due", due(data.targets), "bit");
      bits("said", due(data.outputs), "bit");
    }
    if (data.said) words("said", data.said, data.due);
    const marker = svg("rect", { class: "now", y: 1, height: y - GAP + 3, width: pitch + 1, rx: 3 });
    const picture = svg("svg", { class: "timeline", role: "img", width: wide, height: y,
      viewBox: `0 0 ${wide} ${y}` }, ...parts, marker);
    picture.addEventListener("click", (event) => {
      const box = picture.getBoundingClientRect();
      const x = (event.clientX - box.left) * wide / box.width;
      if (x >= LABELS) choose(Math.floor((x - LABELS) / pitch));
    });
    return { picture, top, show: (step) => marker.setAttribute("x", left(step) - 1) };
  }

  // The state in one step: content and usage of every cell, links between cells, masks.
  function statePicture(data, width) {
    const cells = data.writes[0].length;
    const word = data.memory[0][0].length;
    // Beside each other as long as squares can be told apart: labels, content, usage, links, gaps.
    const fitting = (width - LABELS - BAR - 8) / (word + (data.links ? cells + 4 : 2));
    const size = Math.max(8, Math.min(18, 260 / Math.max(cells, word), fitting));
    const most = Math.max(1e-9, ...data.memory.flat(2).map(Math.abs));
    const gapped = size * 2;
    const content = LABELS;
    const usage = content + size * word + gapped;
    const links = data.links ? usage + BAR + gapped : 0;
    const heads = data.masks ? data.masks[0].length : 0;
    const room = Math.max(width - links, size * cells);
    const named = LETTER * LINKS.length < room ? LINKS : "links";
    const wide = Math.ceil(data.links
      ? links + Math.max(size * cells, LETTER * named.length) + 4 : usage + BAR + 4);
    const top = 22;
    const high = Math.ceil(top + size * cells + (heads ? 14 + size * heads : 0) + 6);
    const inner = svg("g");
    const titles = [label("content", content, 14, { class: "label" }),
      label("usage", usage, 14, { class: "label" }),
      ...(data.links ? [label(named, links, 14, { class: "label" })] : [])];
    const picture = svg("svg", { class: "cells", role: "img", width: wide, height: high,
      viewBox: `0 0 ${wide} ${high}`, "aria-label": "Content, usage and links of all cells" },
    ...titles, inner);
    function show(step) {
      const parts = [];
      range(cells).forEach((cell) => {
        const y = top + size * cell;
        const write = data.writes[step][cell];
        const read = mostRead(data.reads[step], cell);
        parts.push(label(`${cell + 1}`, content - 22, y + size - 4, { "text-anchor": "end",
          class: "label" }));
        parts.push(square(content - 18, y + 1, 7, size - 2, "write", write));
        parts.push(svg("circle", { cx: content - 6, cy: y + size / 2, class: "read",
          r: (Math.sqrt(share(read)) * Math.min(size, 10) / 2).toFixed(2) }));
        data.memory[step][cell].forEach((value, i) => {
          parts.push(square(content + size * i, y, size - 1, size - 1,
            value < 0 ? "minus" : "plus", Math.abs(value) / most, value.toFixed(2)));
        });
        parts.push(square(usage, y + 1, BAR, size - 2, "back", 1),
          square(usage, y + 1, BAR * share(data.usage[step][cell]), size - 2, "usage", 1,
            data.usage[step][cell].toFixed(2)));
        (data.links?.[step][cell] ?? []).forEach((value, from) => {
          parts.push(square(links + size * from, y, size - 1, size - 1, "back", 1),
            square(links + size * from, y, size - 1, size - 1, "link", value,
              `from cell ${from + 1} to ${cell + 1}: ${value.toFixed(2)}`));
        });
      });
      range(heads).forEach((head) => {
        const y = top + size * cells + 12 + size * head;
        parts.push(label("mask", content - 8, y + size - 4, { "text-anchor": "end",
          class: "label" }));
        data.masks[step][head].forEach((value, i) => {
          parts.push(square(content + size * i, y, size - 1, size - 1, "mask", value,
            value.toFixed(2)));
        });
      });
      inner.replaceChildren(...parts);
    }
    return { picture, show };
  }

  function sentence(data, step) {
    const written = data.writes[step];
    const cell = peak(written);
    const parts = [];
    if (written[cell] > 0.3) parts.push(`writes to cell ${cell + 1}`);
    data.reads[step].forEach((weights, head) => {
      const from = peak(weights);
      if (weights[from] <= 0.3) return;
      const mode = peak(data.modes[step][head]);
      parts.push(`reads cell ${from + 1} by ${MODES[mode]}`);
    });
    const due = data.asked[step] > 0.5 ? " An answer is due." : "";
    return (parts.length ? `It ${parts.join(" and ")}.`
      : "It writes and reads nothing in particular.") + due;
  }

  const LEGEND = [["write", "written"], ["read", "read"], ["due", "an answer is due"]];
  function legend() {
    const sign = (kind) => svg("svg", { width: 14, height: 14, viewBox: "0 0 14 14",
      "aria-hidden": "true" }, kind === "read" ? svg("circle", { cx: 7, cy: 7, r: 5, class: "read" })
      : svg("rect", { x: 1, y: kind === "due" ? 5 : 1, width: 12, height: kind === "due" ? 3 : 12,
        class: kind }));
    const dot = (colour) => html("i", { style: `background:${colour}` });
    return html("p", { class: "legend" },
      ...LEGEND.map(([kind, text]) => html("span", {}, sign(kind), ` ${text}`)),
      ...MODES.map((text, i) => html("span", {}, dot(COLOURS[i]), ` by ${text}`)));
  }

  window.wugMemory = (element, data) => {
    const numSteps = data.writes.length;
    const stage = html("div", { class: "stage" });
    const said = html("p", { class: "said", "aria-live": "polite" });
    let [parts, drawnFor] = [[], 0];
    const show = (step) => {
      said.textContent = sentence(data, step);
      for (const part of parts) part.show(step);
      parts[0]?.picture.setAttribute("aria-label", `Cells over time. ${said.textContent}`);
    };
    const first = Math.max(0, data.asked.findIndex((value) => value > 0.5));
    const { bar, draw: again, stopAt } = controls(element, numSteps, first, show,
      PLAY_MILLISECONDS);
    function draw() {
      const width = stage.clientWidth;
      if (!width || Math.abs(width - drawnFor) < 2) return;
      drawnFor = width;
      parts = [timeline(data, width, stopAt), statePicture(data, width)];
      const box = (name, { picture }) => html("div", { class: "wide", tabindex: "0",
        role: "region", "aria-label": name }, picture);
      stage.replaceChildren(box("Cells over time", parts[0]), box("State", parts[1]));
      again();
    }
    element.classList.add("routing-player", "memory-player");
    element.replaceChildren(facts(data.facts ?? []), legend(), bar, said, stage);
    stopAt(first);
    draw();
    new ResizeObserver(draw).observe(stage);
    return { numSteps, show: (step) => stopAt(step - 1) };
  };

  startAll("figure.memory", (figure) => {
    const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    window.wugMemory(figure.querySelector(".player"), data);
    figure.dataset.drawn = "";
  });
})();
