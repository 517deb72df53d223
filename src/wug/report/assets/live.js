// Runs at work: bars and curves that grow with the server's events. Text only becomes text nodes.
"use strict";

(() => {
  const WIDTH = 340;
  const HEIGHT = 120;
  const SPACE = 4;
  const get = (id) => document.getElementById(id);
  const filled = (element, attributes, content) => {
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...content);
    return element;
  };
  const make = (name, attributes = {}, ...content) => filled(document.createElement(name),
    attributes, content);
  const svg = (name, attributes = {}, ...content) => filled(
    document.createElementNS("http://www.w3.org/2000/svg", name), attributes, content);
  const short = (value) => String(+value.toPrecision(3));

  function time(seconds) {
    if (!(seconds >= 0 && seconds < 1e9)) return "";
    if (seconds < 60) return `${Math.round(seconds)} s`;
    return seconds < 3600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
  }

  // Puts elements into a box. Those that are there stay, with what a person has focused or opened.
  function arrange(box, elements) {
    for (const child of [...box.children]) if (!elements.includes(child)) child.remove();
    elements.forEach((element, i) => {
      if (box.children[i] !== element) box.insertBefore(element, box.children[i] ?? null);
    });
  }

  // How curves are drawn, as the person chose; the page remembers it.
  const choices = { log: true, smooth: false };
  for (const name of Object.keys(choices)) {
    try { choices[name] = JSON.parse(localStorage[`wug-live-${name}`] ?? choices[name]); } catch { /* none */ }
  }
  const redraws = new Set();
  function switchFor(name, words) {
    const button = make("button", { type: "button", "aria-pressed": String(choices[name]) }, words);
    button.addEventListener("click", () => {
      choices[name] = !choices[name];
      button.setAttribute("aria-pressed", String(choices[name]));
      try { localStorage[`wug-live-${name}`] = JSON.stringify(choices[name]); } catch { /* none */ }
      for (const redraw of redraws) redraw();
    });
    return button;
  }

  // A mean that forgets: each point counts for so much of what is shown.
  const FRESH = 0.25;
  function smoothed(points) {
    let mean = points[0]?.[1];
    return points.map(([step, value]) => {
      mean += FRESH * (value - mean);
      return [step, mean];
    });
  }

  // Losses are of other sizes than errors, and accuracies go the other way: each has a picture.
  const kindOf = (name) => (/accuracy|right/.test(name) ? "right answers"
    : /^train|loss|entropy|penalty|bits|perplexity/.test(name) ? "loss" : "error");

  // One picture of some curves. Pointing at it, or the arrow keys, tells the values of a step.
  function picture(title, curves, steps) {
    const names = Object.keys(curves);
    const values = names.flatMap((name) => curves[name].map((point) => point[1]));
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const least = Math.min(...values.filter((value) => value > 0));
    const isLog = choices.log && low >= 0 && Number.isFinite(least);
    const scale = isLog ? (value) => Math.log(Math.max(value, least)) : (value) => value;
    const [bottom, top] = [scale(low), scale(high)];
    const x = (step) => (WIDTH * step) / steps;
    const y = (value) => HEIGHT - SPACE
      - (HEIGHT - 2 * SPACE) * (top > bottom ? (scale(value) - bottom) / (top - bottom) : 0.5);
    const line = (points, i, faint) => svg("polyline", {
      class: `curve c${i % 6}${faint ? " faint" : ""}`,
      points: points.map(([step, value]) => `${x(step)},${y(value)}`).join(" ") });
    const lines = names.flatMap((name, i) => (choices.smooth
      ? [line(smoothed(curves[name]), i, false), line(curves[name], i, true)]
      : [line(curves[name], i, false)]));
    const last = names.map((name) => `${name} ${short(curves[name].at(-1)[1])}`);
    const keys = names.map((name, i) => make("span", { class: `key c${i % 6}` }, last[i]));
    const label = (place, text) => make("span", { class: place }, text);
    const guide = svg("line", { class: "guide", y1: 0, y2: HEIGHT, x1: -9, x2: -9 });
    const told = make("span", { class: "told" });
    const box = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", tabindex: "0",
      preserveAspectRatio: "none",
      "aria-label": `${title}, ${short(low)} to ${short(high)}: ${last.join(", ")}` },
    ...lines, guide);
    const known = [...new Set(names.flatMap((name) => curves[name].map(([step]) => step)))]
      .sort((a, b) => a - b);
    let at = known.length;
    function point(place) {
      at = Math.max(0, Math.min(place, known.length - 1));
      const step = known[at];
      guide.setAttribute("x1", x(step));
      guide.setAttribute("x2", x(step));
      names.forEach((name, i) => {
        const found = curves[name].find(([s]) => s === step);
        keys[i].textContent = `${name} ${found ? short(found[1]) : "–"}`;
      });
      told.textContent = `at step ${step}`;
    }
    function leave() {
      at = known.length;
      guide.setAttribute("x1", -9);
      guide.setAttribute("x2", -9);
      names.forEach((_, i) => { keys[i].textContent = last[i]; });
      told.textContent = "";
    }
    box.addEventListener("pointermove", (event) => {
      const { left, width } = box.getBoundingClientRect();
      const step = (steps * (event.clientX - left)) / width;
      const distance = known.map((one) => Math.abs(one - step));
      point(distance.indexOf(Math.min(...distance)));
    });
    box.addEventListener("pointerleave", leave);
    box.addEventListener("blur", leave);
    box.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      point(at + by);
    });
    return make("div", { class: "picture", "data-kind": title },
      make("h3", {}, title),
      make("div", { class: "axes" }, label("high", short(high)), label("low", short(low)), box,
        label("first", "0"), label("last", `step ${steps}`)),
      make("figcaption", {}, ...keys, told, isLog ? "" : " linear axis"));
  }

  function pictures(curves, steps) {
    const kinds = {};
    for (const [name, points] of Object.entries(curves)) {
      (kinds[kindOf(name)] ??= {})[name] = points;
    }
    return Object.entries(kinds).map(([title, some]) => picture(title, some, steps));
  }

  // The table behind it, the latest values first.
  function table(curves) {
    const names = Object.keys(curves);
    const known = names.map((name) => new Map(curves[name]));
    const steps = [...new Set(known.flatMap((values) => [...values.keys()]))];
    const number = (values, step) => make("td", { class: "number" },
      values.has(step) ? String(+values.get(step).toPrecision(5)) : "");
    const head = ["step", ...names]
      .map((name) => make("th", { scope: "col", class: "number" }, name));
    const rows = steps.sort((a, b) => b - a).map((step) => make("tr", {},
      make("th", { scope: "row", class: "number" }, String(step)),
      ...known.map((values) => number(values, step))));
    return make("table", {}, make("thead", {}, make("tr", {}, ...head)),
      make("tbody", {}, ...rows));
  }

  function growing(name) {
    const [plot, rows] = [make("div", { class: "pictures" }), make("div", { class: "wide", tabindex: "0", role: "region",
      "aria-label": `Values of ${name}` })];
    const details = make("details", { class: "behind" }, make("summary", {}, "Latest values"), rows);
    let [curves, total] = [{}, 1];
    const fill = () => { if (details.open) rows.replaceChildren(table(curves)); };
    // Somebody who looks at a value keeps it; new ones are drawn after that.
    const draw = () => {
      if (!plot.matches(":hover, :focus-within")) plot.replaceChildren(...pictures(curves, total));
    };
    const update = (given, steps) => {
      [curves, total] = [given, steps];
      draw();
      fill();
    };
    redraws.add(draw);
    details.addEventListener("toggle", fill);
    return { figure: make("figure", { class: "growing" }, plot, details), update };
  }

  function line(data) {
    const { lot: name, step, steps, rate, replicas, seconds, state } = data;
    const left = step > 0 && step < steps ? time((seconds * (steps - step)) / step) : "";
    const facts = [
      `${Math.floor((100 * step) / steps)} %`,
      replicas > 1 ? `${replicas} trainings` : "",
      rate ? `${short(rate)} steps/s` : "",
      state === "quiet" ? "no news for long" : left && `${left} left`,
    ].filter(Boolean).join(" · ");
    return make("div", { class: "line" }, make("span", { class: "name" }, name),
      make("progress", { max: steps, value: Math.min(step, steps), "aria-label": name }),
      make("span", { class: "soft" }, facts));
  }

  function lot(kept, data) {
    if (!kept.has(data.lot)) {
      kept.set(data.lot, { whole: make("div", { class: "lot" }), ...growing(data.lot) });
    }
    const { whole, figure, update } = kept.get(data.lot);
    const drawn = Object.keys(data.curves).length > 0;
    if (drawn) update(data.curves, data.steps);
    arrange(whole, [line(data), ...(drawn ? [figure] : [])]);
    return whole;
  }

  // Runs and their lots keep their elements.
  const sections = new Map();
  function section(run) {
    if (!sections.has(run.id)) {
      const body = make("div");
      const state = make("span", { class: "state" });
      const link = make("a", {}, run.experiment);
      const whole = make("section", { "data-run": run.name }, make("h2", {}, link, " ", state),
        make("p", { class: "soft" }, run.name), body);
      sections.set(run.id, { body, link, state, lots: new Map(), whole });
    }
    const { body, link, state, lots, whole } = sections.get(run.id);
    if (run.has_records) link.href = `runs/${run.id}`;
    const done = run.lots.filter((one) => one.state === "finished").length;
    state.textContent = run.state === "quiet" ? "no news for long" : run.state;
    whole.dataset.state = run.state;
    const count = done ? [make("p", { class: "soft" }, `${done} ${done === 1 ? "part" : "parts"} finished so far`)] : [];
    const others = run.lots.filter((one) => one.state !== "finished");
    arrange(body, [...count, ...others.map((one) => lot(lots, one))]);
    return whole;
  }

  function show(runs) {
    const finished = runs.filter((run) => run.state === "finished");
    const others = runs.filter((run) => run.state !== "finished").map(section);
    for (const [id, { whole }] of sections) if (!others.includes(whole)) sections.delete(id);
    const box = get("live");
    arrange(box, others);
    if (finished.length) {
      box.append(make("section", { class: "finished" }, make("h2", {}, "Finished"),
        make("ul", {}, ...finished.map((run) => make("li", {},
          make("a", { href: `runs/${run.id}` }, run.experiment), " ",
          make("span", { class: "soft" },
            `${run.name}, ${new Date(1000 * run.news).toLocaleString()}`))))));
    }
    const busy = runs.filter((run) => run.state === "running").length;
    get("said").textContent = busy ? `${busy} run${busy > 1 ? "s" : ""} at work.`
      : "Nothing is at work. What you start with wug run appears here.";
  }

  get("live").before(make("div", { class: "chips", role: "group", "aria-label": "Curves" },
    switchFor("log", "Logarithmic axis"), switchFor("smooth", "Smooth")));

  const source = new EventSource("live/events");
  source.addEventListener("runs", (event) => show(JSON.parse(event.data)));
  source.addEventListener("error", () => {
    get("said").textContent = "The server does not answer; trying again.";
  });
})();
