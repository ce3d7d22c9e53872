// Boards: pinned questions that are asked again when a board is opened, or shown as they were last asked on schedule.

import { answerCard } from "./card.js";
import { button, h } from "./dom.js";

const SCHEDULES = ["on_opening", "hourly", "daily"];

/** Show the boards in `place`; `opened` is the id of the one to open. */
export async function showBoards(place, context, opened) {
  const { bus, texts, go, guarded } = context;
  const list = h("ul");
  const drawer = h("nav", { class: "threads", "aria-label": texts.boards });
  const main = h("main", {}, h("div", { class: "log board" }));
  place.replaceChildren(drawer, main);
  const { boards } = await bus.boards();
  const item = (board) =>
    h("li", {}, h("a", { href: `#board=${board.id}`, "aria-current": board.id === opened ? "page" : undefined, onclick: (event) => leave(event, () => go("boards", board.id)) }, board.name, board.is_own ? null : h("span", { class: "quiet" }, ` · ${texts.shared}`)));
  list.append(...(boards.length ? boards.map(item) : [h("li", { class: "quiet" }, texts.noBoards)]));
  const name = h("input", { type: "text", maxLength: 100, required: true, placeholder: texts.boardName, "aria-label": texts.boardName });
  const make = h(
    "form",
    {
      class: "new-board",
      onsubmit: (event) => {
        event.preventDefault();
        guarded(async () => go("boards", (await bus.makeBoard(name.value.trim())).id));
      },
    },
    name,
    h("button", { type: "submit", class: "main" }, texts.newBoard),
  );
  drawer.append(make, list);
  const board = boards.find(({ id }) => id === opened) ?? (opened ? null : boards[0]);
  if (board) return showBoard(main.firstChild, context, board);
  main.firstChild.append(h("div", { class: "welcome" }, h("h2", {}, opened ? texts.noSuchBoard : texts.noBoards), h("p", { class: "quiet" }, texts.boardsHint)));
}

async function showBoard(place, context, board) {
  const { bus, texts, go, guarded, say } = context;
  const places = new Map();
  const changed = (change, then) => guarded(async () => then(await bus.changeBoard(board.id, change)));
  const schedule = h(
    "select",
    { "aria-label": texts.schedule, disabled: !board.is_own, onchange: (event) => changed({ schedule: event.target.value }, () => say(texts.saved)) },
    SCHEDULES.map((kind) => h("option", { value: kind, selected: kind === board.schedule }, texts.schedules[kind])),
  );
  const share = h("input", { type: "checkbox", checked: board.is_shared, onchange: (event) => changed({ is_shared: event.target.checked }, () => say(texts.saved)) });
  const rename = button(texts.rename, async () => {
    const name = prompt(texts.boardName, board.name)?.trim();
    if (name) await changed({ name }, () => go("boards", board.id));
  });
  const remove = button(texts.removeBoard, async () => {
    if (confirm(texts.removeBoardSure(board.name))) await guarded(async () => (await bus.removeBoard(board.id), go("boards")));
  });
  const again = button(texts.askAgain, () => ask(), { class: "main" });
  const head = h(
    "div",
    { class: "board-head" },
    h("h2", {}, board.name),
    h("div", { class: "bar" }, again, schedule, board.is_own && context.me.may_share_boards ? h("label", { class: "check" }, share, texts.share) : null, board.is_own ? [rename, remove] : null),
  );
  const grid = h("div", { class: "pins" });
  place.replaceChildren(head, grid);
  const keep = (pins) => changed({ pins: pins.map(({ id }) => id) }, (now) => showBoard(place, context, now));
  board.pins.forEach((pin, number) => {
    const content = h("div", { class: "turn" }, h("p", { class: "quiet" }, texts.notAsked));
    places.set(pin.id, content);
    const moved = () => keep(board.pins.toSpliced(number, 1).toSpliced(number - 1, 0, pin));
    const tools = board.is_own
      ? h("span", { class: "tools" }, number ? button("↑", moved, { class: "remove", "aria-label": `${texts.moveUp}: ${pin.question}` }) : null, button("×", () => keep(board.pins.filter(({ id }) => id !== pin.id)), { class: "remove", "aria-label": `${texts.unpin}: ${pin.question}` }))
      : null;
    grid.append(h("section", { class: "pin", "aria-label": pin.question }, h("h3", {}, h("span", {}, pin.question), tools), content));
  });
  if (!board.pins.length) grid.append(h("p", { class: "quiet" }, texts.boardEmpty));

  const fill = async (pin, queryId) => {
    const content = places.get(pin);
    try {
      let query = await bus.query(queryId);
      if (!query.answer) {
        content.replaceChildren(h("p", { class: "quiet stage", role: "status" }, h("span", { class: "dots", "aria-hidden": "true" }), texts.stages.approved));
        query = { ...query, answer: await bus.finished(query, { signal: context.signal }) };
      }
      content.replaceChildren(answerCard(query.answer, context));
    } catch (error) {
      if (!context.signal.aborted) content.replaceChildren(h("p", { role: "alert", class: "problem" }, error.message));
    }
  };
  const ask = () =>
    guarded(async () => {
      const { asked } = await bus.askBoard(board.id);
      await Promise.all(
        asked.map(({ pin, query_id, detail }) => {
          if (query_id) return fill(pin, query_id);
          return places.get(pin)?.replaceChildren(h("p", { role: "alert", class: "problem" }, detail || texts.unreachable));
        }),
      );
    });
  const known = board.pins.filter(({ query_id }) => query_id);
  if (board.schedule !== "on_opening" && board.is_own && known.length === board.pins.length) {
    await Promise.all(known.map((pin) => fill(pin.id, pin.query_id)));
  } else if (board.pins.length) {
    await ask();
  }
}

/** A menu that pins an answer to one of one's boards, or to a new one. */
export function pinMenu(answer, context) {
  const { bus, texts, guarded, say } = context;
  const items = h("div", { class: "menu-items" });
  const menu = h("details", { class: "menu" }, h("summary", {}, texts.pin), items);
  const pin = (board) =>
    guarded(async () => {
      await bus.pin(board.id, answer.query_id);
      menu.open = false;
      say(texts.pinned(board.name));
    });
  menu.addEventListener("toggle", () => {
    if (!menu.open) return;
    guarded(async () => {
      const own = (await bus.boards()).boards.filter(({ is_own }) => is_own);
      const make = button(`+ ${texts.newBoard}`, () => {
        const name = prompt(texts.boardName)?.trim();
        return name ? guarded(async () => pin(await bus.makeBoard(name))) : null;
      });
      items.replaceChildren(...own.map((board) => button(board.name, () => pin(board))), make);
    });
  });
  return menu;
}

function leave(event, act) {
  // A click with a key held opens another tab, as it does for every link.
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  act();
}
