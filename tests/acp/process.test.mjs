// The life of the process, and what it leaves behind.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { PROGRAM, until } from "./agent.mjs";
import { isAlive, outputOf, scenario } from "./harness.mjs";
import { answer, callTools, hang, KEY, text } from "./model-server.mjs";

const ALLOWED = { lisp: "(setq magent-permission-rules '((bash . allow)))" };
/** How long an agent may take to end once its client has gone. */
const SOON = 2_000;

// Starts a prompt whose command runs for minutes; returns the command's processes.
async function runForMinutes(world, { agent, id }) {
  const command = "sleep 301 & echo $$ $! > pids; echo running; sleep 302";
  world.model.reply(callTools(["bash", { command }, "sh"]));
  const prompt = agent.prompt(id, "Run it");
  prompt.catch(() => {});
  await agent.update((update) => outputOf(update).includes("running"), "output");
  const pids = world.read("pids").trim().split(" ").map(Number);
  assert.ok(pids.every(isAlive));
  return pids;
}

async function endsSoon(agent) {
  const begun = Date.now();
  const { code, signal, at } = await agent.exited;
  assert.ok(at - begun < SOON, `it took ${at - begun} ms`);
  return { code, signal };
}

scenario(
  "when the client goes during a command, the agent and the command end",
  async (world) => {
    const session = await world.startSession();
    const pids = await runForMinutes(world, session);
    session.agent.closeInput();
    assert.deepEqual(await endsSoon(session.agent), { code: 0, signal: null });
    await until(() => !pids.some(isAlive), "the end of the command", 1_000);
  },
  ALLOWED,
);

scenario(
  "when the client goes during text, the agent ends and the text is kept",
  async (world) => {
    const { agent, id } = await world.startSession();
    world.model.reply(text("Half a sentence"), hang);
    agent.prompt(id, "Talk").catch(() => {});
    await until(() => agent.said() === "Half a sentence", "text");
    agent.closeInput();
    assert.deepEqual(await endsSoon(agent), { code: 0, signal: null });
    await until(() => world.model.requests[0].gone, "the end of the request");
    const next = await world.start();
    await next.load(id);
    assert.match(next.said(), /Half a sentence/);
  },
);

scenario("when the client goes during a question, the agent ends", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(callTools(["bash", { command: "touch mark" }, "sh"]));
  agent.answerNext(() => new Promise(() => {}));
  agent.prompt(id, "Run it").catch(() => {});
  await until(() => agent.questions.length, "the question");
  agent.closeInput();
  assert.deepEqual(await endsSoon(agent), { code: 0, signal: null });
  assert.ok(!world.has("mark"));
});

scenario("a client that only sends and goes gets its answers", async (world) => {
  const agent = world.launch();
  agent.requestRaw("initialize", { protocolVersion: 1 });
  agent.requestRaw("session/new", { cwd: world.project, mcpServers: [] });
  agent.requestRaw("session/list", {});
  agent.closeInput();
  assert.equal((await agent.exited).code, 0);
  const answers = agent.lines.filter(({ message }) => message.result);
  assert.equal(answers.length, 3);
});

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
  scenario(
    `${signal} ends the agent and its command`,
    async (world) => {
      const session = await world.startSession();
      const pids = await runForMinutes(world, session);
      process.kill(session.agent.pid, signal);
      await endsSoon(session.agent);
      await until(() => !pids.some(isAlive), "the end of the command", 1_000);
    },
    ALLOWED,
  );
}

scenario("the files of a session are for the user only, and without the key", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(callTools(["bash", { command: "env; echo out" }, "sh"]));
  world.model.reply(answer("Done."));
  agent.answerNext("allow_once");
  await agent.prompt(id, "Run env");
  await agent.finish();
  const files = fs.readdirSync(world.sessions, { recursive: true, withFileTypes: true });
  assert.ok(files.some((file) => file.isFile()));
  for (const file of files) {
    const name = path.join(file.parentPath ?? file.path, file.name);
    assert.equal(fs.statSync(name).mode & 0o077, 0, name);
    if (file.isFile()) assert.ok(!fs.readFileSync(name, "utf8").includes(KEY), name);
  }
  assert.deepEqual(fs.readdirSync(world.project), [], "the project is left alone");
});

scenario(
  "a session folder that cannot be written is told truly, and the turn works",
  async (world) => {
    const { agent, id } = await world.startSession();
    world.model.reply(answer("Done."));
    assert.equal((await agent.prompt(id, "Hi")).stopReason, "end_turn");
    assert.match(agent.said(), /Done\./);
    assert.match(agent.said(), /\[Magent: .*cannot be saved.*\]/);
    assert.doesNotMatch(agent.said(), /saved again/);
  },
  { lisp: `(setq magent-session-directory "/proc/nowhere/sessions")` },
);

scenario("an agent with arguments it does not know says so and ends", async (world) => {
  const { status, stdout, stderr } = spawnSync(PROGRAM, ["acp", "--port", "1"], {
    env: { ...process.env, HOME: world.home },
    encoding: "utf8",
  });
  assert.equal(status, 2);
  assert.equal(stdout, "");
  assert.match(stderr, /no arguments/);
});

scenario(
  "an init file that fails is told on standard error, not on the protocol",
  async (world) => {
    const agent = world.launch();
    const { code } = await agent.exited;
    assert.equal(code, 2);
    assert.deepEqual(agent.lines, []);
    await agent.takeStderr(/a mistake of the user/);
  },
  { lisp: `(error "a mistake of the user")` },
);

scenario(
  "what the user's Lisp prints does not reach the protocol",
  async (world) => {
    const { agent, id } = await world.startSession();
    world.model.reply(answer("Clean."));
    assert.equal((await agent.prompt(id, "Hi")).stopReason, "end_turn");
    agent.closeInput();
    await agent.exited;
    await agent.takeStderr(/printed/);
  },
  { lisp: `(princ "printed\\n") (message "loud and clear") (print 'form)` },
);
