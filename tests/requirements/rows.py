"""The rows: what the five documents and the card demand, in our words."""

from __future__ import annotations

from typing import Final

from tests.requirements.table import Requirement

DOCUMENTS: Final = {
    "000": "generating and executing SQL as two steps",
    "001": "text to SQL with a loop that debugs",
    "002": "an agent system with streams, pages, memory and many databases",
    "003": "retries, batches and their figures",
    "004": "asking back with options",
    "card": "the form of the system",
}

ROWS: Final = (
    # 000
    Requirement(
        "000.1",
        "Generating, validating and executing are separate steps, and a result decides which comes next.",
        "docs/events.md",
    ),
    Requirement(
        "000.2",
        "Every question is classified as about data or as talk, with confidence, reason and method.",
        "docs/generation.md",
    ),
    Requirement("000.3", "A request may force a question to be taken as one about data or as talk.", "docs/options.md"),
    Requirement(
        "000.4", "`database_direct` and `chat_direct` are taken as names of the two forced modes.", "docs/options.md"
    ),
    Requirement("000.5", "A greeting with a question in it is a question.", "docs/generation.md"),
    Requirement("000.6", "A question is classified once: no later failure turns it into talk.", "docs/generation.md"),
    Requirement(
        "000.7",
        "With `enable_syntax_validation` the engine explains a statement before it runs, and what it has against it is the failure.",
        "docs/policy.md",
    ),
    Requirement(
        "000.8", "Without `enable_syntax_validation` the engine is not asked, and the answer says so.", "docs/policy.md"
    ),
    Requirement(
        "000.9",
        "The engine explains every statement before it runs.",
        "docs/policy.md",
        otherwise="SQLite prepares a statement when it runs it, so the same check costs no call of its own; EXPLAIN is asked where no run follows.",
    ),
    Requirement(
        "000.10", "UPDATE, DELETE, DROP, ALTER and INSERT are refused where only reading is allowed.", "docs/policy.md"
    ),
    Requirement(
        "000.11",
        "Without `enable_forbidden_check` they pass.",
        "docs/policy.md",
        otherwise="the switch lifts cost limits for analysts only: no request can turn off that a connection is read-only.",
    ),
    Requirement(
        "000.12",
        "A refusal says which operation is not allowed and that only queries are supported, to analysts with the word SELECT.",
        "docs/failures.md",
    ),
    Requirement("000.13", "A refusal for safety ends the query at once and is never repaired.", "docs/failures.md"),
    Requirement(
        "000.14",
        "A forbidden word anywhere in the text is refused.",
        "ARCHITECTURE.md",
        otherwise="the statement is parsed, so a forbidden word inside a text or a name harms nothing and is answered.",
    ),
    Requirement(
        "000.15",
        "The engine explains first, forbidden operations are refused second.",
        "ARCHITECTURE.md",
        otherwise="the guard comes first, so that no engine sees a statement that is refused.",
    ),
    Requirement(
        "000.16",
        "With `enable_auto_repair` a broken statement is repaired, also where its first word is misspelt.",
        "docs/recovery.md",
    ),
    Requirement("000.17", "Without `enable_auto_repair` a failed check ends the query.", "docs/policy.md"),
    Requirement(
        "000.18",
        "Repair counts only where the syntax is validated.",
        "docs/policy.md",
        otherwise="the two switches are independent, so that a failure of the run can be repaired as well.",
    ),
    Requirement(
        "000.19",
        "`retries_max: 1` allows exactly one new draft, for one question or as everybody's default.",
        "docs/options.md",
    ),
    Requirement("000.20", "A repaired statement passes the validator like any other.", "ARCHITECTURE.md"),
    Requirement(
        "000.21",
        "The prompt of a repair holds dialect, error and statement, and asks to keep the meaning and for the statement alone.",
        "docs/generation.md",
    ),
    Requirement(
        "000.22",
        "Analysts read whether validation, the repair, the call for it or the writing failed, in the ordered words.",
        "docs/failures.md",
    ),
    Requirement(
        "000.23",
        "Missing data has a code and a fixed text; a model's words stand in only where they are plain and in the reader's language.",
        "docs/generation.md",
    ),
    Requirement(
        "000.24",
        "A question that is too vague has a code and a fixed text.",
        "docs/generation.md",
        otherwise="a model that asks back is quoted where its words give nothing away, because its question says more; else the fixed text is shown.",
    ),
    Requirement(
        "000.25", "An explanation instead of a statement is shown with the advice to ask otherwise.", "docs/failures.md"
    ),
    Requirement("000.26", "Any other failure to write a statement has a fixed text.", "docs/failures.md"),
    Requirement("000.27", "The four reasons why no statement was written are failure codes.", "docs/failures.md"),
    Requirement(
        "000.28",
        "An answer says whether a statement was written, whether it was repaired, and what its reader needs to know.",
        "docs/api.md",
    ),
    Requirement("000.29", "An answer holds outcome, words, kind, path and classification.", "docs/api.md"),
    Requirement("000.30", "An answer lists the stages it passed, through success and failure.", "docs/api.md"),
    Requirement(
        "000.31",
        "The summary can be switched off for one question, and then the answer still says what it shows.",
        "docs/options.md",
    ),
    Requirement(
        "000.32",
        "An operator sets options for everybody, the summary and the validation switches among them, and sees what holds.",
        "docs/options.md",
    ),
    Requirement("000.33", "A model may word the summary.", "docs/generation.md"),
    Requirement("000.34", "An empty result has no summary but says that nothing fits.", "docs/failures.md"),
    Requirement(
        "000.35",
        "A summary that fails never fails the answer, and a plain sentence stands in.",
        "docs/failures.md",
        otherwise="the plain sentence says what the answer shows and how much of it, not only the number of rows.",
    ),
    Requirement(
        "000.36", "`allow_llm_to_see_data: false` keeps every value of the database from every model.", "docs/policy.md"
    ),
    Requirement("000.37", "A failure is a value on the log; nothing is thrown across stages.", "ARCHITECTURE.md"),
    Requirement("000.38", "The switches hold in every mode.", "docs/policy.md"),
    Requirement("000.39", "A stage is atomic, and everything the next one needs is in the event.", "docs/events.md"),
    # 001
    Requirement(
        "001.1", "A question and the path of a SQLite file are enough to get rows and column names.", "README.md"
    ),
    Requirement("001.2", "The structure of a database is read and written as text for a model.", "docs/generation.md"),
    Requirement("001.3", "A statement is written from the question and the structure.", "docs/generation.md"),
    Requirement("001.4", "A reply that gives the statement as YAML is read.", "docs/generation.md"),
    Requirement(
        "001.5",
        "The model is asked to reply in YAML.",
        "docs/generation.md",
        otherwise="it is asked for one ```sql block, in which a statement needs neither escapes nor indentation; YAML is read where it comes.",
    ),
    Requirement("001.6", "A statement that ran gives its rows and its columns.", "docs/api.md"),
    Requirement(
        "001.7",
        "A statement that failed is written anew from structure, question, statement and error, and runs again.",
        "docs/recovery.md",
    ),
    Requirement("001.8", "The number of new drafts is exact: by default three executions in all.", "docs/options.md"),
    Requirement(
        "001.9",
        "Any number of attempts can be asked for.",
        "docs/options.md",
        otherwise="at most five new drafts, because each costs a call of a model; more is refused with the reason.",
    ),
    Requirement("001.10", "When all attempts are used up, the answer holds the last error.", "docs/failures.md"),
    Requirement(
        "001.11",
        "Changes of rows and of the structure are decided on and committed, in plain words too.",
        "docs/policy.md",
    ),
    Requirement("001.12", "Attempts, errors and the result can be read of every query.", "docs/api.md"),
    Requirement("001.13", "One function calls the model.", "docs/generation.md"),
    # 002
    Requirement("002.1", "The model is switched while running, by default or for one question.", "docs/generation.md"),
    Requirement(
        "002.2",
        "Models of several providers are used side by side.",
        "docs/generation.md",
        short="providers are reached by the protocol of OpenAI, which most of them speak; no other protocol is spoken.",
    ),
    Requirement(
        "002.3",
        "Key from the environment, temperature 0 and 4,096 tokens are the defaults of a call.",
        "docs/generation.md",
    ),
    Requirement("002.4", "A reply can be streamed while a model writes.", "docs/options.md"),
    Requirement("002.5", "Another model stands in where one fails.", "docs/generation.md"),
    Requirement("002.6", "Prompts are Markdown files with named places.", "docs/generation.md"),
    Requirement("002.7", "Prompts are replaced while running.", "docs/generation.md"),
    Requirement(
        "002.8",
        "Each of seven roles has a prompt file of its own.",
        "ARCHITECTURE.md",
        otherwise="validator, executor, recovery and charts follow rules and ask no model; what does ask one has its file.",
    ),
    Requirement(
        "002.9",
        "The flow is a graph of agents under a supervisor, built with LangGraph.",
        "docs/events.md",
        otherwise="the card orders services on a bus: a table of events says who reads and writes what, and LangGraph's clients talk to it.",
    ),
    Requirement(
        "002.10",
        "There is one part each for supervising, structure, generation, validation, execution, recovery and charts.",
        "ARCHITECTURE.md",
    ),
    Requirement("002.11", "A part that fails leaves the others at work.", "ARCHITECTURE.md"),
    Requirement(
        "002.12",
        "The state of a query holds analysis, structure, validation, retries, stage and errors.",
        "docs/langgraph.md",
    ),
    Requirement("002.13", "A question is asked of a connection.", "docs/connections.md"),
    Requirement("002.14", "A thread remembers what was asked in it.", "docs/log.md"),
    Requirement("002.15", "Threads of different callers are separate.", "docs/api.md"),
    Requirement(
        "002.16",
        "A `user_id` can be given with a request.",
        "docs/api.md",
        otherwise="the user comes from the credential alone, else anybody could ask as somebody else.",
    ),
    Requirement("002.17", "A run that needs an answer is interrupted and resumed.", "docs/langgraph.md"),
    Requirement("002.18", "A thread can be read as it stood, and be continued from there.", "docs/langgraph.md"),
    Requirement("002.19", "The state of a thread can be read.", "docs/langgraph.md"),
    Requirement(
        "002.20",
        "Conversations are kept in a SQLite file.",
        "docs/adr/0001-one-log-per-query.md",
        otherwise="the log of the bus holds them, which several replicas read and a cluster copies.",
    ),
    Requirement("002.21", "The structure of databases is cached.", "docs/connections.md"),
    Requirement("002.22", "Questions with a verified statement are answered by it.", "docs/generation.md"),
    Requirement("002.23", "Preferences of a person are kept.", "docs/api.md"),
    Requirement("002.24", "Long-term memory is searched by meaning under a namespace.", "docs/langgraph.md"),
    Requirement(
        "002.25",
        "In production the memory is in PostgreSQL.",
        "docs/log.md",
        otherwise="streams of the bus with three copies and backups hold it, so that no second store has to be run.",
    ),
    Requirement("002.26", "SQLite", "docs/connections.md"),
    Requirement("002.27", "PostgreSQL", "docs/connections.md", needs="PostgreSQL"),
    Requirement("002.28", "DuckDB", "docs/connections.md"),
    Requirement("002.29", "MariaDB", "docs/connections.md", needs="MariaDB"),
    Requirement(
        "002.30",
        "MySQL",
        "docs/connections.md",
        short="only recorded sessions and MariaDB's edge were tried; no MySQL server was.",
    ),
    Requirement(
        "002.31",
        "ClickHouse",
        "docs/connections.md",
        short="its engine was tried behind a stand-in of its interface, no server.",
        needs="chdb",
    ),
    Requirement(
        "002.32",
        "Oracle",
        "docs/connections.md",
        short="statements are compiled and calls are checked; no server ran them.",
    ),
    Requirement(
        "002.33",
        "Snowflake",
        "docs/connections.md",
        short="an emulation ran the statements, no account.",
        needs="the environments of `make snowflake`",
    ),
    Requirement(
        "002.34",
        "BigQuery",
        "docs/connections.md",
        short="statements are compiled and calls are checked; no account ran them.",
    ),
    Requirement("002.35", "Events of a query are streamed as server-sent events.", "docs/api.md"),
    Requirement(
        "002.36",
        "Runs are streamed in the modes `messages-tuple`, `values` and `updates`, also several at once.",
        "docs/langgraph.md",
    ),
    Requirement("002.37", "`POST /query/stream` asks and streams.", "docs/langgraph.md"),
    Requirement("002.38", "A page has 100 rows by default and 1,000 at most.", "docs/api.md"),
    Requirement(
        "002.39",
        "A page says how many rows and pages there are and whether others come before and after.",
        "docs/api.md",
    ),
    Requirement(
        "002.40",
        "Pages are read with LIMIT and OFFSET.",
        "docs/connections.md",
        otherwise="a statement runs once and its pages are stored, so that all pages show one state and the database works once.",
    ),
    Requirement("002.41", "A conversation is cut to its newest 20 messages and 8,000 tokens.", "docs/generation.md"),
    Requirement("002.42", "Older turns are summarised, the five newest stay whole.", "docs/generation.md"),
    Requirement(
        "002.43", "Only tables and columns that matter to the question enter the prompt.", "docs/generation.md"
    ),
    Requirement("002.44", "Of results above 50 rows the prompt gets ten and facts.", "docs/generation.md"),
    Requirement(
        "002.45",
        "A `langgraph.json` names the graphs.",
        "docs/langgraph.md",
        otherwise="the gateway speaks the API itself, so no graph server has to be configured.",
    ),
    Requirement(
        "002.46",
        "A server for development starts on one port and reloads by itself.",
        "docs/connections.md",
        short="connections, definitions and models are reloaded, code is not.",
    ),
    Requirement(
        "002.47",
        "The examples work without a key.",
        "docs/api.md",
        otherwise="there is no way in without a credential; with `api_key` the examples work as they stand.",
    ),
    Requirement(
        "002.48",
        "The assistants `text2sql_agent` and `text2sql_stream`, the role `human` and runs without a thread are taken.",
        "docs/langgraph.md",
    ),
    Requirement(
        "002.49", "`POST /api/v1/query` streams the words of an answer as `messages-tuple`.", "docs/langgraph.md"
    ),
    Requirement("002.50", "`POST /api/v1/query/sync` returns the answer with one page.", "docs/langgraph.md"),
    Requirement(
        "002.51",
        "`pagination` in a run's input chooses the page, and is refused where it names none.",
        "docs/langgraph.md",
    ),
    Requirement(
        "002.52",
        "LangGraph Studio can be used.",
        "docs/langgraph.md",
        short="its protocol is spoken and tested with the clients that it uses; Studio itself was not run.",
    ),
    Requirement("002.53", "A limit holds on questions that run at once.", "docs/operations.md"),
    Requirement(
        "002.54",
        "A database has a pool of 20 and 10 more sessions, 30 s of patience and an hour of life.",
        "docs/connections.md",
    ),
    Requirement("002.55", "Requests per minute at a model are limited.", "docs/generation.md"),
    Requirement("002.56", "Questions beyond the limit wait in a bounded queue.", "docs/operations.md"),
    Requirement("002.57", "Several workers share the work.", "docs/operations.md"),
    Requirement("002.58", "The stages follow each other, and a failure leads back.", "docs/events.md"),
    Requirement("002.59", "Injection is stopped in several layers.", "docs/policy.md"),
    Requirement("002.60", "A query has a time-out.", "docs/policy.md"),
    Requirement("002.61", "What was executed is logged, counted and traced.", "docs/log.md"),
    Requirement("002.62", "Charts are drawn.", "docs/api.md"),
    Requirement("002.63", "Charts are drawn through a chart server's protocol.", "docs/mcp.md"),
    Requirement(
        "002.64",
        "Results are cached, or it is decided that they are not.",
        "docs/later.md",
        otherwise="they are not: what a person may see changes with policy and time; the page says what comes later.",
    ),
    Requirement("002.65", "A change of rows is confirmed by a person who sees what it does.", "docs/policy.md"),
    Requirement("002.66", "Questions may be asked in other languages than English.", "docs/generation.md"),
    Requirement("002.67", "Many questions to one connection run at once.", "docs/connections.md"),
    Requirement(
        "002.68", "Agents, graph, streams and concurrency have tests, and a demo shows them.", "CONTRIBUTING.md"
    ),
    Requirement("002.69", "People confirm what was meant, and verified examples teach.", "docs/generation.md"),
    # 003
    Requirement("003.1", "With `static_only` nothing runs before approval.", "docs/policy.md"),
    Requirement(
        "003.2", "With `allow_execution` a corrected statement is tried once before it is approved.", "docs/policy.md"
    ),
    Requirement("003.3", "The prompt of a retry says that one execution is allowed.", "docs/generation.md"),
    Requirement("003.4", "The try reads at most ten rows.", "docs/policy.md"),
    Requirement(
        "003.5", "A retry knows the statement, the message and the kind of error of what failed.", "docs/recovery.md"
    ),
    Requirement("003.6", "A retry knows how long the failed execution took.", "docs/recovery.md"),
    Requirement("003.7", "Items of a batch keep their id and name.", "docs/api.md"),
    Requirement("003.8", "A query counts its retries and knows how many it may use.", "docs/api.md"),
    Requirement(
        "003.9",
        "One retry is the default.",
        "docs/options.md",
        otherwise="the default is two, because three executions are ordered as well; `QUERYBUS_OPTION_DEFAULTS` sets one.",
    ),
    Requirement("003.10", "A batch runs all, collects what failed, asks that again and merges both.", "docs/api.md"),
    Requirement("003.11", "An event says how many failed and that they are being corrected.", "docs/api.md"),
    Requirement(
        "003.12", "Description, requirements, objective and context of an item reach the generator.", "docs/api.md"
    ),
    Requirement("003.13", "An item has a time window.", "docs/api.md"),
    Requirement(
        "003.14",
        "A batch has a schedule.",
        "docs/later.md",
        short="boards have one; batches get one later, as the page says.",
    ),
    Requirement("003.15", "The previous attempt reaches the generator.", "docs/generation.md"),
    Requirement(
        "003.16", "Errors have classes: syntax, column, table, connection, permission and others.", "docs/failures.md"
    ),
    Requirement("003.17", "Each class has its own guidance for the next draft.", "docs/failures.md"),
    Requirement(
        "003.18",
        "A connection that is away keeps the statement, says that it may be right, and is not repaired.",
        "docs/failures.md",
    ),
    Requirement("003.19", "Retries end: the same statement again, or a used-up budget.", "docs/recovery.md"),
    Requirement("003.20", "Time of execution is measured and limited.", "docs/metrics.md"),
    Requirement("003.21", "The rate of questions answered at first is a metric.", "docs/metrics.md"),
    Requirement("003.22", "The rate of questions answered after a retry is a metric.", "docs/metrics.md"),
    Requirement("003.23", "The distribution of error classes is a metric.", "docs/metrics.md"),
    Requirement("003.24", "Times of execution and calls of the database are metrics.", "docs/metrics.md"),
    # 004
    Requirement(
        "004.1",
        "What is asked back says what triggered it, the error, the statement and that a person is needed.",
        "docs/api.md",
    ),
    Requirement("004.2", "A chosen option becomes a whole question.", "docs/api.md"),
    Requirement("004.3", "A missing column has its text.", "docs/failures.md"),
    Requirement("004.4", "A missing table has its text.", "docs/failures.md"),
    Requirement("004.5", "A statement with wrong syntax has its text.", "docs/failures.md"),
    Requirement("004.6", "A missing right has its text.", "docs/failures.md"),
    Requirement("004.7", "A time-out has its text.", "docs/failures.md"),
    Requirement(
        "004.8",
        "After a failed execution a person is asked first.",
        "docs/adr/0004-repair-first.md",
        otherwise="repair comes first by default, because most failures are repaired without a person; `on_execution_failure: clarify_first` asks.",
    ),
    Requirement("004.9", "Two or three options are offered, always.", "docs/options.md"),
    Requirement(
        "004.10", "A missing column offers to try again, another period or another dimension.", "docs/failures.md"
    ),
    Requirement(
        "004.11", "A missing table offers to confirm the data, other sources or an administrator.", "docs/failures.md"
    ),
    Requirement("004.12", "A time-out offers a smaller period, a condition or a summary.", "docs/failures.md"),
    Requirement("004.13", "Options are made of what the database holds and can be asked.", "docs/generation.md"),
    Requirement("004.14", "Business readers read no word of databases.", "docs/policy.md"),
    Requirement(
        "004.15",
        "A vague question is asked back with whole questions, once in a thread.",
        "docs/generation.md",
        otherwise="where a model is there it takes the likeliest meaning and the answer says which; without one the person is asked.",
    ),
    Requirement(
        "004.16", "Further classes of error have texts: types, grouping, joins, aggregates.", "docs/failures.md"
    ),
    Requirement("004.17", "Options that a person chose before come first.", "docs/api.md"),
    Requirement("004.18", "Texts and options are there in further languages.", "docs/failures.md"),
    Requirement("004.19", "A repair follows what a person chose.", "docs/generation.md"),
    Requirement("004.20", "A front end shows options as buttons.", "docs/page.md", needs="chromium"),
    Requirement("004.21", "Clarifications are tested case by case.", "CONTRIBUTING.md"),
    Requirement("004.22", "The technical error is kept for logs and analysts.", "docs/log.md"),
    # card
    Requirement("card.1", "Services communicate over a message bus.", "ARCHITECTURE.md"),
    Requirement(
        "card.2",
        "faststream",
        "docs/adr/0003-own-pull-loop.md",
        otherwise="it gives application, broker and probes; stages pull with a loop of their own, which takes 0.73 instead of 4.7 ms of CPU a question and never holds more messages than slots.",
    ),
    Requirement("card.3", "nats-py", "docs/adr/0002-dependencies.md"),
    Requirement("card.4", "pydantic-settings", "docs/adr/0002-dependencies.md"),
    Requirement("card.5", "sqlalchemy", "docs/adr/0002-dependencies.md"),
    Requirement(
        "card.6",
        "langchain-openai",
        "docs/adr/0002-dependencies.md",
        otherwise="it is used for streamed replies; whole ones go through `openai`, on which it stands, because an exchange takes less CPU.",
    ),
    Requirement("card.7", "sqlglot", "docs/adr/0002-dependencies.md"),
    Requirement("card.8", "prometheus-client", "docs/adr/0002-dependencies.md"),
    Requirement("card.9", "opentelemetry-sdk", "docs/adr/0002-dependencies.md"),
    Requirement(
        "card.10",
        "The services generator, validator, executor and recovery are folders of their own.",
        "ARCHITECTURE.md",
    ),
    Requirement("card.11", "What they share is in `libs/common`.", "ARCHITECTURE.md"),
    Requirement(
        "card.12",
        "Manifests for Kubernetes are in `deploy/k8s`.",
        "docs/operations.md",
        short="they are rendered and checked against schemas; no cluster was there to apply them to.",
    ),
    Requirement("card.13", "Tests and a Makefile are there.", "CONTRIBUTING.md"),
    Requirement("card.14", "Subjects carry an envelope with a version.", "docs/events.md"),
    Requirement("card.15", "The envelope carries the numbers of retries.", "docs/events.md"),
    Requirement("card.16", "Services scale by replicas.", "docs/operations.md"),
    Requirement("card.17", "First-pass and retry success are metrics of Prometheus.", "docs/metrics.md"),
    Requirement("card.18", "A program asks by publishing on the bus.", "docs/api.md"),
    Requirement("card.19", "A gateway speaks gRPC and HTTP.", "docs/api.md"),
    Requirement(
        "card.20",
        "Grafana shows the figures.",
        "docs/operations.md",
        short="dashboards are checked against the metrics and by Prometheus; no Grafana server was there.",
    ),
)
