// What must hold for all that an agent writes, whatever a test is about.

import { checkError, checkParams, checkResult } from "./schema-check.mjs";

/** Bytes; longer lines freeze clients that show them. */
const LONGEST_LINE = 200_000;

const CHUNKS = new Set(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]);
const TURN_UPDATES = new Set([...CHUNKS, "tool_call", "tool_call_update", "plan"]);
const PROGRESS = { pending: 0, in_progress: 1, completed: 2, failed: 2 };
const NOTICE = /^\[Magent: /;
/** Errors that may answer a line whose id could not be read. */
const UNREADABLE = new Set([-32700, -32600]);

/** Follows a connection and collects everything that is wrong with the agent's part. */
export class Wire {
  /** What is wrong, as texts. */
  violations = [];
  #secret;
  #requests = new Map();
  #agentRequests = new Map();
  #sessions = new Map();
  #clientIsThere = true;

  constructor(secret) {
    this.#secret = secret;
  }

  /** Takes a message that the client sends. */
  sent(message) {
    if (message.method === undefined) {
      const request = this.#agentRequests.get(message.id);
      if (request) request.answered = true;
      return;
    }
    if (message.id === undefined) return;
    this.#requests.set(message.id, { ...message, answers: 0 });
    const { sessionId } = message.params ?? {};
    if (message.method === "session/load" || message.method === "session/resume") {
      // A conversation that is shown again begins anew.
      const known = this.#session(sessionId);
      known.calls.clear();
      known.messages.clear();
      known.lastMessage = undefined;
    }
  }

  /** The client has closed its end: what it is not told any more, it does not miss. */
  clientWent() {
    this.#clientIsThere = false;
  }

  /** Takes a line that the agent wrote and returns its message, if it is one. */
  received(line) {
    const size = Buffer.byteLength(line);
    if (size > LONGEST_LINE) this.#wrong(`a line of ${size} bytes: ${line.slice(0, 200)}…`);
    if (line.includes(this.#secret)) this.#wrong(`the key is in ${line.slice(0, 300)}`);
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      this.#wrong(`not JSON: ${line.slice(0, 300)}`);
      return undefined;
    }
    this.#shape(message);
    if (message.method === undefined) this.#response(message);
    else if (message.id === undefined) this.#notification(message);
    else this.#request(message);
    return message;
  }

  /** Requests of the client that were not answered. */
  get unanswered() {
    return [...this.#requests.values()].filter(({ answers }) => answers === 0);
  }

  #wrong(problem) {
    this.violations.push(problem);
  }

  #all(problems) {
    this.violations.push(...problems);
  }

  #session(id) {
    if (!this.#sessions.has(id)) {
      this.#sessions.set(id, { calls: new Map(), messages: new Map(), lastMessage: undefined });
    }
    return this.#sessions.get(id);
  }

  #shape(message) {
    const keys = Object.keys(message)
      .filter((key) => key !== "jsonrpc")
      .sort()
      .join();
    const shapes = ["error,id", "id,result", "id,method,params", "method,params"];
    if (message.jsonrpc !== "2.0") this.#wrong("a message without jsonrpc 2.0");
    if (!shapes.includes(keys)) this.#wrong(`a message with the keys ${keys}`);
  }

  #response({ id, result, error }) {
    if (error) this.#all(checkError(error));
    const request = this.#requests.get(id);
    if (!request) {
      const unreadable = id === null && UNREADABLE.has(error?.code);
      if (!unreadable) this.#wrong(`an answer to nothing: id ${id}`);
      return;
    }
    request.answers += 1;
    if (request.answers > 1) this.#wrong(`a second answer to ${request.method} ${id}`);
    if (!error) this.#all(checkResult(request.method, result));
    const opens = ["session/new", "session/fork"].includes(request.method);
    if (opens && result) this.#session(result.sessionId);
    if (["session/prompt", "session/load"].includes(request.method)) {
      this.#noOpenCalls(request);
    }
  }

  // Once nothing is under way any more, no call may look as if it were.
  #noOpenCalls({ method, params }) {
    if (!this.#clientIsThere || this.#isBusy(params?.sessionId)) return;
    for (const [id, status] of this.#sessions.get(params?.sessionId)?.calls ?? []) {
      if (PROGRESS[status] < 2)
        this.#wrong(`${method} ended while the call ${id} is ${status}`);
    }
  }

  #request({ id, method, params }) {
    this.#all(checkParams(method, "Request", params));
    if (this.#agentRequests.has(id)) this.#wrong(`a second request with the id ${id}`);
    this.#agentRequests.set(id, { answered: false });
    if (method !== "session/request_permission") return;
    const call = params.toolCall.toolCallId;
    const status = this.#knownSession(params.sessionId)?.calls.get(call);
    if (status !== "pending") {
      this.#wrong(`permission was asked for the call ${call}, which is ${status ?? "unknown"}`);
    }
    const options = new Set(params.options.map(({ optionId }) => optionId));
    if (options.size < 2 || options.size < params.options.length) {
      this.#wrong(`a question with the options ${[...options]}`);
    }
  }

  #notification({ method, params }) {
    this.#all(checkParams(method, "Notification", params));
    if (method !== "session/update") return;
    const session = this.#knownSession(params.sessionId);
    if (!session) return;
    const { update } = params;
    this.#inTurn(params.sessionId, update);
    if (CHUNKS.has(update.sessionUpdate)) this.#chunk(session, update);
    if (update.sessionUpdate === "tool_call") this.#call(session, update);
    if (update.sessionUpdate === "tool_call_update") this.#callUpdate(session, update);
  }

  #knownSession(id) {
    const session = this.#sessions.get(id);
    if (!session) this.#wrong(`a message about the unknown session ${id}`);
    return session;
  }

  #isBusy(sessionId) {
    return this.unanswered.some(
      ({ method, params }) =>
        ["session/prompt", "session/load"].includes(method) && params?.sessionId === sessionId,
    );
  }

  // Clients draw what comes outside of a turn in odd places, or drop it.
  #inTurn(sessionId, update) {
    if (!TURN_UPDATES.has(update.sessionUpdate) || NOTICE.test(update.content?.text)) return;
    if (!this.#isBusy(sessionId)) this.#wrong(`${update.sessionUpdate} outside of a turn`);
  }

  #chunk(session, { sessionUpdate, messageId, content }) {
    if (typeof messageId !== "string") return this.#wrong(`${sessionUpdate} without messageId`);
    if (content.type !== "text" || content.text === "")
      this.#wrong(`an empty ${sessionUpdate}`);
    const kind = session.messages.get(messageId) ?? sessionUpdate;
    if (kind !== sessionUpdate)
      this.#wrong(`${messageId} is both ${kind} and ${sessionUpdate}`);
    if (session.messages.has(messageId) && session.lastMessage !== messageId) {
      this.#wrong(`the message ${messageId} goes on after another one began`);
    }
    session.messages.set(messageId, sessionUpdate);
    session.lastMessage = messageId;
  }

  #call(session, { toolCallId, status = "pending" }) {
    if (session.calls.has(toolCallId)) this.#wrong(`a second row of the call ${toolCallId}`);
    session.calls.set(toolCallId, status);
  }

  #callUpdate(session, { toolCallId, status }) {
    const before = session.calls.get(toolCallId);
    if (!before) return this.#wrong(`an update of the unknown call ${toolCallId}`);
    if (PROGRESS[before] === 2)
      this.#wrong(`an update of the call ${toolCallId} after its end`);
    if (!status) return;
    if (PROGRESS[status] < PROGRESS[before]) {
      this.#wrong(`the call ${toolCallId} went from ${before} back to ${status}`);
    }
    session.calls.set(toolCallId, status);
  }
}
