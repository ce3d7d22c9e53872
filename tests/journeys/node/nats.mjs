// Asks over the bus with NATS's client for Node: nats.mjs URL TENANT CREDENTIAL KEY ANSWERS.
import { connect, headers } from "@nats-io/transport-node";

const [servers, tenant, credential, key, answers] = process.argv.slice(2);
const bus = await connect({
  servers,
  user: `${tenant}.${credential}`,
  pass: key,
  inboxPrefix: `_INBOX.out.${tenant}.${credential}`,
});
const call = async (verb, body) =>
  (await bus.request(`querybus.v1.call.${tenant}.${credential}.${verb}`, JSON.stringify(body), { timeout: 30_000 })).json();
const asked = await call("ask", { question: "How many customers are there?", wait_seconds: 20 });
const page = await call("page", { query_id: asked.query_id, page: 1, page_size: 10 });
const received = bus.subscribe(answers, { max: 1 });
const marked = headers();
marked.set("Querybus-Correlation-Id", "mine");
const stored = await bus.request(
  `querybus.v1.submit.${tenant}.${credential}`,
  JSON.stringify({ question: "How many customers are there?" }),
  { timeout: 10_000, headers: marked },
);
let submitted;
for await (const message of received) submitted = message.json();
const denied = await new Promise((resolve) => {
  (async () => {
    for await (const status of bus.status()) if (status.type === "error") resolve(String(status.error));
  })();
  bus.publish(`querybus.v1.call.${tenant}.other.ask`, "{}");
});
console.log(JSON.stringify({ asked, page, stored: stored.json(), submitted, denied }));
await bus.drain();
