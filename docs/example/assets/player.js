// The routing player: what a network with columns did on one problem, step by step.
//
// window.wugRouting(element, data) fills an element with the player, in place of what was there.
//   data.columns     [column]: their labels, those of begin and end included
//   data.attention   [step][head][target][source]: weights from 0 to 1; or in its place
//   data.arcs        [step][head]: a list of [target, source, weight], without the small weights
//   data.openness    [step][column]: how far each copy gate is open, 0 to 1; absent without gates
//   data.operands    [column]: the columns that it needs (the true dependencies); may be absent
//   data.threshold   openness above which a column counts as written; 0.2 if absent
//   data.answer      the right answer, and data.prediction, the network's; may be absent
//   data.values      [column]: what comes out at it, "" where nothing does; may be absent
//   data.score       routing score, 0 to 1; null where no gate opened that had to wait
// Null is as good as absent. Of attention, arcs and openness one must be there.
// It returns { numSteps, show(step), play() }, with steps from 1. It needs player.css and, for its colours,
// site.css. Labels only ever become text nodes.
// window.wugRoutingTable(details, data) puts the same numbers as a table into a <details>.
// On pages of the report every <figure class="routing"> is drawn from the JSON inside it.
//
// Other players share what is on window.wugPlayer: html and svg make elements, controls makes the
// play button and the slider, facts a list of names and values, startAll draws figures when they
// come in sight.
"use strict";

(() => {
  const LEAST_WEIGHT = 0.05;
  const PLAY_MILLISECONDS = 900;
  const LONGEST_LABEL = 9;
  const BOX = 44;
  const MARGIN = 34;
  const MAP_ROW = 15;
  const BETWEEN = 40; // the gap of .stage
  // Okabe and Ito's, without the blue and vermilion that gates have.
  const COLOURS = ["#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6fc0", "#8b8b8b"];

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const short = (text) => (text.length > LONGEST_LABEL
    ? `${text.slice(0, LONGEST_LABEL - 1)}…` : text);
  const range = (length) => Array.from({ length }, (_, i) => i);

  const filled = (element, attributes, content) => {
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...content);
    return element;
  };
  const html = (name, attributes = {}, ...content) =>
    filled(document.createElement(name), attributes, content);
  const svg = (name, attributes = {}, ...content) =>
    filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, content);

  // The weights that are drawn, as [target, source, weight].
  const sparse = (attention) => attention.map((heads) => heads.map((targets) =>
    targets.flatMap((sources, target) => sources.flatMap((weight, source) =>
      (weight >= LEAST_WEIGHT ? [[target, source, weight]] : [])))));

  const complete = (given) => ({
    ...given,
    threshold: given.threshold ?? 0.2,
    operands: given.operands ?? given.columns.map(() => []),
    arcs: given.arcs ?? (given.attention ? sparse(given.attention) : null),
  });

  // What is known after each step: which columns were written too early, anew, and are ready.
  // A column is ready once it was written when all that it needs was ready; inputs always are.
  function judge({ columns, openness, threshold, operands }) {
    let ready = columns.map((_, i) => operands[i].length === 0);
    let before = columns.map(() => false);
    return (openness ?? []).map((gates) => {
      const written = gates.map((gate) => gate > threshold);
      const early = written.map((is, i) => is && !operands[i].every((source) => ready[source]));
      const fresh = written.map((is, i) => is && !before[i] && operands[i].length > 0);
      ready = ready.map((is, i) => is || (written[i] && !early[i]));
      before = written;
      return { early, fresh, ready };
    });
  }

  // The true dependencies as a tree: results above what they need; each column once.
  function layOut(operands) {
    const used = new Set(operands.flat());
    const nodes = new Map();
    let across = 0;
    const place = (column, depth) => {
      const node = { column, depth, x: 0 };
      nodes.set(column, node);
      const below = operands[column].filter((source) => !nodes.has(source))
        .map((source) => nodes.get(source) ?? place(source, depth + 1));
      if (below.length) node.x = (below[0].x + below.at(-1).x) / 2;
      else { node.x = across; across += 1; }
      return node;
    };
    const targets = range(operands.length).filter((column) => operands[column].length);
    const roots = targets.filter((column) => !used.has(column));
    for (const column of [...roots, ...targets]) if (!nodes.has(column)) place(column, 0);
    const deepest = Math.max(0, ...[...nodes.values()].map((node) => node.depth));
    return { nodes, roots, across, deepest };
  }

  // Least width of a box with the longest of some labels.
  const room = (labels) => 14 + 8.2 * Math.max(...labels.map((label) => short(label).length));
  const token = (label, x, y, attributes = {}) => svg("text",
    { x, y, "text-anchor": "middle", ...attributes }, svg("title", {}, label), short(label));

  // Where it is narrow, long labels are set smaller.
  const leastPitch = (columns) => Math.max(20, 4 + 0.52 * room(columns));
  const fitting = (label, width) =>
    `font-size:${clamp(13 * width / room([label]), 9, 13).toFixed(1)}px`;

  // Where there is little room, the columns before and behind the problem are signs.
  const narrow = (columns) => columns.map((label) => ({ begin: "‹", end: "›" }[label] ?? label));

  // Columns with their gates, arcs of attention above them, the map of all gates beneath.
  function columnsPicture(data, states, width, choose) {
    const { columns, arcs, openness } = data;
    const count = columns.length;
    const pitch = clamp((width - MARGIN - 2) / count, leastPitch(narrow(columns)), 84);
    const shown = pitch < 40 ? narrow(columns) : columns;
    const gap = pitch > 40 ? 6 : 4;
    const vault = arcs ? clamp(20 + 0.4 * pitch * (count - 1), 64, 170) : 4;
    const top = vault + 6;
    const map = top + BOX + 34;
    const wide = Math.ceil(MARGIN + pitch * count);
    const high = Math.ceil(openness ? map + MAP_ROW * openness.length + 4 : top + BOX + 6);
    const middle = (column) => MARGIN + pitch * (column + 0.5);
    const left = (column) => middle(column) - (pitch - gap) / 2;

    const links = svg("g");
    const boxes = shown.map((label, i) => {
      const size = { x: left(i), y: top, width: pitch - gap, height: BOX, rx: 7 };
      const gate = svg("rect", { ...size, class: "gate" });
      const group = svg("g", { class: "column" }, svg("rect", { ...size, class: "back" }), gate,
        svg("rect", { ...size, class: "edge" }), token(label, middle(i), top + BOX / 2 + 5,
          { style: fitting(label, pitch - gap) }));
      return { gate, group };
    });
    const marker = svg("rect", { class: "now", x: MARGIN - 1, width: wide - MARGIN,
      height: MAP_ROW + 1, rx: 4 });
    const rows = (openness ?? []).map((gates, step) => {
      const y = map + MAP_ROW * step;
      const cells = gates.map((gate, i) => svg("rect", {
        class: states[step].early[i] ? "cell early" : "cell", x: left(i), y: y + 1.5,
        width: pitch - gap, height: MAP_ROW - 3, rx: 2,
        "fill-opacity": (0.06 + 0.94 * gate).toFixed(3),
      }, svg("title", {}, `step ${step + 1}, ${columns[i]}: open ${gate.toFixed(2)}`)));
      const row = svg("g", { class: "row" },
        svg("rect", { class: "hit", x: 0, y, width: wide, height: MAP_ROW }),
        svg("text", { x: MARGIN - 8, y: y + MAP_ROW - 4, "text-anchor": "end" }, `${step + 1}`),
        ...cells);
      row.addEventListener("click", () => choose(step));
      return row;
    });
    const caption = svg("text", { class: "label", x: MARGIN + 2, y: map - 8 },
      "Gates in every step");
    const picture = svg("svg", { class: "columns", role: "img", width: wide, height: high,
      viewBox: `0 0 ${wide} ${high}` }, links, ...boxes.map((box) => box.group),
    ...(openness ? [caption, ...rows, marker] : []));

    const arc = ([opacity, target, source, weight, head]) => {
      const heads = arcs[0].length;
      const colour = heads === 1 ? "var(--ink)" : COLOURS[head % COLOURS.length];
      const aside = (head - (heads - 1) / 2) * Math.min(5, 18 / heads);
      const [from, to] = [middle(source) + aside, middle(target) + aside];
      const far = Math.abs(target - source) / Math.max(1, count - 1);
      const rise = (10 + (vault - 14) * far ** 0.7) * 4 / 3;
      const y = top - 5;
      const self = source === target;
      const path = self
        ? `M${from - 5} ${y}C${from - 15} ${y - 24} ${from + 15} ${y - 24} ${from + 5} ${y - 3}`
        : `M${from} ${y}C${from} ${y - rise} ${to} ${y - rise} ${to} ${y - 4}`;
      return svg("g", { class: "arc", stroke: colour, fill: colour, opacity: opacity.toFixed(3) },
        svg("path", { d: path, fill: "none", "stroke-width": (5 * weight).toFixed(2) }),
        svg("path", { d: `M${(self ? from + 5 : to) - 4} ${y - 5}h8l-4 6z`, stroke: "none" }),
        svg("title", {}, `${columns[target]} reads ${columns[source]}: ${weight.toFixed(2)}`
          + (heads > 1 ? `, head ${head + 1}` : "")));
    };

    function show(step, chosen) {
      const gates = openness?.[step];
      const state = states[step];
      boxes.forEach(({ gate, group }, i) => {
        const open = gates?.[i] ?? 0;
        gate.style.clipPath = `inset(${(100 * (1 - open)).toFixed(1)}% 0 0 0)`;
        group.classList.toggle("open", open > 0.5); // the label stands on the filled part
        group.classList.toggle("early", Boolean(state?.early[i]));
        group.classList.toggle("ready", Boolean(state?.ready[i] && data.operands[i].length));
      });
      marker.setAttribute("y", map + MAP_ROW * step - 0.5);
      rows.forEach((row, i) => row.classList.toggle("current", i === step));
      const found = (arcs?.[step] ?? []).flatMap((list, head) => (
        chosen !== null && head !== chosen ? [] : list
          .filter(([, , weight]) => weight >= LEAST_WEIGHT)
          .map((link) => [gates ? 0.1 + 0.9 * gates[link[0]] : 0.7, ...link, head])));
      found.sort((one, other) => one[0] - other[0]); // what counts is drawn last
      links.replaceChildren(...found.map(arc));
    }
    return { picture, show };
  }

  // The true dependencies; a node lights up when its column is ready.
  function treePicture(data, states) {
    const { nodes, roots, across, deepest } = layOut(data.operands);
    if (!nodes.size) return null;
    const valued = (column) => (data.operands[column].length
      ? `${data.columns[column]} ${data.values?.[column] ?? ""}`.trim() : data.columns[column]);
    const body = Math.max(30, room([...nodes.keys()].map(valued)));
    const [tall, down] = [26, deepest > 8 ? 40 : 52];
    const [wide, height] = [(body + 12) * across + 4, down * deepest + 58].map(Math.ceil);
    const at = (node) => [2 + (body + 12) * (node.x + 0.5), 40 + down * node.depth];
    const isInput = (column) => data.operands[column].length === 0;
    const edges = [];
    const groups = new Map();
    for (const node of nodes.values()) {
      const [x, y] = at(node);
      for (const source of data.operands[node.column]) {
        const [from, below] = at(nodes.get(source));
        const half = (below + y) / 2;
        edges.push([source, svg("path", { class: "edge",
          d: `M${from} ${below}C${from} ${half} ${x} ${half} ${x} ${y}` })]);
      }
      groups.set(node.column, svg("g", { class: isInput(node.column) ? "node input" : "node" },
        svg("rect", { x: x - body / 2, y: y - tall / 2, width: body, height: tall, rx: 13 }),
        token(data.columns[node.column], x, y + 4.5, { class: "name" }),
        ...(data.values ? [token(valued(node.column), x, y + 4.5, { class: "value" })] : [])));
    }
    const answer = roots.length === 1 && typeof data.answer === "string"
      ? [token(`= ${data.answer}`, at(nodes.get(roots[0]))[0], 16, { class: "label" })] : [];
    const picture = svg("svg", { class: "tree", role: "img", width: wide, height,
      viewBox: `0 0 ${wide} ${height}`, "aria-label": "What the parts of the problem need" },
    ...edges.map(([, edge]) => edge), ...groups.values(), ...answer);

    function show(step) {
      const state = states[step];
      for (const [column, group] of groups) {
        const ready = Boolean(state?.ready[column]) && !isInput(column);
        group.classList.toggle("ready", ready);
        group.classList.toggle("fresh", Boolean(state?.fresh[column]));
        group.classList.toggle("early", Boolean(state?.early[column]) && !ready);
      }
      for (const [source, edge] of edges) {
        edge.classList.toggle("lit", Boolean(state?.ready[source]) && !isInput(source));
      }
    }
    return { picture, wide, show };
  }

  const MOST_TOLD = 4;
  function sentence({ columns, operands }, state) {
    if (!state) return "";
    const fresh = range(columns.length).filter((column) => state.fresh[column]);
    const parts = fresh.slice(0, MOST_TOLD).map((column) => (state.early[column]
      ? `${columns[column]} opens its gate too early`
      : `${columns[column]} reads ${operands[column].map((i) => columns[i]).join(", ")} and opens its gate`));
    if (fresh.length > MOST_TOLD) parts.push(`and ${fresh.length - MOST_TOLD} more`);
    return parts.length ? `${parts.join("; ")}.` : "No further gate opens.";
  }

  function verdict({ answer, prediction, score, openness }) {
    const parts = [];
    if (typeof answer === "string" && typeof prediction === "string") {
      const right = answer === prediction;
      parts.push(["right answer", answer], ["the network's answer", html("span",
        { class: `pill ${right ? "held" : "broken"}` }, `${prediction} ${right ? "✓" : "✕"}`)]);
    }
    if (openness) parts.push(["routing score", typeof score === "number" ? score.toFixed(2) : "–"]);
    return facts(parts);
  }

  // Play button, slider and count of a player's steps. show(step) draws one, with steps from 0.
  function controls(element, numSteps, first, show, milliseconds = PLAY_MILLISECONDS) {
    let [current, timer] = [first, null];
    const play = html("button", { type: "button", class: "play" });
    const slider = html("input", { type: "range", min: 1, max: numSteps, "aria-label": "Step" });
    const count = html("output", { class: "count" });
    const draw = () => {
      slider.value = current + 1;
      count.textContent = `step ${current + 1} of ${numSteps}`;
      slider.setAttribute("aria-valuetext", count.textContent);
      show(current);
    };
    function pause() {
      clearInterval(timer);
      timer = null;
      play.textContent = "▶ Play";
    }
    const go = (step) => { current = clamp(step, 0, numSteps - 1); draw(); };
    const stopAt = (step) => { pause(); go(step); };
    play.addEventListener("click", () => {
      if (timer) { pause(); return; }
      if (current === numSteps - 1) go(0);
      play.textContent = "❚❚ Pause";
      timer = setInterval(() => {
        if (current < numSteps - 1 && element.offsetParent) go(current + 1);
        else pause();
      }, milliseconds);
    });
    slider.addEventListener("input", () => stopAt(slider.valueAsNumber - 1));
    const bar = html("div", { class: "controls" }, play, slider, count);
    const stepBy = (steps) => stopAt(current + steps);
    bar.addEventListener("wug:step", ({ detail }) => stepBy(detail));
    return { bar, count, draw, stopAt, play: () => play.click(), now: () => current };
  }

  // Arrow keys move the first player in sight, wherever the focus is, but for what has its own use
  // of them.
  const OWN_ARROWS = "input, select, textarea, [role=tab], [role=region], .plot";
  document.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!steps || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target instanceof Element && event.target.closest(OWN_ARROWS)) return;
    const inSight = (bar) => {
      const { top, bottom } = (bar.parentElement ?? bar).getBoundingClientRect();
      return bar.offsetParent && bottom > 0 && top < innerHeight;
    };
    const bar = [...document.querySelectorAll(".controls")].find(inSight);
    if (!bar) return;
    bar.dispatchEvent(new CustomEvent("wug:step", { detail: steps }));
    event.preventDefault();
  });

  const facts = (parts) => html("dl", { class: "facts" }, ...parts.map(([name, value]) =>
    html("div", {}, html("dt", {}, name), html("dd", {}, value))));

  window.wugRouting = (element, given) => {
    const data = complete(given);
    const numSteps = (data.openness ?? data.arcs).length;
    const heads = data.arcs?.[0].length ?? 0;
    const states = judge(data);
    const opening = states.findIndex((state) => state.fresh.includes(true));
    let [parts, drawnFor, chosen] = [[], 0, null];

    const { bar, count, draw: show, stopAt, play } = controls(element, numSteps, Math.max(0, opening),
      showStep);
    const said = html("p", { class: "said", "aria-live": "polite" });
    const stage = html("div", { class: "stage" });
    const chips = heads < 2 ? [] : [null, ...range(heads)].map((head) => {
      const button = html("button", { type: "button" }, head === null ? "All heads" : `${head + 1}`);
      if (head !== null) {
        button.setAttribute("aria-label", `Head ${head + 1}`);
        button.prepend(html("i", { style: `background:${COLOURS[head % COLOURS.length]}` }));
      }
      button.addEventListener("click", () => { chosen = head; show(); });
      return [head, button];
    });

    function showStep(current) {
      said.textContent = sentence(data, states[current]);
      for (const [head, button] of chips) {
        button.setAttribute("aria-pressed", String(head === chosen));
      }
      for (const part of parts) part.show(current, chosen);
      parts[0]?.picture.setAttribute("aria-label",
        `Columns and gates, ${count.textContent}. ${said.textContent}`);
    }

    function draw() {
      const width = stage.clientWidth;
      if (!width || Math.abs(width - drawnFor) < 2) return;
      drawnFor = width;
      const tree = treePicture(data, states);
      const beside = width - BETWEEN - (tree?.wide ?? 0);
      const fits = beside > MARGIN + leastPitch(narrow(data.columns)) * data.columns.length + 2;
      const columns = columnsPicture(data, states, fits ? beside : width, stopAt);
      const box = (name, { picture }) => html("div", { class: "wide", tabindex: "0",
        role: "region", "aria-label": name }, picture);
      parts = tree ? [columns, tree] : [columns];
      stage.replaceChildren(box("Columns", columns), ...(tree ? [box("Dependencies", tree)] : []));
      show();
    }
    element.classList.add("routing-player");
    element.replaceChildren(verdict(data), bar,
      ...(heads < 2 ? [] : [html("div", { class: "chips", role: "group", "aria-label": "Heads" },
        ...chips.map(([, button]) => button))]), said, stage);
    stopAt(Math.max(0, opening));
    draw();
    new ResizeObserver(draw).observe(stage);
    return { numSteps, show: (step) => stopAt(step - 1), play };
  };

  // The table behind a picture: how far each gate is open, and what its column reads most.
  function table({ columns, openness, arcs }) {
    const head = html("tr", {}, ...["step", ...columns].map((label) =>
      html("th", { scope: "col" }, label)));
    const reads = (step, column) => {
      const found = (arcs?.[step] ?? []).flat().filter(([target]) => target === column);
      const most = found.reduce((one, other) => (other[2] > one[2] ? other : one), [0, 0, 0]);
      return most[2] ? `reads ${columns[most[1]]}` : "";
    };
    const rows = range((openness ?? arcs).length).map((step) => html("tr", {},
      html("th", { scope: "row" }, `${step + 1}`), ...columns.map((_, column) => html("td", {},
        openness ? `${openness[step][column].toFixed(2)} ` : "",
        html("small", {}, reads(step, column))))));
    return html("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Table" },
      html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows)));
  }

  window.wugRoutingTable = (details, given) => {
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(table(complete(given)));
    });
  };

  function start(figure) {
    const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    window.wugRouting(figure.querySelector(".player"), data);
    window.wugRoutingTable(figure.querySelector("details.behind"), data);
    figure.dataset.drawn = "";
  }

  // Problems that nobody has chosen yet, and pages that are not in sight, are drawn when they are.
  const startAll = (selector, begin) => document.addEventListener("DOMContentLoaded", () => {
    const seen = new ResizeObserver((entries) => {
      for (const { target } of entries.filter((entry) => entry.target.offsetParent)) {
        seen.unobserve(target);
        begin(target);
      }
    });
    for (const figure of document.querySelectorAll(selector)) seen.observe(figure);
  });
  window.wugPlayer = { html, svg, range, controls, facts, startAll };
  startAll("figure.routing", start);
})();
