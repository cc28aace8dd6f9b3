// One `bin/magent acp` in a process group of its own, driven by the official ACP client,
// with a tap on all that passes between the two.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Transform, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import * as acp from "@agentclientprotocol/sdk";
import { KEY } from "./model-server.mjs";
import { Wire } from "./wire-rules.mjs";

/** The program under test. */
export const PROGRAM = fileURLToPath(new URL("../../bin/magent", import.meta.url));

/** Nothing that works takes this long, even on a busy machine. */
const PATIENCE = 10_000;

/** Waits until `condition` returns something and returns that. */
export async function until(condition, what, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    const value = condition();
    if (value) return value;
    if (Date.now() > end) assert.fail(`waited in vain for ${what}`);
    await sleep(5);
  }
}

/** One `bin/magent acp` and its client. */
export class Agent {
  /** All that the agent wrote: `{ at, size, message }`. */
  lines = [];
  /** All questions for permission, as their parameters. */
  questions = [];
  #child;
  #project;
  #wire = new Wire(KEY);
  #stderr = "";
  #ended = false;
  #heard = 0;
  #answers = [];
  #client;
  #rawRequests = new Map();
  #rawCount = 0;

  constructor({ cwd, env, project }) {
    this.#project = project;
    this.#child = spawn(PROGRAM, ["acp"], { cwd, env, detached: true });
    this.#child.on("error", (error) => (this.#stderr += error));
    this.#child.stdin.on("error", () => {});
    this.#child.stderr.setEncoding("utf8").on("data", (text) => (this.#stderr += text));
    this.exited = once(this.#child, "close").then(([code, signal]) => {
      this.#ended = true;
      return { code, signal, at: Date.now() };
    });
    const stream = acp.ndJsonStream(
      Writable.toWeb(this.#outgoing()),
      Readable.toWeb(this.#child.stdout.pipe(this.#incoming())),
    );
    this.#client = acp
      .client({ name: "magent-acp-tests" })
      .onNotification("session/update", () => void (this.#heard += 1))
      .onRequest("session/request_permission", ({ params }) => this.#permission(params))
      .connect(stream);
  }

  get pid() {
    return this.#child.pid;
  }

  // The tap: what the official client gets and sends goes through here.
  #outgoing() {
    const wire = this.#wire;
    const tap = new Transform({
      transform(bytes, _encoding, next) {
        for (const line of bytes.toString().split("\n")) if (line) wire.sent(JSON.parse(line));
        next(null, bytes);
      },
    });
    tap.on("error", () => {});
    tap.pipe(this.#child.stdin);
    return tap;
  }

  #incoming() {
    let rest = "";
    const take = (line) => this.#take(line);
    const decoder = new TextDecoder("utf-8", { fatal: true });
    return new Transform({
      transform(bytes, _encoding, next) {
        const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
        rest = lines.pop();
        next(
          null,
          lines
            .filter(take)
            .map((line) => `${line}\n`)
            .join(""),
        );
      },
    });
  }

  // Records a line; returns whether it is for the official client.
  #take(line) {
    const message = this.#wire.received(line);
    this.lines.push({ at: Date.now(), size: Buffer.byteLength(line), message });
    if (!message || (message.id === null && !message.method)) return false;
    const answer = message.method === undefined && this.#rawRequests.get(message.id);
    if (answer) answer(message);
    return !answer;
  }

  #permission(params) {
    this.questions.push(params);
    const answer = this.#answers.shift();
    assert.ok(answer, `nobody expected the question ${params.toolCall.title}`);
    return answer(params);
  }

  /**
   * Says how the next question for permission is answered: with the kind of an option, or
   * with a function that gets the parameters and returns the response.
   */
  answerNext(...answers) {
    const choose = (kind) => (params) => {
      const option = params.options.find((option) => option.kind === kind);
      assert.ok(option, `there is no option of the kind ${kind}`);
      return { outcome: { outcome: "selected", optionId: option.optionId } };
    };
    this.#answers.push(
      ...answers.map((answer) => (typeof answer === "string" ? choose(answer) : answer)),
    );
  }

  request(method, params) {
    return this.#client.agent.request(method, params);
  }

  notify(method, params) {
    return this.#client.agent.notify(method, params);
  }

  /** Makes a request that must fail and returns its error. */
  async refused(method, params) {
    const outcome = await this.request(method, params).then(
      (result) => assert.fail(`${method} was answered with ${JSON.stringify(result)}`),
      (error) => error,
    );
    if (outcome instanceof assert.AssertionError) throw outcome;
    const { code, message, data } = outcome;
    return { code, message, data };
  }

  /** Writes text to the agent as it is. */
  writeRaw(text) {
    this.#child.stdin.write(text);
  }

  /** Sends a request past the official client, which checks what it sends. */
  requestRaw(method, params, fields = {}) {
    this.#rawCount += 1;
    const message = { jsonrpc: "2.0", id: `raw-${this.#rawCount}`, method, params, ...fields };
    const answer = this.expectRaw(message);
    this.writeRaw(`${JSON.stringify(message)}\n`);
    return answer;
  }

  /** The answer to a request that a test writes itself. */
  expectRaw(message) {
    this.#wire.sent(message);
    return new Promise((resolve) => this.#rawRequests.set(message.id, resolve));
  }

  newSession(params = {}) {
    return this.request("session/new", { cwd: this.#project, mcpServers: [], ...params });
  }

  load(sessionId, params = {}) {
    return this.request("session/load", {
      sessionId,
      cwd: this.#project,
      mcpServers: [],
      ...params,
    });
  }

  resume(sessionId, params = {}) {
    const all = { sessionId, cwd: this.#project, mcpServers: [], ...params };
    return this.request("session/resume", all);
  }

  prompt(sessionId, prompt) {
    return this.request("session/prompt", { sessionId, prompt: blocks(prompt) });
  }

  refusedPrompt(sessionId, prompt) {
    return this.refused("session/prompt", { sessionId, prompt: blocks(prompt) });
  }

  cancel(sessionId) {
    return this.notify("session/cancel", { sessionId });
  }

  /** The updates so far, of one session or all, of one kind or all, from a line on. */
  updates({ session, kind, from = 0 } = {}) {
    return this.lines
      .slice(from)
      .map(({ message }) => message)
      .filter((message) => message?.method === "session/update")
      .filter(({ params }) => !session || params.sessionId === session)
      .map(({ params }) => params.update)
      .filter((update) => !kind || update.sessionUpdate === kind);
  }

  /** What the agent said, without thinking. */
  said(filter) {
    return textOf(this.updates({ ...filter, kind: "agent_message_chunk" }));
  }

  /** The updates of one call, its row first. */
  callUpdates(toolCallId) {
    return this.updates().filter((update) => update.toolCallId === toolCallId);
  }

  /** Waits for an update for which `test` holds. */
  update(test, what, patience) {
    return until(() => this.updates().find(test), what, patience);
  }

  /** The index of the first line whose message passes `test`. */
  position(test) {
    return this.lines.findIndex(({ message }) => message && test(message));
  }

  /**
   * The text on standard error once it matches, which is then no surprise any more.  It
   * comes through a pipe of its own, sooner or later than the messages.
   */
  async takeStderr(pattern) {
    await until(() => pattern.test(this.#stderr), `${pattern} on standard error`);
    const text = this.#stderr;
    this.#stderr = "";
    return text;
  }

  closeInput() {
    this.#wire.clientWent();
    this.#child.stdin.end();
  }

  /** Sends a signal to the whole process group. */
  kill(signal) {
    if (this.#ended) return;
    try {
      process.kill(-this.pid, signal);
    } catch (error) {
      // It may have ended a moment ago.
      if (error.code !== "ESRCH") throw error;
    }
  }

  /** Ends the agent unless it has ended, and asserts that it kept all rules. */
  async finish() {
    if (!this.#ended) {
      assert.deepEqual(this.#wire.unanswered, [], "requests without an answer");
      this.closeInput();
      const { code, signal } = await this.exited;
      assert.deepEqual({ code, signal }, { code: 0, signal: null }, "the way the agent ended");
    }
    assert.deepEqual(this.#wire.violations, [], "violations of the protocol");
    assert.equal(this.#heard, this.updates().length, "updates that the official client took");
    assert.equal(this.#answers.length, 0, "questions that were not asked");
    assert.equal(this.#stderr, "", "the agent's standard error");
  }

  report() {
    const show = ({ message }) => (JSON.stringify(message) ?? "no message").slice(0, 400);
    const last = this.lines.slice(-12).map(show);
    return [`stderr: ${this.#stderr || "nothing"}`, "last lines of the agent:", ...last];
  }
}

const blocks = (prompt) =>
  typeof prompt === "string" ? [{ type: "text", text: prompt }] : prompt;

/** The text of chunks. */
export const textOf = (chunks) => chunks.map(({ content }) => content.text).join("");
