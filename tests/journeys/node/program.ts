// A user's program, to be checked by the compiler and nothing else.
import { QueryBus, QueryBusError, type Answer, type Change } from "./client.js";

const bus = new QueryBus({ url: "https://querybus.example", token: () => Promise.resolve("key") });

export async function revenue(): Promise<number> {
  const answer: Answer = await bus.ask("Revenue?", { connection: "shop", onEvent: (event) => console.log(event.event) });
  const change: Change = { without: ["f1"], period: { first: "2026-01-01" } };
  const other = await bus.finished(await bus.refine(answer.query_id, change));
  for (const filter of other.reading?.filters ?? []) console.log(filter.text.toUpperCase());
  try {
    await bus.clarify(answer.query_id, { optionId: answer.options[0]?.id ?? "" });
  } catch (error) {
    if (error instanceof QueryBusError && error.retryAfterSeconds !== undefined) return error.retryAfterSeconds;
  }
  // @ts-expect-error a verdict is one of two words
  await bus.feedback(answer.query_id, "maybe");
  return Number(answer.rows[0]?.[0]);
}
