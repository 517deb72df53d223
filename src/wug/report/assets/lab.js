// The lab: asks a trained network and shows its answer. Text only ever becomes text nodes.
"use strict";

(() => {
  const get = (id) => document.getElementById(id);
  const make = (name, attributes = {}, ...content) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...content);
    return element;
  };
  const percent = (share) => `${+(100 * share).toPrecision(3)} %`;
  const number = (value) => (value === null ? "not a number" : String(value));

  // Of an answer in a title; all of it is below.
  const LONGEST = 160;
  let networks = [];
  // A question's number: an answer to an earlier one, or of another network, is never shown.
  let round = 0;

  function named({ model, task, labels, seed, name }) {
    const told = Object.entries(labels).map(([key, value]) => `${key} ${value}`);
    if (typeof seed === "number") told.push(`seed ${seed}`);
    return [task ? `${model} on ${task}` : model, ...told, name].join(" · ");
  }

  function chosen() {
    const network = networks[get("network").selectedIndex];
    if (!network) return;
    round += 1;
    get("lab").querySelector(".ask button").disabled = false;
    const { tokens, accuracy } = network;
    get("about").textContent = [
      tokens.length ? `Tokens: ${tokens.join(" ")}`
        : network.reads ?? (
          network.interface === "next_token" ? "It continues a text." : "It reads numbers."),
      typeof accuracy === "number" ? `right answers in the test: ${percent(accuracy)}` : "",
    ].filter(Boolean).join(" · ");
    get("input").value = network.example;
    get("input").hidden = Boolean(network.side);
    get("drawing").replaceChildren(...(network.side
      ? [window.wugDrawing(network.side, (text) => { get("input").value = text; })] : []));
    get("answer").replaceChildren();
    get("said").textContent = "";
  }

  function shares(probabilities) {
    const rows = probabilities.slice(0, 10).map(([name, share]) => make("tr", {},
      make("th", { scope: "row" }, name),
      make("td", {}, make("progress", { max: 1, value: share, "aria-label": name }), ` ${percent(share)}`)));
    return make("table", { class: "shares" },
      make("caption", {}, "Probabilities"), make("tbody", {}, ...rows));
  }

  function routing(data) {
    const player = make("div", { id: "routing" });
    const details = make("details", { class: "behind" }, make("summary", {}, "Table"));
    window.wugRouting(player, data); // it draws itself once it is on the page
    window.wugRoutingTable(details, data);
    return [player, details];
  }

  function writing(answer) {
    const known = typeof answer.answer === "string";
    const right = answer.prediction === answer.answer;
    const verdict = known ? [make("span", { class: `pill ${right ? "held" : "broken"}` },
      right ? "✓ right" : "✕ wrong")] : [];
    const written = answer.prediction || "(nothing)";
    const shown = written.length > LONGEST ? `${written.slice(0, LONGEST)}…` : written;
    const title = make("h2", { class: "result" }, answer.problem, " → ", shown, " ", ...verdict);
    const player = make("div", { id: "writing" });
    window.wugWriting(player, answer.writing);
    return [title, player];
  }

  function sequence(answer) {
    const right = answer.prediction === answer.answer;
    const verdict = make("span", { class: `pill ${right ? "held" : "broken"}` },
      right ? "✓ right" : `✕ wrong, it is ${answer.answer}`);
    const title = make("h2", { class: "result" }, answer.problem, " → ", answer.prediction, " ",
      verdict);
    return [title, ...(answer.routing ? routing(answer.routing) : []),
      shares(answer.probabilities)];
  }

  function steps(answer) {
    const right = answer.said === answer.due;
    const verdict = answer.due === null ? [] : [make("span",
      { class: `pill ${right ? "held" : "broken"}` },
      right ? "✓ right" : `✕ wrong, it is ${answer.due}`)];
    const title = make("h2", { class: "result" }, answer.problem, " → ", answer.said, " ",
      ...verdict);
    if (!answer.memory) return [title];
    const player = make("div", { id: "memory" });
    window.wugMemory(player, answer.memory); // it draws itself once it is on the page
    return [title, player];
  }

  function pictures({ pictures: sources, numbers: read, running }) {
    // From the nearest digit, as far as the pages allow (pages/digits.py).
    const nearest = (one) => Math.min(Math.max(Math.round(one), 0), 9);
    const far = ([one], count) => count === 1 && one !== null && Math.abs(one - nearest(one)) > 0.5;
    const rows = sources.map((source, i) => make("tr", {},
      make("td", {}, make("img", { src: source, alt: `picture ${i + 1}`, width: 42, height: 42 })),
      make("td", {}, (far(read[i], read[i].length) ? "? " : "") + read[i].map(number).join(", ")),
      make("td", {}, running[i].map(number).join(", "))));
    const heads = ["picture", "its number", "running value"];
    return [make("h2", { class: "result" }, "→ ", running.at(-1).map(number).join(", ")),
      make("table", { class: "shares pictures" }, make("caption", {}, "Picture by picture"),
        make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))),
        make("tbody", {}, ...rows)),
      make("p", { class: "soft" }, "A question mark: the number is far from any digit.")];
  }

  function numbers(answer) {
    const rows = [["inputs", answer.inputs], ...answer.layers, ["outputs", answer.outputs]];
    const table = make("table", { class: "shares" }, make("caption", {}, "Inside"),
      make("tbody", {}, ...rows.map(([name, values]) => make("tr", {},
        make("th", { scope: "row" }, name), make("td", {}, values.map(number).join(", "))))));
    return [make("h2", { class: "result" }, "→ ", answer.outputs.map(number).join(", ")),
      ...answer.formula.map((text) => make("pre", {}, text)), table];
  }

  // Hues a golden angle apart, so that neighbours differ; the light text colour stays readable.
  const hue = (expert) => (expert * 137.5) % 360;

  function shownToken(piece, experts, weights, written) {
    const total = weights.reduce((sum, one) => sum + one, 0);
    const parts = experts.map((expert, i) => `${expert} (${percent(total ? weights[i] / total : 0)})`);
    const span = make("span", { class: written ? "token written" : "token" }, piece);
    if (!experts.length) return span;
    span.title = `experts ${parts.join(", ")}`;
    const stops = experts.flatMap((expert, i) => {
      const [from, to] = [i, i + 1].map((n) => `${(100 * n) / experts.length}%`);
      return [`hsl(${hue(expert)} 70% 72%) ${from} ${to}`];
    });
    span.style.background = `linear-gradient(to bottom, ${stops.join(", ")})`;
    return span;
  }

  function text({ prompt, continuation, pieces, num_prompt: length, experts,
    weights, num_experts: size }) {
    const title = make("h2", { class: "result" }, prompt, make("mark", {}, continuation));
    if (!size) return [title];
    const spans = make("p", { class: "tokens" });
    const layer = make("select", { id: "layer" }, ...experts.map((_, i) => make("option",
      { value: i }, `layer ${i + 1}`)));
    const legend = make("p", { class: "tokens legend", "aria-label": "Experts" });
    const draw = () => {
      const chosen = experts[layer.selectedIndex], shares = weights[layer.selectedIndex];
      spans.replaceChildren(...pieces.map((piece, i) =>
        shownToken(piece, chosen[i], shares[i], i >= length)));
    };
    legend.append(...Array.from({ length: size }, (_, i) => shownToken(` ${i} `, [i], [1], false)));
    layer.addEventListener("change", draw);
    draw();
    const counts = Array.from({ length: size }, (_, e) => experts.map((tokens) =>
      tokens.filter((chosen) => chosen.includes(e)).length));
    const table = make("details", { class: "behind" }, make("summary", {}, "Table"),
      make("table", { class: "shares" }, make("caption", {}, "Tokens that chose an expert"),
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "expert"),
          ...experts.map((_, i) => make("th", { scope: "col" }, `layer ${i + 1}`)))),
        make("tbody", {}, ...counts.map((row, e) => make("tr", {},
          make("th", { scope: "row" }, String(e)), ...row.map((n) => make("td", {}, String(n))))))));
    return [title, make("h3", {}, "Experts that each token chose"),
      make("label", { for: "layer" }, "Layer "), layer, spans, legend, table];
  }

  async function told(response) {
    if (response.headers.get("content-type")?.startsWith("application/json")) {
      return response.json();
    }
    return { error: await response.text() };
  }

  const SHOWN = { numbers, next_token: text, transduction: writing, steps, pictures };

  async function ask(event) {
    event.preventDefault();
    const button = get("lab").querySelector(".ask button");
    round += 1;
    const mine = round;
    const asked = networks[get("network").selectedIndex];
    button.disabled = true;
    get("said").textContent = "Thinking.";
    get("answer").replaceChildren();
    try {
      const answer = await told(await fetch("lab/answer", {
        method: "POST", headers: { "content-type": "application/json" },
        body: JSON.stringify({ checkpoint: asked.id, input: get("input").value }),
      }));
      if (mine !== round) return;
      get("said").textContent = answer.error ?? "";
      get("answer").replaceChildren(...(answer.error ? []
        : [make("p", { class: "soft by" }, named(asked)),
          ...(SHOWN[answer.kind] ?? sequence)(answer)]));
    } catch (error) {
      if (mine === round) get("said").textContent = `The server does not answer: ${error.message}`;
    } finally {
      if (mine === round) button.disabled = false;
    }
  }

  async function start() {
    const found = await told(await fetch("lab/checkpoints"));
    if (found.error) throw new Error(found.error);
    networks = found.checkpoints;
    get("network").replaceChildren(...networks.map((network) => make("option",
      { value: network.id }, named(network))));
    get("said").textContent = networks.length ? ""
      : "There are no trained networks here yet. Runs on sequences of tokens leave theirs.";
    get("lab").hidden = !networks.length;
    chosen();
    if (found.problems.length) {
      get("answer").after(make("section", {}, make("h2", {}, "Files that can't be used"),
        make("ul", { class: "problems" }, ...found.problems.map((text) => make("li", {}, text)))));
    }
    document.documentElement.dataset.lab = "";
  }

  get("network").addEventListener("change", chosen);
  get("lab").addEventListener("submit", ask);
  start().catch((error) => { get("said").textContent = `The lab can't start: ${error.message}`; });
})();
