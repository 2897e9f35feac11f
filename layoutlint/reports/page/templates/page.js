"use strict";
// Verdicts and bases come from the data. Here bytes are only put on lines: (base + offset) / line size.
(() => {
const SVG = "http://www.w3.org/2000/svg";
const PAGE = 100, FOLD = 3, MOST_ROWS = 200, MOST_DEEP = 12, MOST_OPEN = 8, FEW = 3;
const LEFT = 84, WIDTH = 896, LEAST_BYTE = 7, MOST_WIDTH = 3584, MOST_FIELDS = 2000, LANE = 15, ROW = 26, LETTER = 6.7;
const PAPER = 680; // pixels between the margins of A4 and of Letter

const RULE_LOOKS = [["#d55e00", ""], ["#0072b2", "14 3"], ["#009e73", "6 3"], ["#cc79a7", "2 4"], ["#56b4e9", "14 3 2 3"], ["#b8a500", "6 3 2 3"]];
const $ = (id) => document.getElementById(id);
let maps = 0;

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}
const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);
// Regions with one name cannot be told apart in a list of landmarks: a struct can be on a page several times.
const labels = new Map();
function region(label, ...children) {
  const number = (labels.get(label) ?? 0) + 1;
  labels.set(label, number);
  return el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": number > 1 ? `${label} (${number})` : label }, ...children);
}
const code = (text) => el("code", {}, text);
const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const few = (numbers) => numbers.length > 64 ? `${numbers.slice(0, 64).join(", ")} and more` : numbers.join(", ");
const place = (file, line) => file === null ? "" : line === null ? file : `${file}:${line}`;

// ---- lists that grow on demand

function growing(list, more, make) {
  let items = [], shown = 0;
  function grow() {
    const part = document.createDocumentFragment();
    for (const item of items.slice(shown, shown + PAGE)) part.append(make(item));
    shown = Math.min(shown + PAGE, items.length);
    list.append(part);
    more.hidden = shown >= items.length;
    more.textContent = `Show ${Math.min(PAGE, items.length - shown)} more of ${(items.length - shown).toLocaleString("en")}`;
  }
  more.addEventListener("click", () => {
    const first = shown;
    grow();
    list.children[first]?.querySelector("summary")?.focus();
  });
  return (chosen) => { items = chosen; shown = 0; list.replaceChildren(); grow(); };
}

function lazy(summary, make, isOpen = false) {
  const details = el("details", { open: isOpen }, el("summary", {}, ...summary));
  const build = () => { if (details.open && details.children.length === 1) details.append(fill(el("div", { class: "body" }), {}, make())); };
  details.addEventListener("toggle", build);
  build();
  return details;
}

// What weighs most is the first: its picture is there at once.
function openFirst(list) {
  const first = $(list).querySelector("details");
  if (first) first.open = true;
}

function onFilter(form, apply) {
  let timer = 0;
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(apply, 80); });
  form.addEventListener("reset", () => setTimeout(apply, 0));
  form.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
}

function options(select, values) {
  select.append(el("option", { value: "" }, "all"));
  for (const value of [...new Set(values)].sort()) select.append(el("option", { value }, value));
}

// ---- lines

function lineRows(strips, base, lineSize) {
  const per = lineSize * 8, first = (s) => Math.floor((base * 8 + s[1]) / per), last = (s) => Math.floor((base * 8 + s[2] - 1) / per);
  const ends = [...new Set(strips.flatMap((s) => [first(s), last(s)]))].sort((a, b) => a - b);
  const rows = [];
  for (const line of ends) {
    const before = rows.length ? rows[rows.length - 1].last + 1 : line;
    if (line - before >= FOLD) rows.push({ first: before, last: line - 1, pieces: [] });
    else for (let number = before; number < line; number++) rows.push({ first: number, last: number, pieces: [] });
    rows.push({ first: line, last: line, pieces: [] });
  }
  const cut = rows.splice(MOST_ROWS);
  for (const strip of strips) {
    const from = first(strip), to = last(strip);
    let low = 0, high = rows.length;
    while (low < high) { const middle = (low + high) >> 1; if (rows[middle].first < from) low = middle + 1; else high = middle; }
    for (; low < rows.length && rows[low].first <= to; low++) {
      const start = Math.max(base * 8 + strip[1] - rows[low].first * per, 0);
      const open = strip[0] >= 0 && strip[5];
      const stop = open ? per : Math.min(base * 8 + strip[2] - rows[low].first * per, per);
      rows[low].pieces.push({ strip, start, stop, starts: rows[low].first === from });
    }
  }
  return { rows, cut };
}

function shortened(path, starts, width) {
  const room = Math.floor((width - 6) / LETTER), shown = starts ? path : `…${path}`, name = path.slice(path.lastIndexOf(".") + 1);
  if (shown.length <= room) return shown;
  if (name.length <= room) return name;
  return room > 2 ? `${name.slice(0, room - 1)}…` : "";
}

const inside = (path, outer) => path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);
const bar = (look, x, y, width, isThin = false) => svg("path", { class: isThin ? "bar thin" : "bar", d: `M${x} ${y}h${width}`, stroke: look[0], "stroke-dasharray": look[1] || null });

// ---- tables with a column for each build: on paper, the columns that do not fit follow in further tables

// Each of them repeats the first columns, as many as `data-names` says.
function columnsOf(row) {
  let at = 0;
  return [...row.cells].map((cell) => ({ cell, from: at, to: (at += cell.colSpan) }));
}

function paperParts(table) {
  const names = Number(table.dataset.names), widths = [...(table.tBodies[0]?.rows[0]?.cells ?? [])].map((cell) => cell.offsetWidth);
  const room = PAPER - widths.slice(0, names).reduce((sum, width) => sum + width, 0), parts = [];
  for (let at = names, left = 0; at < widths.length; at++) {
    if (!parts.length || widths[at] > left) { parts.push([at, at]); left = room; }
    parts[parts.length - 1][1] = at + 1;
    left -= widths[at];
  }
  return parts;
}

function partOf(table, [from, to], names) {
  const part = table.cloneNode(false), common = (start, stop, first, last) => Math.max(0, Math.min(stop, last) - Math.max(start, first));
  if (from === names && table.caption) part.append(table.caption.cloneNode(true));
  for (const section of [table.tHead, ...table.tBodies]) {
    const rows = [...section.rows].map((row) => fill(row.cloneNode(false), {}, columnsOf(row).map((column) => {
      const span = common(column.from, column.to, 0, names) + common(column.from, column.to, from, to);
      return span ? fill(column.cell.cloneNode(true), { colspan: span > 1 ? span : null }, []) : null;
    })));
    part.append(fill(section.cloneNode(false), {}, rows));
  }
  return part;
}

const joinParts = () => { for (const parts of document.querySelectorAll(".paper")) parts.remove(); };

function splitForPaper() {
  joinParts();
  for (const table of document.querySelectorAll("table[data-names]")) {
    const parts = paperParts(table);
    if (parts.length > 1) table.after(el("div", { class: "paper" }, parts.map((part) => partOf(table, part, Number(table.dataset.names)))));
  }
}

addEventListener("beforeprint", splitForPaper);
addEventListener("afterprint", joinParts);

// ---- the map of a struct

// Of a random order, the bases are those of all orders; the one that is drawn fails at least at its own base.
const failsAt = (judged, base, total) => {
  const { bases, orders, line_size: size } = judged.finding.placements, own = base % Math.min(size, total);
  return judged.possible.length > 0 && (orders ? orders.witness.base === own : bases.includes(own));
};

function verdictText(judged, base, total) {
  const { finding, possible, shared } = judged;
  if (finding.outcome === "unknown") return ["unknown", `unknown: ${finding.message}`];
  if (!possible.length) return [finding.outcome === "kept" ? "holds" : "fails", `${finding.outcome} wherever objects start`];
  const own = base % Math.min(finding.placements.line_size, total);
  if (!possible.includes(own)) return ["unknown", "objects of this rule do not start here"];
  if (failsAt(judged, base, total) && finding.placements.orders) return ["fails", "fails here in the order that is drawn"];
  if (finding.placements.orders) return finding.placements.bases.includes(own) ? ["fails", "fails here in some orders of fields"] : ["holds", "kept here in all orders of fields"];
  if (!finding.placements.bases.includes(own)) return ["holds", "kept here"];
  const pairs = shared.filter((pair) => pair.bases.includes(own)).map((pair) => `${pair.first} shares a ${finding.placements.line_pairs ? "pair of lines" : "line"} with ${pair.second}${pair.distance ? ` of the object ${pair.distance} bytes further` : ""}`);
  return ["fails", `fails here${pairs.length ? `: ${pairs.slice(0, 6).join("; ")}${pairs.length > 6 ? ` and ${pairs.length - 6} more` : ""}` : ""}`];
}

// Maps with the same `peers` move together, also those that are drawn later; `moved` has the paths of fields that changed.
function structMap(data, struct, judged, context = "", moved = null, peers = []) {
  const number = ++maps;
  if (struct.randomised?.chances) return heatMap(struct, context);
  if (!struct.strips.length) return el("p", {}, struct.problem ? `Layout unreliable: ${struct.problem}` : "No fields to draw.");
  const own = judged.flatMap((each) => each.possible);
  const bases = [...new Set(own.length ? own : struct.bases)].sort((a, b) => a - b);
  const total = Math.max(struct.line_size, ...judged.map((each) => each.finding.placements.line_size ?? 0));
  const places = Math.max(struct.places, ...judged.map((each) => each.finding.placements.total));
  const failing = bases.findIndex((base) => judged.some((each) => failsAt(each, base, total))), common = bases.indexOf(peers.base);
  const slider = el("input", { type: "range", id: `base-${number}`, min: 0, max: bases.length - 1, step: 1, value: Math.max(common < 0 ? failing : common, 0) });
  const output = el("output", { for: `base-${number}` });
  const colours = el("select", { id: `colours-${number}` }, moved ? el("option", { value: "change" }, "change") : null, el("option", { value: "access" }, "declared access"), judged.length ? el("option", { value: "rule" }, "rule") : null);
  const verdicts = el("ul", { class: "verdicts", "aria-label": "Verdicts at this place" });
  const picture = region(`Lines of ${struct.aggregate} ${struct.name}${context}`);
  const legend = el("p", { class: "legend" });
  const rows = el("tbody");
  const table = lazy(["Fields as a table"], () => {
    const head = ["offset", "size", "lines", "field", "type", "access", ""].map((name, at) => el("th", { scope: "col", class: at < 2 ? "number" : null }, name || el("span", { class: "dim" }, "rule")));
    const left = struct.fields.length - MOST_FIELDS;
    return [left > 0 ? el("p", {}, `${count(left, "further field")} not listed`) : null, region(`Fields of ${struct.aggregate} ${struct.name}${context}`, el("table", {}, el("thead", {}, el("tr", {}, head)), rows))];
  });
  function update() {
    const base = bases[slider.value];
    const words = bases.length === 1 ? `byte ${base} of a line, the only possible place` : `byte ${base} of a line`;
    output.textContent = places > bases.length ? `${words} (the first ${bases.length} of ${places.toLocaleString("en")} places)` : words;
    slider.setAttribute("aria-valuetext", words);
    const byRule = colours.value === "rule", byChange = colours.value === "change";
    verdicts.replaceChildren(...judged.map((each, at) => {
      const [kind, text] = verdictText(each, base, total);
      const sign = { fails: "✗", holds: "✓", unknown: "?" }[kind];
      return el("li", { "data-rule": each.finding.rule, "data-verdict": kind }, byRule ? swatch(RULE_LOOKS[at % RULE_LOOKS.length]) : null, el("span", { class: kind }, `${sign} `), code(each.finding.rule), ` ${text}`);
    }));
    picture.replaceChildren(draw(data, struct, judged, base, total, byRule, byChange ? moved : null, `gap-${number}`));
    legend.replaceChildren(...(byRule ? [] : byChange ? ["Dashed: fields that changed or moved"] : legendOf(data, struct)));
    rows.replaceChildren(...fieldRows(struct, judged, base, total));
  }
  peers.push((base) => {
    const at = bases.indexOf(base);
    if (at >= 0 && at !== Number(slider.value)) { slider.value = at; update(); }
  });
  slider.addEventListener("input", () => { update(); peers.base = bases[slider.value]; for (const peer of peers) peer(peers.base); });
  colours.addEventListener("input", update);
  slider.disabled = bases.length < 2;
  update();
  return el("div", { class: "struct-map" },
    el("div", { class: "controls" }, el("label", { for: slider.id }, "Object at "), slider, output, el("span", { class: "colours", hidden: !judged.length && !moved }, el("label", { for: colours.id }, "Colours: "), colours)),
    verdicts, picture, crowded(struct), legend, table);
}

// Of a random order, where each member begins: a row for each member, a column for each step, darker for more orders.
function heatMap(struct, context) {
  const { orders, step, size, members } = struct.randomised.chances, columns = members[0]?.starts.length ?? 0;
  const most = Math.max(1, ...members.flatMap((member) => member.starts)), perLine = Math.max(1, struct.line_size / step);
  const lines = [...Array(Math.ceil(columns / perLine)).keys()].map((line) => el("th", { scope: "colgroup", colspan: Math.min(perLine, columns - line * perLine) }, `line ${line}`));
  const offsets = [...Array(columns).keys()].map((column) => el("th", { scope: "col", class: "number" }, column * step));
  const rows = members.map((member) => el("tr", {}, el("th", { scope: "row" }, code(member.name)), el("td", { class: "number" }, member.size), member.starts.map((number) => el("td", { class: `number heat-${Math.ceil(number / most * 10)}` }, number ? (number / orders * 100).toFixed(number / orders < 0.1 ? 1 : 0) : ""))));
  const sizes = size[0] === size[1] ? count(size[0], "byte") : `${size[0].toLocaleString("en")} to ${count(size[1], "byte")}`;
  return el("div", { class: "struct-map" },
    el("p", {}, `The order is random (${struct.randomised.mode}), and the seed is not known: ${sizes}. Per cent of ${orders.toLocaleString("en")} orders in which a member begins at each ${step} bytes; lines are those of an object at the start of one. A share is within 4 points of the true one, with a confidence of 99 %.`),
    region(`Where members of ${struct.aggregate} ${struct.name} begin${context}`, el("table", { class: "heat", "data-names": 2 }, el("thead", {}, el("tr", {}, el("td"), el("td"), lines), el("tr", {}, el("th", { scope: "col" }, "member"), el("th", { scope: "col", class: "number" }, "size"), offsets)), el("tbody", {}, rows))));
}

function crowded(struct) {
  const drawn = struct.strips.filter((strip) => strip[0] >= 0).map((strip) => struct.fields[strip[0]].path);
  const left = struct.fields.map((field) => field.size === 0 ? null : field.path).filter((path) => path !== null && !drawn.some((other) => inside(other, path) || inside(path, other)));
  return left.length ? el("p", { class: "dim" }, `Not drawn, because too many fields overlap or the size is not known: ${left.slice(0, 10).join(", ")}${left.length > 10 ? ` and ${left.length - 10} more` : ""}`) : null;
}

const swatch = (look) => svg("svg", { class: "swatch", width: 34, height: 8, "aria-hidden": "true" }, bar(look, 0, 4, 34));

function legendOf(data, struct) {
  const used = new Set(struct.uses.map((use) => use[1]));
  const parts = data.accesses.filter(([name]) => used.has(name)).flatMap(([name, ...look]) => [swatch(look), name]);
  if (struct.uses.some((use) => use[2])) parts.push(" (two bars: contended)");
  return parts.length ? ["Declared access:", ...parts] : [];
}

function looksOf(data, struct, judged, byRule, path) {
  if (byRule) return judged.flatMap((each, at) => each.finding.fields.some((field) => inside(field.path, path)) ? [[...RULE_LOOKS[at % RULE_LOOKS.length], false]] : []);
  const uses = struct.uses.filter((use) => inside(use[0], path) || inside(path, use[0]));
  const own = uses.find((use) => use[0] === path) ?? uses[0];
  if (!own) return [];
  const look = data.accesses.find(([name]) => name === own[1]);
  return [[look[1], look[2], uses.some((use) => use[2])]];
}

function draw(data, struct, judged, base, total, byRule, moved, hatch) {
  const size = struct.line_size, unit = Math.max(WIDTH / size, Math.min(LEAST_BYTE, MOST_WIDTH / size)), { rows, cut } = lineRows(struct.strips, base, size);
  const parts = [];
  let y = 20;
  for (let at = 0; at < size; at += Math.max(8, size / 8)) parts.push(svg("text", { x: LEFT + at * unit, y: 14, class: "dim" }, at));
  const tops = new Map();
  for (const row of rows) {
    const tall = Math.max(ROW, ...row.pieces.map((piece) => piece.strip[4] * LANE));
    const label = row.first === row.last ? `line ${row.first}` : `${row.first}..${row.last}`;
    const isLong = label.length * LETTER > LEFT - 12;
    parts.push(svg("text", { x: 4, y: y + tall / 2 + 4, class: "dim", textLength: isLong ? LEFT - 12 : null, lengthAdjust: "spacingAndGlyphs" }, label));
    for (const piece of row.pieces) parts.push(drawPiece(data, struct, judged, byRule, moved, piece, unit, y, tall, hatch));
    parts.push(svg("rect", { class: row.first === row.last ? "line" : "line folded", x: LEFT, y, width: unit * size, height: tall }));
    for (let line = row.first; line <= row.last; line += Math.max(1, row.last - row.first)) tops.set(line, [y, tall]);
    y += tall + 5;
  }
  const marked = drawMarks(judged, base, total, size, unit, tops);
  if (cut.length) { parts.push(svg("text", { x: LEFT, y: y + 12, class: "dim" }, `not drawn: lines ${cut[0].first} to ${cut[cut.length - 1].last}`)); y += 18; }
  const words = `${struct.aggregate} ${struct.name}, object at byte ${base}: ${count(rows.length, "row")}; ${marked.length ? "marked fields fail a rule" : "nothing is marked"}. The table of fields has the same.`;
  const defs = svg("defs", {}, svg("pattern", { id: hatch, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svg("path", { class: "hatch", d: "M0 0V6" })));
  return svg("svg", { class: "map", role: "img", "aria-label": words, width: LEFT + unit * size + 12, height: y + 4, viewBox: `0 0 ${LEFT + unit * size + 12} ${y + 4}` }, defs, parts, marked);
}

function drawPiece(data, struct, judged, byRule, moved, piece, unit, y, tall, hatch) {
  const [field, start, stop, lane, lanes, flag] = piece.strip;
  const x = LEFT + piece.start * unit / 8, width = (piece.stop - piece.start) * unit / 8, height = tall / lanes, top = y + lane * height;
  const box = { x, y: top, width, height };
  if (field < 0) {
    const bits = stop - start, name = flag ? "padding" : "hole";
    return svg("rect", { ...box, class: "gap", fill: `url(#${hatch})` }, svg("title", {}, bits % 8 || start % 8 ? `${name} of ${count(bits, "bit")} at bit ${start}` : `${name} of ${count(bits / 8, "byte")} at ${start / 8}`));
  }
  const { path, offset, size, type } = struct.fields[field];
  const uses = struct.uses.filter((use) => inside(use[0], path)).map((use) => `${use[0]}: ${use[3]}`);
  const group = svg("g", {}, svg("title", {}, [`${path}: ${flag ? `${offset} and beyond` : start % 8 || stop % 8 ? `bits ${start}..${stop - 1}` : `${offset}..${offset + size - 1}`}`, type, ...uses].join("; ")), svg("rect", { ...box, class: moved?.has(path) ? "field moved" : "field" }));
  if (!moved) for (const [at, [colour, dashes, contended]] of looksOf(data, struct, judged, byRule, path).entries()) {
    if (!at) group.append(svg("rect", { ...box, class: "tint", fill: colour }));
    const isThin = height < ROW, edge = isThin ? 1.5 : 2.5;
    group.append(bar([colour, dashes], x, top + height - edge - at * edge * 1.6, width, isThin));
    if (contended) group.append(bar([colour, dashes], x, top + edge, width, isThin));
  }
  const label = shortened(path, piece.starts, width);
  if (label) group.append(svg("text", { x: x + 3, y: top + height / 2 + (height < ROW ? 2 : 4) }, label));
  return group;
}

function drawMarks(judged, base, total, size, unit, tops) {
  const marks = [];
  for (const each of judged) {
    if (!failsAt(each, base, total)) continue;
    const own = each.finding.placements.line_size;
    const named = new Set(each.shared.filter((pair) => pair.bases.includes(base % Math.min(own, total))).flatMap((pair) => [pair.first, pair.second]));
    for (const field of each.finding.fields) {
      if (field.size === null || (named.size && !named.has(field.path))) continue;
      const start = base + field.offset, stop = start + Math.max(field.size, 1);
      for (const [line, [y, tall]] of tops) {
        const from = Math.max(start, line * size), to = Math.min(stop, (line + 1) * size);
        if (from >= to) continue;
        const x = LEFT + (from - line * size) * unit;
        marks.push(svg("rect", { class: "mark", "data-rule": each.finding.rule, "data-path": field.path, "data-line": line, x: x + 1.5, y: y + 1.5, width: Math.max((to - from) * unit - 3, 2), height: tall - 3 }, svg("title", {}, `${each.finding.rule}: ${field.path} at ${field.offset}`)));
        if (from === start) marks.push(svg("text", { class: "marker", x: x + Math.max((to - from) * unit - 15, 1), y: y + 15 }, "✗"));
      }
    }
  }
  return marks;
}

function fieldRows(struct, judged, base, total) {
  return struct.fields.slice(0, MOST_FIELDS).map((field) => {
    const failing = judged.filter((each) => failsAt(each, base, total) && each.finding.fields.some((own) => inside(own.path, field.path)));
    const first = Math.floor((base + field.offset) / struct.line_size), last = Math.floor((base + field.offset + Math.max(field.size ?? 1, 1) - 1) / struct.line_size);
    const uses = struct.uses.filter((use) => inside(use[0], field.path)).map((use) => use[0] === field.path ? use[3] : `${use[0]}: ${use[3]}`);
    return el("tr", {}, el("td", { class: "number" }, field.bit_offset === null ? field.offset : `${field.offset}:${field.bit_offset % 8}`), el("td", { class: "number" }, field.size ?? "??"), el("td", {}, first === last ? first : `${first}..${last}`), el("td", {}, code(field.path)), el("td", {}, code(field.type)), el("td", {}, uses.join("; ")), el("td", { class: "broken" }, failing.map((each) => `✗ ${each.finding.rule}`).join(", ")));
  });
}

// ---- findings

function badge(outcome) { return el("span", { class: `badge ${outcome}` }, outcome); }

const coded = (text) => text.split(/`([^`]+)`/).map((part, at) => at % 2 ? code(part) : part);

function paragraphs(pairs) {
  return el("dl", {}, pairs.filter(([, text]) => text).flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, coded(text))]));
}

function originText(each) {
  const against = each.support === "supports" ? "" : ` (${each.support})`;
  return [`${each.origin}${against}: ${each.text}`, each.report, each.date, place(each.file, each.line)].filter(Boolean).join(", ");
}

function findingItem(data, judged) {
  const { finding, struct, at } = judged;
  const where = place(at.file, at.line), notes = [finding.severity, finding.state, finding.suppressed ? "suppressed" : null].filter(Boolean).join(", ");
  const summary = [badge(finding.outcome), code(finding.rule), ` ${finding.kind} on ${finding.struct}`, el("span", { class: "place" }, [notes, where].filter(Boolean).join(" · "))];
  return el("li", {}, lazy(summary, () => [
    paragraphs([["What", finding.message], ["Why", finding.why], [{ fix: "Fix", "first step": "First step" }[finding.advice_kind] ?? "To do", finding.advice]]),
    struct === null ? null : structMap(data, data.structs[struct], [judged], ` for ${judged.finding.rule}`),
    paragraphs([["Suppressed", finding.suppressed], ["Placed", finding.placements.basis], ["Fails at", judged.possible.length && finding.placements.bases.length ? `byte ${few(finding.placements.bases)} of a line; objects can start at ${few(judged.possible)}` : ""], ["Stated by", `${finding.intent.by} ${place(finding.intent.file, finding.intent.line)}`], ["In", [finding.input, ...finding.also].join(", ")]]),
    finding.placements.orders ? el("p", {}, `The order of fields is random; it fails in ${(finding.placements.orders.share * 100).toFixed(1)} % of the placements of all orders. One order is drawn.`) : null,
    finding.origins.length ? el("div", {}, el("h3", {}, "Rests on"), el("ul", {}, finding.origins.map((each) => el("li", {}, coded(originText(each)))))) : null,
    finding.evidence.length ? el("div", {}, el("h3", {}, "Evidence"), el("ul", {}, finding.evidence.map((text) => el("li", {}, coded(text))))) : null,
  ]));
}

function showFindings(data) {
  const form = $("finding-filter"), fields = form.elements, all = data.judged;
  options(fields.outcome, all.map((each) => each.finding.outcome));
  options(fields.severity, all.map((each) => each.finding.severity));
  options(fields.rule, all.map((each) => each.finding.rule));
  options(fields.file, all.map((each) => each.at.file).filter(Boolean));
  if (data.reported < all.length) fields.outcome.options[0].textContent = "all but kept";
  const show = growing($("finding-list"), $("finding-more"), (each) => findingItem(data, each));
  function apply() {
    const word = fields.text.value.trim().toLowerCase();
    const chosen = all.filter((each) => (fields.outcome.value ? each.finding.outcome === fields.outcome.value : each.number < data.reported)
      && (!fields.severity.value || each.finding.severity === fields.severity.value)
      && (!fields.rule.value || each.finding.rule === fields.rule.value)
      && (!fields.file.value || each.at.file === fields.file.value)
      && (!word || each.words.includes(word)));
    $("finding-count").textContent = count(chosen.length, "finding");
    show(chosen);
  }
  onFilter(form, apply);
  apply();
  if (data.reported) openFirst("finding-list");
}

function judgedFindings(report, extra) {
  return [...report.findings, ...report.kept].map((finding, number) => {
    const more = extra[number], first = finding.fields.find((field) => field.file !== null);
    const at = first ?? finding.definition ?? { file: finding.intent.file, line: finding.intent.line };
    const words = [finding.rule, finding.struct, finding.message, finding.why, at.file ?? "", ...finding.fields.map((field) => field.path)].join(" ").toLowerCase();
    return { finding, number, at, words, ...more };
  });
}

// ---- structs

function outerTree(data, number, above) {
  const outer = data.structs[number].containers;
  if (!outer.length) return el("p", { class: "dim" }, above.length ? "in no other struct of this page" : "No other struct of this page embeds it.");
  return el("ul", { class: "tree" }, outer.map(([container, path, offset]) => {
    const { aggregate, name, containers } = data.structs[container];
    const words = [`${aggregate} `, code(name), " has it as ", code(path), ` at ${offset}`];
    const ends = !containers.length || above.includes(container) || above.length > MOST_DEEP;
    return el("li", {}, ends ? words : lazy(words, () => [outerTree(data, container, [...above, container])]));
  }));
}

function structItem(data, number) {
  const struct = data.structs[number], own = data.judged.filter((each) => each.struct === number);
  const worst = ["broken", "at-risk", "unknown", "kept"].find((outcome) => own.some((each) => each.finding.outcome === outcome));
  const isRandom = Boolean(struct.randomised?.chances);
  const size = isRandom ? "random order" : struct.size === null ? "size ??" : `${count(struct.size, "byte")}, ${count(Math.ceil(struct.size / struct.line_size), "line")} of ${struct.line_size}`;
  const summary = [worst ? badge(worst) : null, `${struct.aggregate} `, code(struct.name), el("span", { class: "place" }, [size, place(struct.file, struct.line)].filter(Boolean).join(" · "))];
  return el("li", {}, lazy(summary, () => [
    struct.problem && !isRandom ? el("p", {}, `Layout unreliable: ${struct.problem}`) : null,
    structMap(data, struct, own),
    data.structs.length > 1 ? el("h3", {}, "Embedded in") : null,
    data.structs.length > 1 ? outerTree(data, number, [number]) : null,
  ]));
}

function showStructs(data) {
  const form = $("struct-filter"), words = data.structs.map((struct) => [struct.name, struct.file ?? "", ...struct.fields.map((field) => field.path)].join(" ").toLowerCase());
  const show = growing($("struct-list"), $("struct-more"), (number) => structItem(data, number));
  function apply() {
    const word = form.elements.text.value.trim().toLowerCase();
    const chosen = [...data.structs.keys()].filter((number) => !word || words[number].includes(word));
    if (word) chosen.sort((a, b) => (data.structs[b].name.toLowerCase() === word) - (data.structs[a].name.toLowerCase() === word));
    $("struct-count").textContent = count(chosen.length, "struct");
    show(chosen);
  }
  onFilter(form, apply);
  apply();
  if (data.structs.length === 1) openFirst("struct-list");
}

// ---- changes

function changeItem(data, change) {
  const side = (name, number, peers) => number === null ? null : el("div", {}, el("h3", {}, name), structMap(data, data.structs[number], data.judged.filter((each) => each.struct === number), `, ${name}`, new Set(change.paths), peers));
  return el("li", {}, lazy([badge(change.status), change.heading], () => {
    const peers = [];
    return [el("div", { class: "sides" }, side("Before", change.old, peers), side("After", change.new, peers)), el("ul", {}, change.sentences.slice(0, 200).map((text) => el("li", {}, coded(text))))];
  }));
}

function showChanges(data) {
  const { rules, changes, not_compared, notes } = data.diff, form = $("change-filter");
  const verdicts = (some) => el("ul", { class: "verdicts" }, some.map(([status, text]) => el("li", {}, badge(status), text)));
  $("change-rules").append(el("h3", {}, "Rules"), rules.length ? verdicts(rules.slice(0, FEW)) : el("p", {}, "No rule changed."));
  if (rules.length > FEW) $("change-rules").append(lazy([count(rules.length - FEW, "more rule")], () => [verdicts(rules.slice(FEW, 1000))]));
  $("change-rules").append(el("h3", {}, "Structs"));
  const words = changes.map((change) => [change.heading, ...change.paths].join(" ").toLowerCase());
  options(form.elements.status, changes.map((change) => change.status));
  const show = growing($("change-list"), $("change-more"), (number) => changeItem(data, changes[number]));
  function apply() {
    const word = form.elements.text.value.trim().toLowerCase(), status = form.elements.status.value;
    const chosen = [...changes.keys()].filter((number) => (!word || words[number].includes(word)) && (!status || changes[number].status === status));
    $("change-count").textContent = count(chosen.length, "struct");
    show(chosen);
  }
  onFilter(form, apply);
  apply();
  openFirst("change-list");
  $("change-rest").append(...[...listOf("Not compared", not_compared), ...listOf("Notes", notes)]);
}

// ---- history

function historyTable(caption, builds, rows) {
  const head = builds.map((build) => el("th", { scope: "col", class: "number", title: build.path }, build.label));
  const cell = (text, at, cells) => el("td", { class: ["number", text.split(" ")[0]].join(" ") }, at && text !== cells[at - 1] ? el("strong", {}, text) : text);
  const row = ([, name, cells]) => el("tr", {}, el("th", { scope: "row" }, coded(name)), cells.map(cell));
  return el("table", { "data-names": 1 }, el("caption", {}, el("span", {}, caption)), el("thead", {}, el("tr", {}, el("td"), head)), el("tbody", {}, rows.slice(0, MOST_FIELDS).map(row)));
}

function stepItem(step) {
  const texts = [...step.headings, ...step.edits], none = step.same > 1 ? `nothing changed in ${step.same} steps` : step.same ? "nothing changed" : "the same layout";
  const rules = step.rules.map(([status, text, ...pairs]) => el("li", {}, badge(status), coded(text), pairs.length ? el("ul", {}, pairs.slice(0, 200).map((pair) => el("li", {}, coded(pair)))) : null));
  return el("div", {}, el("h3", {}, step.title), rules.length ? el("ul", { class: "verdicts" }, rules) : null, texts.length ? el("ul", {}, texts.slice(0, 200).map((text) => el("li", {}, coded(text)))) : el("p", {}, none));
}

function showHistory(data) {
  const { builds, moved, rows, steps, unknown } = data.history, still = rows.filter(([kind]) => kind === "still"), peers = [], changed = new Set(moved);
  $("history-table").append(historyTable("Sizes in bytes, rules, and offsets of fields that moved; bold where a value differs from the build before", builds, rows.filter(([kind]) => kind !== "still")));
  if (still.length) $("history-still").append(lazy([`${count(still.length, "field")} did not move`], () => [region("Fields that did not move", historyTable("Offsets of fields that did not move", builds, still))]));
  $("history-steps").append(...(steps.length ? steps.map(stepItem) : [el("p", {}, "Fewer than two builds have a known layout.")]), ...listOf("Not known", unknown));
  $("history-maps").append(...builds.map((build, at) => {
    const about = [build.path, build.version === "-" ? "" : build.version, build.target].filter(Boolean).join(" · ");
    const drawn = () => [build.struct === null ? el("p", {}, build.reason) : structMap(data, data.structs[build.struct], data.judged.filter((each) => each.struct === build.struct), ` in ${build.label}`, changed, peers)];
    const isEnd = at === 0 || at === builds.length - 1;
    return el("li", {}, lazy([el("h3", {}, build.label), el("span", { class: "place" }, about)], drawn, builds.length <= MOST_OPEN || isEnd));
  }));
}

// ---- builds, inputs, coverage

function showBuilds(data) {
  const names = data.report.builds.map((build) => build.name);
  const head = el("tr", {}, el("th", { scope: "col" }, "rule"), el("th", { scope: "col" }, "struct"), names.map((name) => el("th", { scope: "col" }, name)));
  const row = ({ finding }) => el("tr", {}, el("th", { scope: "row" }, code(finding.rule)), el("td", {}, code(finding.struct)), names.map((name) => {
    const own = finding.builds[name];
    if (!own) return el("td", { class: "dim" }, "not in it");
    const { violating, total } = own.placements;
    return el("td", { class: own.outcome }, own.outcome === "at-risk" && total ? `at-risk, ${violating} of ${total}` : own.outcome);
  }));
  const table = (caption, some) => el("table", { "data-names": 2 }, el("caption", {}, el("span", {}, caption)), el("thead", {}, head.cloneNode(true)), el("tbody", {}, some.slice(0, 5000).map(row)));
  const [found, kept] = [data.judged.slice(0, data.reported), data.judged.slice(data.reported)];
  if (found.length) $("build-table").append(table("Outcomes by build, with the placements that fail", found));
  if (kept.length) $("build-table").append(lazy([`${count(kept.length, "rule")} kept in all builds`], () => [table("Kept rules", kept)]));
}

function listOf(title, texts) {
  return texts.length ? [el("h3", {}, title), el("ul", {}, texts.slice(0, 1000).map((text) => el("li", {}, coded(text))))] : [];
}

function showCoverage({ report }) {
  const { coverage } = report;
  $("coverage-body").append(...[
    ...listOf("Inputs", report.inputs.map((input) => `${input.build ? `${input.build}: ` : ""}${input.path}: ${count(input.structs, "struct")} by ${input.reader}, ${input.target}${input.notes.map((note) => `; ${note}`).join("")}`)),
    el("p", {}, `${count(coverage.rules, "rule")}, ${coverage.applied} of them applied, on ${count(coverage.structs, "struct")}`),
    ...listOf("Not read", report.unread.map((each) => `${each.origin}: ${each.reason}`)),
    ...listOf("Not covered", coverage.not_covered.map((each) => `${each.origin}: ${each.reason}`)),
    ...listOf("Not found", coverage.unresolved.map((each) => `${each.by ?? each.rule ?? ""}: ${each.reason}`)),
    ...listOf("Skipped rules", coverage.skipped.map((each) => `${each.rule ?? each.by ?? ""}: ${each.reason}`)),
  ]);
}

// ---- start

async function load() {
  const packed = Uint8Array.from(atob($("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

async function start() {
  const data = await load();
  if (data.report) data.judged = judgedFindings(data.report, data.judged);
  data.reported = data.report ? data.report.findings.length : 0;
  $("result").textContent = data.result;
  const parts = [];
  if (data.report) parts.push(["findings", `Findings (${data.reported.toLocaleString("en")})`, showFindings]);
  if (data.report?.builds.length) parts.push(["builds", "Builds", showBuilds]);
  if (data.diff) parts.push(["changes", `Changes (${data.diff.changes.length.toLocaleString("en")})`, showChanges]);
  if (data.history) parts.push(["history", "History", showHistory]);
  if (data.structs.length && !data.diff && !data.history) parts.push(["structs", `Structs (${data.structs.length.toLocaleString("en")})`, showStructs]);
  if (data.report) parts.push(["coverage", "Inputs and coverage", showCoverage]);
  for (const [id, name, show] of parts) {
    show(data);
    $(id).hidden = false;
    $("parts").append(el("a", { href: `#${id}` }, name));
  }
  $("loading").remove();
  document.body.dataset.ready = Math.round(performance.now());
}

start().catch((error) => {
  $("loading").textContent = `The data of this page cannot be shown: ${error.message}`;
});
})();
