// Administration: what people did not get, what they suggested, evaluations, keys, personal data.

import { button, copy, h } from "./dom.js";
import { connectForm, connectionActions } from "./connect.js";
import { showModels } from "./model.js";
import { readItems, outcomeOf } from "./evaluation.js";

const TABS = ["questions", "suggestions", "evaluate", "keys", "connections", "models"];
const KINDS = ["wrong", "failed", "asked_back", "refused", "repaired"];
const DAYS = [1, 7, 30, 90];
const ASKED_AT_ONCE = 3;

/** Show the administration in `place`; `tab` is one of TABS. */
export async function showAdmin(place, context, tab) {
  const { texts, go } = context;
  const chosen = TABS.includes(tab) ? tab : TABS[0];
  const tabs = TABS.map((name) => button(texts.admin[name], () => go("admin", name), { class: name === chosen ? "tab chosen" : "tab", "aria-current": name === chosen ? "page" : undefined }));
  const content = h("div", { class: "admin-content" });
  place.replaceChildren(h("main", {}, h("div", { class: "log admin" }, h("nav", { class: "tabs", "aria-label": texts.adminLabel }, tabs), content)));
  await { questions, suggestions, evaluate, keys, connections, models: showModels }[chosen](content, context);
}

function connectionChoice(context, onchange) {
  return h("select", { "aria-label": context.texts.connection, onchange }, context.connections.map(({ name, description }) => h("option", { value: name }, description || name)));
}

function when(context, at) {
  return new Date(at).toLocaleString(context.language === "zh" ? "zh-CN" : "en-GB", { dateStyle: "medium", timeStyle: "short" });
}

function table(label, heads, rows, empty) {
  if (!rows.length) return h("p", { class: "quiet" }, empty);
  return h(
    "div",
    { class: "scroll tall", tabIndex: 0, role: "region", "aria-label": label },
    h("table", {}, h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, rows)),
  );
}

function row(...cells) {
  return h("tr", {}, cells.map((cell) => h("td", {}, cell)));
}

async function questions(place, context) {
  const { bus, texts } = context;
  const words = texts.admin;
  const kind = h("select", { "aria-label": words.kind, onchange: () => load() }, h("option", { value: "" }, words.allKinds), KINDS.map((name) => h("option", { value: name }, words.kinds[name])));
  const days = h("select", { "aria-label": words.days(0), onchange: () => load() }, DAYS.map((count) => h("option", { value: count, selected: count === 7 }, words.days(count))));
  const list = h("div");
  place.replaceChildren(h("div", { class: "bar" }, kind, days), list);
  const load = () =>
    context.guarded(async () => {
      const found = await bus.askedQuestions({ kind: kind.value, days: days.value });
      const rows = found.questions.map((asked) => {
        const more = h("div", { class: "admin-form" });
        const forms = { pair: () => pairForm(more, context, asked), word: () => wordForm(more, context, asked), metric: () => metricForm(more, context, asked) };
        const acts = Object.entries(forms).map(([name, open]) => button(words[name], open));
        const facts = [words.kinds[asked.kind], words.times(asked.count), words.asking(asked.people), when(context, asked.last_at), asked.connection];
        const said = h("div", {}, h("strong", {}, asked.question), h("p", { class: "quiet" }, facts.join(" · ")), h("p", { class: "quiet" }, asked.message), h("div", { class: "bar" }, acts, button(words.askIt, () => context.ask(asked.question, asked.connection))), more);
        return h("li", { class: "card" }, said);
      });
      list.replaceChildren(rows.length ? h("ol", { class: "asked", "aria-label": words.questions }, rows) : h("p", { class: "quiet" }, words.nothing));
      if (found.is_partial) list.append(h("p", { class: "quiet" }, words.partial(found.read)));
    });
  await load();
}

function saveForm(more, fields, words, save) {
  const form = h(
    "form",
    {
      class: "inline",
      onsubmit: (event) => {
        event.preventDefault();
        save();
      },
    },
    fields,
    h("button", { type: "submit", class: "main" }, words.save),
    h("button", { type: "button", onclick: () => more.replaceChildren() }, words.close),
  );
  more.replaceChildren(form);
  form.querySelector("input, textarea")?.focus();
}

function pairForm(more, context, asked) {
  const { bus, texts } = context;
  const words = texts.admin;
  const question = h("input", { type: "text", value: asked.question, maxLength: 500, required: true });
  const sql = h("textarea", { class: "sql", value: asked.sql ?? "", rows: 5, required: true, spellcheck: false, "aria-label": texts.sql });
  const seen = h("div", { class: "quiet", role: "status" });
  const attempt = button(words.tryIt, () =>
    context.guarded(async () => {
      const query = await bus.submit("", { operation: "run", sql: sql.value, connection: asked.connection });
      const answer = await bus.finished(query);
      forget(bus, [query.thread_id]);
      seen.textContent = answer.columns.length ? `${texts.rows(answer.rows.length, answer.row_count)}: ${answer.rows.slice(0, 3).map((cells) => cells.join(", ")).join(" | ")}` : answer.message;
    }),
  );
  saveForm(more, [h("label", { class: "wide" }, words.question, question), h("label", { class: "wide" }, texts.sql, sql), attempt, seen], { save: words.savePair, close: texts.close }, () =>
    context.guarded(async () => {
      await bus.teach(asked.connection, { pairs: [{ question: question.value, sql: sql.value }] });
      more.replaceChildren(h("p", { class: "quiet", role: "status" }, words.taught));
    }),
  );
}

function wordForm(more, context, asked) {
  teachWord(more, context, asked.connection, context.texts.admin.taught);
}

/** A form that says what a word means: other words for a table or column, else a meaning in words. */
export async function teachWord(more, context, connection, done) {
  const { bus, texts, me } = context;
  const word = h("input", { type: "text", maxLength: 100, required: true });
  const names = me.audience === "analyst" ? namesOf(await bus.catalog(connection)) : [];
  const choices = h("datalist", { id: `names-${connection}` }, names.map((name) => h("option", { value: name })));
  const meaning = h("input", { type: "text", maxLength: 500, required: true, list: names.length ? `names-${connection}` : undefined });
  saveForm(more, [h("label", {}, texts.word, word), h("label", { class: "wide" }, names.length ? texts.meansName : texts.means, meaning), choices], { save: texts.teach, close: texts.close }, () =>
    context.guarded(async () => {
      const [key, text] = [word.value.trim(), meaning.value.trim()];
      await bus.teach(connection, names.includes(text) ? { synonyms: { [text]: [key] } } : { terms: { [key]: text } });
      more.replaceChildren(h("p", { class: "quiet", role: "status" }, done));
    }),
  );
}

function namesOf(catalog) {
  return catalog.tables.flatMap((one) => [one.name, ...(one.columns ?? []).map((column) => `${one.name}.${column.name}`)]).filter(Boolean);
}

async function metricForm(more, context, asked) {
  const { bus, texts } = context;
  const words = texts.admin;
  const catalog = await bus.catalog(asked.connection);
  const name = h("input", { type: "text", maxLength: 60, required: true, pattern: "[A-Za-z_][A-Za-z0-9_]*" });
  const origin = h("select", {}, catalog.tables.map((one) => h("option", { value: one.name }, one.name)));
  const expression = h("input", { type: "text", maxLength: 500, required: true, placeholder: "SUM(orders.total)" });
  const others = h("input", { type: "text", maxLength: 200 });
  const fields = [h("label", {}, words.metricName, name), h("label", {}, texts.table, origin), h("label", { class: "wide" }, words.expression, expression), h("label", { class: "wide" }, words.otherWords, others)];
  saveForm(more, fields, { save: words.saveDraft, close: texts.close }, () =>
    context.guarded(async () => {
      const made = { name: name.value, expression: sqlOf(expression.value), custom_extensions: [extension({ state: "draft", owner: context.me.user })] };
      const synonyms = others.value.split(/[,，;；]/).map((text) => text.trim()).filter(Boolean);
      if (synonyms.length) made.ai_context = { synonyms };
      const { entries } = await bus.knowledge(asked.connection, { kind: "definition" });
      const definitions = { [`metric:${name.value}`]: made };
      const source = catalog.tables.find((one) => one.name === origin.value);
      // A figure stands on a dataset: one is made of the table where nobody has described it yet.
      if (!entries.some(({ key }) => key === `dataset:${source.name}`)) definitions[`dataset:${source.name}`] = dataset(source);
      await bus.teach(asked.connection, { definitions });
      more.replaceChildren(h("p", { class: "quiet", role: "status" }, words.drafted));
    }),
  );
}

const sqlOf = (expression) => ({ dialects: [{ dialect: "ANSI_SQL", expression }] });
const extension = (data) => ({ vendor_name: "COMMON", data: JSON.stringify(data) });
const dataset = (source) => ({ name: source.name, source: source.name, fields: source.columns.map((column) => ({ name: column.name, expression: sqlOf(column.name) })) });

async function suggestions(place, context) {
  const { bus, texts } = context;
  const words = texts.admin;
  const list = h("div");
  const choice = connectionChoice(context, () => load());
  place.replaceChildren(h("div", { class: "bar" }, choice), list);
  const load = () =>
    context.guarded(async () => {
      const { entries } = await bus.knowledge(choice.value);
      const open = entries.filter(({ source }) => source === "suggestion");
      const drafts = entries.filter((entry) => entry.kind === "definition" && stateOf(entry) === "draft");
      const reviewed = entries.filter(({ reviewed_at }) => reviewed_at);
      const judge = (entry, verdict) => () => context.guarded(async () => (await bus.review(choice.value, entry.id, verdict), load()));
      const said = (entry) => h("div", {}, h("strong", {}, entry.key || words.entryKinds[entry.kind]), h("pre", {}, h("code", {}, entry.text ?? "")), entry.stale ? h("p", { class: "problem" }, entry.stale) : null);
      const waiting = open.map((entry) => row(words.entryKinds[entry.kind] ?? entry.kind, said(entry), entry.by ?? "", when(context, entry.at), h("div", { class: "bar" }, button(words.approve, judge(entry, "approve"), { class: "main" }), button(words.reject, judge(entry, "reject")))));
      const unfinished = drafts.map((entry) => row(words.draft, said(entry), entry.by ?? "", when(context, entry.at), button(words.approve, () => approveDraft(entry, choice.value, context, load), { class: "main" })));
      const done = reviewed.map((entry) => row(words.entryKinds[entry.kind] ?? entry.kind, said(entry), entry.by ?? "", `${words.sources[entry.source] ?? entry.source}: ${entry.reviewed_by}`, when(context, entry.reviewed_at)));
      list.replaceChildren(
        table(words.suggestions, [words.kind, words.what, words.by, words.last, ""], [...waiting, ...unfinished], words.noSuggestions),
        done.length ? h("h3", {}, words.reviewed) : "",
        done.length ? table(words.reviewed, [words.kind, words.what, words.by, words.verdict, words.last], done, "") : "",
      );
    });
  await load();
}

function stateOf(entry) {
  return ours(entry)?.state;
}

function ours(entry) {
  try {
    return JSON.parse(JSON.parse(entry.text).custom_extensions?.find(({ vendor_name }) => vendor_name === "COMMON")?.data ?? "{}");
  } catch {
    return null;
  }
}

function approveDraft(entry, connection, context, then) {
  return context.guarded(async () => {
    const node = JSON.parse(entry.text);
    const others = (node.custom_extensions ?? []).filter(({ vendor_name }) => vendor_name !== "COMMON");
    const approved = { ...ours(entry), state: "approved" };
    await context.bus.teach(connection, { definitions: { [entry.key]: { ...node, custom_extensions: [...others, extension(approved)] } } });
    then();
  });
}

async function evaluate(place, context) {
  const { bus, texts } = context;
  const words = texts.admin;
  const choice = connectionChoice(context, () => load());
  const text = h("textarea", { class: "sql", rows: 6, spellcheck: false, placeholder: words.itemsExample, "aria-label": words.items });
  const file = h("input", { type: "file", accept: ".json,.jsonl,.txt", "aria-label": words.itemsFile, onchange: async () => (text.value = await file.files[0].text()) });
  const state = h("p", { class: "quiet", role: "status" });
  const shown = h("div");
  const run = button(words.run, () => context.guarded(() => evaluated()), { class: "main" });
  place.replaceChildren(h("p", { class: "quiet" }, words.evaluateHint), h("div", { class: "bar" }, choice, file, run), text, state, shown);
  const evaluated = async () => {
    const items = readItems(text.value);
    if (typeof items === "string") return context.say(words.itemFaults[items] ?? items);
    const asked = [];
    const threads = [];
    const rest = items.map((item, place) => ({ ...item, place }));
    const work = async () => {
      for (let item = rest.shift(); item; item = rest.shift()) {
        const query = await bus.submit(item.question, { connection: choice.value });
        const gold = await bus.submit("", { operation: "run", sql: item.sql, connection: choice.value });
        threads.push(query.thread_id, gold.thread_id);
        await bus.finished(query);
        await bus.finished(gold);
        asked.push({ place: item.place, item: { question: item.question.slice(0, 500), query_id: query.id, gold_query_id: gold.id } });
        state.textContent = words.progress(asked.length, items.length);
      }
    };
    await Promise.all(Array.from({ length: ASKED_AT_ONCE }, work));
    await bus.evaluate(choice.value, asked.sort((one, other) => one.place - other.place).map(({ item }) => item));
    state.textContent = "";
    forget(bus, threads);
    await load();
  };
  const load = () =>
    context.guarded(async () => {
      const [after, before] = (await bus.evaluations(choice.value)).evaluations;
      if (!after) return shown.replaceChildren(h("p", { class: "quiet" }, words.noEvaluations));
      const { rows, fixed, broken } = outcomeOf(before, after);
      const head = before ? words.compared(before.right, after.right, after.items.length, fixed, broken) : words.first(after.right, after.items.length);
      const lines = rows.map(({ question, was, is, change }) => h("tr", { class: change }, h("td", {}, question), h("td", {}, was ? words.verdicts[was] : "–"), h("td", {}, words.verdicts[is])));
      shown.replaceChildren(h("h3", {}, head), table(words.evaluate, [words.question, before ? when(context, before.at) : words.before, when(context, after.at)], lines, ""));
    });
  await load();
}

/** Take what was asked only to be compared out of one's conversations; where nothing can be deleted it stays. */
async function forget(bus, threads) {
  for (const thread of threads) await bus.deleteThread(thread).catch(() => {});
}

async function keys(place, context) {
  const { bus, texts, guarded } = context;
  const words = texts.admin;
  const name = h("input", { type: "text", required: true, maxLength: 64, pattern: "[a-z0-9\\-]+" });
  const user = h("input", { type: "text", required: true, maxLength: 200 });
  const audience = h("select", {}, h("option", { value: "business" }, words.business), h("option", { value: "analyst" }, words.analyst));
  const most = h("input", { type: "number", min: 1 });
  const share = h("input", { type: "checkbox" });
  const connections = context.connections.map((one) => h("input", { type: "checkbox", value: one.name, defaultChecked: true }));
  const made = h("div", { role: "status" });
  const list = h("div");
  const form = h(
    "form",
    {
      class: "inline",
      onsubmit: (event) => {
        event.preventDefault();
        guarded(async () => {
          const chosen = connections.filter(({ checked }) => checked).map(({ value }) => value);
          const request = { name: name.value, user: user.value, audience: audience.value, may_share_boards: share.checked, ...(most.value ? { rows_max: Number(most.value) } : {}) };
          const key = await bus.makeKey(chosen.length === connections.length ? request : { ...request, connections: chosen });
          made.replaceChildren(h("p", {}, words.keyMade), h("pre", { tabIndex: 0 }, h("code", {}, key.key)), button(texts.copy, async () => (await copy(key.key), context.say(texts.copied))));
          form.reset();
          load();
        });
      },
    },
    h("label", {}, words.keyName, name),
    h("label", {}, words.person, user),
    h("label", {}, words.reads, audience),
    h("label", {}, words.rowsMax, most),
    h("fieldset", {}, h("legend", {}, texts.connection), connections.map((box) => h("label", { class: "check" }, box, box.value))),
    h("label", { class: "check" }, share, words.mayShare),
    h("button", { type: "submit", class: "main" }, words.makeKey),
  );
  place.replaceChildren(form, made, list);
  const load = () =>
    guarded(async () => {
      const rows = (await bus.keys()).keys.map((key) => {
        const revoke = button(words.revoke, () => (confirm(words.revokeSure(key.name)) ? guarded(async () => (await bus.revokeKey(key.name), load())) : null), { class: "danger" });
        const roles = [key.audience === "analyst" ? words.analyst : words.business, key.role === "owner" ? words.owner : null, key.is_trusted_proxy ? words.proxy : null].filter(Boolean).join(", ");
        return row(key.name, key.user, roles, key.connections?.join(", ") ?? words.all, `${key.rows_max}`, key.is_own ? words.thisOne : revoke);
      });
      list.replaceChildren(table(words.keys, [words.keyName, words.person, words.reads, texts.connection, words.rowsMax, ""], rows, ""));
    });
  await load();
}

async function connections(place, context) {
  const { bus, texts } = context;
  const words = texts.admin;
  const list = h("div", { class: "admin-content" });
  const adding = h("div");
  const add = button(texts.connect.addAnother, () => adding.replaceChildren(adding.firstChild ? "" : connectForm(context, context.connected)));
  if (!context.connections.length) return place.replaceChildren(h("h3", {}, texts.connect.first), connectForm(context, context.connected));
  const choice = connectionChoice(context, () => load());
  place.replaceChildren(h("div", { class: "bar" }, choice, add), adding, list);
  const load = () =>
    context.guarded(async () => {
      const [found, catalog] = await Promise.all([bus.personalColumns(choice.value), bus.catalog(choice.value)]);
      const known = context.connections.find(({ name }) => name === choice.value);
      const facts = [choice.value, known.description, known.dialect, words.access[known.access] ?? known.access, words.tables(catalog.tables.length)].filter(Boolean);
      const rows = found.columns.map(({ table: of, column, kind }) => {
        const command = `querybus connections review ${choice.value} --show ${of}.${column}`;
        const take = button(words.copyCommand, async () => (await copy(command), context.say(texts.copied)), { title: command });
        return row(`${of}.${column}`, words.personalKinds[kind], found.shown_to_business ? words.shownToAll : words.hidden, take);
      });
      list.replaceChildren(h("p", {}, facts.join(" · ")), connectionActions(context, choice.value), h("h3", {}, words.personal), h("p", { class: "quiet" }, words.personalHint), table(words.personal, [words.column, words.kind, words.state, ""], rows, words.nothingPersonal));
    });
  await load();
}
