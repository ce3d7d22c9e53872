// Changes that others asked for and that wait for this analyst's yes.

import { button, h } from "./dom.js";

/** Show the changes that wait in `place`. */
export async function showChanges(place, context) {
  const words = context.texts.changes;
  const list = h("div", { class: "log board" });
  place.replaceChildren(h("main", {}, list));
  const { changes } = await context.bus.waitingChanges({ signal: context.signal });
  list.append(
    h("div", { class: "board-head" }, h("h2", {}, words.title), h("p", { class: "quiet" }, changes.length ? words.hint : words.none)),
    ...changes.map((change) => changeCard(change, context)),
  );
}

function changeCard(change, { bus, texts, guarded, signal }) {
  const words = texts.changes;
  const { rows_affected_max: most } = change.confirmation;
  const end = new Date(change.ends_at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const place = h("div", { class: "options" });
  const say = () =>
    guarded(async () => {
      const begun = await bus.confirm(change.query_id, change.confirmation);
      const answer = begun.answer ?? (await bus.finished(begun, { signal }));
      place.replaceChildren(h("p", { role: "status" }, answer.message));
    });
  place.append(button(words.confirm(most), say, { class: "option danger" }));
  return h(
    "article",
    { class: "card confirmation", "aria-label": words.askedBy(change.asked_by, change.connection) },
    h("p", { class: "quiet" }, words.askedBy(change.asked_by, change.connection), " · ", words.until(end)),
    h("p", { class: "sentence" }, change.question || change.confirmation.kind),
    h("pre", { tabIndex: 0 }, h("code", {}, change.sql ?? "")),
    place,
  );
}
