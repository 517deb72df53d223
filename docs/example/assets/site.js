// The pages' script: theme, tables, tabs, charts, formulas, the comparison of two runs.
// Text from records only ever becomes text nodes.
"use strict";

(() => {
  const root = document.documentElement;
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];

  const make = (name, attributes = {}, ...content) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...content);
    return element;
  };

  // Theme: the system's, unless a person chose. Runs before the page is drawn.
  const stored = () => { try { return localStorage.getItem("wug-theme"); } catch { return null; } };
  const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches
    ? "dark" : "light")) === "dark";
  if (stored()) root.dataset.theme = stored();

  function theme() {
    document.getElementById("theme")?.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("wug-theme", root.dataset.theme); } catch { /* private window */ }
    });
  }

  // Tables: sort by a click on a heading, filter by words.
  const key = (row, place) => {
    const cell = row.cells[place];
    const text = cell?.dataset.sort ?? cell?.textContent.trim() ?? "";
    const number = parseFloat(text.replace(/,/g, "").replace("−", "-"));
    return { text, number: text === "" ? NaN : number };
  };

  function sort(table, place) {
    const heads = table.tHead.rows[0].cells;
    const up = heads[place].getAttribute("aria-sort") !== "ascending";
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[place].setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows].map((row) => ({ row, ...key(row, place) }));
    const numeric = rows.filter((r) => !Number.isNaN(r.number)).length > rows.length / 2;
    const compare = (a, b) => {
      if (!numeric) return a.text.localeCompare(b.text, undefined, { numeric: true });
      if (Number.isNaN(a.number) || Number.isNaN(b.number)) {
        return (Number.isNaN(a.number) - Number.isNaN(b.number)) * (up ? 1 : -1);
      }
      return a.number - b.number;
    };
    rows.sort((a, b) => (up ? compare(a, b) : compare(b, a)));
    table.tBodies[0].append(...rows.map((r) => r.row));
  }

  function sortable(table) {
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      head.querySelector("button")?.addEventListener("click", () => sort(table, place));
    });
  }

  function filterable(input) {
    const page = input.closest("main");
    const table = page.querySelector(`#${CSS.escape(input.dataset.filter)}`);
    const count = page.querySelector(`[data-count="${CSS.escape(input.dataset.filter)}"]`);
    const rows = [...table.tBodies[0].rows];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        row.hidden = !words.every((word) => texts[i].includes(word));
        shown += !row.hidden;
      });
      count.textContent = words.length ? `${shown} of ${rows.length}` : `${rows.length}`;
    };
    input.addEventListener("input", apply);
    apply();
  }

  function verdictFilter(list) {
    const items = [...list.querySelectorAll("[data-verdict]")];
    const groups = [...list.querySelectorAll(".group")];
    const verdicts = ["held", "broken", "undecided"];
    const buttons = ["all", ...verdicts].map((verdict) => {
      const count = items.filter((i) => verdict === "all" || i.dataset.verdict === verdict).length;
      const button = make("button", { type: "button", "aria-pressed": String(verdict === "all") },
        `${verdict} ${count}`);
      button.disabled = count === 0;
      button.addEventListener("click", () => {
        buttons.forEach((b) => b.setAttribute("aria-pressed", String(b === button)));
        items.forEach((i) => { i.hidden = verdict !== "all" && i.dataset.verdict !== verdict; });
        groups.forEach((g) => { g.hidden = !g.querySelector("[data-verdict]:not([hidden])"); });
      });
      return button;
    });
    list.before(make("div", { class: "chips", role: "group", "aria-label": "Verdict" }, ...buttons));
  }

  // Tabs: one of several groups is seen.
  function tabs(box) {
    const panels = [...box.children];
    if (panels.length < 2) return;
    const list = make("div", { role: "tablist", "aria-label": box.getAttribute("aria-label") });
    const buttons = panels.map((panel, i) => {
      const button = make("button", { type: "button", role: "tab" }, panel.dataset.title);
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-label", panel.dataset.title);
      button.addEventListener("click", () => choose(i));
      return button;
    });
    const choose = (place) => panels.forEach((panel, i) => {
      panel.hidden = i !== place;
      buttons[i].setAttribute("aria-selected", String(i === place));
      buttons[i].tabIndex = i === place ? 0 : -1;
    });
    list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = (buttons.indexOf(document.activeElement) + step + buttons.length)
        % buttons.length;
      choose(next);
      buttons[next].focus();
    });
    list.append(...buttons);
    box.prepend(list);
    choose(0);
  }

  // The part of the address after # holds the page, where all are in one file, and a choice that is
  // kept: #page.html?choice, or #choice alone.
  const isOneFile = () => all("main[data-page]").length > 1;
  const part = (place) => {
    const [first, second = ""] = location.hash.slice(1).split("?").map(decodeURIComponent);
    return isOneFile() ? [first, second][place] : ["", first][place];
  };

  function switches(box) {
    const select = box.querySelector("select");
    const figures = all(":scope > figure", box);
    const show = () => figures.forEach((f) => { f.hidden = f.dataset.name !== select.value; });
    const kept = () => {
      const wanted = part(1);
      if (figures.some((f) => f.dataset.name === wanted)) select.value = wanted;
    };
    select.addEventListener("change", () => {
      show();
      if (!("kept" in box.dataset)) return;
      const page = isOneFile() ? `${encodeURIComponent(box.closest("main").dataset.page)}?` : "";
      history.replaceState(null, "", `#${page}${encodeURIComponent(select.value)}`);
    });
    if ("kept" in box.dataset) {
      kept();
      addEventListener("hashchange", () => { kept(); show(); });
    }
    show();
  }

  // Charts: drawn when they come into sight, with the table behind them on request.
  const read = (figure) => {
    figure.data ??= JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    return figure.data;
  };

  function fitted(spec, width) {
    const across = spec.usermeta?.panels;
    if (across) {
      const panel = Math.max(64, Math.min(300, Math.floor((width - 130) / across) - 12));
      return { ...spec, spec: { ...spec.spec, width: panel } };
    }
    if (!spec.columns) return spec;
    const columns = Math.max(1, Math.min(spec.columns, Math.floor(width / 220)));
    const panel = Math.max(120, Math.min(460, Math.floor((width - 70) / columns) - 22));
    return { ...spec, columns, spec: { ...spec.spec, width: panel } };
  }

  async function draw(figure) {
    const { spec, fields, rows } = read(figure);
    const plot = figure.querySelector(".plot");
    const values = rows.map((row) => Object.fromEntries(fields.map((f, i) => [f, row[i]])));
    const whole = { ...fitted(spec, plot.clientWidth), data: { values } };
    await vegaEmbed(plot, whole, {
      renderer: "svg", ast: true, logLevel: vega.Error, downloadFileName: figure.dataset.name,
      tooltip: { theme: dark() ? "dark" : "light" },
      actions: { export: true, source: false, compiled: false, editor: false },
    });
    figure.dataset.drawn = "";
  }

  const waiting = new Set();
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) start(target);
  }, { rootMargin: "300px" });

  async function start(figure) {
    if (!waiting.delete(figure)) return;
    seen.unobserve(figure);
    try {
      await draw(figure);
    } catch (error) {
      figure.querySelector(".plot").textContent = `This chart can't be drawn: ${error.message}`;
      console.error(error);
    }
  }

  // The rest of the page is drawn when there is nothing else to do, so that it can be printed.
  const later = window.requestIdleCallback ?? ((task) => setTimeout(task, 200));
  async function drawRest() {
    const next = [...waiting].find((figure) => figure.offsetParent);
    if (!next) return;
    await start(next);
    later(drawRest);
  }

  const MOST_ROWS = 2000;
  const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replace(/"/g, '""')}"` : value);

  function behind(figure) {
    const { headings, rows } = read(figure);
    const named = headings.map((_, i) => i).filter((i) => headings[i]);
    const kept = named.filter((i) => rows.some((row) => (row[i] ?? "") !== ""));
    const text = (value) => (value === null ? "" : typeof value === "number"
      ? String(+value.toPrecision(5)) : String(value));
    const head = make("tr", {}, ...kept.map((i) => make("th", { scope: "col" },
      make("button", { type: "button" }, headings[i]))));
    const body = rows.slice(0, MOST_ROWS).map((row) => make("tr", {}, ...kept.map((i) => make("td",
      typeof row[i] === "number" ? { class: "number" } : {}, text(row[i])))));
    const table = make("table", { class: "sortable" }, make("thead", {}, head),
      make("tbody", {}, ...body));
    sortable(table);
    const csv = [headings, ...rows]
      .map((row) => named.map((i) => quoted(String(row[i] ?? ""))).join(","));
    const link = make("a", { download: `${figure.dataset.name}.csv` }, "CSV");
    link.href = URL.createObjectURL(new Blob([`${csv.join("\n")}\n`], { type: "text/csv" }));
    const note = rows.length > MOST_ROWS ? `${MOST_ROWS} of ${rows.length} rows; all as ` : "";
    return [make("p", { class: "soft" }, note, link),
      make("div", { class: "wide", tabindex: "0" }, table)];
  }

  function charts() {
    for (const figure of all("figure.chart")) {
      const details = figure.querySelector("details.behind");
      details.addEventListener("toggle", () => {
        if (details.open && details.children.length === 1) details.append(...behind(figure));
      });
      if (!figure.closest("[data-experiment]")) {
        waiting.add(figure);
        seen.observe(figure);
      }
    }
    later(drawRest);
  }

  // On paper nothing can be chosen or opened: all groups and all evidence are seen. The tables behind
  // charts stay as they are; a run's numbers are in its table of all cells.
  function printing() {
    let [shown, opened] = [[], []];
    addEventListener("beforeprint", () => {
      const page = document.querySelector("main:not([hidden])");
      shown = all("[role=tabpanel][hidden]", page);
      opened = all("details:not([open], .behind, .vega-embed *)", page);
      shown.forEach((panel) => { panel.hidden = false; });
      opened.forEach((details) => { details.open = true; });
      [...waiting].filter((figure) => figure.offsetParent).forEach(start);
    });
    addEventListener("afterprint", () => {
      shown.forEach((panel) => { panel.hidden = true; });
      opened.forEach((details) => { details.open = false; });
      [shown, opened] = [[], []];
    });
  }

  // The comparison of two runs.
  function comparison() {
    const block = document.getElementById("compare");
    if (!block) return;
    const data = JSON.parse(block.textContent);
    const page = block.closest("main");
    const choice = (name) => page.querySelector(`[data-choice="${name}"]`);
    const [experiment, first, second, measure] = ["experiment", "first", "second", "measure"]
      .map(choice);
    const address = (path) => (all("main[data-page]").length > 1 ? `#${path}` : path);
    const known = (estimate) => estimate && estimate[0] !== null;
    const lost = (estimate) => estimate?.[3] === "diverged";
    const ranged = ([, low, high]) => low !== null && high !== null;
    const spelled = ([value, low, high], { share }) => {
      const write = (v) => (share ? `${Math.round(100 * v)} %` : String(+v.toPrecision(3)));
      const alike = [low, high].every((limit) => limit !== null && write(limit) === write(value));
      return ranged([value, low, high]) && !alike
        ? `${write(value)} (${write(low)} to ${write(high)})` : write(value);
    };

    function difference(a, b, { share, sign }) {
      const points = a[0] - b[0];
      if (points === 0) return [0, 0, "·"];
      if (share) {
        return [points, 2 * sign * points, `${points > 0 ? "+" : ""}${Math.round(100 * points)}`];
      }
      const ratio = a[0] / b[0];
      if (!(ratio > 0 && ratio < Infinity)) return [points, 0, "?"];
      return [points, sign * Math.log10(ratio) / 2, `×${+ratio.toPrecision(2)}`];
    }

    function verdict(one, two) {
      if (!ranged(one) && !ranged(two)) return "no interval";
      const inside = (value, estimate) => ranged(estimate) && estimate[1] - 1e-9 <= value
        && value <= estimate[2] + 1e-9;
      return inside(one[0], two) || inside(two[0], one) ? "agree" : "apart";
    }

    // A cell without a number in one run or both: it diverged, or is not there.
    function unknown(row, column, one, two, of) {
      const told = (estimate) => (known(estimate) ? spelled(estimate, of)
        : lost(estimate) ? "diverged" : "–");
      const worse = known(one) && lost(two) ? 1 : lost(one) && known(two) ? -1 : 0;
      return [row, column, told(one), told(two), null, worse,
        lost(one) || lost(two) ? "diverged" : "–", ""];
    }

    function rows(a, b, place, of) {
      const name = ([row, column]) => JSON.stringify([row, column]);
      const [ours, others] = [a, b]
        .map((run) => new Map(run.cells.map((cell) => [name(cell), cell])));
      const pairs = [...new Map([...ours, ...others])].map(([key, [row, column]]) =>
        [row, column, ours.get(key)?.[2][place], others.get(key)?.[2][place]]);
      if (!pairs.some((pair) => pair.slice(2).some((one) => known(one) || lost(one)))) return [];
      return pairs.map(([row, column, one, two]) => {
        if (!known(one) || !known(two)) return unknown(row, column, one, two, of);
        return [row, column, spelled(one, of), spelled(two, of), ...difference(one, two, of),
          verdict(one, two)];
      });
    }

    function summary(found) {
      if (!found.length) return ": no numbers to compare.";
      const count = (word) => found.filter((row) => row[7] === word).length;
      const [agree, without, missing] = ["agree", "no interval", ""].map(count);
      const judged = agree + count("apart");
      return [
        judged ? `: ${agree} of ${judged} cells agree, one in the other's 95 % interval.`
          : ": no cells that intervals can judge.",
        without ? `Cells without an interval: ${without}.` : "",
        missing ? `Cells without a number in one run or both: ${missing}.` : "",
      ].filter(Boolean).join(" ");
    }

    function show() {
      const { runs, measures } = data[experiment.value];
      const [a, b] = [runs[first.value], runs[second.value]];
      const place = measure.selectedIndex;
      const found = measures.length ? rows(a, b, place, measures[place]) : [];
      const link = (run) => make("a", { href: address(run.page) }, run.label);
      const said = page.querySelector("#agreement");
      said.replaceChildren(link(a), " against ", link(b), summary(found));
      for (const box of all("[data-experiment]", page)) {
        box.hidden = box.dataset.experiment !== experiment.value || !found.length;
        if (box.hidden) continue;
        const figure = box.querySelector("figure");
        read(figure).rows = found;
        const details = figure.querySelector("details.behind");
        while (details.children.length > 1) details.lastChild.remove();
        if (details.open) details.append(...behind(figure));
        draw(figure);
      }
    }

    function fill() {
      const { runs, measures } = data[experiment.value];
      for (const select of [first, second]) {
        select.replaceChildren(...runs.map((run, i) => make("option", { value: i }, run.label)));
      }
      second.value = "1";
      measure.replaceChildren(...measures.map(({ name, title }) =>
        make("option", { value: name }, title)));
      show();
    }
    experiment.addEventListener("change", fill);
    [first, second, measure].forEach((select) => select.addEventListener("change", show));
    const whenSeen = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) { whenSeen.disconnect(); fill(); }
    });
    whenSeen.observe(page.querySelector(".choices"));
  }

  function formulas() {
    for (const span of all("span.tex")) {
      katex.render(span.textContent, span, { displayMode: true, throwOnError: false });
    }
  }

  // Pages from another host, without encryption, have no clipboard: there the text is selected.
  async function copied(element) {
    try {
      await navigator.clipboard.writeText(element.textContent);
      return true;
    } catch {
      getSelection().selectAllChildren(element);
      return document.execCommand("copy");
    }
  }

  function copying() {
    for (const button of all("button.copy")) {
      let timer = null;
      button.addEventListener("click", async () => {
        const done = await copied(button.previousElementSibling);
        button.textContent = done ? "Copied" : "Selected";
        clearTimeout(timer);
        timer = setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
    }
  }

  // The link to the content moves the focus there; a file of all pages has no address for it.
  function skipping() {
    document.querySelector(".skip")?.addEventListener("click", (event) => {
      const page = document.querySelector("main:not([hidden])");
      event.preventDefault();
      page.tabIndex = -1;
      page.focus();
    });
  }

  // All pages in one file: the part of the address after # says which one is seen.
  function routing() {
    const pages = all("main[data-page]");
    if (pages.length < 2) return;
    const show = () => {
      const wanted = part(0);
      const page = pages.find((p) => p.dataset.page === wanted) ?? pages[0];
      pages.forEach((p) => { p.hidden = p !== page; });
      document.title = `${page.dataset.title} · wug`;
      for (const link of all("header nav a")) {
        const here = link.getAttribute("href") === `#${page.dataset.page}`;
        if (here) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
      scrollTo(0, 0);
    };
    addEventListener("hashchange", show);
    show();
  }

  document.addEventListener("DOMContentLoaded", () => {
    theme();
    all("table.sortable").forEach(sortable);
    all("input[data-filter]").forEach(filterable);
    all(".claims.filterable").forEach(verdictFilter);
    all(".tabs").forEach(tabs);
    all(".switch").forEach(switches);
    all("details[data-open-wide]").forEach((fold) => { fold.open = innerWidth > 720; });
    copying();
    skipping();
    routing();
    comparison();
    charts();
    printing();
    formulas();
    root.dataset.ready = "";
  });
})();
