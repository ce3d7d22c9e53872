// What a person chose among the options that were offered: these come first, and can be forgotten.

import { button, h } from "./dom.js";

/** A closed part that lists the choices once it is opened, with a button that forgets them. */
export function choicesPart(context) {
  const texts = context.texts.choices;
  const place = h("div", { role: "status" });
  const show = ({ choices }) => {
    const line = ({ kind, option, count }) => h("li", {}, texts.line(texts.kinds[kind] ?? kind, texts.options[option.replace(/_\d+$/, "")] ?? option, count));
    const forget = button(texts.forget, async () => show(await context.bus.forgetChoices()));
    place.replaceChildren(...(choices.length ? [h("ul", {}, choices.map(line)), forget] : [h("p", { class: "quiet" }, texts.none)]));
  };
  const open = async (event) => {
    if (!event.target.open) return;
    try {
      show(await context.bus.choices());
    } catch {
      place.replaceChildren(h("p", { class: "quiet" }, texts.unread));
    }
  };
  return h("details", { class: "choices quiet", ontoggle: open }, h("summary", {}, texts.title), place);
}
