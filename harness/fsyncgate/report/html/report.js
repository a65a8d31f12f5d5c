// The matrix, its filters and the panel of a case.

const index = JSON.parse(document.getElementById("index").textContent);
const chunks = new Map();

const byId = (id) => document.getElementById(id);
const signs = index.signs.map(([name, glyph, words]) => ({ name, glyph, words }));
const worstFirst = ["deviates", "unknown", "unsafe", "conforms"];
const order = signs.map((sign) => worstFirst.indexOf(sign.name));
const cases = index.cases.map(([scenario, kernel, filesystem, fault, sign], number) => (
  { number, scenario, kernel, filesystem, fault, sign }
));

function idOf(one) {
  const kernel = index.kernels[one.kernel];
  const label = kernel.label.includes(": ") ? kernel.label.split(": ")[0] + ":" : "";
  return `${label}${kernel.id}/${index.filesystems[one.filesystem]}/${index.faults[one.fault]}/${index.scenarios[one.scenario].id}`;
}

const byName = new Map(cases.map((one) => [idOf(one), one]));

// The matrix

function chosen() {
  const value = (id) => (byId(id).value === "" ? null : Number(byId(id).value));
  return {
    kernel: value("kernel"), filesystem: value("filesystem"), fault: value("fault"), sign: value("sign"),
    left: value("left"), right: value("right"), words: byId("words").value.trim().toLowerCase(),
  };
}

function fits(one, filter) {
  const scenario = index.scenarios[one.scenario];
  return (filter.kernel === null || one.kernel === filter.kernel)
    && (filter.filesystem === null || one.filesystem === filter.filesystem)
    && (filter.fault === null || one.fault === filter.fault)
    && (filter.sign === null || one.sign === filter.sign)
    && (!filter.words || `${scenario.group} ${scenario.title} ${scenario.id}`.toLowerCase().includes(filter.words));
}

function worst(those) {
  return those.reduce((a, b) => (order[b.sign] < order[a.sign] ? b : a));
}

function key(...parts) {
  return parts.join(" ");
}

function differing(filter) {
  if (filter.left === null || filter.right === null || filter.left === filter.right) return new Set();
  const answers = new Map();
  for (const one of cases) {
    if (one.kernel !== filter.left && one.kernel !== filter.right) continue;
    const place = key(one.scenario, one.filesystem, one.fault);
    if (!answers.has(place)) answers.set(place, {});
    answers.get(place)[one.kernel] = index.answers[one.number];
  }
  const found = new Set();
  for (const [place, sides] of answers) {
    const [a, b] = [sides[filter.left], sides[filter.right]];
    if (a !== undefined && b !== undefined && a !== b) found.add(place);
  }
  return found;
}

function draw() {
  const filter = chosen();
  const shown = cases.filter((one) => fits(one, filter));
  const cells = new Map();
  for (const one of shown) {
    const place = key(one.scenario, one.kernel, one.filesystem);
    if (!cells.has(place)) cells.set(place, []);
    cells.get(place).push(one);
  }
  const used = (name) => [...new Set(shown.map((one) => one[name]))].sort((a, b) => a - b);
  const columns = [];
  for (const kernel of used("kernel")) {
    const those = used("filesystem").filter((filesystem) => shown.some((one) => one.kernel === kernel && one.filesystem === filesystem));
    columns.push({ kernel, filesystems: those });
  }
  const differs = differing(filter);
  const table = make("table", { id: "matrix" }, head(columns), ...bodies(used("scenario"), columns, cells, differs, filter));
  byId("matrix").replaceWith(table);
  const marked = differs.size ? ` ${differs.size} answers differ between the two kernels.` : "";
  byId("count").textContent = `${shown.length} of ${cases.length} cases.${marked}`;
}

function head(columns) {
  const above = make("tr", {}, make("th", { scope: "col", rowspan: 2 }, "Scenario"));
  const below = make("tr", { class: "names" });
  for (const { kernel, filesystems } of columns) {
    const { label, release, package: bundle } = index.kernels[kernel];
    above.append(make("th", { scope: "colgroup", colspan: filesystems.length, title: `${release} ${bundle}` }, label));
    for (const filesystem of filesystems) below.append(make("th", { scope: "col" }, index.filesystems[filesystem]));
  }
  return make("thead", {}, above, below);
}

function bodies(scenarios, columns, cells, differs, filter) {
  const width = 1 + columns.reduce((sum, one) => sum + one.filesystems.length, 0);
  const groups = new Map();
  for (const number of scenarios) {
    const { group, title, question } = index.scenarios[number];
    if (!groups.has(group)) {
      groups.set(group, make("tbody", {}, make("tr", { class: "group" }, make("th", { scope: "rowgroup", colspan: width }, group))));
    }
    const row = make("tr", {}, make("th", { scope: "row", title: question }, title));
    for (const { kernel, filesystems } of columns) {
      for (const filesystem of filesystems) row.append(cell(cells.get(key(number, kernel, filesystem)), differs, filter));
    }
    groups.get(group).append(row);
  }
  return groups.values();
}

function cell(those, differs, filter) {
  if (!those) return make("td");
  const one = worst(those);
  const sign = signs[one.sign];
  const compared = those.filter((each) => (each.kernel === filter.left || each.kernel === filter.right)
    && differs.has(key(each.scenario, each.filesystem, each.fault)));
  const target = compared[0] ?? one;
  const said = `${index.scenarios[one.scenario].title}, ${index.kernels[one.kernel].label}, ${index.filesystems[one.filesystem]}: ${sign.words}`;
  const more = compared.length ? ", differs" : "";
  const link = make("a", { href: "#" + encodeURI(idOf(target)), class: sign.name, "aria-label": said + more, title: said + more }, sign.glyph);
  return make("td", compared.length ? { class: "differs" } : {}, link);
}

// The panel of a case

async function unpack(number) {
  if (!chunks.has(number)) {
    const packed = Uint8Array.from(atob(byId(`chunk-${number}`).textContent), (one) => one.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    chunks.set(number, JSON.parse(await new Response(stream).text()));
  }
  return chunks.get(number);
}

async function detailOf(one) {
  return (await unpack(Math.floor(one.number / index.size)))[one.number % index.size];
}

const written = (value) => (value === undefined ? "nothing" : typeof value === "string" ? value : JSON.stringify(value));

function answers(detail) {
  const expected = detail.expected ?? {};
  const names = [...new Set([...Object.keys(expected), ...Object.keys(detail.observed)])];
  const rows = names.map((name) => {
    const same = JSON.stringify(detail.observed[name]) === JSON.stringify(expected[name]);
    const verdict = detail.expected === null ? "nothing is expected" : same ? "as expected" : "differs";
    return make("tr", same || detail.expected === null ? {} : { class: "deviates" }, make("th", { scope: "row" }, name),
      make("td", {}, written(detail.observed[name])), make("td", {}, written(expected[name])), make("td", {}, verdict));
  });
  const titles = ["", "observed", "expected", ""].map((title) => make("th", { scope: "col" }, title));
  return make("table", { class: "answers" }, make("thead", {}, make("tr", {}, ...titles)), make("tbody", {}, ...rows));
}

function pairs(...entries) {
  return make("dl", {}, ...entries.filter(([, value]) => value).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function siblings(one) {
  const those = cases.filter((each) => each.scenario === one.scenario && each.kernel === one.kernel && each.filesystem === one.filesystem);
  if (those.length < 2) return "";
  const links = those.map((each) => {
    const name = `${signs[each.sign].glyph} ${index.faults[each.fault]}`;
    return each === one ? make("strong", {}, name) : make("a", { href: "#" + encodeURI(idOf(each)) }, name);
  });
  return make("p", {}, "With the fault: ", ...links.flatMap((link, at) => (at ? [" · ", link] : [link])));
}

async function open(one) {
  const detail = await detailOf(one);
  const sign = signs[detail.sign];
  const scenario = index.scenarios[one.scenario];
  const kernel = index.kernels[one.kernel];
  const close = make("button", { type: "button", autofocus: "" }, "Close");
  close.addEventListener("click", () => byId("panel").close());
  const safe = detail.safe === null ? "" : detail.safe ? "safe" : "unsafe: data can be lost although every call answered that all is well";
  byId("panel").replaceChildren(
    make("div", { class: "bar" }, make("h2", { id: "panel-title" }, scenario.question || scenario.title), make("span", { class: `badge ${sign.name}` }, `${sign.glyph} ${sign.words}`), close),
    make("p", { class: "faint" }, detail.id),
    siblings(one),
    answers(detail),
    pairs(["Why", detail.because], ["Safety", safe], ["Lesson", detail.lesson], ["Reason", detail.reason], ["Fault fired", detail.fired === 1 ? "once" : `${detail.fired} times`]),
    make("h3", {}, "Timeline"),
    detail.timeline ? picture(detail.timeline) : make("p", {}, "No history was kept."),
    make("h3", {}, "Run it again"),
    make("pre", {}, `fsyncgate qualify --case ${detail.case}`),
    pairs(["Kernel", `${kernel.release}: ${kernel.package}`], ["sha256", detail.sha256], ["Took", `${detail.seconds} s`]),
    make("h3", {}, "The guest's console"),
    make("pre", { tabindex: "0" }, detail.console.join("\n") || "It said nothing."),
  );
  if (!byId("panel").open) byId("panel").showModal();
  byId("panel").scrollTop = 0;
  document.body.dataset.case = detail.id;
}

function follow() {
  const name = decodeURI(location.hash.slice(1));
  const one = byName.get(name);
  if (one) open(one);
  else if (byId("panel").open) byId("panel").close();
}

// The controls

function fill(id, names) {
  names.forEach((name, number) => byId(id).append(make("option", { value: number }, name)));
}

function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").setAttribute("aria-pressed", String(dark));
}

const kernels = index.kernels.map((one) => one.label);
for (const id of ["kernel", "left", "right"]) fill(id, kernels);
fill("filesystem", index.filesystems);
fill("fault", index.faults);
const seen = new Set(cases.map((one) => one.sign));
signs.forEach((sign, number) => {
  if (!seen.has(number)) return;
  byId("sign").append(make("option", { value: number }, sign.words));
  byId("legend").append(make("span", { class: sign.name }, `${sign.glyph} ${sign.words}`));
});
for (const event of ["input", "change"]) byId("filters").addEventListener(event, draw);
byId("filters").addEventListener("reset", () => setTimeout(draw));
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme !== "dark"));
byId("panel").addEventListener("close", () => {
  delete document.body.dataset.case;
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
});
window.addEventListener("hashchange", follow);
theme(window.matchMedia("(prefers-color-scheme: dark)").matches);
draw();
follow();
document.body.dataset.ready = "yes";
