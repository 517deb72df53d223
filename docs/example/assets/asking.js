// The box on the front page: a person types a problem, a router and a rival answer it right there.
//
// Every <figure class="asking"> holds JSON, { kinds: [kind] }, each kind with tokens, classes,
// separator, level, levels, order and tables as the catalog has them, networks ({ name, title, page,
// accuracy, steps }, the router first) and first (problems of the test to begin with; there may be none).
// Text only ever becomes text nodes.
"use strict";

(() => {
  const { html, range } = window.wugPlayer;
  const MOST_TOKENS = { ctl: 24, simple_arithmetic: 60 };
  const MOST_TRIED = 20;
  const THRESHOLD = 0.2;

  const pick = (list) => list[Math.floor(Math.random() * list.length)];
  const between = ([low, high]) => (low === high ? `${low}` : `${low} to ${high}`);
  const percent = (share) => `${+(100 * share).toFixed(1)} %`;

  // Functions that are tables: their letters, and one symbol that they are applied to.
  class Tables {
    constructor(kind) {
      this.kind = kind;
      this.forward = kind.order === "forward";
      this.numSymbols = kind.classes.length;
    }

    title = "Tables";

    get about() {
      const { tables, levels } = this.kind;
      const order = this.forward ? "from left to right" : "from right to left";
      return `A Neural Data Router has learnt ${tables.length} tables of ${this.numSymbols} symbols. `
        + `In training it looked up at most ${levels.train[1]} in a row, one in what another gave, `
        + `${order}. Here are ${levels.test[1]}.`;
    }

    get asked() {
      return `problems of ${between(this.kind.levels.test)} tables`;
    }

    read(text) {
      const width = this.kind.classes[0].length;
      const words = text.toLowerCase().match(new RegExp(`[01]{${width}}|[^\\s]`, "g")) ?? [];
      const tokens = words.map((word) => this.kind.tokens.indexOf(word));
      const letters = this.kind.tokens.slice(this.numSymbols);
      const wrong = words.find((_, i) => tokens[i] < 0);
      if (wrong !== undefined) {
        throw new Error(`There is no ${wrong}: write letters from ${letters[0]} to `
          + `${letters.at(-1)} and one of ${this.kind.classes.join(", ")}.`);
      }
      const [symbol, ...rest] = this.forward ? tokens : [...tokens].reverse();
      if (!rest.length || symbol >= this.numSymbols || rest.some((t) => t < this.numSymbols)) {
        throw new Error(`Write one or more letters and then one symbol, such as ${this.example()}.`);
      }
      return tokens;
    }

    write(tokens) { return tokens.map((token) => this.kind.tokens[token]).join(" "); }

    example() { return this.write(this.drawn(3)); }

    drawn(length) {
      const letters = range(length).map(() =>
        this.numSymbols + Math.floor(Math.random() * this.kind.tables.length));
      const symbol = Math.floor(Math.random() * this.numSymbols);
      return this.forward ? [symbol, ...letters] : [...letters, symbol];
    }

    draw() { return this.drawn(this.kind.levels.test[1]); }

    // What each token needs, and its value; the places in the order in which they are computed.
    solve(tokens) {
      const places = this.forward ? range(tokens.length) : range(tokens.length).reverse();
      const [operands, values] = [tokens.map(() => []), tokens.map(() => null)];
      values[places[0]] = tokens[places[0]];
      places.slice(1).forEach((place, i) => {
        operands[place] = [places[i]];
        values[place] = this.kind.tables[tokens[place] - this.numSymbols][values[places[i]]];
      });
      return { operands, values, answer: values[places.at(-1)], places: places.slice(1) };
    }

    check(tokens, { values, operands, places }) {
      const used = new Set(places.map((place) =>
        `${tokens[place] - this.numSymbols} ${values[operands[place][0]]}`));
      const { classes, tables, tokens: names } = this.kind;
      const head = html("tr", {}, html("th", { scope: "col" }, ""),
        ...classes.map((name) => html("th", { scope: "col" }, name)));
      const rows = tables.map((table, f) => html("tr", {},
        html("th", { scope: "row" }, names[this.numSymbols + f]),
        ...table.map((to, from) => html("td",
          used.has(`${f} ${from}`) ? { class: "used" } : {}, classes[to]))));
      const chain = places.map((place) =>
        html("span", {}, html("b", {}, names[tokens[place]]), ` ${classes[values[place]]}`));
      const start = classes[values[operands[places[0]][0]]];
      return [
        html("p", { class: "chain" }, html("span", {}, start), ...chain),
        html("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "The tables" },
          html("table", { class: "lookup" },
            html("caption", {}, "The tables: what each letter makes of each symbol"),
            html("thead", {}, head), html("tbody", {}, ...rows))),
      ];
    }
  }

  // Sums and products of digits in brackets, modulo 10.
  class Arithmetic {
    constructor(kind) { this.kind = kind; }

    title = "Arithmetic modulo 10";

    get about() {
      const { train, test } = this.kind.levels;
      return "A Neural Data Router has learnt sums and products modulo 10, where only the last digit "
        + `counts: 7+5 is 2, 4*7 is 8. In training at most ${train[1]} operations stood inside one `
        + `another. Here are ${test[0]} or more.`;
    }

    get asked() {
      return `problems with ${between(this.kind.levels.test)} operations inside one another`;
    }

    tokenise(text) {
      return [...text.replace(/\s/g, "").replace(/[×·]/g, "*")].map((sign) => {
        const token = this.kind.tokens.indexOf(sign);
        if (token < 0) throw new Error(`There is no ${sign}: write digits, brackets, + and *.`);
        return token;
      });
    }

    read(text) {
      const tokens = this.tokenise(text);
      const whole = this.tokenise(`(${text})`); // the outermost brackets may be left out
      for (const tried of [tokens, whole]) {
        try { this.solve(tried); return tried; } catch { /* the next one */ }
      }
      throw new Error("Each operation needs two operands and brackets, such as ((4*7)+2).");
    }

    write(tokens) { return tokens.map((token) => this.kind.tokens[token]).join(""); }

    grown(depth) {
      if (!depth) return `${Math.floor(Math.random() * 10)}`;
      const shallow = Math.random() < 0.25 ? Math.min(depth - 1, 2) : 0;
      const parts = [this.grown(depth - 1), this.grown(shallow)];
      if (Math.random() < 0.5) parts.reverse();
      return `(${parts[0]}${pick("+*")}${parts[1]})`;
    }

    draw() {
      for (;;) {
        const text = this.grown(this.kind.levels.test[0]);
        if (text.length <= 45) return this.tokenise(text);
      }
    }

    solve(tokens) {
      const signs = tokens.map((token) => this.kind.tokens[token]);
      const [operands, values] = [tokens.map(() => []), tokens.map(() => null)];
      const places = [];
      let at = 0;
      const expect = (ok) => { if (!ok) throw new Error("not well formed"); };
      const expression = () => {
        const place = at;
        at += 1;
        if (/^\d$/.test(signs[place] ?? "")) { values[place] = tokens[place]; return place; }
        expect(signs[place] === "(");
        const left = expression();
        const sign = at;
        at += 1;
        expect(signs[sign] === "+" || signs[sign] === "*");
        const right = expression();
        expect(signs[at] === ")");
        at += 1;
        const [a, b] = [values[left], values[right]];
        operands[sign] = [left, right];
        values[sign] = (signs[sign] === "*" ? a * b : a + b) % 10;
        places.push(sign);
        return sign;
      };
      const root = expression();
      expect(at === tokens.length);
      return { operands, values, answer: values[root], places };
    }

    check(tokens, { values, operands, places }) {
      const steps = places.map((place) => {
        const [a, b] = operands[place].map((operand) => values[operand]);
        return html("span", {}, `${a}${this.kind.tokens[tokens[place]]}${b} = `,
          html("b", {}, `${values[place]}`));
      });
      return [html("p", { class: "chain sums" }, ...steps)];
    }
  }

  const GRAMMARS = { ctl: Tables, simple_arithmetic: Arithmetic };

  // Share of the gates of columns with something to wait for that open when it is ready.
  function score(openness, operands) {
    const waits = operands.map((sources) => sources.some((source) => operands[source].length));
    let ready = operands.map((sources) => sources.length === 0);
    let before = operands.map(() => false);
    let [openings, onTime] = [0, 0];
    for (const gates of openness) {
      const written = gates.map((gate) => gate > THRESHOLD);
      const timely = written.map((is, i) => is && operands[i].every((source) => ready[source]));
      written.forEach((is, i) => {
        if (is && !before[i] && waits[i]) { openings += 1; onTime += timely[i] ? 1 : 0; }
      });
      ready = ready.map((is, i) => is || timely[i]);
      before = written;
    }
    return openings ? onTime / openings : null;
  }

  const largest = (numbers) => numbers.indexOf(Math.max(...numbers));

  // With a column before and one behind the problem.
  const columnsOf = (kind, tokens) => ["begin", ...tokens.map((token) => kind.tokens[token]), "end"];

  function routingOf(kind, tokens, solved, { logits, attention, openness }) {
    const operands = [[], ...solved.operands.map((list) => list.map((i) => i + 1)), []];
    const name = (value) => (value === null ? "" : kind.classes[value]);
    return {
      columns: columnsOf(kind, tokens),
      values: ["", ...solved.values.map(name), ""],
      attention, openness, operands, threshold: THRESHOLD, score: score(openness, operands),
      answer: kind.classes[solved.answer], prediction: kind.classes[largest(logits)],
    };
  }

  function card(kind, network, said, right, asked) {
    const link = html("a", { href: network.page }, network.title);
    const verdict = said === null ? html("span", { class: "waiting" }, "…")
      : html("span", { class: `pill ${right ? "held" : "broken"}` }, right ? "✓ right" : "✕ wrong");
    const steps = network.steps ? `, after ${network.steps.toLocaleString("en")} steps` : "";
    const share = typeof network.accuracy === "number"
      ? html("small", {}, `right on ${percent(network.accuracy)} of new ${asked}${steps}`) : "";
    return html("div", { class: "said-by" }, html("p", {}, link, " says"),
      html("p", { class: "answer" }, html("b", {}, said ?? " "), " ", verdict), share);
  }

  function start(figure) {
    const { kinds } = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const place = figure.querySelector(".asked");
    const grammars = kinds.map((kind) => new GRAMMARS[kind.task](kind));
    let [current, round] = [0, 0];

    const chips = grammars.map((grammar, i) => {
      const button = html("button", { type: "button" }, grammar.title);
      button.addEventListener("click", () => open(i));
      return button;
    });
    const input = html("input", { type: "text", id: "problem", autocomplete: "off",
      spellcheck: "false", autocapitalize: "off", maxlength: "200" });
    const form = html("form", { class: "ask" },
      html("label", { for: "problem" }, "Type your own"), input,
      html("button", { type: "submit", class: "main" }, "Ask"));
    const other = html("button", { type: "button" }, "Another");
    form.append(other);
    const about = html("p", { class: "about" });
    const status = html("p", { class: "status", role: "status" });
    const answers = html("div", { class: "answers", "aria-live": "polite" });
    const stage = html("div", { class: "player" });
    const worked = html("div", { class: "worked" });
    const check = html("div", { class: "check" });

    function show(tokens, solved, results) {
      const [kind, grammar] = [kinds[current], grammars[current]];
      const right = kind.classes[solved.answer];
      answers.replaceChildren(
        html("div", { class: "said-by truth" }, html("p", {}, "Right is"),
          html("p", { class: "answer" }, html("b", {}, right)),
          html("small", {}, "as worked out below")),
        ...kind.networks.map((network, i) => {
          const said = results[i] ? kind.classes[largest(results[i].logits)] : null;
          return card(kind, network, said, said === right, grammar.asked);
        }));
      const [chain, ...tables] = grammar.check(tokens, solved);
      worked.replaceChildren(html("span", { class: "soft" }, "Check it "), chain);
      check.replaceChildren(...tables);
    }

    function draw(data) {
      const player = window.wugRouting(stage, data);
      if (!matchMedia("(prefers-reduced-motion: reduce)").matches) player.play();
    }

    // A later question never gets an earlier one's answer.
    async function ask(tokens) {
      round += 1;
      const [mine, kind, grammar] = [round, kinds[current], grammars[current]];
      const solved = grammar.solve(tokens);
      const results = kind.networks.map(() => null);
      status.textContent = "";
      figure.dataset.state = "thinking";
      show(tokens, solved, results);
      try {
        for (const [i, { name }] of kind.networks.entries()) {
          const network = await window.wugNetworks.load(name);
          await new Promise((resolve) => { setTimeout(resolve); }); // the page first, then the sums
          if (mine !== round) return;
          results[i] = network.answer(tokens, kind.classes.length);
          show(tokens, solved, results);
          if (results[i].openness) draw(routingOf(kind, tokens, solved, results[i]));
        }
        figure.dataset.state = "answered";
      } catch (error) {
        if (mine === round) status.textContent = `The network can't be run here: ${error.message}.`;
      }
    }

    function typed(text) {
      const limit = MOST_TOKENS[kinds[current].task];
      try {
        const tokens = grammars[current].read(text);
        if (tokens.length > limit) throw new Error(`Write at most ${limit} signs.`);
        ask(tokens);
      } catch (error) {
        status.textContent = error.message;
      }
    }

    // The first problem is one of the test, or a new one: the first that tells the networks apart, as
    // the shares below say what each gets of all.
    async function first() {
      const [mine, kind, grammar] = [round, kinds[current], grammars[current]];
      const known = kind.first.flatMap((text) => {
        try { return [grammar.read(text)]; } catch { return []; }
      });
      const tried = known.length ? known : range(MOST_TRIED).map(() => grammar.draw());
      let chosen = tried[0];
      try {
        const networks = await Promise.all(
          kind.networks.map(({ name }) => window.wugNetworks.load(name)));
        const isRight = (network, tokens) => grammar.solve(tokens).answer
          === largest(network.answer(tokens, kind.classes.length).logits);
        const [router, ...rivals] = networks;
        chosen = tried.find((tokens) => !rivals.some((rival) => isRight(rival, tokens))
          && isRight(router, tokens)) ?? chosen;
      } catch { /* it is said when they are asked */ }
      if (mine !== round) return;
      input.value = grammar.write(chosen);
      ask(chosen);
    }

    function open(i) {
      [current, round] = [i, round + 1];
      chips.forEach((chip, j) => chip.setAttribute("aria-pressed", String(i === j)));
      about.textContent = grammars[i].about;
      status.textContent = "";
      answers.replaceChildren();
      [worked, check].forEach((part) => part.replaceChildren());
      stage.replaceChildren();
      first();
    }

    function another() {
      const tokens = grammars[current].draw();
      input.value = grammars[current].write(tokens);
      ask(tokens);
    }
    form.addEventListener("submit", (event) => { event.preventDefault(); typed(input.value); });
    other.addEventListener("click", another);
    const asking = html("div", { class: "question" },
      html("div", { class: "chips", role: "group", "aria-label": "Problems" }, ...chips),
      about, form, status, answers);
    place.replaceChildren(asking, check, worked, stage);
    open(0);
  }

  window.wugPlayer.startAll("figure.asking", start);
})();
