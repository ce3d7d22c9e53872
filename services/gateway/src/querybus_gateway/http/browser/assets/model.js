// A chat model for the questions: what is set, what was found, a test, and saving it. For owners.

import { button, copy, h } from "./dom.js";

const EXAMPLE = "http://127.0.0.1:11434/v1";

/** The form that tests and saves a model; `done` learns that one was saved. `found` is what the server knows already. */
export function modelForm(context, found, done) {
  const words = context.texts.model;
  const first = found.found.find((server) => server.models.length) ?? found.found[0];
  const address = h("input", { type: "text", name: "model-address", required: true, maxLength: 500, placeholder: EXAMPLE, value: first?.base_url ?? "", autocomplete: "off", spellcheck: false, list: "qb-model-addresses" });
  const model = h("input", { type: "text", name: "model-name", maxLength: 200, value: first?.proposed ?? "", placeholder: words.nameHint, autocomplete: "off", spellcheck: false, list: "qb-models" });
  const key = h("input", { type: "password", name: "model-key", maxLength: 4000, autocomplete: "off", spellcheck: false });
  const names = h("datalist", { id: "qb-models" });
  const result = h("div", { class: "found", role: "status", "aria-live": "polite" });
  const test = h("button", { type: "submit", class: "main" }, context.texts.connect.test);
  const offer = (listed) => names.replaceChildren(...listed.map((value) => h("option", { value })));
  const known = () => found.found.find((server) => server.base_url === address.value.trim())?.models ?? [];
  const wanted = () => ({ base_url: address.value.trim(), ...(model.value.trim() ? { model: model.value.trim() } : {}), ...(key.value.trim() ? { key: key.value.trim() } : {}) });
  const onsubmit = async (event) => {
    event.preventDefault();
    if (test.disabled) return;
    test.disabled = true;
    result.replaceChildren(h("p", { class: "quiet stage" }, h("span", { class: "dots", "aria-hidden": "true" }), words.testing));
    try {
      const tested = await context.bus.testModel(wanted());
      if (tested.models.length) offer(tested.models);
      if (tested.works) model.value = tested.model;
      show(result, context, { ...tested, takes_keys: found.takes_keys }, wanted().key, done);
    } catch (error) {
      result.replaceChildren(h("p", { class: "problem", role: "alert" }, error.message));
    } finally {
      test.disabled = false;
    }
  };
  // What was found is of another model as soon as one is typed.
  address.oninput = () => ((key.value = ""), result.replaceChildren(), offer(known()));
  key.oninput = () => result.replaceChildren();
  model.oninput = () => result.replaceChildren();
  const take = (server, name) => {
    [address.value, model.value, key.value] = [server.base_url, name, ""];
    result.replaceChildren();
    offer(server.models);
    test.focus();
  };
  offer(known());
  return h(
    "div",
    { class: "connect" },
    servers(found, words, take),
    h(
      "form",
      { onsubmit },
      h("label", {}, words.address, address, h("span", { class: "quiet" }, words.addressHint)),
      h("datalist", { id: "qb-model-addresses" }, found.found.map(({ base_url, title }) => h("option", { value: base_url }, title))),
      found.takes_keys ? h("label", {}, words.key, key, h("span", { class: "quiet" }, words.keyHint)) : null,
      h("label", {}, words.name, model, names),
      h("div", { class: "bar" }, test),
    ),
    result,
  );
}

function servers(found, words, take) {
  const rows = found.found.map((server) => {
    const key = server.key_variable ? words.keyFrom(server.key_variable) : "";
    const options = server.models.length
      ? h("select", { "aria-label": words.choose(server.title), onchange: (event) => event.target.value && take(server, event.target.value) }, h("option", { value: "" }, words.models(server.models.length)), server.models.map((name) => h("option", { value: name }, name)))
      : h("span", { class: "problem" }, server.cause);
    return h("li", {}, h("strong", {}, server.title), " ", h("span", { class: "quiet" }, [server.base_url, key].filter(Boolean).join(" · ")), " ", options);
  });
  const unread = found.unread_keys.length ? h("p", { class: "notes" }, words.unread(found.unread_keys.join(", "))) : null;
  return h("div", {}, rows.length ? [h("p", { class: "quiet" }, words.found), h("ul", { class: "servers" }, rows)] : h("p", { class: "quiet servers-none" }, words.nothingFound), unread);
}

function show(place, context, tested, key, done) {
  const words = context.texts.model;
  const parts = [h("h3", {}, tested.works ? words.works(tested.model, tested.seconds) : words.fails)];
  if (tested.works) {
    if (tested.fields_left_out.length) parts.push(h("p", { class: "quiet" }, words.leftOut(tested.fields_left_out.join(", "))));
    const problem = h("p", { class: "problem", role: "alert" });
    const save = button(words.save, async () => saved(context, tested, key, problem, done), { class: "main" });
    parts.push(h("div", { class: "bar" }, save), problem);
  } else {
    const said = words.reasons[tested.reason]?.(tested) ?? [tested.cause, tested.next_step];
    parts.push(h("p", { class: "problem", role: "alert" }, said[0]), h("p", {}, said[1]));
    if (tested.reason === "key" && tested.key_variable && !tested.takes_keys) parts.push(keyCommand(tested.key_variable, context));
  }
  place.replaceChildren(h("div", { class: "card" }, parts));
  place.scrollIntoView({ block: "nearest" });
}

function keyCommand(variable, context) {
  const text = `export ${variable}=...`;
  return h("div", {}, h("pre", { tabIndex: 0 }, h("code", {}, text)), button(context.texts.copy, async () => (await copy(text), context.say(context.texts.copied))));
}

async function saved(context, tested, key, problem, done) {
  problem.textContent = "";
  try {
    const { name } = await context.bus.saveModel({ base_url: tested.base_url, model: tested.model, ...(key ? { key } : {}) });
    context.say(context.texts.model.saved(name));
    await done();
  } catch (error) {
    problem.textContent = error.message;
  }
}

/** After the first database: choose a model or skip it; where one is set or none may be chosen here, go on at once. */
export async function showModelStep(place, context, done) {
  const words = context.texts.model;
  const found = await context.bus.models().catch(() => null);
  if (!found || found.configured.length) return done();
  const step = h("div", { class: "log first-start" }, h("h2", {}, words.first), h("p", {}, words.firstHint), modelForm(context, found, done), h("div", { class: "bar skip" }, button(words.skip, done)));
  place.replaceChildren(h("main", {}, step));
  step.querySelector("input").focus();
}

/** The administration's tab: the models that are set, and the form. */
export async function showModels(place, context) {
  const words = context.texts.model;
  const load = () =>
    context.guarded(async () => {
      const found = await context.bus.models();
      const rows = found.configured.map((model) => h("li", {}, h("strong", {}, model.name), " ", h("span", { class: "quiet" }, [model.base_url, model.key_variable ? words.keyFrom(model.key_variable) : "", model.is_default ? words.isDefault : ""].filter(Boolean).join(" · "))));
      place.replaceChildren(h("h3", {}, words.configured), rows.length ? h("ul", { class: "servers" }, rows) : h("p", { class: "quiet" }, words.none), h("h3", {}, words.another), modelForm(context, found, load));
    });
  await load();
}
