// Types of client.js. What the client does not know yet is passed on as it came.

/** How cells are shown: times `factor`, with at most `digits` behind the point and at least the smaller of it and 2. */
export interface ColumnFormat {
  kind: "integer" | "number" | "money" | "percent" | "year" | "date" | "datetime" | "id" | "boolean" | "text";
  digits: number; unit: string; factor: number; grain: "day" | "month" | "quarter" | "year";
}
export interface Column { id: string; label: string; kind: string; format?: ColumnFormat | null }
export interface Choice { id: string; text: string; question: string; action: string }
export interface ReadingFilter { id: string; text: string; field: string; value: string }
export interface ReadingPeriod { text: string; field: string; first: string | null; last: string | null }
export interface ReadingGroup { id: string; text: string }
export interface Reading {
  text: string;
  measures: string[];
  entities: string[];
  filters: ReadingFilter[];
  period: ReadingPeriod | null;
  groups: ReadingGroup[];
  order: string;
  limit: number | null;
  /** What people call the definitions that were used: see `definition`. */
  definitions: string[];
}
export interface Metric {
  name: string; label: string; description: string; synonyms: string[]; unit: string; owner: string; version: string;
  expression?: string; condition?: string;
}
export interface Definitions { connection: string; version: string; metrics: Metric[] }
export interface Confirmation {
  reason: "write" | "cost";
  kind: string;
  sql_sha256: string;
  rows_affected: number | null;
  rows_known: "exact" | "estimate" | "unknown";
  rows_affected_max: number;
  needs_second_person: boolean;
}
export interface WaitingChange {
  query_id: string; asked_by: string; connection: string; question: string; sql: string | null;
  confirmation: Confirmation; asked_at: number; ends_at: number;
}
export type Cell = string | number | boolean | null;
export type Outcome =
  | "answered" | "prepared" | "replied" | "clarification" | "confirmation" | "refused" | "failed" | "cancelled" | "expired";
export interface Answer {
  query_id: string;
  thread_id: string;
  connection: string;
  connection_label?: string;
  question: string;
  language: "en" | "zh";
  outcome: Outcome;
  code: string | null;
  message: string;
  next_step: string;
  options: Choice[];
  confirmation: Confirmation | null;
  columns: Column[];
  rows: Cell[][];
  row_count: number;
  truncated: boolean;
  summary: string;
  chart: Record<string, unknown> | null;
  notes: string[];
  confidence: number | null;
  explanation: string;
  reading: Reading | null;
  /** For analysts. */
  sql?: string | null;
  [more: string]: unknown;
}
export interface Query {
  id: string;
  thread_id: string;
  status: "queued" | "running" | "finished";
  last_event: string | null;
  created_at: number;
  deadline_at: number;
  message: string;
  answer: Answer | null;
}
export interface ServerSentEvent { event: string; id: string; data: Record<string, unknown> }
export interface Page {
  query_id: string;
  columns: Column[];
  rows: Cell[][];
  page: number;
  page_size: number;
  has_next: boolean;
  has_prev: boolean;
  total_count: number | null;
  total_pages: number | null;
}
export interface Change {
  without?: string[];
  values?: Record<string, string>;
  period?: { first?: string; last?: string };
  unit?: "day" | "week" | "month" | "quarter" | "year";
  by?: string;
  lines?: number;
}
export interface Models {
  configured: { name: string; base_url: string; model: string; key_variable: string; is_default: boolean }[];
  found: { title: string; base_url: string; key_variable: string; models: string[]; proposed: string; cause: string }[];
  keys: string[]; unread_keys: string[]; takes_keys: boolean;
}
export interface TestedModel {
  base_url: string; works: boolean; model: string; seconds: number | null; fields_left_out: string[]; models: string[];
  key_variable: string; has_key: boolean; reason: string | null; cause: string; next_step: string;
}
export interface Thread { thread_id: string; title: string; connection: string; created_at: number }
export interface Turn { query_id: string; question: string; status: Query["status"]; outcome: Outcome | null; sequence: number }
export interface Me {
  tenant: string;
  user: string;
  credential: string;
  audience: "analyst" | "business";
  connections: string[] | null;
  may_run_sql: boolean;
  is_owner: boolean;
  may_share_boards: boolean;
  expires_at: number | null;
}
export interface Pin { id: string; question: string; connection: string; language: "en" | "zh"; query_id: string | null; asked_at: number | null }
export interface Board {
  id: string; name: string; is_own: boolean; is_shared: boolean; schedule: "on_opening" | "hourly" | "daily"; made_at: number; pins: Pin[];
}
export interface BoardChange { name?: string; is_shared?: boolean; schedule?: Board["schedule"]; pins?: string[] }
export interface AskedBoard { id: string; is_own: boolean; asked: { pin: string; query_id: string | null; code: string | null; detail: string | null }[] }
export interface Entry {
  id: string; kind: string; source: string; at: number; key?: string | null; text?: string | null; by?: string | null; stale?: string | null;
  reviewed_by?: string | null; reviewed_at?: number | null;
}
export interface Taught {
  pairs?: { question: string; sql: string }[];
  instructions?: string[];
  terms?: Record<string, string>;
  synonyms?: Record<string, string[]>;
  definitions?: Record<string, Record<string, unknown>>;
}
export interface AskedQuestion {
  kind: "wrong" | "failed" | "asked_back" | "refused" | "repaired"; question: string; language: "en" | "zh"; connection: string; count: number;
  people: number; last_at: number; query_id: string; outcome: Outcome; code: string | null; message: string; sql: string | null;
}
export interface Evaluation {
  id: string; at: number; by: string; right: number;
  items: { question: string; verdict: "right" | "wrong" | "asked_back" | "refused" | "failed"; query_id: string }[];
}
export interface Key {
  name: string; user: string; audience: Me["audience"]; connections: string[] | null; role: "member" | "owner"; is_trusted_proxy: boolean;
  may_share_boards: boolean; made_by: string; rows_max: number; deadline_seconds_max: number; has_key: boolean; is_own: boolean;
}
export interface KeyRequest {
  name: string; user: string; audience?: Me["audience"]; connections?: string[]; may_share_boards?: boolean; rows_max?: number; deadline_seconds?: number;
}
export interface Token { token: string; expires_at: number }
export interface AskOptions {
  connection?: string;
  threadId?: string;
  /** docs/options.md lists them, such as `{ effort: "thorough" }`. */
  options?: Record<string, unknown>;
  operation?: "ask" | "generate" | "run" | "validate" | "explain";
  sql?: string;
  key?: string;
  signal?: AbortSignal;
}

export class QueryBusError extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly traceId: string;
  readonly problem: Record<string, unknown>;
  readonly retryAfterSeconds?: number;
}
export class Unreachable extends Error {}
export function newKey(): string;
/** The value of a JSON text; a whole number that JavaScript's numbers cannot hold exactly is its digits, as a text. */
export function parseExactly(text: string): unknown;
export function serverSentEvents(stream: ReadableStream<Uint8Array>, signal?: AbortSignal): AsyncGenerator<ServerSentEvent>;

export class QueryBus {
  readonly url: string;
  constructor(how?: { url?: string; token?: string | (() => string | Promise<string>); fetch?: typeof fetch });
  ask(question: string, how?: AskOptions & { onEvent?: (event: ServerSentEvent) => void }): Promise<Answer>;
  submit(question: string, how?: AskOptions): Promise<Query>;
  finished(query: Query, how?: { onEvent?: (event: ServerSentEvent) => void; signal?: AbortSignal }): Promise<Answer>;
  query(id: string, how?: { waitSeconds?: number; signal?: AbortSignal }): Promise<Query>;
  follow(id: string, how?: { after?: string | number; signal?: AbortSignal }): AsyncGenerator<ServerSentEvent>;
  cancel(id: string): Promise<Query>;
  clarify(id: string, how: { optionId?: string; question?: string; options?: Record<string, unknown>; key?: string }): Promise<Query>;
  refine(id: string, change: Change, how?: { key?: string }): Promise<Query>;
  confirm(id: string, confirmation: Confirmation): Promise<Query>;
  waitingChanges(how?: { signal?: AbortSignal }): Promise<{ changes: WaitingChange[] }>;
  feedback(id: string, verdict: "right" | "wrong"): Promise<{ query_id: string; verdict: string; entries: number }>;
  page(id: string, how?: { page?: number; pageSize?: number; signal?: AbortSignal }): Promise<Page>;
  exported(id: string, format?: "csv" | "jsonl" | "arrow" | "parquet" | "xlsx", how?: { signal?: AbortSignal }): Promise<Blob>;
  picture(id: string, format?: "png" | "svg", how?: { signal?: AbortSignal }): Promise<Blob>;
  queries(how?: { outcome?: string; status?: string; connection?: string; q?: string; since?: number; until?: number; limit?: number; cursor?: string; signal?: AbortSignal }): Promise<{ queries: (Turn & { thread_id: string })[]; next_cursor: string | null }>;
  threads(how?: { limit?: number; cursor?: string; signal?: AbortSignal }): Promise<{ threads: Thread[]; next_cursor: string | null }>;
  turns(threadId: string, how?: { limit?: number; before?: number; signal?: AbortSignal }): Promise<{ thread_id: string; turns: Turn[] }>;
  fork(threadId: string, how?: { queryId?: string }): Promise<Thread>;
  deleteThread(threadId: string): Promise<void>;
  choices(how?: { signal?: AbortSignal }): Promise<{ choices: { kind: string; option: string; count: number }[] }>;
  forgetChoices(how?: { kind?: string }): Promise<{ choices: { kind: string; option: string; count: number }[] }>;
  connections(how?: { signal?: AbortSignal }): Promise<{ connections: { name: string; description: string }[] }>;
  definition(connection: string, name: string, how?: { language?: "en" | "zh"; signal?: AbortSignal }): Promise<Metric & { connection: string }>;
  definitions(connection: string, how?: { language?: "en" | "zh"; signal?: AbortSignal }): Promise<Definitions>;
  suggestions(connection: string, how?: { language?: "en" | "zh"; signal?: AbortSignal }): Promise<{ connection: string; questions: string[] }>;
  catalog(connection: string, how?: { language?: "en" | "zh"; signal?: AbortSignal }): Promise<{ connection: string; tables: Record<string, unknown>[]; glossary: Record<string, string> }>;
  knowledge(connection: string, how?: { kind?: string; signal?: AbortSignal }): Promise<{ connection: string; entries: Entry[] }>;
  teach(connection: string, entries: Taught): Promise<{ connection: string; entries: number }>;
  review(connection: string, entryId: string, verdict: "approve" | "reject"): Promise<{ connection: string; entries: number }>;
  boards(how?: { signal?: AbortSignal }): Promise<{ boards: Board[] }>;
  makeBoard(name: string): Promise<Board>;
  changeBoard(id: string, change: BoardChange): Promise<Board>;
  removeBoard(id: string): Promise<{ id: string }>;
  pin(boardId: string, queryId: string): Promise<Board>;
  askBoard(id: string): Promise<AskedBoard>;
  askedQuestions(how?: { kind?: AskedQuestion["kind"]; connection?: string; days?: number; limit?: number; signal?: AbortSignal }): Promise<{ questions: AskedQuestion[]; since: number; read: number; is_partial: boolean }>;
  evaluations(connection: string, how?: { signal?: AbortSignal }): Promise<{ connection: string; evaluations: Evaluation[] }>;
  evaluate(connection: string, items: { question: string; query_id: string; gold_query_id: string }[]): Promise<Evaluation>;
  personalColumns(connection: string, how?: { signal?: AbortSignal }): Promise<{ connection: string; shown_to_business: boolean; columns: { table: string; column: string; kind: "person_name" | "contact" }[] }>;
  testConnection(request: { url: string; password?: string; name?: string }): Promise<Record<string, unknown>>;
  addConnection(request: { url: string; password?: string; name?: string; hidden?: string[]; shown?: string[] }): Promise<Record<string, unknown>>;
  changeConnection(name: string, change: { new_name?: string; password?: string }): Promise<{ name: string }>;
  models(how?: { signal?: AbortSignal }): Promise<Models>;
  testModel(request: { base_url: string; model?: string }): Promise<TestedModel>;
  saveModel(request: { base_url: string; model?: string; name?: string }): Promise<TestedModel & { name: string }>;
  removeConnection(name: string): Promise<{ name: string }>;
  keys(how?: { signal?: AbortSignal }): Promise<{ keys: Key[] }>;
  makeKey(request: KeyRequest): Promise<Key & { key: string }>;
  revokeKey(name: string): Promise<{ name: string }>;
  me(how?: { signal?: AbortSignal }): Promise<Me>;
  token(request?: { user?: string; audience?: "business"; connections?: string[]; minutes?: number }): Promise<Token>;
  signIn(code: string): Promise<Token>;
}
