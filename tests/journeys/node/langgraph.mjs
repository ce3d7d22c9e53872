// Asks a gateway through LangGraph's client for JavaScript: node langgraph.mjs ADDRESS KEY PACKAGE
const [, , apiUrl, apiKey, name] = process.argv;
const { Client } = await import(name);
const client = new Client({ apiUrl, apiKey });
const assistant = "text2sql_agent";
const input = { messages: [{ role: "user", content: "How many customers are there?" }] };

const { thread_id: thread } = await client.threads.create();
const events = [];
for await (const part of client.runs.stream(thread, assistant, { input, streamMode: ["values", "updates"] })) {
  events.push(part.event);
}
const values = await client.runs.wait(thread, assistant, { input });
const said = {
  events,
  rows: values.rows,
  states: (await client.threads.getHistory(thread)).length,
  threads: (await client.threads.search({ limit: 5 })).length,
  assistants: (await client.assistants.search()).map((one) => one.name),
};
if (typeof client.threads.stream === "function") {
  const session = client.threads.stream({ assistantId: assistant });
  await session.submitRun({ input });
  said.protocolRows = (await session.output).rows;
  await session.close();
}
console.log(JSON.stringify(said));
process.exit(0);
