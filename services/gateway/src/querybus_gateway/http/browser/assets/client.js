// QueryBus over HTTP, for browsers and Node 18 or newer: fetch and server-sent events, no dependencies, no build.
//
//   import { QueryBus } from "https://querybus.example/page/client.js";
//   const bus = new QueryBus({ url: "https://querybus.example", token });
//   const answer = await bus.ask("How many customers are there?");
//
// What may safely come twice is sent again when the network breaks; a broken stream is taken up behind its last event.

const TRIES_MAX = 5;
const PAUSE_MS = 400;
const PAUSE_MS_MAX = 8_000;
const WAIT_SECONDS = 20;
const SILENCE_MS_MAX = 45_000;

/** A refusal of the gateway: `status`, `code`, `title`, `detail`, `traceId`, and `retryAfterSeconds` where it says so. */
export class QueryBusError extends Error {
  constructor(status, problem, retryAfterSeconds) {
    super(problem.detail || problem.title || `HTTP ${status}`);
    this.name = "QueryBusError";
    this.status = status;
    this.code = problem.code ?? "";
    this.title = problem.title ?? "";
    this.detail = problem.detail ?? "";
    this.traceId = problem.trace_id ?? "";
    this.problem = problem;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The network did not carry a request, or broke while it did. */
export class Unreachable extends Error {
  constructor(cause) {
    super("QueryBus cannot be reached", { cause });
    this.name = "Unreachable";
  }
}

/** A new random key: the same request sent twice with it is one query. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class QueryBus {
  #token;
  #fetch;

  /** `token` is a key or a short-lived token, or a function that gives (a promise of) one, asked before each request. */
  constructor({ url = "", token, fetch: fetcher } = {}) {
    this.url = url.replace(/\/+$/, "");
    this.#token = token;
    this.#fetch = fetcher ?? ((...more) => globalThis.fetch(...more));
  }

  /** Ask and wait for the answer. `onEvent` is given every event of the query while it runs. */
  async ask(question, { onEvent, signal, ...more } = {}) {
    const query = await this.submit(question, { signal, ...more });
    return this.finished(query, { onEvent, signal });
  }

  /** Ask and return the query as it stands, at once. */
  submit(question, { connection, threadId, options, operation, sql, key = newKey(), signal } = {}) {
    const body = { question, connection, thread_id: threadId, options, operation, sql };
    return this.#json("POST", "/v1/queries", { body, key, signal });
  }

  /** Follow a query to its end, and return its answer. */
  async finished(query, { onEvent, signal } = {}) {
    if (query.answer) return query.answer;
    for await (const event of this.follow(query.id, { signal })) onEvent?.(event);
    let now = await this.query(query.id, { signal });
    while (!now.answer) now = await this.query(query.id, { waitSeconds: WAIT_SECONDS, signal });
    return now.answer;
  }

  query(id, { waitSeconds, signal } = {}) {
    const headers = waitSeconds ? { Prefer: `wait=${waitSeconds}` } : {};
    return this.#json("GET", `/v1/queries/${part(id)}`, { headers, signal });
  }

  /** Every event of a query behind `after`, to its end: `{event, id, data}`; progress has no id. */
  async *follow(id, { after = "", signal } = {}) {
    let last = String(after);
    for (let tries = 0; ; ) {
      try {
        const headers = { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) };
        const response = await this.#send("GET", `/v1/queries/${part(id)}/events`, { headers, signal });
        for await (const event of serverSentEvents(response.body, signal)) {
          tries = 0;
          if (event.id) last = event.id;
          yield event;
          if (event.event === "finished") return;
        }
      } catch (error) {
        if (signal?.aborted || (error instanceof QueryBusError && !isPassing(error))) throw error;
      }
      // The gateway went away, or ended the stream before the query ended: go on at the next one.
      if (++tries >= TRIES_MAX) throw new Unreachable(new Error("the stream of events broke"));
      await pause(tries, signal);
    }
  }

  cancel(id) {
    return this.#json("POST", `/v1/queries/${part(id)}/cancel`, { body: {} });
  }

  /** Answer what a query asked back: `{optionId}` of its options, or `{question}` in words of one's own. */
  clarify(id, { optionId, question, options, key = newKey() } = {}) {
    return this.#json("POST", `/v1/queries/${part(id)}/clarify`, { body: { option_id: optionId, question, options }, key });
  }

  /** Read an answer otherwise: `{without, values, period, unit, by, lines}`; the ids stand in its `reading`. */
  refine(id, change, { key = newKey() } = {}) {
    return this.#json("POST", `/v1/queries/${part(id)}/refine`, { body: change, key });
  }

  /** Say yes to exactly what an answer's `confirmation` asks. A second yes changes nothing. */
  confirm(id, confirmation) {
    const body = { sql_sha256: confirmation.sql_sha256, rows_affected_max: confirmation.rows_affected_max };
    return this.#json("POST", `/v1/queries/${part(id)}/confirm`, { body, isRepeatable: true });
  }

  /** The changes of others that wait for this analyst's yes: `confirm(query_id, confirmation)`. */
  waitingChanges({ signal } = {}) {
    return this.#json("GET", "/v1/confirmations", { signal });
  }

  /** `verdict` is "right" or "wrong". */
  feedback(id, verdict) {
    return this.#json("POST", `/v1/queries/${part(id)}/feedback`, { body: { verdict }, isRepeatable: true });
  }

  page(id, { page = 1, pageSize, signal } = {}) {
    return this.#json("GET", `/v1/queries/${part(id)}/result${search({ page, page_size: pageSize })}`, { signal });
  }

  /** The whole result as a Blob: "csv", "jsonl", "arrow", "parquet" or "xlsx". */
  async exported(id, format = "csv", { signal } = {}) {
    const response = await this.#send("GET", `/v1/queries/${part(id)}/export${search({ format })}`, { signal });
    return response.blob();
  }

  /** The chart of an answer as a Blob: "png" or "svg". */
  async picture(id, format = "png", { signal } = {}) {
    const response = await this.#send("GET", `/v1/queries/${part(id)}/chart${search({ format })}`, { signal });
    return response.blob();
  }

  /** One's questions, newest thread first; outcome, status, connection, q, since and until narrow them. */
  queries({ signal, ...filters } = {}) {
    return this.#json("GET", `/v1/queries${search(filters)}`, { signal });
  }

  threads({ limit, cursor, signal } = {}) {
    return this.#json("GET", `/v1/threads${search({ limit, cursor })}`, { signal });
  }

  turns(threadId, { limit, before, signal } = {}) {
    return this.#json("GET", `/v1/threads/${part(threadId)}/turns${search({ limit, before })}`, { signal });
  }

  /** A new thread that knows another up to the end of one of its queries. */
  fork(threadId, { queryId } = {}) {
    return this.#json("POST", `/v1/threads/${part(threadId)}/fork`, { body: { query_id: queryId } });
  }

  async deleteThread(threadId) {
    await this.#send("DELETE", `/v1/threads/${part(threadId)}`, {});
  }

  connections({ signal } = {}) {
    return this.#json("GET", "/v1/connections", { signal });
  }

  definitions(connection, { language, signal } = {}) {
    return this.#json("GET", `/v1/connections/${part(connection)}/definitions${search({ language })}`, { signal });
  }

  /** What one figure means, by what people call it: what `reading.definitions` of an answer names. */
  definition(connection, name, { language, signal } = {}) {
    return this.#json("GET", `/v1/connections/${part(connection)}/definitions/${part(name)}${search({ language })}`, { signal });
  }

  suggestions(connection, { language, signal } = {}) {
    return this.#json("GET", `/v1/connections/${part(connection)}/suggestions${search({ language })}`, { signal });
  }

  /** What stands in a connection: labels, and for analysts names, types and keys. */
  catalog(connection, { language, signal } = {}) {
    return this.#json("GET", `/v1/connections/${part(connection)}/catalog${search({ language })}`, { signal });
  }

  /** What was taught about a connection; `kind` narrows it. */
  knowledge(connection, { kind, signal } = {}) {
    return this.#json("GET", `/v1/connections/${part(connection)}/knowledge${search({ kind })}`, { signal });
  }

  /** Teach `{pairs, instructions, terms, synonyms, definitions}`; whoever is no analyst suggests `{terms}` with one word. */
  teach(connection, entries) {
    return this.#json("POST", `/v1/connections/${part(connection)}/knowledge`, { body: entries, isRepeatable: true });
  }

  /** `verdict` is "approve" or "reject". */
  review(connection, entryId, verdict) {
    return this.#json("POST", `/v1/connections/${part(connection)}/knowledge/${part(entryId)}/review`, { body: { verdict } });
  }

  /** One's own boards, then those that others share. */
  boards({ signal } = {}) {
    return this.#json("GET", "/v1/boards", { signal });
  }

  makeBoard(name) {
    return this.#json("POST", "/v1/boards", { body: { name } });
  }

  /** `{name, is_shared, schedule, pins}`; what is left out stays. */
  changeBoard(id, change) {
    return this.#json("PATCH", `/v1/boards/${part(id)}`, { body: change, isRepeatable: true });
  }

  removeBoard(id) {
    return this.#json("DELETE", `/v1/boards/${part(id)}`, {});
  }

  /** Pin the question of an answered query. */
  pin(boardId, queryId) {
    return this.#json("POST", `/v1/boards/${part(boardId)}/pins`, { body: { query_id: queryId }, isRepeatable: true });
  }

  /** Ask all questions of a board again: `{asked: [{pin, query_id, code, detail}]}`. */
  askBoard(id) {
    return this.#json("POST", `/v1/boards/${part(id)}/ask`, { body: {} });
  }

  /** For owners: what people asked and did not get; kind, connection, days and limit narrow it. */
  askedQuestions({ signal, ...filters } = {}) {
    return this.#json("GET", `/v1/admin/questions${search(filters)}`, { signal });
  }

  /** For owners: the newest evaluations of a connection. */
  evaluations(connection, { signal } = {}) {
    return this.#json("GET", `/v1/admin/connections/${part(connection)}/evaluations`, { signal });
  }

  /** For owners: compare queries with those of their known statements: `[{question, query_id, gold_query_id}]`. */
  evaluate(connection, items) {
    return this.#json("POST", `/v1/admin/connections/${part(connection)}/evaluations`, { body: { items } });
  }

  /** For owners: which columns of a connection hold personal data. */
  personalColumns(connection, { signal } = {}) {
    return this.#json("GET", `/v1/admin/connections/${part(connection)}/personal-columns`, { signal });
  }

  /** For owners: test a database `{url, password, name}`; nothing is kept of it. */
  testConnection(request) {
    return this.#json("POST", "/v1/admin/connection-tests", { body: request, isRepeatable: true });
  }

  /** For owners: add a database that works, with the columns that stay `hidden` and those that are `shown`. */
  addConnection(request) {
    return this.#json("POST", "/v1/admin/connections", { body: request });
  }

  /** For owners: `{new_name}`, `{password}`, or both. */
  changeConnection(name, change) {
    return this.#json("PATCH", `/v1/admin/connections/${part(name)}`, { body: change });
  }

  removeConnection(name) {
    return this.#json("DELETE", `/v1/admin/connections/${part(name)}`, {});
  }

  /** For owners: chat models that are set, servers that were found, and the variables that hold keys. */
  models({ signal } = {}) {
    return this.#json("GET", "/v1/admin/models", { signal });
  }

  /** For owners: ask a model `{base_url, model}` for one reply; nothing is kept of it. */
  testModel(request) {
    return this.#json("POST", "/v1/admin/model-tests", { body: request, isRepeatable: true });
  }

  /** For owners: save a model that works, as the one that questions take. */
  saveModel(request) {
    return this.#json("POST", "/v1/admin/models", { body: request });
  }

  /** For owners: the tenant's keys. */
  keys({ signal } = {}) {
    return this.#json("GET", "/v1/admin/keys", { signal });
  }

  /** For owners: `{name, user, audience, connections, ...}`; the `key` is in the answer this once. */
  makeKey(request) {
    return this.#json("POST", "/v1/admin/keys", { body: request });
  }

  revokeKey(name) {
    return this.#json("DELETE", `/v1/admin/keys/${part(name)}`, {});
  }

  /** Which of the options that were offered the caller chose, and how often: `{choices: [{kind, option, count}]}`. */
  choices({ signal } = {}) {
    return this.#json("GET", "/v1/preferences/choices", { signal });
  }

  /** Forget the choices of a kind of question, or all; what is left. */
  forgetChoices({ kind } = {}) {
    return this.#json("DELETE", `/v1/preferences/choices${kind ? `?kind=${part(kind)}` : ""}`, {});
  }

  /** Who is calling, and what it may do. */
  me({ signal } = {}) {
    return this.#json("GET", "/v1/me", { signal });
  }

  /** A short-lived token made of a key, for a browser: `{token, expires_at}`. */
  token(request = {}) {
    return this.#json("POST", "/v1/tokens", { body: request });
  }

  /** The token of a one-time code. */
  signIn(code) {
    return this.#json("POST", "/v1/sign-in", { body: { code } });
  }

  async #json(method, path, how) {
    return parseExactly(await (await this.#send(method, path, how)).text());
  }

  async #send(method, path, { body, key, headers = {}, signal, isRepeatable = false }) {
    const mayRepeat = method === "GET" || method === "DELETE" || key !== undefined || isRepeatable;
    for (let tries = 1; ; tries++) {
      let problem;
      try {
        const response = await this.#once(method, path, { body, key, headers, signal });
        if (response.ok) return response;
        problem = await refusal(response);
      } catch (error) {
        if (signal?.aborted) throw error;
        problem = new Unreachable(error);
      }
      const isWorthIt = problem instanceof Unreachable || isPassing(problem);
      if (!mayRepeat || !isWorthIt || tries >= TRIES_MAX) throw problem;
      await pause(tries, signal, problem.retryAfterSeconds);
    }
  }

  async #once(method, path, { body, key, headers, signal }) {
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    const all = { Accept: "application/json", ...headers };
    if (token) all.Authorization = `Bearer ${token}`;
    if (key) all["Idempotency-Key"] = key;
    if (body !== undefined) all["Content-Type"] = "application/json";
    const text = body === undefined ? undefined : JSON.stringify(body);
    return this.#fetch(this.url + path, { method, headers: all, body: text, signal, redirect: "error", credentials: "omit" });
  }
}

/** The value of a JSON text; a whole number that JavaScript's numbers cannot hold exactly is its digits, as a text. */
export function parseExactly(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const isInexact = (part) => /^-?\d{16,}$/.test(part) && !Number.isSafeInteger(Number(part));
  return JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (part) => (isInexact(part) ? `"${part}"` : part)));
}

/** The events of a stream of server-sent events; ends without an error where the stream does. */
export async function* serverSentEvents(stream, signal) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await quietFor(reader.read(), SILENCE_MS_MAX);
      if (done || signal?.aborted) return;
      rest += decoder.decode(value, { stream: true });
      const blocks = rest.split(/\r?\n\r?\n/);
      rest = blocks.pop();
      for (const block of blocks) {
        const event = eventOf(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function eventOf(block) {
  let event = "message";
  let id = "";
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    const match = /^(event|id|data): ?(.*)$/s.exec(line);
    if (match?.[1] === "event") event = match[2];
    else if (match?.[1] === "id") id = match[2];
    else if (match?.[1] === "data") data.push(match[2]);
  }
  return data.length ? { event, id, data: parseExactly(data.join("\n")) } : null;
}

async function quietFor(promise, milliseconds) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Unreachable(new Error("nothing came for too long"))), milliseconds);
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}

async function refusal(response) {
  const after = Number(response.headers.get("retry-after"));
  let problem = {};
  try {
    problem = await response.json();
  } catch {
    // A proxy's own words are no problem of the gateway.
  }
  return new QueryBusError(response.status, problem, Number.isFinite(after) && after > 0 ? after : undefined);
}

function isPassing(error) {
  return [429, 502, 503, 504].includes(error.status) && error.code !== "tokens_spent";
}

function pause(tries, signal, seconds) {
  const milliseconds = seconds ? seconds * 1_000 : Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (tries - 1)) * (0.75 + Math.random() / 2);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}

function part(text) {
  return encodeURIComponent(String(text));
}

function search(fields) {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  return known.length ? `?${new URLSearchParams(known.map(([name, value]) => [name, String(value)]))}` : "";
}
