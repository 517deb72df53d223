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

  // One picture of all values of a lot, on a log scale where they spread far; errors that have got
  // to zero are at the bottom then.
  function picture(curves, steps) {
    const values = Object.values(curves).flatMap((points) => points.map((point) => point[1]));
    const low = Math.min(...values);
    const high = Math.max(...values);
    const least = Math.min(...values.filter((value) => value > 0));
    const spread = low >= 0 && high / least > 50;
    const scale = spread ? (value) => Math.log(Math.max(value, least)) : (value) => value;
    const [bottom, top] = [scale(low), scale(high)];
    const x = (step) => (WIDTH * step) / steps;
    const y = (value) => HEIGHT - SPACE
      - (HEIGHT - 2 * SPACE) * (top > bottom ? (scale(value) - bottom) / (top - bottom) : 0.5);
    const names = Object.keys(curves);
    const lines = names.map((name, i) => svg("polyline", { class: `curve c${i % 6}`,
      points: curves[name].map(([step, value]) => `${x(step)},${y(value)}`).join(" ") }));
    const last = names.map((name) => `${name} ${short(curves[name].at(-1)[1])}`);
    const keys = names.map((name, i) => make("span", { class: `key c${i % 6}` }, last[i]));
    const label = (place, text) => make("span", { class: place }, text);
    return [
      make("div", { class: "axes" }, label("high", short(high)), label("low", short(low)),
        svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
          "aria-label": `${short(low)} to ${short(high)}: ${last.join(", ")}` }, ...lines),
        label("first", "0"), label("last", `step ${steps}`)),
      make("figcaption", {}, ...keys, spread ? "log scale" : ""),
    ];
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
    const [plot, rows] = [make("div"), make("div", { class: "wide", tabindex: "0", role: "region",
      "aria-label": `Values of ${name}` })];
    const details = make("details", { class: "behind" }, make("summary", {}, "Latest values"), rows);
    let curves = {};
    const fill = () => { if (details.open) rows.replaceChildren(table(curves)); };
    const update = (given, steps) => {
      curves = given;
      plot.replaceChildren(...picture(curves, steps));
      fill();
    };
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
    const count = done ? [make("p", { class: "soft" }, `${done} of the parts so far finished`)] : [];
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

  const source = new EventSource("live/events");
  source.addEventListener("runs", (event) => show(JSON.parse(event.data)));
  source.addEventListener("error", () => {
    get("said").textContent = "The server does not answer; trying again.";
  });
})();
