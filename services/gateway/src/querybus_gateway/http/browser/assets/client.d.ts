// Types of client.js. What the client does not know yet is passed on as it came.

export interface Column { id: string; label: string; kind: string }
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
}
export type Cell = string | number | boolean | null;
export type Outcome =
  | "answered" | "prepared" | "replied" | "clarification" | "confirmation" | "refused" | "failed" | "cancelled" | "expired";
export interface Answer {
  query_id: string;
  thread_id: string;
  connection: string;
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
export interface Thread { thread_id: string; title: string; connection: string; created_at: number }
export interface Turn { query_id: string; question: string; status: Query["status"]; outcome: Outcome | null; sequence: number }
export interface Me {
  tenant: string;
  user: string;
  credential: string;
  audience: "analyst" | "business";
  connections: string[] | null;
  may_run_sql: boolean;
  expires_at: number | null;
}
export interface Token { token: string; expires_at: number }
export interface AskOptions {
  connection?: string;
  threadId?: string;
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
  feedback(id: string, verdict: "right" | "wrong"): Promise<{ query_id: string; verdict: string; entries: number }>;
  page(id: string, how?: { page?: number; pageSize?: number; signal?: AbortSignal }): Promise<Page>;
  exported(id: string, format?: "csv" | "jsonl" | "arrow" | "parquet" | "xlsx", how?: { signal?: AbortSignal }): Promise<Blob>;
  picture(id: string, format?: "png" | "svg", how?: { signal?: AbortSignal }): Promise<Blob>;
  queries(how?: { outcome?: string; status?: string; connection?: string; q?: string; since?: number; until?: number; limit?: number; cursor?: string; signal?: AbortSignal }): Promise<{ queries: (Turn & { thread_id: string })[]; next_cursor: string | null }>;
  threads(how?: { limit?: number; cursor?: string; signal?: AbortSignal }): Promise<{ threads: Thread[]; next_cursor: string | null }>;
  turns(threadId: string, how?: { limit?: number; before?: number; signal?: AbortSignal }): Promise<{ thread_id: string; turns: Turn[] }>;
  fork(threadId: string, how?: { queryId?: string }): Promise<Thread>;
  deleteThread(threadId: string): Promise<void>;
  connections(how?: { signal?: AbortSignal }): Promise<{ connections: { name: string; description: string }[] }>;
  definitions(connection: string, how?: { language?: "en" | "zh"; signal?: AbortSignal }): Promise<Definitions>;
  suggestions(connection: string, how?: { language?: "en" | "zh"; signal?: AbortSignal }): Promise<{ connection: string; questions: string[] }>;
  me(how?: { signal?: AbortSignal }): Promise<Me>;
  token(request?: { user?: string; audience?: "business"; connections?: string[]; minutes?: number }): Promise<Token>;
  signIn(code: string): Promise<Token>;
}
