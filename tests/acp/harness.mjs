// A world for one test: folders, a model provider, and agents with their clients.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { Agent, PROGRAM } from "./agent.mjs";
import { KEY, startModelServer } from "./model-server.mjs";

/** An environment variable that tells the processes of a world from all others. */
const MARK = "MAGENT_ACP_TEST_WORLD";
/** How many milliseconds a test may take. */
const TIME_LIMIT = 30_000;
const KEPT_VARIABLES = ["PATH", "EMACS", "MAGENT_MODULE", "LANG", "TERM"];

/**
 * Defines a test.  `body` gets a new World.  `options.name` names the project's folder,
 * `options.lisp`, or what it returns for the server's URL, is added to the init file, and
 * `options.limit` is for tests that take longer than others.
 */
export function scenario(name, body, options = {}) {
  test(name, async (t) => {
    const world = await World.make(options);
    try {
      await inTime(body(world), options.limit);
      await inTime(world.finish());
    } catch (error) {
      for (const line of world.report()) t.diagnostic(line);
      throw error;
    } finally {
      await world.dispose();
    }
  });
}

// The runner's own limit would leave the agent of a hanging test behind, and with it a
// runner that never ends.
async function inTime(work, limit = TIME_LIMIT) {
  const timer = new AbortController();
  const late = sleep(limit, undefined, { signal: timer.signal }).then(() =>
    assert.fail(`nothing more happened for ${limit / 1_000} s`),
  );
  try {
    await Promise.race([work, late]);
  } finally {
    timer.abort();
    late.catch(() => {});
    work.catch(() => {});
  }
}

class World {
  #agents = [];
  #root;

  static async make(options) {
    const world = new World();
    world.#root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "magent-acp-")));
    world.home = world.folder("home");
    world.project = world.folder(options.name ?? "project");
    world.sessions = path.join(world.#root, "sessions");
    world.model = await startModelServer();
    world.#writeInit(options.lisp ?? "");
    return world;
  }

  #writeInit(lisp) {
    const models = "'((mock-1 :context-window 8000) mock-2)";
    fs.writeFileSync(
      path.join(this.#root, "init.el"),
      `(setq magent-session-directory ${JSON.stringify(this.sessions)})
(magent-define-backend "Mock" :dialect 'openai-chat :url ${JSON.stringify(this.model.url)}
  :key ${JSON.stringify(KEY)} :models ${models})
${typeof lisp === "function" ? lisp(this.model.url) : lisp}
`,
    );
  }

  /** Takes a model out of the backend's definition. */
  forgetModel(name) {
    const file = path.join(this.#root, "init.el");
    fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace(` ${name})`, ")"));
  }

  /** Adds Lisp to the init file. */
  configure(lisp) {
    fs.appendFileSync(path.join(this.#root, "init.el"), lisp);
  }

  /** Makes a folder of this world. */
  folder(name) {
    const folder = path.join(this.#root, name);
    fs.mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** Writes a file of the project and returns its path. */
  write(name, content) {
    const file = path.join(this.project, name);
    fs.writeFileSync(file, content);
    return file;
  }

  /** Reads a file of the project. */
  read(name) {
    return fs.readFileSync(path.join(this.project, name), "utf8");
  }

  /** Whether the project has a file. */
  has(name) {
    return fs.existsSync(path.join(this.project, name));
  }

  /** Starts an agent and introduces the client to it. */
  async start({ clientName = "magent-acp-tests", ...options } = {}) {
    const agent = this.launch(options);
    agent.introduction = await agent.request("initialize", {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: clientName, version: "1" },
      clientCapabilities: {},
    });
    return agent;
  }

  /** Starts an agent. */
  launch({ env = {}, cwd = this.home } = {}) {
    const agent = new Agent({ cwd, env: this.#environment(env), project: this.project });
    this.#agents.push(agent);
    return agent;
  }

  /**
   * Runs `bin/magent exec` in the project to its end.
   *
   * With `redirect`, a redirection of the shell, standard output goes there; with
   * `head`, it is closed after the first piece, as `head` does.
   */
  exec(args, options) {
    return this.run(["exec", ...args], options);
  }

  /** The same for any command. */
  async run(args, { input = "", redirect = "", head = false, cwd = this.project, env: more = {} } = {}) {
    const env = this.#environment(more);
    const command = ["-c", `exec "$0" "$@" ${redirect}`, PROGRAM, ...args];
    const child = spawn("/bin/sh", command, { cwd, env });
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) {
      child[name].setEncoding("utf8").on("data", (text) => (output[name] += text));
    }
    if (head) child.stdout.once("data", () => child.stdout.destroy());
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const [code] = await once(child, "close");
    return { code, ...output };
  }

  #environment(env) {
    const kept = KEPT_VARIABLES.filter((name) => name in process.env);
    return {
      ...Object.fromEntries(kept.map((name) => [name, process.env[name]])),
      HOME: this.home,
      XDG_CONFIG_HOME: path.join(this.home, ".config"),
      XDG_CACHE_HOME: path.join(this.home, ".cache"),
      XDG_DATA_HOME: path.join(this.home, ".local/share"),
      XDG_STATE_HOME: path.join(this.home, ".local/state"),
      TMPDIR: this.folder("tmp"),
      MAGENT_INIT: path.join(this.#root, "init.el"),
      [MARK]: this.#root,
      ...env,
    };
  }

  /** Starts an agent and opens a session in it. */
  async startSession(options) {
    const agent = await this.start(options);
    const { sessionId } = await agent.newSession();
    return { agent, id: sessionId };
  }

  /** Ends the agents as a client does, and asserts that all was well on the wire. */
  async finish() {
    for (const agent of this.#agents) await agent.finish();
    assert.deepEqual(this.model.problems, [], "requests to the model");
    assert.equal(this.model.unused, 0, "replies that no request came for");
    assert.deepEqual(this.#leftovers(), [], "processes that outlived the agent");
  }

  /** What helps to understand a failure. */
  report() {
    return this.#agents.flatMap((agent) => agent.report());
  }

  async dispose() {
    for (const agent of this.#agents) agent.kill("SIGKILL");
    await Promise.all(this.#agents.map((agent) => agent.exited));
    for (const pid of this.#leftovers()) process.kill(pid, "SIGKILL");
    if (this.model.listening) await this.model.close();
    fs.rmSync(this.#root, { recursive: true, force: true });
  }

  // Commands run in process groups of their own, so the group says nothing about them;
  // they inherit the environment.  Only Linux shows that.
  #leftovers() {
    if (process.platform !== "linux") return [];
    const mark = `${MARK}=${this.#root}\0`;
    const processes = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return processes.map(Number).filter((pid) => environmentOf(pid).includes(mark));
  }
}

function environmentOf(pid) {
  try {
    return fs.readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    return "";
  }
}

/** Whether a process is there and not just waiting to be buried. */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== "linux") return true;
  try {
    return !/^State:\s+[ZX]/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** The text in the content of a tool call's update. */
export const outputOf = (update) =>
  (update.content ?? [])
    .filter(({ type }) => type === "content")
    .map(({ content }) => content.text)
    .join("");

/** The states that a call went through, its row first, without repetitions. */
export const stages = (updates) => {
  const states = updates.map(({ sessionUpdate, status }) =>
    sessionUpdate === "tool_call" ? (status ?? "pending") : status,
  );
  return states.filter((state, n) => state && state !== states[n - 1]);
};

/** What a tool wants as proof that the model has seen a file. */
export const revision = (content) => createHash("sha256").update(content).digest("hex");
