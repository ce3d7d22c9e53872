// Follows a query with a browser's EventSource: eventsource.mjs ADDRESS KEY QUERY; says each event and when it stops.
import { EventSource } from "eventsource";

const [address, key, query] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${key}` };
const made = await fetch(`${address}/v1/queries/${query}/ticket`, { method: "POST", headers });
const { ticket } = await made.json();
let connections = 0;
const source = new EventSource(`${address}/v1/queries/${query}/events?ticket=${encodeURIComponent(ticket)}`, {
  fetch: (url, init) => {
    connections += 1;
    return fetch(url, init);
  },
});
const events = [];
for (const name of ["asked", "drafted", "approved", "concluded", "finished"]) {
  source.addEventListener(name, (event) => events.push([name, event.lastEventId]));
}
while (source.readyState !== EventSource.CLOSED) await new Promise((resolve) => setTimeout(resolve, 50));
console.log(JSON.stringify({ events, connections }));
