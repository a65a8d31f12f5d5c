"use strict";
// The timeline of a history as a table. Everything is made of text nodes: what a guest has said is shown, never obeyed.

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function picture(timeline) {
  const head = make("tr", {}, make("th", { scope: "col", class: "when" }, "ms"), ...timeline.lanes.map((lane) => make("th", { scope: "col" }, laneName(lane))));
  const begun = timeline.rows.length ? timeline.rows[0].at : 0;
  const holding = new Set();
  const rows = timeline.rows.map((row) => {
    const when = make("td", { class: "when" }, ((row.at - begun) * 1000).toFixed(0));
    if (row.band) return make("tr", { class: row.lost ? "band lost" : "band" }, when, make("td", { colspan: timeline.lanes.length }, row.lost ? "✗ " + row.band : row.band));
    const cells = timeline.lanes.map((lane) => {
      const cell = (row.cells ?? {})[lane];
      if (cell && lane in lanes) holding.add(lane);
      return laneCell(cell, holding.has(lane));
    });
    return make("tr", {}, when, ...cells);
  });
  const caption = make("caption", { class: "faint" }, "Time goes down. What a lane says stays true until it says something else; dashed and in italics: follows from what was seen.");
  return make("table", { class: "timeline" }, caption, make("thead", {}, head), make("tbody", {}, ...rows));
}

const lanes = {
  "page cache": "Page cache: what memory holds of the file",
  "error memory": "errseq_t: the kernel's memory of the error",
  "block device": "Block device",
  "on the disk": "What is on the disk",
};

function laneName(lane) {
  return lanes[lane] ?? `Process ${lane}`;
}

function laneCell(cell, holding) {
  if (!cell) return make("td", { class: holding ? "lane holding" : "lane" });
  return make("td", { class: `lane ${cell.tone ?? "plain"}${cell.inferred ? " inferred" : ""}`, title: cell.why ?? "" }, cell.text);
}
