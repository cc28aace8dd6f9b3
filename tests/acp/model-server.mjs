// A model provider of which tests control every byte: an OpenAI-compatible server
// that answers each request with the next reply that a test has queued.

import { once } from "node:events";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { dialects, textOfLast } from "./dialects.mjs";

/** The key that the server's backend is defined with.  It must show up nowhere else. */
export const KEY = "sk-test-3f9a1c0d7e5b";

const sse = (value) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
const delta = (fields) => ({ choices: [{ index: 0, delta: fields }] });

// A reply is a list of steps.  A string is sent as it is; a function gets the response
// and a promise that is kept when the client has gone.

export const text = (content) => sse(delta({ content }));
export const thinking = (content) => sse(delta({ reasoning_content: content }));
export const stop = (reason = "stop") =>
  sse({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
export const usage = (input, output, details = {}) =>
  sse({ choices: [], usage: { prompt_tokens: input, completion_tokens: output, ...details } });
export const done = sse("[DONE]");

/** One piece of streamed tool calls: `[name, arguments, id]` each. */
export const calls = (...all) =>
  sse(
    delta({
      tool_calls: all.map(([name, args, id], index) => ({
        index,
        id: id ?? nextCallId(),
        type: "function",
        function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
      })),
    }),
  );

let callCount = 0;
const nextCallId = () => `call_${++callCount}`;

/** A whole answer in words. */
export const answer = (...pieces) => [...pieces.map(text), stop(), usage(100, 20), done];

/** A whole answer that calls tools. */
export const callTools = (...all) => [calls(...all), stop("tool_calls"), usage(100, 20), done];

/** Lets some time pass. */
export const pause = (ms) => () => sleep(ms);

/** Says nothing more until the client goes. */
export const hang = (_response, gone) => gone;

/** Breaks the connection. */
export const cut = (response) => response.destroy();

/** Answers with a status instead of a stream. */
export const httpError = (status, body, headers = {}) => {
  const step = async (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
  return Object.assign([step], { ownHead: true });
};

/** A step that waits until the test opens the gate. */
export function gate() {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { step: (_response, gone) => Promise.race([opened, gone]), open };
}

/** What the user said last in a request. */
export const lastUserText = (body) => textOfLast(body.messages, "user");

export async function startModelServer() {
  const server = new ModelServer();
  await server.listen();
  return server;
}

class ModelServer {
  /** All requests so far: `{ body, headers, gone }`; `gone` once the client broke it off. */
  requests = [];
  /** What was wrong with requests. */
  problems = [];
  #replies = [];
  #waiters = [];
  #http = http.createServer((request, response) => {
    this.#serve(request, response).catch((error) => this.problems.push(String(error)));
  });

  async listen() {
    this.#http.listen(0, "127.0.0.1");
    await once(this.#http, "listening");
    this.url = `http://127.0.0.1:${this.#http.address().port}`;
  }

  get listening() {
    return this.#http.listening;
  }

  async close() {
    this.#http.closeAllConnections();
    this.#http.close();
    await once(this.#http, "close");
  }

  /** Queues a reply. */
  reply(...steps) {
    this.replyTo("", ...steps);
  }

  /** Queues a reply to a request whose last user message contains `needle`. */
  replyTo(needle, ...steps) {
    const ownHead = steps.some((step) => step.ownHead);
    this.#replies.push({ needle, steps: steps.flat(), ownHead });
  }

  /** Forgets the replies that nobody has asked for. */
  dropUnused() {
    this.#replies = [];
  }

  /** The `count`th request, as soon as it is there. */
  async request(count) {
    while (this.requests.length < count) {
      await new Promise((resolve) => this.#waiters.push(resolve));
    }
    return this.requests[count - 1];
  }

  /** How many replies nobody has asked for. */
  get unused() {
    return this.#replies.length;
  }

  async #serve(request, response) {
    const gone = once(response, "close");
    let sent = "";
    for await (const piece of request.setEncoding("utf8")) sent += piece;
    const record = { body: JSON.parse(sent), headers: request.headers, gone: false };
    gone.then(() => (record.gone = !response.writableFinished));
    this.requests.push(record);
    this.#check(request, record);
    for (const wake of this.#waiters.splice(0)) wake();
    const said = (dialectOf(request.url)?.userText ?? lastUserText)(record.body);
    const reply = this.#take(said);
    if (!reply) {
      this.problems.push(`a request came without a reply for it: ${said}`);
      response.writeHead(500).end();
      return;
    }
    if (!reply.ownHead) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
    }
    for (const step of reply.steps) {
      if (response.destroyed) return;
      if (typeof step === "string") response.write(step);
      else await step(response, gone);
    }
    if (!response.destroyed) response.end();
  }

  #take(said) {
    const index = this.#replies.findIndex(({ needle }) => said.includes(needle));
    return index < 0 ? undefined : this.#replies.splice(index, 1)[0];
  }

  #check(request, { body, headers }) {
    const complain = (problem) => this.problems.push(problem);
    const { handles, keyHeader, keyPrefix, problems } = dialectOf(request.url) ?? chat;
    if (!handles(request.url)) complain(`wrong path ${request.url}`);
    if (headers[keyHeader] !== `${keyPrefix}${KEY}`) complain("wrong key");
    if (JSON.stringify(body).includes(KEY)) complain("the key is in the body");
    for (const problem of problems(body)) complain(problem);
  }
}

const chat = {
  handles: (url) => url === "/v1/chat/completions",
  keyHeader: "authorization",
  keyPrefix: "Bearer ",
  problems: ({ messages }) => unpairedCalls(messages),
};

const dialectOf = (url) => dialects.find(({ handles }) => handles(url));

// Providers refuse a conversation in which a call has no result or a result no call.
function unpairedCalls(messages) {
  const problems = [];
  let open = new Set();
  const mustBeAnswered = (where) => {
    for (const id of open) problems.push(`the call ${id} has no result before ${where}`);
    open = new Set();
  };
  messages.forEach((message, index) => {
    if (message.role === "tool") {
      if (!open.delete(message.tool_call_id)) {
        problems.push(`message ${index} is a result of no call: ${message.tool_call_id}`);
      }
      return;
    }
    mustBeAnswered(`message ${index}`);
    for (const call of message.tool_calls ?? []) {
      if (open.has(call.id)) problems.push(`two calls have the id ${call.id}`);
      open.add(call.id);
    }
  });
  mustBeAnswered("the end");
  return problems;
}
