// <querybus-chat>: ask, look, correct, go on. Attributes: url, token, connection, language (en, zh), theme (light, dark), show (which
// of ask, boards, changes and admin, and the first of them at the start; left out: all that the person may see).
//
// On the gateway's own page a person signs in with a key or a one-time link; a page of somebody else's sets `token` to a
// short-lived token that its server made (docs/page.md).

import { showBoards } from "./boards.js";
import { showChanges } from "./changes.js";
import { answerCard } from "./card.js";
import { newKey, QueryBus, QueryBusError, Unreachable } from "./client.js";
import { showFirstStart } from "./connect.js";
import { showAdmin } from "./admin.js";
import { button, h } from "./dom.js";
import { TEXTS } from "./texts.js";

const BASE = new URL("..", import.meta.url).href.replace(/\/$/, "");
const KEPT = "querybus.token";
const LANGUAGE_KEPT = "querybus.language";
const DRAFT_KEPT = "querybus.draft";
const SIGNED_IN_MINUTES = 720;
const TURNS_AT_ONCE = 10;
const QUESTION_LENGTH_MAX = 4_000;
const VIEWS = ["ask", "boards", "changes", "admin"];
const SUGGESTED_MAX = 6;
const SUGGESTED_CONNECTIONS_MAX = 3;

class QueryBusChat extends HTMLElement {
  static observedAttributes = ["token", "connection", "language", "theme", "show"];

  #bus;
  #me = null;
  #hasChanges = false;
  #thread = null;
  #view = "ask";
  #leaving = new AbortController();
  #running = null;
  #firstShown = 0;
  #shownQueries = new Set();
  #themed = new Set();
  #connections = [];
  #stop = new AbortController();

  connectedCallback() {
    if (!this.shadowRoot) {
      this.attachShadow({ mode: "open" });
      const dark = matchMedia("(prefers-color-scheme: dark)");
      dark.addEventListener("change", () => this.#retheme());
      this.#isSystemDark = () => dark.matches;
    }
    this.#bus = new QueryBus({ url: this.getAttribute("url") ?? BASE, token: () => this.#token() });
    addEventListener("hashchange", this.#onHash, { signal: this.#stop.signal });
    addEventListener("focus", () => this.#refresh(), { signal: this.#stop.signal });
    this.#begin();
  }

  disconnectedCallback() {
    this.#stop.abort();
    this.#stop = new AbortController();
  }

  attributeChangedCallback(name, before, now) {
    if (before === now || !this.isConnected || !this.#bus) return;
    if (name === "theme") this.#retheme();
    else this.#begin();
  }

  #isSystemDark = () => false;

  get #isOwnPage() {
    return !this.hasAttribute("token");
  }

  get #language() {
    const wanted = this.getAttribute("language") ?? (this.#isOwnPage ? localStorage.getItem(LANGUAGE_KEPT) : null) ?? navigator.language;
    return wanted.toLowerCase().startsWith("zh") ? "zh" : "en";
  }

  get #texts() {
    return TEXTS[this.#language];
  }

  #token() {
    return this.#isOwnPage ? (localStorage.getItem(KEPT) ?? "") : this.getAttribute("token");
  }

  #isDark() {
    const theme = this.getAttribute("theme");
    return theme ? theme === "dark" : this.#isSystemDark();
  }

  #retheme() {
    this.shadowRoot.querySelector(".page")?.classList.toggle("dark", this.#isDark());
    for (const draw of this.#themed) draw();
  }

  async #begin() {
    const code = this.#isOwnPage ? new URLSearchParams(location.hash.slice(1)).get("code") : null;
    let stays = false;
    // What signs in must not stay in the address, where it is kept and copied.
    if (code) history.replaceState(null, "", location.pathname);
    if (code && (stays = await this.#isSignedIn())) {
      // A link that somebody else sent would put what is asked here into their account.
    } else if (code) {
      try {
        localStorage.setItem(KEPT, (await this.#bus.signIn(code)).token);
      } catch (error) {
        if (!this.#token()) return this.#showSignIn(error instanceof QueryBusError ? this.#texts.codeUsed : this.#texts.unreachable);
      }
    }
    if (!this.#token()) return this.#showSignIn("");
    try {
      this.#me = await this.#bus.me();
      this.#connections = (await this.#bus.connections()).connections;
    } catch (error) {
      if (error instanceof QueryBusError && error.status === 401) return this.#expired();
      return this.#showUnreachable();
    }
    await this.#lookForChanges();
    this.#view = this.#views[0];
    if (!this.#isOwnPage || location.hash.length < 2) {
      await this.#showView(this.#view);
    } else {
      this.#showChat();
      await this.#onHash();
    }
    if (stays) this.#say(this.#texts.staysSignedIn(this.#me.user));
  }

  /** Whether the session of this browser is alive; only a refusal says that it is not. */
  async #isSignedIn() {
    if (!this.#token()) return false;
    try {
      await this.#bus.me();
    } catch (error) {
      return !(error instanceof QueryBusError && error.status === 401);
    }
    return true;
  }

  get #views() {
    const wanted = this.getAttribute("show")?.split(/\s+/).filter((name) => VIEWS.includes(name));
    const views = wanted?.length ? wanted : VIEWS;
    const hidden = [this.#me?.is_owner ? null : "admin", this.#hasChanges ? null : "changes"];
    return views.filter((name) => !hidden.includes(name));
  }

  /** Show another view; on a page of one's own it stands in the address. */
  #go = async (view, what) => {
    const boards = what ? `#board=${what}` : "#boards";
    const hash = { ask: what ? `#thread=${what}` : "", boards, changes: "#changes", admin: `#admin=${what ?? "questions"}` }[view];
    if (this.#isOwnPage) history.pushState(null, "", hash || location.pathname);
    await this.#showView(view, what);
  };

  async #showView(view, what) {
    this.#leaving.abort();
    this.#leaving = new AbortController();
    if (view !== "ask") await this.#lookForChanges();
    const chosen = this.#views.includes(view) ? view : this.#views[0];
    const isOther = chosen !== this.#view;
    this.#view = chosen;
    if (chosen === "ask" && !what && !this.#connections.length) return this.#showFirstStart();
    if (chosen === "ask") {
      if (isOther || !this.#log) this.#showChat();
      return this.#openThread(what ?? null);
    }
    const place = h("div", { class: "columns" });
    this.#show(this.#header(chosen === "boards" ? this.#texts.boards : ""), place);
    const show = { boards: showBoards, changes: showChanges, admin: showAdmin }[chosen];
    await this.#guarded(() => show(place, { ...this.#context(), ...this.#elsewhere() }, what));
  }

  /** Whether changes of others wait for this analyst: where none does there is no view of them. */
  async #lookForChanges() {
    if (!this.#me?.may_run_sql) return;
    try {
      this.#hasChanges = (await this.#bus.waitingChanges()).changes.length > 0;
    } catch {
      // Whether something waits is no reason to show nothing else.
      this.#hasChanges = false;
    }
  }

  #showFirstStart() {
    const place = h("div", { class: "columns" });
    this.#show(this.#header(""), place);
    showFirstStart(place, this.#context(), this.#connected);
  }

  /** Go on with a connection that was just added: by its first question, where it has one. */
  #connected = async (connection, question) => {
    await this.#reloadConnections();
    if (this.#isOwnPage) history.pushState(null, "", location.pathname);
    this.#view = "ask";
    this.#showChat();
    await this.#openThread(null);
    if (question) await this.#goOn((key) => this.#bus.submit(question, { connection, key, options: { language: this.#language } }), question);
  };

  #reloadConnections = async () => {
    this.#connections = (await this.#bus.connections()).connections;
  };

  /** What a card outside of a conversation does: it goes on in the conversation. */
  #elsewhere() {
    const there = async (thread) => {
      await this.#go("ask", thread);
    };
    return {
      me: this.#me,
      go: this.#go,
      connected: this.#connected,
      reloadConnections: this.#reloadConnections,
      signal: this.#leaving.signal,
      goOn: async (begin, said) => {
        await there();
        await this.#goOn(begin, said);
      },
      ask: async (question, connection) => {
        await there();
        const key = newKey();
        await this.#goOn(() => this.#bus.submit(question, { connection, key, options: { language: detected(question, this.#language) } }), question);
      },
      run: async (sql, answer) => {
        await there(answer.thread_id);
        await this.#context().run(sql, answer);
      },
      fork: async (answer) => {
        await there(answer.thread_id);
        await this.#context().fork(answer);
      },
    };
  }

  /** `list` names the list at the side, which a button opens where there is no space for it. */
  #header(list) {
    const texts = this.#texts;
    const toggle = () => this.shadowRoot.querySelector(".threads").classList.toggle("open");
    const menu = list ? h("button", { type: "button", class: "plain menu-button", "aria-label": list, onclick: toggle }, "☰") : null;
    const views = this.#views;
    const tabs = views.map((view) => button(texts.views[view], () => this.#go(view), { class: view === this.#view ? "tab chosen" : "tab", "aria-current": view === this.#view ? "page" : undefined }));
    return h(
      "header",
      {},
      menu,
      h("h1", {}, "QueryBus"),
      views.length > 1 ? h("nav", { class: "tabs", "aria-label": texts.viewsLabel }, tabs) : null,
      h("span", { class: "space" }),
      this.#languageButton(),
      this.#isOwnPage ? button(texts.signOut, async () => (localStorage.removeItem(KEPT), this.#showSignIn("")), { class: "plain" }) : null,
    );
  }

  #expired() {
    if (this.#isOwnPage) localStorage.removeItem(KEPT);
    // A page of somebody else's makes a new token and sets the attribute.
    this.dispatchEvent(new CustomEvent("querybus-token-ended", { bubbles: true, composed: true }));
    this.#showSignIn(this.#texts.expired);
  }

  #show(...children) {
    const texts = this.#texts;
    this.#themed.clear();
    this.shadowRoot.replaceChildren(
      h("link", { rel: "stylesheet", href: `${BASE}/page/element.css` }),
      h("div", { class: `page${this.#isDark() ? " dark" : ""}`, lang: this.#language }, children, h("div", { class: "toast", role: "status", "aria-live": "polite" })),
    );
    if (this.#isOwnPage) document.documentElement.lang = this.#language;
    return texts;
  }

  #showUnreachable() {
    const texts = this.#texts;
    this.#show(h("main", { class: "sign-in" }, h("h1", {}, "QueryBus"), h("p", {}, texts.unreachable), button(texts.again, () => this.#begin(), { class: "main" })));
  }

  #showSignIn(message) {
    const texts = this.#texts;
    if (!this.#isOwnPage) return this.#show(h("main", { class: "sign-in" }, h("p", { role: "alert" }, message || texts.expired)));
    const key = h("input", { type: "password", autocomplete: "current-password", required: true, maxLength: 4096 });
    const told = h("p", { role: "alert", class: "problem" }, message);
    const enter = async (event) => {
      event.preventDefault();
      try {
        const bus = new QueryBus({ url: this.#bus.url, token: key.value.trim() });
        // The key itself is not kept; what is kept ends by itself.
        localStorage.setItem(KEPT, (await bus.token({ minutes: SIGNED_IN_MINUTES })).token);
        this.#begin();
      } catch (error) {
        told.textContent = error instanceof QueryBusError ? (error.status === 401 ? texts.refused : error.message) : texts.unreachable;
      }
    };
    const form = h("form", { onsubmit: enter }, h("label", {}, texts.key, key), h("button", { type: "submit", class: "main" }, texts.signIn));
    this.#show(h("main", { class: "sign-in" }, h("h1", {}, "QueryBus"), h("p", {}, texts.signInHint), form, told, this.#languageButton()));
  }

  #languageButton() {
    const texts = this.#texts;
    const other = this.#language === "en" ? "zh" : "en";
    return button(
      texts.language,
      async () => {
        if (this.#isOwnPage) localStorage.setItem(LANGUAGE_KEPT, other);
        if (this.hasAttribute("language")) this.setAttribute("language", other);
        else await this.#begin();
      },
      { class: "plain", lang: other, "aria-label": `${texts.languageLabel}: ${texts.language}` },
    );
  }

  #showChat() {
    const texts = this.#texts;
    const drawer = h("nav", { class: "threads", "aria-label": texts.threads });
    const field = h("textarea", {
      rows: 1,
      maxLength: QUESTION_LENGTH_MAX,
      placeholder: texts.askPlaceholder,
      "aria-label": texts.askLabel,
      value: (this.#isOwnPage && sessionStorage.getItem(DRAFT_KEPT)) || "",
      oninput: () => {
        if (this.#isOwnPage) sessionStorage.setItem(DRAFT_KEPT, field.value);
        grow();
      },
      onkeydown: (event) => {
        // Enter ends a word that is being composed, as in Chinese; only then does it ask.
        if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
          event.preventDefault();
          form.requestSubmit();
        }
      },
    });
    const grow = () => {
      field.style.height = "auto";
      field.style.height = `${Math.min(field.scrollHeight, 160)}px`;
    };
    const form = h(
      "form",
      {
        class: "ask",
        onsubmit: (event) => {
          event.preventDefault();
          const question = field.value.trim();
          if (!question || this.#running) return;
          field.value = "";
          if (this.#isOwnPage) sessionStorage.removeItem(DRAFT_KEPT);
          grow();
          this.#ask(question);
        },
      },
      this.#connectionChoice(),
      this.#effortChoice(),
      field,
      h("button", { type: "submit", class: "main" }, texts.ask),
    );
    this.#show(this.#header(texts.menu), h("div", { class: "columns" }, drawer, h("main", {}, h("div", { class: "log chat", role: "log", "aria-live": "polite" }), form)));
    this.#listThreads();
    field.focus({ preventScroll: true });
  }

  #connectionChoice() {
    const fixed = this.getAttribute("connection");
    if (fixed || this.#connections.length < 2) return null;
    // With nothing chosen the question's words decide; a thread stays where it is.
    const choice = h(
      "select",
      { onchange: () => this.#newThread() },
      h("option", { value: "" }, this.#texts.allData),
      this.#connections.map(({ name, description }) => h("option", { value: name }, description || name)),
    );
    return h("label", { class: "connection quiet" }, this.#texts.connection, choice);
  }

  /** For analysts: what a model may be asked for one answer. */
  #effortChoice() {
    if (this.#me.audience !== "analyst") return null;
    const { effort, efforts } = this.#texts;
    const choice = h("select", {}, Object.entries(efforts).map(([name, text]) => h("option", { value: name }, text)));
    return h("label", { class: "connection effort quiet" }, effort, choice);
  }

  /** The connection that the page or the person has chosen; undefined where the question is to find it. */
  get #connection() {
    return this.getAttribute("connection") || this.shadowRoot.querySelector(".connection:not(.effort) select")?.value || undefined;
  }

  get #log() {
    return this.shadowRoot.querySelector(".log.chat");
  }

  async #listThreads(cursor) {
    const texts = this.#texts;
    const drawer = this.shadowRoot.querySelector(".threads");
    if (!drawer) return;
    let found;
    try {
      found = await this.#bus.threads({ limit: 50, cursor });
    } catch {
      return;
    }
    const item = ({ thread_id, title }) => {
      const link = h("a", { href: `#thread=${thread_id}`, "aria-current": thread_id === this.#thread ? "page" : undefined }, title || "…");
      const remove = button(
        "×",
        async () => {
          if (!confirm(texts.deleteThreadSure)) return;
          await this.#guarded(() => this.#bus.deleteThread(thread_id));
          if (thread_id === this.#thread) this.#newThread();
          this.#listThreads();
        },
        { class: "remove", "aria-label": `${texts.deleteThread}: ${title}` },
      );
      return h("li", {}, link, remove);
    };
    if (cursor) {
      drawer.querySelector("ul").append(...found.threads.map(item));
    } else {
      const list = h("ul", {}, found.threads.length ? found.threads.map(item) : h("li", { class: "quiet" }, texts.noThreads));
      // The list is made anew whenever an answer comes: what somebody is searching for meanwhile stays.
      const before = drawer.querySelector("input[type=search]");
      const isTyping = before !== null && this.shadowRoot.activeElement === before;
      const box = h("input", { type: "search", placeholder: texts.searchThreads, "aria-label": texts.searchThreads });
      box.value = before?.value ?? "";
      box.oninput = () => {
        const wanted = box.value.toLowerCase();
        for (const entry of list.children) entry.hidden = !entry.textContent.toLowerCase().includes(wanted);
      };
      box.oninput();
      drawer.replaceChildren(button(texts.newThread, async () => this.#newThread(), { class: "main" }), box, list);
      if (isTyping) box.focus();
    }
    drawer.querySelector(".more")?.remove();
    if (found.next_cursor) drawer.append(button(texts.more, () => this.#listThreads(found.next_cursor), { class: "more" }));
  }

  #newThread() {
    if (this.#isOwnPage && location.hash) location.hash = "";
    else this.#openThread(null);
  }

  #onHash = async () => {
    if (!this.#me || !this.#isOwnPage) return;
    const wanted = new URLSearchParams(location.hash.slice(1));
    for (const [key, view] of [["board", "boards"], ["boards", "boards"], ["changes", "changes"], ["admin", "admin"]]) {
      if (wanted.has(key)) return this.#showView(view, wanted.get(key) || undefined);
    }
    const thread = wanted.get("thread");
    if (this.#view !== "ask") return this.#showView("ask", thread);
    if (thread !== this.#thread || !this.#log.children.length) await this.#openThread(thread);
    const card = wanted.get("answer");
    if (card) this.shadowRoot.getElementById(`answer-${card}`)?.scrollIntoView({ block: "start" });
  };

  async #openThread(thread) {
    this.#thread = thread;
    this.#shownQueries.clear();
    this.#themed.clear();
    this.#running?.abort();
    this.#running = null;
    this.#log.replaceChildren();
    this.shadowRoot.querySelector(".threads")?.classList.remove("open");
    for (const link of this.shadowRoot.querySelectorAll(".threads a")) {
      if (link.hash === `#thread=${thread}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (!thread) return this.#showSuggestions();
    await this.#guarded(async () => {
      const { turns } = await this.#bus.turns(thread, { limit: TURNS_AT_ONCE });
      await this.#showTurns(turns);
      if (turns.length === TURNS_AT_ONCE) this.#offerEarlier(turns[0].sequence);
    });
    this.#log.lastElementChild?.scrollIntoView({ block: "start" });
  }

  #offerEarlier(before) {
    const more = button(this.#texts.earlier, async () => {
      const { turns } = await this.#bus.turns(this.#thread, { limit: TURNS_AT_ONCE, before });
      more.remove();
      const shown = await Promise.all(turns.map((turn) => this.#turnShown(turn)));
      this.#log.prepend(...shown.flat());
      if (turns.length === TURNS_AT_ONCE) this.#offerEarlier(turns[0].sequence);
    });
    this.#log.prepend(more);
  }

  async #showTurns(turns) {
    const fresh = turns.filter(({ query_id }) => !this.#shownQueries.has(query_id));
    const shown = await Promise.all(fresh.map((turn) => this.#turnShown(turn)));
    this.#log.append(...shown.flat());
  }

  async #turnShown(turn) {
    this.#shownQueries.add(turn.query_id);
    const query = await this.#bus.query(turn.query_id);
    const place = h("div", { class: "turn" });
    this.#fill(place, query);
    return [this.#questionShown(turn.question), place];
  }

  /** What another tab or device has asked meanwhile. */
  async #refresh() {
    if (!this.#thread || this.#running || !this.#log) return;
    try {
      const { turns } = await this.#bus.turns(this.#thread, { limit: TURNS_AT_ONCE });
      await this.#showTurns(turns);
    } catch {
      // The next question says what is wrong.
    }
  }

  async #showSuggestions() {
    const texts = this.#texts;
    const place = h("div", { class: "welcome" }, h("h2", {}, texts.hello));
    this.#log.append(place);
    try {
      const names = this.#connection ? [this.#connection] : this.#connections.slice(0, SUGGESTED_CONNECTIONS_MAX).map(({ name }) => name);
      const lists = await Promise.all(names.map((name) => this.#bus.suggestions(name, { language: this.#language })));
      const count = Math.ceil(SUGGESTED_MAX / names.length);
      // A suggestion was tried on its own connection.
      const offered = lists.flatMap(({ connection, questions }) =>
        questions.slice(0, count).map((question) => button(question, () => this.#ask(question, connection), { class: "option" })),
      );
      if (offered.length) place.append(h("p", { class: "quiet" }, texts.tryThese), h("div", { class: "options" }, offered));
    } catch {
      // Without suggestions one can ask all the same.
    }
  }

  #questionShown(question) {
    return h("div", { class: "question", "aria-label": this.#texts.you }, h("p", {}, question));
  }

  async #ask(question, connection = this.#connection) {
    const more = { connection, threadId: this.#thread ?? undefined };
    const effort = this.shadowRoot.querySelector(".effort select")?.value;
    const options = { language: detected(question, this.#language), ...(effort ? { effort } : {}) };
    await this.#goOn((key) => this.#bus.submit(question, { ...more, key, options }), question);
  }

  /** Begin a query and show it as the thread's next turn; `begin` may be called again with nothing asked twice. */
  async #goOn(begin, question) {
    if (this.#running) return;
    const texts = this.#texts;
    this.#log.querySelector(".welcome")?.remove();
    const place = h("div", { class: "turn" });
    this.#log.append(this.#questionShown(question), place);
    place.previousElementSibling.scrollIntoView({ block: "start", behavior: "smooth" });
    this.#running = new AbortController();
    const key = newKey();
    const start = async () => {
      place.replaceChildren(h("p", { class: "quiet stage" }, texts.stages.queued));
      try {
        const query = await begin(key);
        this.#shownQueries.add(query.id);
        this.#enter(query.thread_id);
        await this.#fill(place, query);
        place.previousElementSibling.scrollIntoView({ block: "start", behavior: "smooth" });
      } catch (error) {
        if (error instanceof QueryBusError && error.status === 401) return this.#expired();
        const told = error instanceof Unreachable ? texts.unreachable : error.message;
        place.replaceChildren(h("article", { class: "card failed" }, h("p", { role: "alert" }, told), button(texts.again, start)));
      }
    };
    await start();
    this.#running = null;
  }

  #enter(thread) {
    if (thread === this.#thread) return;
    this.#thread = thread;
    if (this.#isOwnPage) history.pushState(null, "", `#thread=${thread}`);
    this.#listThreads();
  }

  /** Show a query as it stands, and follow it to its answer. */
  async #fill(place, query) {
    const texts = this.#texts;
    if (!query.answer) {
      const stage = h("span", {}, texts.stages[query.last_event ?? "queued"] ?? texts.stages.asked);
      const cancel = button(texts.cancel, () => this.#guarded(() => this.#bus.cancel(query.id)), { class: "plain" });
      place.replaceChildren(h("p", { class: "quiet stage", role: "status" }, h("span", { class: "dots", "aria-hidden": "true" }), stage, cancel));
      const onEvent = ({ event }) => {
        if (texts.stages[event]) stage.textContent = texts.stages[event];
      };
      query = { ...query, answer: await this.#bus.finished(query, { onEvent, signal: this.#running?.signal }) };
    }
    place.replaceChildren(answerCard(query.answer, this.#context()));
  }

  #context() {
    return {
      bus: this.#bus,
      base: BASE,
      me: this.#me,
      connections: this.#connections,
      root: this.shadowRoot,
      texts: this.#texts,
      language: this.#language,
      isDark: () => this.#isDark(),
      onTheme: (draw) => this.#themed.add(draw),
      say: (text) => this.#say(text),
      guarded: (act) => this.#guarded(act),
      goOn: (begin, said) => this.#goOn(begin, said),
      run: (sql, answer) =>
        this.#goOn((key) => this.#bus.submit(answer.question, { operation: "run", sql, connection: answer.connection, threadId: answer.thread_id, key }), sql),
      fork: (answer) =>
        this.#guarded(async () => {
          const { thread_id } = await this.#bus.fork(answer.thread_id, { queryId: answer.query_id });
          this.#enter(thread_id);
          this.#log.append(h("p", { class: "quiet forked" }, this.#texts.fork));
        }),
      linkTo: (answer) => `${location.origin}${location.pathname}#thread=${answer.thread_id}&answer=${answer.query_id}`,
    };
  }

  async #guarded(act) {
    try {
      await act();
    } catch (error) {
      if (error instanceof QueryBusError && error.status === 401) return this.#expired();
      this.#say(error instanceof Unreachable ? this.#texts.unreachable : error.status === 410 ? this.#texts.gone : error.message);
    }
  }

  #say(text) {
    const toast = this.shadowRoot.querySelector(".toast");
    if (!toast) return;
    toast.textContent = text;
    toast.classList.add("shown");
    setTimeout(() => toast.classList.remove("shown"), 4_000);
  }
}

/** A question with Chinese signs is answered in Chinese; others in the page's language only where that is not Chinese. */
function detected(question, language) {
  return /[\u3400-\u9fff]/.test(question) ? "zh" : language === "zh" ? "auto" : "en";
}

customElements.define("querybus-chat", QueryBusChat);
