// The gateway's own client in Node: node client.mjs ADDRESS KEY CLIENT_FILE; says what it saw as JSON.

const [address, key, file] = process.argv.slice(2);
const { QueryBus, QueryBusError, Unreachable } = await import(file);
const bus = new QueryBus({ url: address, token: async () => key });

const events = [];
const answer = await bus.ask("How many orders per city?", { connection: "shop", onEvent: (event) => events.push(event) });
const changed = await bus.finished(await bus.refine(answer.query_id, { lines: 1 }));
const page = await bus.page(answer.query_id, { page: 2, pageSize: 1 });
const file1 = await (await bus.exported(answer.query_id, "csv")).text();
const judged = await bus.feedback(answer.query_id, "right");
const fork = await bus.fork(answer.thread_id, { queryId: answer.query_id });
const { turns } = await bus.turns(answer.thread_id);
const { threads } = await bus.threads({ limit: 5 });
const first = await bus.submit("How many orders are there?", { connection: "shop", key: "the-same-key" });
const second = await bus.submit("How many orders are there?", { connection: "shop", key: "the-same-key" });
const asked = await bus.ask("Show the blorbs of everything", { connection: "shop" });
const chosen = asked.options.length ? await bus.finished(await bus.clarify(asked.query_id, { optionId: asked.options[0].id })) : null;
const token = await bus.token({ minutes: 1 });
const me = await new QueryBus({ url: address, token: token.token }).me();
const board = await bus.makeBoard("Node");
await bus.pin(board.id, answer.query_id);
await bus.changeBoard(board.id, { schedule: "daily" });
const { asked: again } = await bus.askBoard(board.id);
const { answer: pinned } = await bus.query(again[0].query_id, { waitSeconds: 20 });
const { boards } = await bus.boards();
await bus.removeBoard(board.id);
const catalog = await bus.catalog("shop");
await bus.teach("shop", { terms: { blorb: "an order" } });
const { entries } = await bus.knowledge("shop", { kind: "term" });
const refusals = {};
for (const [name, act] of Object.entries({
  unknown: () => bus.query("nothing"),
  nobody: () => new QueryBus({ url: address, token: "qb.local.analyst.guess" }).me(),
  empty: () => bus.submit(""),
  review: () => bus.review("shop", entries[0].id, "approve"),
  owner: () => bus.askedQuestions({ days: 1 }),
  keys: () => bus.keys(),
  evaluations: () => bus.evaluations("shop"),
  personal: () => bus.personalColumns("shop"),
  part: () => bus.refine(answer.query_id, { without: ["f9"] }),
})) {
  try {
    await act();
  } catch (error) {
    refusals[name] = error instanceof QueryBusError ? [error.status, error.code, error.traceId.length] : String(error);
  }
}
try {
  let tries = 0;
  await new QueryBus({ url: address, token: key, fetch: () => (tries++, Promise.reject(new TypeError("no network"))) }).cancel("x");
} catch (error) {
  refusals.unreachable = error instanceof Unreachable;
}
await bus.deleteThread(fork.thread_id);
console.log(
  JSON.stringify({
    events: events.filter((event) => event.id).map((event) => [event.event, event.id]),
    rows: answer.rows,
    changed: changed.rows.length,
    page: [page.rows.length, page.has_next],
    csv: file1.trim().split("\n").length,
    verdict: judged.verdict,
    turns: turns.length,
    threads: threads.length > 0,
    isSame: first.id === second.id,
    chosen: chosen?.outcome ?? "",
    board: [boards[0].schedule, boards[0].pins.length, pinned.rows.length, catalog.tables.length, entries[0].key],
    me: [me.user, me.audience, me.expires_at !== null],
    refusals,
  }),
);
