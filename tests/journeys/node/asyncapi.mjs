// Reads the AsyncAPI document with the official parser: asyncapi.mjs URL; prints what it finds and how much it read.
import { Parser } from "@asyncapi/parser";

const text = await (await fetch(process.argv[2])).text();
const { document, diagnostics } = await new Parser().parse(text);
console.log(
  JSON.stringify({
    faults: diagnostics.filter((item) => item.severity <= 1).map((item) => [item.code, item.path.join("."), item.message]),
    version: document?.version(),
    channels: document?.allChannels().all().length ?? 0,
    operations: document?.allOperations().all().length ?? 0,
  }),
);
