// A table of many rows: only those on the screen are elements, so that ten thousand scroll like ten.

import { h } from "./dom.js";

const AROUND = 20;

/** Show `rows` in the table's `body` within the scrolling `frame`; `line` makes a row. Returns what takes it away. */
export function longTable(frame, body, rows, line) {
  const table = body.closest("table");
  table.classList.add("long");
  table.setAttribute("aria-rowcount", rows.length + 1);
  body.replaceChildren(line(rows[0], 0));
  const height = Math.max(1, body.firstChild.getBoundingClientRect().height);
  let shown = -1;
  const space = () => h("tr", { "aria-hidden": "true" }, h("td", { colSpan: 1_000 }, ""));
  const above = space();
  const below = space();
  const draw = () => {
    const first = Math.max(0, Math.floor(frame.scrollTop / height) - AROUND);
    if (first === shown) return;
    shown = first;
    const last = Math.min(rows.length, first + Math.ceil(frame.clientHeight / height) + 2 * AROUND);
    const lines = rows.slice(first, last).map((cells, place) => {
      const made = line(cells, first + place);
      made.setAttribute("aria-rowindex", first + place + 2);
      return made;
    });
    // A cell of no rows would still be a line high.
    above.hidden = first === 0;
    below.hidden = last === rows.length;
    above.firstChild.style.height = `${first * height}px`;
    below.firstChild.style.height = `${(rows.length - last) * height}px`;
    body.replaceChildren(above, ...lines, below);
  };
  frame.scrollTop = 0;
  draw();
  frame.addEventListener("scroll", draw);
  return () => {
    frame.removeEventListener("scroll", draw);
    table.classList.remove("long");
    table.removeAttribute("aria-rowcount");
  };
}
