// An answer as a card: sentence, picture, rows, how it was read, ways on.

import { choicesPart } from "./choices.js";
import { draw, kindOf, kindsOf, switched } from "./chart.js";
import { pinMenu } from "./boards.js";
import { button, copy, download, h } from "./dom.js";
import { teachWord } from "./admin.js";
import { longTable } from "./long_table.js";
import { figure, isFigure, shown, sorted } from "./values.js";

const GOOD = ["answered", "prepared", "replied"];
const DATES = ["date", "datetime"];
const ROWS_AT_ONCE = 1_000;
const ROWS_SHOWN_MAX = 10_000;

/** The card of an answer. `context` is what the page gives every card: see querybus.js. */
export function answerCard(answer, context) {
  const { texts } = context;
  const card = h("article", {
    class: `card ${GOOD.includes(answer.outcome) ? "good" : answer.outcome}`,
    id: `answer-${answer.query_id}`,
    "aria-label": texts.answer,
    lang: answer.language,
  });
  card.append(
    ...source(answer, context),
    ...(answer.enriched_question ? [h("p", { class: "quiet goes-on" }, texts.goesOn(answer.enriched_question))] : []),
    h("p", { class: "sentence" }, answer.message),
    ...(answer.next_step ? [h("p", { class: "next-step" }, answer.next_step)] : []),
    ...notes(answer, texts),
  );
  if (answer.options.length) card.append(options(answer, context));
  if (answer.confirmation) card.append(confirmation(answer, context));
  // A picture of one figure says nothing that the sentence does not.
  if (answer.chart && kindOf(answer.chart) !== "text") card.append(picture(answer, context));
  if (answer.columns.length) card.append(rows(answer, context));
  if (answer.reading) card.append(chips(answer, context));
  if (answer.sql || answer.explanation) card.append(computed(answer, context));
  card.append(actions(answer, context));
  return card;
}

/** Where the answer comes from, said only to whom has several places to ask. */
function source(answer, { connections, texts }) {
  if (connections.length < 2 || answer.outcome === "replied") return [];
  const known = connections.find(({ name }) => name === answer.connection);
  const isOpen = answer.options.some(({ connection }) => connection);
  const label = answer.connection_label || known?.description || known?.name;
  return label && !isOpen ? [h("p", { class: "quiet source" }, texts.askedOf(label))] : [];
}

function notes(answer, texts) {
  if (!answer.notes.length) return [];
  return [h("div", { class: "notes", role: "note" }, h("strong", {}, texts.checks), h("ul", {}, answer.notes.map((note) => h("li", {}, note))))];
}

function options(answer, context) {
  const list = answer.options.map((option, place) =>
    button(`${place + 1}. ${option.text}`, () => context.goOn((key) => context.bus.clarify(answer.query_id, { optionId: option.id, key }), option.question), { class: "option" }),
  );
  return h("div", { class: "options" }, list, h("p", { class: "quiet" }, context.texts.ownWords), choicesPart(context));
}

function confirmation(answer, context) {
  if (answer.confirmation.needs_second_person) return h("p", { class: "quiet", role: "status" }, context.texts.changes.waits(answer.query_id));
  const say = () => context.goOn(() => context.bus.confirm(answer.query_id, answer.confirmation), context.texts.yes);
  return h("div", { class: "options" }, button(context.texts.yes, say, { class: "option danger" }));
}

function picture(answer, context) {
  const { texts } = context;
  const canvas = h("div", { class: "canvas", role: "img", "aria-label": answer.chart.description ?? texts.chart });
  let takeAway = () => {};
  let kind = kindOf(answer.chart);
  const show = async () => {
    takeAway();
    canvas.replaceChildren();
    try {
      takeAway = await draw(context.base, canvas, switched(answer.chart, kind), { isDark: context.isDark() });
    } catch {
      canvas.replaceChildren(h("p", { class: "quiet" }, texts.noChart));
    }
  };
  const kinds = kindsOf(answer.chart);
  const choose = h(
    "select",
    { "aria-label": texts.chart, onchange: (event) => ((kind = event.target.value), show()) },
    kinds.map((name) => h("option", { value: name }, texts.kinds[name] ?? name)),
  );
  context.onTheme(show);
  // A picture is drawn when its card is on the screen, where its width is known.
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    show();
  }).observe(canvas);
  const title = [answer.chart.title?.text ?? []].flat().join(" ");
  return h("figure", { class: "picture" }, h("figcaption", {}, h("span", {}, title), kinds.length > 1 ? choose : null), canvas);
}

function rows(answer, context) {
  const { texts, language } = context;
  const { columns } = answer;
  let current = { rows: answer.rows, page: 1, page_size: answer.rows.length };
  const pages = answer.pages ? Math.max(1, Math.ceil(answer.row_count / Math.max(1, answer.rows.length))) : 1;
  let order = null;
  let isLong = false;
  let takeAway = () => {};
  const body = h("tbody");
  const head = h("tr");
  const foot = h("tr");
  const status = h("span", { class: "quiet", role: "status" });
  const fill = () => {
    const isWhole = pages === 1 || isLong;
    head.replaceChildren(...columns.map((column, place) => headed(column, place, isWhole)));
    const ordered = order === null ? current.rows : sorted(current.rows, order.place, order.isDown);
    const line = (row) => h("tr", {}, row.map((cell, place) => celled(cell, columns[place])));
    takeAway();
    takeAway = () => {};
    if (isLong) takeAway = longTable(frame, body, ordered, line);
    else body.replaceChildren(...ordered.map(line));
    status.textContent = isWhole ? texts.rows(current.rows.length, answer.row_count) : texts.page(current.page, pages);
  };
  /** Fetch as many rows as are shown at once, and scroll through them instead of turning pages. */
  const showAll = button(texts.showAll(Math.min(answer.row_count, ROWS_SHOWN_MAX)), () =>
    context.guarded(async () => {
      const all = [];
      for (let page = 1, more = true; more && all.length < ROWS_SHOWN_MAX; page++) {
        const found = await context.bus.page(answer.query_id, { page, pageSize: ROWS_AT_ONCE });
        all.push(...found.rows);
        more = found.has_next;
        status.textContent = texts.loading(all.length, answer.row_count);
      }
      current = { rows: all };
      isLong = true;
      order = null;
      for (const item of [previous, next, showAll]) item.remove();
      fill();
    }),
  );
  const celled = (cell, column) => h("td", { class: isFigure(column) ? "figure" : "" }, shown(cell, column, language, texts));
  const headed = (column, place, isSortable) => {
    const mark = order?.place === place ? (order.isDown ? " ↓" : " ↑") : "";
    const sort = order?.place === place ? (order.isDown ? "descending" : "ascending") : "none";
    const label = column.label + mark;
    const turn = () => {
      order = order?.place === place ? (order.isDown ? null : { place, isDown: true }) : { place, isDown: false };
      fill();
    };
    return h(
      "th",
      { scope: "col", class: isFigure(column) ? "figure" : "", "aria-sort": isSortable ? sort : undefined },
      isSortable ? h("button", { type: "button", onclick: turn, title: texts.sortedBy(column.label) }, label) : label,
    );
  };
  const turnTo = (page) => async () => {
    try {
      const found = await context.bus.page(answer.query_id, { page, pageSize: answer.rows.length });
      current = found;
      order = null;
      fill();
      previous.disabled = page === 1;
      next.disabled = page === pages;
      previous.onclick = page > 1 ? turnTo(page - 1) : null;
      next.onclick = page < pages ? turnTo(page + 1) : null;
    } catch (error) {
      context.say(error.status === 410 ? texts.gone : error.message);
    }
  };
  const previous = h("button", { type: "button", disabled: true }, texts.previous);
  const next = h("button", { type: "button", disabled: pages === 1, onclick: pages > 1 ? turnTo(2) : null }, texts.next);
  const totals = pages === 1 && answer.rows.length > 1 && answer.reading?.groups.length && !answer.reading.limit ? totalOf(answer, texts) : null;
  if (totals) foot.append(...totals);
  const frame = h("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": texts.table }, h("table", {}, h("thead", {}, head), body, totals ? h("tfoot", {}, foot) : null));
  fill();
  return h(
    "section",
    { class: "rows", "aria-label": texts.table },
    frame,
    h("div", { class: "bar" }, status, answer.truncated ? h("span", { class: "quiet" }, texts.cut) : null, pages > 1 ? [previous, next, showAll] : null),
  );
}

/** A line of totals, only of counts: averages, shares and distinct counts do not add up, and who knows which they are? */
function totalOf(answer, texts) {
  const places = answer.columns.map((column, place) => (column.kind === "integer" && isFigure(column) ? place : -1)).filter((place) => place >= 0);
  if (places.length !== 1 || answer.reading.measures.length !== 1) return null;
  if (!/^(number of|数量|.*数量$|.*数$)/i.test(answer.reading.measures[0])) return null;
  const sum = answer.rows.reduce((all, row) => all + Number(row[places[0]] ?? 0), 0);
  return answer.columns.map((_, place) =>
    place === places[0] ? h("td", { class: "figure" }, figure(sum)) : place === 0 ? h("th", { scope: "row" }, texts.total) : h("td"),
  );
}

function chips(answer, context) {
  const { texts } = context;
  const reading = answer.reading;
  const refine = (change, said) => context.goOn((key) => context.bus.refine(answer.query_id, change, { key }), said);
  const chip = (text, remove, edit, isCarried) =>
    h(
      "span",
      { class: isCarried ? "chip carried" : "chip" },
      isCarried ? h("span", { class: "quiet", title: texts.carriedHint }, texts.carried) : null,
      edit ? h("button", { type: "button", class: "edit", title: texts.change(text), onclick: edit }, text) : h("span", {}, text),
      button("×", remove, { class: "remove", "aria-label": texts.without(text), title: texts.without(text) }),
    );
  const made = [];
  if (reading.period) {
    const text = reading.period.text;
    made.push(chip(text, () => refine({ without: ["period"] }, texts.without(text)), () => periodForm(answer, context, refine), reading.period.carried));
  }
  for (const filter of reading.filters) {
    const edit = filter.field && filter.value ? () => valueForm(answer, filter, context, refine) : null;
    made.push(chip(filter.text, () => refine({ without: [filter.id] }, texts.without(filter.text)), edit, filter.carried));
  }
  const isOnlyGroups = reading.measures.length > 0;
  for (const group of isOnlyGroups ? reading.groups : []) {
    made.push(chip(group.text, () => refine({ without: [group.id] }, texts.without(group.text))));
  }
  if (isOnlyGroups) made.push(button(texts.by, () => groupForm(answer, context, refine), { class: "chip add" }));
  if (!made.length) return h("div", { class: "away" });
  return h("div", { class: "chips", role: "group", "aria-label": texts.read }, made);
}

function form(context, fields, submit) {
  const made = h(
    "form",
    {
      class: "inline",
      onsubmit: (event) => {
        event.preventDefault();
        made.remove();
        submit();
      },
      onkeydown: (event) => {
        if (event.key === "Escape") made.remove();
      },
    },
    fields,
    h("button", { type: "submit", class: "main" }, context.texts.apply),
    h("button", { type: "button", onclick: () => made.remove() }, context.texts.close),
  );
  return made;
}

function opened(answer, context, made) {
  const card = context.root.getElementById(`answer-${answer.query_id}`);
  card.querySelector("form.inline")?.remove();
  card.querySelector(".chips").after(made);
  made.querySelector("input, select")?.focus();
}

function periodForm(answer, context, refine) {
  const { texts } = context;
  const first = h("input", { type: "date", value: answer.reading.period.first ?? "" });
  const last = h("input", { type: "date", value: answer.reading.period.last ?? "" });
  const made = form(context, [h("label", {}, texts.from, first), h("label", {}, texts.to, last)], () => {
    const period = Object.fromEntries([["first", first.value], ["last", last.value]].filter(([, day]) => day));
    if (Object.keys(period).length) refine({ period }, `${texts.period}: ${first.value || "…"} – ${last.value || "…"}`);
  });
  opened(answer, context, made);
}

function valueForm(answer, filter, context, refine) {
  const value = h("input", { type: "text", value: filter.value, maxLength: 500 });
  const made = form(context, [h("label", {}, filter.field, value)], () => {
    if (value.value.trim()) refine({ values: { [filter.id]: value.value.trim() } }, `${filter.field}: ${value.value.trim()}`);
  });
  opened(answer, context, made);
  value.select();
}

function groupForm(answer, context, refine) {
  const { texts } = context;
  const isByTime = answer.columns.some((column) => DATES.includes(column.kind)) && answer.reading.groups.length > 0;
  const by = h("input", { type: "text", maxLength: 100 });
  const unit = h("select", {}, h("option", { value: "" }, "–"), Object.entries(texts.units).map(([name, text]) => h("option", { value: name }, text)));
  const fields = [h("label", {}, texts.byLabel, by), isByTime ? h("label", {}, texts.unit, unit) : null];
  const made = form(context, fields, () => {
    const label = by.value.trim();
    const change = { ...(label ? { by: label } : {}), ...(unit.value ? { unit: unit.value } : {}) };
    if (Object.keys(change).length) refine(change, [label, unit.value && texts.units[unit.value]].filter(Boolean).join(", "));
  });
  opened(answer, context, made);
}

function computed(answer, context) {
  const { texts } = context;
  const parts = [];
  if (answer.explanation) parts.push(h("p", {}, answer.explanation));
  if (answer.reading?.definitions?.length) parts.push(definitions(answer, context));
  if (answer.sql) {
    const author = texts.author[answer.written_by];
    if (author) parts.push(h("p", { class: "quiet author" }, answer.model ? `${author}: ${answer.model}` : author));
    const code = h("pre", { tabIndex: 0 }, h("code", {}, answer.sql));
    const take = button(texts.copy, async () => {
      await copy(answer.sql);
      context.say(texts.copied);
    });
    const edit = h("textarea", { class: "sql", value: answer.sql, spellcheck: false, "aria-label": texts.sql, rows: Math.min(16, answer.sql.split("\n").length + 1) });
    const run = button(texts.run, () => context.run(edit.value, answer), { class: "main" });
    const editor = h("div", { class: "editor", hidden: true }, edit, run);
    const toggle = button(texts.editSql, async () => {
      editor.hidden = !editor.hidden;
      if (!editor.hidden) edit.focus();
    });
    parts.push(code, h("div", { class: "bar" }, take, toggle), editor);
  }
  if (answer.path?.length && answer.sql) {
    const steps = answer.path.map((step) => `${step.stage} → ${step.event}: ${Math.round(step.duration_ms ?? step.ended_at - step.started_at)} ms`);
    parts.push(h("details", {}, h("summary", {}, texts.path), h("ol", { class: "path" }, steps.map((step) => h("li", {}, step)))));
  }
  return h("details", { class: "computed" }, h("summary", {}, texts.read), parts);
}

/** Links to the owner's definitions of the figures; each opens below, read when it is asked for. */
function definitions(answer, context) {
  const { texts, bus } = context;
  const place = h("dl", { class: "definition", hidden: true });
  const open = (name) => () =>
    context.guarded(async () => {
      const found = await bus.definition(answer.connection, name, { language: answer.language });
      const said = [found.description, found.expression, found.condition].filter(Boolean);
      const by = [found.owner, found.version && texts.version(found.version)].filter(Boolean).join(", ");
      place.replaceChildren(h("dt", {}, found.label), ...said.map((text) => h("dd", {}, text)), ...(by ? [h("dd", { class: "quiet" }, by)] : []));
      place.hidden = false;
    });
  const links = answer.reading.definitions.map((name) => button(name, open(name), { class: "link" }));
  return h("div", { class: "definitions" }, h("p", {}, `${texts.definitions} `, links), place);
}

/** What a saved file is called: by its question, as the server calls it. */
function fileName(answer, ending) {
  const words = (answer.question ?? "").replace(/[^\p{L}\p{N}_]+/gu, "-").replace(/^(.{0,60})(-.*|$)/s, "$1").slice(0, 60).replace(/^[-_]+|[-_]+$/g, "");
  return `${words || answer.query_id}.${ending}`;
}

function actions(answer, context) {
  const { texts, bus } = context;
  const isData = answer.columns.length > 0;
  const judged = h("span", { class: "quiet", role: "status" });
  const judge = (verdict) => async () => {
    await context.guarded(async () => {
      await bus.feedback(answer.query_id, verdict);
      judged.textContent = verdict === "right" ? texts.thanks : texts.wrongNoted;
    });
  };
  const save = (make, name) => () => context.guarded(async () => download(await make(), fileName(answer, name)));
  const saves = [
    ...["csv", "xlsx", "jsonl", "arrow"].map((kind) => [texts[`save${kind[0].toUpperCase()}${kind.slice(1)}`], save(() => bus.exported(answer.query_id, kind), kind)]),
    ...(answer.chart ? ["png", "svg"].map((kind) => [texts[`save${kind[0].toUpperCase()}${kind.slice(1)}`], save(() => bus.picture(answer.query_id, kind), kind)]) : []),
  ];
  return h(
    "div",
    { class: "bar actions" },
    isData ? [button(`✓ ${texts.right}`, judge("right")), button(`✗ ${texts.wrong}`, judge("wrong"))] : null,
    isData ? h("details", { class: "menu" }, h("summary", {}, texts.save), h("div", { class: "menu-items" }, saves.map(([text, act]) => button(text, act)))) : null,
    isData && answer.question ? pinMenu(answer, context) : null,
    button(texts.teachWord, () => {
      const place = h("div", { class: "admin-form" });
      context.root.getElementById(`answer-${answer.query_id}`).append(place);
      return context.guarded(() => teachWord(place, context, answer.connection, context.me.audience === "analyst" ? texts.wordTaught : texts.wordSuggested));
    }),
    button(texts.fork, () => context.fork(answer)),
    button(texts.link, async () => {
      await copy(context.linkTo(answer));
      context.say(texts.linkCopied);
    }),
    judged,
  );
}
