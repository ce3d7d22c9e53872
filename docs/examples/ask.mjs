// Ask one question over the bus: node ask.mjs "How many customers are there?"
// Speaks the NATS protocol over plain TCP, so it needs no package and knows no TLS and no reconnect; with the package
// @nats-io/transport-node the same is `connect({servers, user, pass, inboxPrefix})` and `request(subject, data)`.
import { connect } from "node:net";
import { randomUUID } from "node:crypto";

const { QUERYBUS_TENANT: tenant, QUERYBUS_CREDENTIAL: credential } = process.env;
const address = new URL(process.env.QUERYBUS_NATS_URL);
const inbox = `_INBOX.out.${tenant}.${credential}.${randomUUID()}`;
const waiting = new Map();
const socket = connect(Number(address.port || 4222), address.hostname);
let received = Buffer.alloc(0);
let calls = 0;

function take() {
  // One protocol line, and the payload where it announces one; undefined until all of it has come.
  const end = received.indexOf("\r\n");
  if (end < 0) return undefined;
  const words = received.subarray(0, end).toString().split(" ");
  const size = words[0] === "MSG" || words[0] === "HMSG" ? Number(words.at(-1)) : -1;
  const whole = size < 0 ? end + 2 : end + 2 + size + 2;
  if (received.length < whole) return undefined;
  const head = words[0] === "HMSG" ? Number(words.at(-2)) : 0;
  const payload = size < 0 ? undefined : received.subarray(end + 2 + head, end + 2 + size);
  received = received.subarray(whole);
  return { words, payload };
}

const ready = new Promise((resolve, reject) => {
  socket.on("error", reject);
  socket.on("data", (data) => {
    received = Buffer.concat([received, data]);
    for (let line = take(); line; line = take()) {
      const word = line.words[0];
      if (word === "INFO") {
        const options = {
          user: `${tenant}.${credential}`, pass: process.env.QUERYBUS_CREDENTIAL_PASSWORD,
          verbose: false, pedantic: false, tls_required: false, lang: "javascript", version: "1",
          protocol: 1, headers: true, no_responders: true,
        };
        socket.write(`CONNECT ${JSON.stringify(options)}\r\nSUB ${inbox}.* 1\r\nPING\r\n`);
      } else if (word === "PING") {
        socket.write("PONG\r\n");
      } else if (word === "PONG") {
        resolve();
      } else if (word === "-ERR") {
        reject(new Error(line.words.slice(1).join(" ")));
      } else if (line.payload) {
        const answer = waiting.get(line.words[1]);
        waiting.delete(line.words[1]);
        if (line.payload.length) answer?.resolve(JSON.parse(line.payload));
        else answer?.reject(new Error("no gateway listens"));
      }
    }
  });
});

function call(verb, body) {
  const subject = `querybus.v1.call.${tenant}.${credential}.${verb}`;
  const reply = `${inbox}.${++calls}`;
  const data = Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    waiting.set(reply, { resolve, reject });
    socket.write(Buffer.concat([Buffer.from(`PUB ${subject} ${reply} ${data.length}\r\n`), data, Buffer.from("\r\n")]));
  });
}

await ready;
let answer = await call("ask", {
  question: process.argv[2], connection: process.env.QUERYBUS_CONNECTION, wait_seconds: 30,
});
if (!answer.status) throw new Error(`refused: ${answer.code}: ${answer.detail}`);
while (answer.status !== "finished") {
  answer = await call("answer", { query_id: answer.query_id, wait_seconds: 30 });
}
console.log(answer.outcome, answer.message);
console.log(JSON.stringify(answer.columns.map((column) => column.label)));
for (const row of answer.rows) console.log(JSON.stringify(row));
socket.end();
