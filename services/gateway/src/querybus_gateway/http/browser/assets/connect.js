// Adding a database: its address, what a test finds, which columns stay hidden, and a first question. For owners.

import { button, copy, h } from "./dom.js";
import { showModelStep } from "./model.js";

const LISTED_TRIES = 40;
const LISTED_PAUSE_MS = 500;
const EXAMPLES = ["postgres://user@host/database?sslmode=require", "mysql://user@host/database", "/data/sales.duckdb", "/data/csv-folder"];

/** The form that adds a database; `done` learns the new connection's name and a first question. */
export function connectForm(context, done) {
  const words = context.texts.connect;
  const url = h("input", { type: "text", name: "address", required: true, maxLength: 4_000, placeholder: EXAMPLES[0], autocomplete: "off", spellcheck: false, list: "qb-addresses" });
  const password = h("input", { type: "password", maxLength: 4_000, autocomplete: "new-password" });
  const name = h("input", { type: "text", maxLength: 64, pattern: "[\\w.\\-]+", placeholder: words.nameHint });
  const found = h("div", { class: "found", role: "status", "aria-live": "polite" });
  const test = h("button", { type: "submit", class: "main" }, words.test);
  const wanted = () => ({ url: url.value.trim(), ...(password.value ? { password: password.value } : {}), ...(name.value.trim() ? { name: name.value.trim() } : {}) });
  const onsubmit = async (event) => {
    event.preventDefault();
    if (test.disabled) return;
    test.disabled = true;
    found.replaceChildren(h("p", { class: "quiet stage" }, h("span", { class: "dots", "aria-hidden": "true" }), words.testing));
    try {
      show(found, context, await context.bus.testConnection(wanted()), wanted, done);
    } catch (error) {
      found.replaceChildren(h("p", { class: "problem", role: "alert" }, error.message));
    } finally {
      test.disabled = false;
    }
  };
  // What was found is of another address as soon as one is typed.
  for (const field of [url, password, name]) field.oninput = () => found.replaceChildren();
  return h(
    "div",
    { class: "connect" },
    h(
      "form",
      { onsubmit },
      h("label", {}, words.address, url, h("span", { class: "quiet" }, words.addressHint)),
      h("datalist", { id: "qb-addresses" }, EXAMPLES.map((value) => h("option", { value }))),
      h("div", { class: "pair" }, h("label", {}, words.password, password), h("label", {}, words.name, name)),
      h("div", { class: "bar" }, test),
    ),
    found,
  );
}

function show(place, context, tested, wanted, done) {
  const words = context.texts.connect;
  const steps = h("ol", { class: "steps" }, tested.steps.map((step) => h("li", { class: step.state }, h("span", { class: "mark", "aria-hidden": "true" }), h("span", {}, words.steps[step.name] ?? step.name), h("span", { class: "quiet" }, step.detail || words.states[step.state] || ""))));
  const parts = [h("h3", {}, tested.works ? words.works(tested.name, tested.tables) : words.fails)];
  if (!tested.works) {
    parts.push(h("p", { class: "problem", role: "alert" }, tested.cause));
    if (tested.setting) parts.push(h("p", { class: "quiet" }, words.setting(tested.setting)));
  }
  for (const warning of tested.warnings) parts.push(h("p", { class: "notes" }, warning));
  if (tested.steps.length) parts.push(steps);
  if (tested.statements.length) parts.push(statements(tested.statements.join("\n"), context));
  if (tested.works) {
    const choices = tested.personal.map((item) => ({ item, box: h("input", { type: "checkbox", defaultChecked: true }) }));
    if (choices.length) parts.push(personal(choices, words, context.texts.admin.personalKinds));
    else parts.push(h("p", { class: "quiet" }, words.nothingPersonal));
    if (tested.readable_share !== null && tested.readable_share < 0.6) parts.push(h("p", { class: "notes" }, words.unreadable(Math.round(tested.readable_share * 100))));
    const problem = h("p", { class: "problem", role: "alert" });
    const add = button(words.add, () => added(context, { ...wanted(), ...decided(choices) }, problem, tested, done), { class: "main" });
    parts.push(h("div", { class: "bar" }, add), problem);
  }
  place.replaceChildren(h("div", { class: "card" }, parts));
  place.scrollIntoView({ block: "nearest" });
}

function decided(choices) {
  const of = (hidden) => choices.filter(({ box }) => box.checked === hidden).map(({ item }) => item.column);
  return { hidden: of(true), shown: of(false) };
}

function personal(choices, words, kinds) {
  const rows = choices.map(({ item, box }) => h("label", { class: "check" }, box, h("span", {}, h("strong", {}, item.column), " ", h("span", { class: "quiet" }, kinds[item.kind]))));
  return h("fieldset", { class: "personal" }, h("legend", {}, words.personal(choices.length)), h("p", { class: "quiet" }, words.personalHint), rows);
}

function statements(text, context) {
  const words = context.texts.connect;
  return h("div", {}, h("p", {}, words.statements), h("pre", { tabIndex: 0 }, h("code", {}, text)), button(context.texts.copy, async () => (await copy(text), context.say(context.texts.copied))));
}

async function added(context, request, problem, tested, done) {
  const words = context.texts.connect;
  problem.textContent = "";
  try {
    const { name } = await context.bus.addConnection(request);
    context.say(words.added(name));
    await listed(context.bus, name);
    await done(name, tested.question);
  } catch (error) {
    problem.textContent = error.message;
  }
}

/** Wait until a connection is listed and its tables are known: before that a question to it cannot be answered. */
async function listed(bus, name) {
  for (let tries = 0; tries < LISTED_TRIES; tries++) {
    const { connections } = await bus.connections();
    if (connections.some((one) => one.name === name) && (await bus.catalog(name).catch(() => ({ tables: [] }))).tables.length) return;
    await new Promise((resolve) => setTimeout(resolve, LISTED_PAUSE_MS));
  }
}

/** What the page shows an owner while there is no database: add one, choose a model, then ask. */
export function showFirstStart(place, context, done) {
  const words = context.texts.connect;
  const intro = context.me.is_owner ? [h("p", {}, words.firstHint), connectForm(context, (name, question) => showModelStep(place, context, () => done(name, question)))] : [h("p", {}, words.firstForOthers)];
  place.replaceChildren(h("main", {}, h("div", { class: "log first-start" }, h("h2", {}, words.first), intro)));
}

/** Buttons that give a connection a new password, another name, or remove it; what they did is shown at once. */
export function connectionActions(context, name) {
  const { bus, texts, guarded } = context;
  const words = texts.connect;
  const more = h("div", { class: "admin-form" });
  const close = () => more.replaceChildren();
  const again = async () => {
    context.say(words.saved);
    await context.reloadConnections();
    await context.go("admin", "connections");
  };
  const form = (field, label, hint, change) => {
    const onsubmit = (event) => {
      event.preventDefault();
      guarded(async () => (await bus.changeConnection(name, change(field.value)), await again()));
    };
    more.replaceChildren(h("form", { class: "inline", onsubmit }, h("label", {}, label, field), h("button", { type: "submit", class: "main" }, texts.save), h("button", { type: "button", onclick: close }, texts.close), hint ? h("p", { class: "quiet wide" }, hint) : null));
    field.focus();
  };
  const password = () => form(h("input", { type: "password", required: true, maxLength: 4_000, autocomplete: "new-password" }), words.changePassword, "", (value) => ({ password: value }));
  const rename = () => form(h("input", { type: "text", required: true, maxLength: 64, pattern: "[\\w.\\-]+", value: name }), words.rename, words.renameHint, (value) => ({ new_name: value }));
  const remove = () => (confirm(words.removeSure(name)) ? guarded(async () => (await bus.removeConnection(name), await again())) : null);
  return h("div", {}, h("div", { class: "bar" }, button(words.changePassword, password), button(words.rename, rename), button(words.remove, remove, { class: "danger" })), more);
}
