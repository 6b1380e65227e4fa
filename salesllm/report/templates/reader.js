// The dialogues of a run: find, sort, read. What a model said is only ever put in as text.
"use strict";
(() => {
  const ROW = 66; // pixels of a row of the list, as in reader.css
  const SELECTS = ["salesperson", "customer", "language", "domain", "category", "difficulty", "termination"];
  const KEPT = 12; // chunks in memory
  const byId = (id) => document.getElementById(id);
  const form = byId("filters"), list = byId("list"), space = byId("space"), article = byId("dialogue");
  const worded = (code) => code.replaceAll("_", " ");

  let index; // columns of all rows
  let order = []; // rows that pass the filters, as they are shown
  let current = -1; // the row that is read

  // ---- Files ---------------------------------------------------------------------------------

  const waiting = new Map(), chunks = new Map();
  const url = (name) => `data/${name}.js`;
  const policy = window.trustedTypes?.createPolicy("salesllm", { createScriptURL: url });
  window.salesllm = (name, text) => waiting.get(name)?.(JSON.parse(text));

  function load(name) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      const done = () => { // after a call that resolved, rejecting does nothing
        script.remove();
        waiting.delete(name);
        reject(new Error(`${url(name)} is missing or damaged`));
      };
      waiting.set(name, resolve);
      script.onload = script.onerror = done;
      script.src = policy ? policy.createScriptURL(name) : url(name);
      document.head.append(script);
    });
  }

  async function cell(row) {
    let low = 0, high = index.chunks.length - 1; // the last chunk that begins at or before the row
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (index.chunks[middle] <= row) low = middle; else high = middle - 1;
    }
    if (!chunks.has(low)) chunks.set(low, load(String(low)));
    if (chunks.size > KEPT) chunks.delete(chunks.keys().next().value);
    try {
      return (await chunks.get(low))[row - index.chunks[low]];
    } catch (error) {
      chunks.delete(low);
      throw error;
    }
  }

  // ---- Rows ----------------------------------------------------------------------------------

  function value(name, row) {
    if (name in index.names) return index.names[name][index.rows[name][row]];
    return index.scenarios[name][index.rows.scenario[row]];
  }

  function idOf(row) {
    const parts = ["salesperson", "customer", "scenario_id"].map((name) => value(name, row));
    return parts.concat(index.rows.repeat[row] ?? []).join("::");
  }

  function flagsOf(row) {
    return Object.keys(index.flags).filter((_, bit) => (index.rows.flags[row] >> bit) & 1);
  }

  function score(name, row) {
    return index.rows[name][row]?.toFixed(name === "selling" ? 1 : 2) ?? "unscored";
  }

  // ---- Elements ------------------------------------------------------------------------------

  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, text] of Object.entries(attributes)) node.setAttribute(name, text);
    node.append(...children); // a string becomes a text node
    return node;
  }

  function option(place) {
    const row = order[place];
    const node = el("div", { role: "option", id: `row-${row}`, class: "item", "aria-selected": row === current,
                             "aria-posinset": place + 1, "aria-setsize": order.length },
      el("p", {}, el("b", {}, score("final", row)), ` ${value("salesperson", row)} → ${value("customer", row)}`),
      el("p", {}, value("scenario_id", row), " · ", value("product_id", row)),
      el("p", {}, [value("language", row), worded(value("difficulty", row)), worded(value("termination", row)),
                   `${index.rows.turns[row]} turns`].join(" · "),
        ...flagsOf(row).map((flag) => el("span", { class: "flag" }, ` ⚑ ${flag}`))));
    node.style.top = `${place * ROW}px`;
    node.onclick = () => show(row, true);
    return node;
  }

  function draw() {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 3);
    const last = Math.min(order.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 3);
    const places = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
    space.style.height = `${order.length * ROW}px`;
    space.replaceChildren(...places.map(option));
    if (space.querySelector("[aria-selected=true]")) list.setAttribute("aria-activedescendant", `row-${current}`);
    else list.removeAttribute("aria-activedescendant");
  }

  // ---- Filters -------------------------------------------------------------------------------

  function fillIn() {
    for (const name of SELECTS) {
      const known = index.names[name] ?? [...new Set(index.scenarios[name])];
      const options = known.filter(Boolean).map((text) => el("option", { value: text }, worded(text)));
      form.elements[name].append(...options);
    }
    Object.entries(index.flags).forEach(([flag, label], bit) => {
      const count = index.rows.flags.reduce((sum, flags) => sum + ((flags >> bit) & 1), 0);
      const box = el("input", { type: "checkbox", name: "flag", value: flag });
      byId("flags").append(el("label", {}, box, ` ${label} (${count.toLocaleString("en")})`));
    });
  }

  function apply() {
    const wanted = new FormData(form);
    const chosen = SELECTS.filter((name) => wanted.get(name)).map((name) => [name, wanted.get(name)]);
    const flags = Object.keys(index.flags);
    const bits = wanted.getAll("flag").reduce((sum, flag) => sum | (1 << flags.indexOf(flag)), 0);
    const [low, high] = ["low", "high"].map((name) => wanted.get(name));
    const scores = index.rows[wanted.get("score")];
    const inRange = (s) => (!low && !high) || (s !== null && s >= (low || -Infinity) && s <= (high || Infinity));
    const words = wanted.get("text").toLowerCase().split(/\s+/);
    const named = index.scenarios.scenario_id.map((id, i) => `${id} ${index.scenarios.product_id[i]}`.toLowerCase())
      .map((text) => words.every((word) => text.includes(word)));
    order = scores.map((_, row) => row).filter((row) =>
      named[index.rows.scenario[row]] && (index.rows.flags[row] & bits) === bits && inRange(scores[row]) &&
      chosen.every(([name, text]) => value(name, row) === text));
    const [by, down] = (wanted.get("sort") || "").split(" ");
    if (by) {
      const keys = by === "turns" ? index.rows.turns : scores;
      const last = (row) => keys[row] === null; // whichever way it goes
      order.sort((a, b) => last(a) - last(b) || (down ? keys[b] - keys[a] : keys[a] - keys[b]));
    }
    byId("count").value = `${order.length.toLocaleString("en")} of ${scores.length.toLocaleString("en")} dialogues`;
  }

  function refilter() {
    apply();
    list.scrollTop = 0;
    draw();
    keep();
  }

  // ---- The address: #<id of a dialogue>?<filters> ----------------------------------------------

  function keep() {
    const set = [...new FormData(form)].filter(([name, text]) => text && !(name === "score" && text === "final"));
    const query = new URLSearchParams(set).toString();
    const id = current < 0 ? "" : encodeURIComponent(idOf(current));
    history.replaceState(null, "", `#${id}${query && `?${query}`}`);
  }

  function follow() {
    const [id, query] = location.hash.slice(1).split("?");
    if (byId(id)) return; // a section of the page
    const wanted = decoded(id);
    form.reset();
    for (const [name, text] of new URLSearchParams(query)) {
      const field = form.elements[name];
      if (name === "flag") for (const box of form.querySelectorAll("[name=flag]")) box.checked ||= box.value === text;
      else if (field) field.value = text;
    }
    apply();
    const row = wanted ? index.rows.turns.findIndex((_, each) => idOf(each) === wanted) : -1;
    if (row >= 0) show(row, true);
    else {
      draw();
      if (wanted) article.replaceChildren(el("p", { class: "missing" }, `This run has no dialogue ${wanted}`));
    }
  }

  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text; // typed by hand
    }
  }

  // ---- Reading -------------------------------------------------------------------------------

  async function show(row, jump) {
    current = row;
    const top = order.indexOf(row) * ROW;
    if (top >= 0 && (top < list.scrollTop || top + ROW > list.scrollTop + list.clientHeight)) {
      list.scrollTop = top - list.clientHeight / 3;
    }
    draw();
    keep();
    try {
      const read = await cell(row);
      if (row === current) article.replaceChildren(...page(row, read));
    } catch (error) {
      article.replaceChildren(el("p", { class: "missing", role: "alert" }, error.message));
    }
    article.scrollTop = 0;
    if (jump && article.getBoundingClientRect().top > innerHeight - 120) article.scrollIntoView();
  }

  function page(row, read) {
    const fact = ([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text));
    const placed = (mark) => mark[0] !== null && read.turns?.[mark[0]];
    const stray = read.marks.filter((mark) => !placed(mark));
    return [
      el("h3", {}, value("scenario_id", row)),
      el("p", { class: "caption" }, `${value("salesperson", row)} sells ${value("product_id", row)} to ` +
        `${value("customer", row)} · ${worded(value("category", row))} · ${worded(value("difficulty", row))} · ` +
        `ended: ${worded(value("termination", row))}`),
      el("p", { class: "legend" }, ...flagsOf(row).map((flag) => el("span", { class: "flag" }, `⚑ ${index.flags[flag]}`))),
      el("dl", { class: "facts" }, ...read.facts.map(fact)),
      ...(read.turns ? [talk(row, read)] : [el("p", { class: "missing" }, "This dialogue failed: there is nothing to read.")]),
      ...stray.map((mark) => el("p", { class: "remark" }, `${mark[3]}, in no turn: “${mark[2]}”`)),
    ];
  }

  function talk(row, read) {
    const turns = read.turns.map(([speaker, text], turn) => {
      const marks = read.marks.filter((mark) => mark[0] === turn);
      const who = speaker === "c" ? "customer" : "salesperson";
      return el("li", { class: who, id: `turn-${turn}` },
        el("small", {}, `${turn + 1} · ${who}`),
        el("p", { lang: value("language", row) }, ...pieces(text, marks)),
        ...marks.map((mark) => el("span", { class: `remark ${mark[1]}` }, mark[1] === "evidence" ? "✓ " : "⚑ ", mark[3])));
    });
    return el("ol", { class: "talk" }, ...turns);
  }

  function pieces(text, marks) {
    const spans = marks.map((mark) => ({ span: find(text, mark[2]), kind: mark[1] })).filter((each) => each.span);
    const cuts = [...new Set([0, text.length, ...spans.flatMap((each) => each.span)])].sort((a, b) => a - b);
    return cuts.slice(1).map((end, i) => {
      const part = text.slice(cuts[i], end);
      const kinds = spans.filter(({ span }) => span[0] <= cuts[i] && end <= span[1]).map((each) => each.kind);
      return kinds.length ? el("mark", { class: kinds.join(" ") }, part) : part;
    });
  }

  // Where a quote stands: judges mend punctuation, case and width when they quote.
  function find(text, quote) {
    const letters = (of) => {
      const found = [];
      let place = 0;
      for (const character of of) {
        for (const c of character.normalize("NFKC").toLowerCase()) {
          if (/[\p{L}\p{N}]/u.test(c)) found.push([c, place, place + character.length]);
        }
        place += character.length;
      }
      return found;
    };
    const inside = letters(text), wanted = letters(quote).map(([c]) => c);
    const start = wanted.length
      ? inside.findIndex((_, at) => wanted.every((c, i) => inside[at + i]?.[0] === c)) : -1;
    return start < 0 ? null : [inside[start][1], inside[start + wanted.length - 1][2]];
  }

  // ---- Keys ----------------------------------------------------------------------------------

  function step(by) {
    const place = order.indexOf(current);
    const next = Math.min(Math.max(place < 0 ? 0 : place + by, 0), order.length - 1);
    if (order.length) show(order[next], false);
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const page = Math.floor(list.clientHeight / ROW), inList = event.target === list;
    const by = { j: 1, k: -1, ...(inList && { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
                                               Home: -order.length, End: order.length }) }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    step(by);
  }

  async function start() {
    try {
      index = await load("index");
    } catch (error) {
      byId("count").value = error.message;
      return;
    }
    fillIn();
    form.addEventListener("input", refilter);
    form.addEventListener("reset", () => setTimeout(refilter));
    form.addEventListener("submit", (event) => event.preventDefault());
    list.addEventListener("scroll", () => requestAnimationFrame(draw));
    new ResizeObserver(draw).observe(list);
    document.addEventListener("keydown", key);
    byId("previous").onclick = () => step(-1);
    byId("next").onclick = () => step(1);
    addEventListener("hashchange", follow);
    byId("reader").hidden = false;
    follow();
  }

  addEventListener("load", () => setTimeout(start)); // the tables are painted first
})();
