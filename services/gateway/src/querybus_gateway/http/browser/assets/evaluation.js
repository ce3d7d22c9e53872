// What the administration evaluates: items as they are pasted or read from a file, and two runs beside each other.

export const ITEMS_MAX = 200;

/** Items `[{question, sql}]` of JSON, JSON lines, or lines `question => SQL`; else the name of the fault. */
export function readItems(text) {
  const given = text.trim();
  if (!given) return "none";
  let items;
  try {
    const found = JSON.parse(given);
    items = Array.isArray(found) ? found : [found];
  } catch {
    try {
      items = given.split(/\r?\n/).filter((line) => line.trim()).map((line) => (line.trim().startsWith("{") ? JSON.parse(line) : fromLine(line)));
    } catch {
      return "unread";
    }
  }
  if (items.length > ITEMS_MAX) return "many";
  const read = items.map((item) => ({ question: item?.question, sql: item?.sql ?? item?.gold ?? item?.query }));
  return read.every(({ question, sql }) => typeof question === "string" && question.trim() && typeof sql === "string" && sql.trim()) ? read : "unread";
}

function fromLine(line) {
  const [question, sql] = line.split(/\s*=>\s*/, 2);
  return { question, sql };
}

/** Each question's verdict in both runs, what was fixed and what was broken; `before` may be missing. */
export function outcomeOf(before, after) {
  const was = new Map((before?.items ?? []).map(({ question, verdict }) => [question, verdict]));
  const rows = after.items.map(({ question, verdict }) => {
    const earlier = was.get(question);
    const change = earlier && (earlier === "right") !== (verdict === "right") ? (verdict === "right" ? "fixed" : "broken") : "";
    return { question, was: earlier, is: verdict, change };
  });
  const count = (name) => rows.filter(({ change }) => change === name).length;
  return { rows, fixed: count("fixed"), broken: count("broken") };
}
