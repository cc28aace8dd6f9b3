import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { until } from "./agent.mjs";
import { isAlive, outputOf, scenario } from "./harness.mjs";
import {
  answer,
  callTools,
  gate,
  hang,
  lastUserText,
  text,
  thinking,
  usage,
  stop,
  done,
} from "./model-server.mjs";

scenario("session/new gives modes and options, then commands", async (world) => {
  const agent = await world.start();
  const opened = await agent.newSession();
  assert.equal(opened.modes.currentModeId, "build");
  assert.deepEqual(
    opened.modes.availableModes.map(({ id }) => id),
    ["build", "plan"],
  );
  assert.ok(opened.modes.availableModes.every(({ name, description }) => name && description));
  const options = opened.configOptions.map(({ id, category, type, currentValue }) => ({
    id,
    category,
    type,
    currentValue,
  }));
  assert.deepEqual(options, [
    { id: "mode", category: "mode", type: "select", currentValue: "build" },
    { id: "model", category: "model", type: "select", currentValue: "auto" },
    { id: "effort", category: "thought_level", type: "select", currentValue: "auto" },
    { id: "thinking", category: "thought_level", type: "select", currentValue: "auto" },
  ]);
  for (const { id, currentValue, options } of opened.configOptions) {
    const values = options.map(({ value }) => value);
    assert.ok(values.includes(currentValue), `the choices of ${id}`);
    assert.equal(new Set(values).size, values.length, `the choices of ${id}`);
  }
  const models = opened.configOptions[1].options.map(({ name }) => name);
  assert.deepEqual(models, ["Auto → Mock:mock-1", "Mock:mock-1", "Mock:mock-2"]);

  const isCommands = (update) => update?.sessionUpdate === "available_commands_update";
  const { availableCommands } = await agent.update(isCommands, "commands");
  assert.deepEqual(
    availableCommands.map(({ name }) => name),
    ["authority", "compact", "help"],
  );
  const response = agent.position((message) => message.result?.sessionId);
  const commands = agent.position((message) => isCommands(message.params?.update));
  assert.ok(commands > response, "a client knows the session only after the response");
});

scenario("each session/new is a session of its own", async (world) => {
  const agent = await world.start();
  const opened = await Promise.all([1, 2, 3].map(() => agent.newSession()));
  assert.equal(new Set(opened.map(({ sessionId }) => sessionId)).size, 3);
});

scenario("a title comes with the first prompt", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(answer("Done."));
  world.model.reply(answer("Again."));
  await agent.prompt(id, "Rename the frobnicator\nand do it well");
  await agent.prompt(id, "Something else");
  const titles = agent.updates({ session: id, kind: "session_info_update" });
  assert.equal(titles.length, 1);
  assert.match(titles[0].title, /^Rename the frobnicator/);
  assert.ok(!titles[0].title.includes("\n"));
  const { sessions } = await agent.request("session/list", { cwd: world.project });
  assert.equal(sessions[0].title, titles[0].title);
});

scenario("session/list gives the saved sessions of this project only", async (world) => {
  const agent = await world.start();
  const other = world.folder("other");
  const ids = {};
  for (const [name, cwd] of [
    ["first", world.project],
    ["second", world.project],
    ["far", other],
  ]) {
    ids[name] = (await agent.newSession({ cwd })).sessionId;
    world.model.reply(answer("Hello."));
    await agent.prompt(ids[name], `The ${name} prompt`);
  }
  await agent.newSession();
  const list = async (params) => (await agent.request("session/list", params)).sessions;
  const here = await list({ cwd: world.project });
  assert.deepEqual(
    here.map(({ sessionId }) => sessionId).sort(),
    [ids.first, ids.second].sort(),
  );
  for (const { cwd, title, updatedAt } of here) {
    assert.equal(cwd, world.project);
    assert.match(title, /^The (first|second) prompt/);
    assert.ok(Math.abs(Date.parse(updatedAt) - Date.now()) < 60_000, updatedAt);
  }
  const slashed = await list({ cwd: `${world.project}/` });
  assert.equal(slashed.length, 2, "a slash at the end makes no difference");
  assert.equal((await list({ cwd: other }))[0].sessionId, ids.far);
  assert.equal((await list({})).length, 3, "without a folder all are listed");
});

// A conversation with one of everything.
async function holdConversation(world, agent, id) {
  world.write("notes.txt", "alpha\nbeta\n");
  world.model.reply(
    thinking("Let me look."),
    text("I read it first."),
    callTools(["read_file", { path: "notes.txt", source: "disk" }, "call_a"]),
  );
  world.model.reply(callTools(["bash", { command: "echo out; exit 3" }, "call_b"]));
  const plan = [
    { step: "Look", status: "completed" },
    { step: "Tell", status: "in_progress" },
  ];
  world.model.reply(callTools(["update_plan", { plan }, "call_c"]));
  world.model.reply(answer("It says alpha and beta."));
  agent.answerNext("allow_once");
  await agent.prompt(id, "What do my notes say?");
  world.model.reply(answer("You are welcome."));
  await agent.prompt(id, "Thank you 🙏");
}

// What a replay must show, without the stages in between.
function shown(updates) {
  const rows = new Map();
  const messages = new Map();
  const order = [];
  for (const update of updates) {
    const { sessionUpdate: kind, messageId, toolCallId } = update;
    if (messageId) {
      if (!messages.has(messageId)) {
        messages.set(messageId, { kind, messageId, text: "" });
        order.push(messages.get(messageId));
      }
      messages.get(messageId).text += update.content.text;
    } else if (kind === "tool_call") {
      rows.set(toolCallId, { toolCallId, kind: update.kind, rawInput: update.rawInput });
      order.push(rows.get(toolCallId));
    } else if (kind === "plan") {
      order.push({ kind, entries: update.entries });
    }
    if (toolCallId) {
      const row = rows.get(toolCallId);
      row.title = update.title ?? row.title;
      row.status = update.status ?? row.status;
      row.output = outputOf(update) || row.output;
    }
  }
  return order;
}

const withoutUser = (items) => items.filter(({ kind }) => kind !== "user_message_chunk");

scenario(
  "session/load shows everything again, in order, before its response",
  async (world) => {
    const first = await world.startSession();
    await holdConversation(world, first.agent, first.id);
    const live = shown(first.agent.updates({ session: first.id }));
    await first.agent.finish();

    const agent = await world.start();
    const loaded = await agent.load(first.id);
    assert.equal(loaded.modes.currentModeId, "build");
    assert.equal(loaded.configOptions.length, 4);
    const response = agent.position((message) => message.result?.modes);
    const kinds = ({ message }) => message.params?.update?.sessionUpdate;
    const before = agent.lines.slice(0, response).map(kinds).filter(Boolean);
    const after = agent.lines.slice(response).map(kinds).filter(Boolean);
    assert.ok(!before.includes("available_commands_update"));
    assert.deepEqual(
      after.filter((kind) => /message|thought|tool|plan/.test(kind)),
      [],
      "the conversation comes before the response",
    );

    const replayed = shown(agent.updates({ session: first.id }));
    const user = replayed.filter(({ kind }) => kind === "user_message_chunk");
    assert.deepEqual(
      user.map(({ text }) => text),
      ["What do my notes say?", "Thank you 🙏"],
    );
    assert.deepEqual(
      withoutUser(replayed),
      live,
      "ids, order, texts and rows are those of then",
    );
    const order = replayed.map(({ kind }) => kind);
    assert.deepEqual(order.slice(0, 3), [
      "user_message_chunk",
      "agent_thought_chunk",
      "agent_message_chunk",
    ]);
    assert.deepEqual(order.slice(-3), [
      "agent_message_chunk",
      "user_message_chunk",
      "agent_message_chunk",
    ]);
  },
);

scenario("a loaded session goes on with what was said", async (world) => {
  const first = await world.startSession();
  await holdConversation(world, first.agent, first.id);
  await first.agent.finish();
  const agent = await world.start();
  await agent.load(first.id);
  world.model.reply(answer("Alpha, as I said."));
  const { stopReason } = await agent.prompt(first.id, "Which was first?");
  assert.equal(stopReason, "end_turn");
  const { messages } = world.model.requests.at(-1).body;
  assert.deepEqual(
    messages.filter(({ role }) => role === "user").map(({ content }) => content),
    ["What do my notes say?", "Thank you 🙏", "Which was first?"],
  );
  assert.equal(messages.filter(({ role }) => role === "tool").length, 3);
});

scenario("session/resume opens a session without showing it again", async (world) => {
  const first = await world.startSession();
  await holdConversation(world, first.agent, first.id);
  await first.agent.finish();
  const agent = await world.start();
  const resumed = await agent.resume(first.id);
  assert.equal(resumed.configOptions.length, 4);
  await agent.update(({ sessionUpdate }) => sessionUpdate === "usage_update", "usage");
  const kinds = new Set(agent.updates().map(({ sessionUpdate }) => sessionUpdate));
  assert.deepEqual([...kinds].sort(), [
    "available_commands_update",
    "session_info_update",
    "usage_update",
  ]);
  world.model.reply(answer("Yes."));
  await agent.prompt(first.id, "Still there?");
  assert.ok(
    world.model.requests.at(-1).body.messages.some(({ content }) => content === "Thank you 🙏"),
  );
});

scenario("a change of files is shown again with its diff", async (world) => {
  const first = await world.startSession();
  world.model.reply(
    callTools([
      "write_file",
      { path: "new.txt", content: "one\n", expected_revision: "absent" },
      "w",
    ]),
  );
  world.model.reply(answer("Written."));
  first.agent.answerNext("allow_once");
  await first.agent.prompt(first.id, "Write it");
  await first.agent.finish();
  const agent = await world.start();
  await agent.load(first.id);
  const diffs = agent.callUpdates("w").flatMap(({ content }) => content ?? []);
  assert.deepEqual(
    diffs.filter(({ type }) => type === "diff"),
    [{ type: "diff", path: path.join(world.project, "new.txt"), newText: "one\n" }],
  );
});

scenario("after SIGKILL every finished turn is there", async (world) => {
  const { agent, id } = await world.startSession();
  for (const word of ["one", "two"]) {
    world.model.reply(answer(`Answer ${word}.`));
    await agent.prompt(id, `Prompt ${word}`);
  }
  const held = gate();
  world.model.reply(text("Half an answer"), held.step);
  agent.prompt(id, "Prompt three").catch(() => {});
  await until(() => agent.said().includes("Half an answer"), "the third answer");
  agent.kill("SIGKILL");
  await agent.exited;

  const next = await world.start();
  await next.load(id);
  const order = shown(next.updates({ session: id })).map(({ text }) => text);
  assert.deepEqual(order.slice(0, 5), [
    "Prompt one",
    "Answer one.",
    "Prompt two",
    "Answer two.",
    "Prompt three",
  ]);
  world.model.reply(answer("Back."));
  const { stopReason } = await next.prompt(id, "Go on");
  assert.equal(stopReason, "end_turn");
  assert.equal(lastUserText(world.model.requests.at(-1).body), "Go on");
});

scenario(
  "after SIGKILL a call that ran is shown as failed, and the session is usable",
  async (world) => {
    const { agent, id } = await world.startSession();
    const command = "echo $$ > pid; echo running; sleep 30";
    world.model.reply(callTools(["bash", { command }, "sh"], ["bash", { command }, "next"]));
    agent.prompt(id, "Run it").catch(() => {});
    await agent.update((update) => outputOf(update).includes("running"), "output");
    agent.kill("SIGKILL");
    await agent.exited;
    // What a killed process leaves running is not its doing; the tests leave nothing.
    process.kill(-Number(world.read("pid")), "SIGKILL");

    const next = await world.start();
    await next.load(id);
    for (const call of ["sh", "next"]) {
      const last = next.callUpdates(call).at(-1);
      assert.equal(last.status, "failed", call);
      assert.notEqual(outputOf(last), "", call);
    }
    world.model.reply(answer("Back."));
    assert.equal((await next.prompt(id, "Go on")).stopReason, "end_turn");
  },
  { lisp: "(setq magent-permission-rules '((bash . allow)))" },
);

scenario("a session can be loaded again and again on one connection", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(answer("Hello."));
  await agent.prompt(id, "Hi");
  for (const _ of [1, 2]) {
    const from = agent.lines.length;
    await agent.load(id);
    assert.equal(agent.said({ from }), "Hello.");
  }
  const from = agent.lines.length;
  world.model.reply(answer("Once."));
  await agent.prompt(id, "Say it once");
  assert.equal(agent.said({ from }), "Once.");
});

scenario("sessions that look alike in a list are numbered", async (world) => {
  const agent = await world.start();
  const ids = [];
  const ask = async (prompt) => {
    const { sessionId } = await agent.newSession();
    world.model.reply(answer("Yes."));
    await agent.prompt(sessionId, prompt);
    ids.push(sessionId);
  };
  for (const prompt of ["The same", "Another", "The same", "The same"]) await ask(prompt);
  const { sessions } = await agent.request("session/list", { cwd: world.project });
  // Their minutes may differ, but what is shown must.
  const shown = sessions.map(({ title, updatedAt }) => `${title} ${updatedAt.slice(0, 16)}`);
  assert.equal(new Set(shown).size, 4, shown.join());
  const titleOf = (id) => sessions.find(({ sessionId }) => sessionId === id).title;
  assert.match(titleOf(ids[1]), /^Another/);
});

scenario("a session that another process has is refused, and said why", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(answer("Mine."));
  await agent.prompt(id, "Hold this");
  const second = await world.start();
  for (const method of ["session/load", "session/resume"]) {
    const error = await second.refused(method, {
      sessionId: id,
      cwd: world.project,
      mcpServers: [],
    });
    assert.equal(error.data.code, "session-locked", method);
    assert.match(error.message, /in use|locked|open in/i);
    assert.match(error.message, new RegExp(`\\b${emacsOf(agent.pid)}\\b`), "who has it");
  }
  const { sessions } = await second.request("session/list", { cwd: world.project });
  assert.equal(sessions[0].sessionId, id);
  assert.match(sessions[0].title, /in use/);
  await agent.finish();
  await second.load(id);
  assert.equal(second.said(), "Mine.");
});

// bin/magent replaces itself by Emacs, so the process keeps its number.
const emacsOf = (pid) => {
  assert.ok(isAlive(pid));
  return pid;
};

scenario("session/close gives a session back, which can be opened again", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(answer("Hello."));
  await agent.prompt(id, "Hi");
  await agent.request("session/close", { sessionId: id });
  await agent.load(id);
  world.model.reply(answer("Hello again."));
  assert.equal((await agent.prompt(id, "And now?")).stopReason, "end_turn");
  const from = agent.lines.length;
  await agent.request("session/close", { sessionId: id });
  const error = await agent.refusedPrompt(id, "Anybody?");
  assert.ok([-32602, -32002].includes(error.code), error.message);
  assert.equal(agent.updates({ from }).length, 0);
});

scenario("session/load right behind session/close opens the session", async (world) => {
  const { agent, id } = await world.startSession();
  const params = { sessionId: id, cwd: world.project, mcpServers: [] };
  for (let n = 0; n < 10; n += 1) {
    world.model.reply(answer("Hello."));
    await agent.prompt(id, "Hi");
    const [closed, loaded] = await Promise.all([
      agent.requestRaw("session/close", { sessionId: id }),
      agent.requestRaw("session/load", params),
    ]);
    assert.deepEqual(closed.result, {});
    assert.equal(loaded.error, undefined);
  }
});

scenario("session/close in the middle of a turn cancels it", async (world) => {
  const { agent, id } = await world.startSession();
  const held = gate();
  world.model.reply(text("Working"), held.step);
  const prompt = agent.prompt(id, "Work");
  await until(() => agent.said().includes("Working"), "text");
  await agent.request("session/close", { sessionId: id });
  assert.equal((await prompt).stopReason, "cancelled");
  await until(() => world.model.requests[0].gone, "the end of the request");
});

scenario("options of a session are those it had, after loading", async (world) => {
  const { agent, id } = await world.startSession();
  await agent.request("session/set_mode", { sessionId: id, modeId: "plan" });
  for (const [configId, value] of [
    ["model", "gptel/Mock/mock-2"],
    ["effort", "high"],
  ]) {
    await agent.request("session/set_config_option", { sessionId: id, configId, value });
  }
  world.model.reply(text("Fine."), stop(), usage(1, 1), done);
  await agent.prompt(id, "Hi");
  await agent.finish();
  const next = await world.start();
  const { modes, configOptions } = await next.load(id);
  assert.equal(modes.currentModeId, "plan");
  assert.deepEqual(
    configOptions.map(({ currentValue }) => currentValue),
    ["plan", "gptel/Mock/mock-2", "high", "auto"],
  );
});

scenario("a session whose file is none is refused, and others go on", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(answer("Saved."));
  await agent.prompt(id, "Save this");
  await agent.request("session/close", { sessionId: id });
  const [log] = fs
    .readdirSync(world.sessions, { recursive: true })
    .filter((name) => name.endsWith(`${id}.jsonl`))
    .map((name) => path.join(world.sessions, name));
  fs.renameSync(log, `${log}.kept`);
  for (const replace of [
    () => spawnSync("mkfifo", [log]),
    () => fs.symlinkSync("/dev/zero", log),
    () => fs.mkdirSync(log),
  ]) {
    replace();
    const params = { sessionId: id, cwd: world.project, mcpServers: [] };
    const error = await agent.refused("session/load", params);
    assert.match(error.message, /regular file|directory/);
    fs.rmSync(log, { recursive: true });
  }
  fs.renameSync(`${log}.kept`, log);
  await agent.load(id);
});

scenario("session/fork makes a session of its own with the same past", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(answer("One."));
  await agent.prompt(id, "First");
  const fork = (sessionId) =>
    agent.request("session/fork", { sessionId, cwd: world.project, mcpServers: [] });
  const from = agent.lines.length;
  const { sessionId, modes, configOptions } = await fork(id);
  assert.notEqual(sessionId, id);
  assert.ok(modes && configOptions.length > 0);
  world.model.reply(answer("Two."));
  await agent.prompt(sessionId, "Second");
  assert.equal(agent.said({ from, session: sessionId }), "Two.", "nothing is shown again");
  const told = JSON.stringify(world.model.requests[1].body.messages);
  assert.match(told, /First.*One\..*Second/);
  const { sessions } = await agent.request("session/list", { cwd: world.project });
  assert.deepEqual(sessions.map(({ title }) => title).sort(), ["(fork) First", "First"]);
  // In the middle of a turn there is nothing to copy, and a session of nowhere has nothing.
  world.model.reply(hang);
  const prompt = agent.prompt(id, "Wait");
  await world.model.request(3);
  const params = { sessionId: id, cwd: world.project, mcpServers: [] };
  assert.equal((await agent.refused("session/fork", params)).data.code, "busy");
  await agent.cancel(id);
  await prompt;
  const unknown = { ...params, sessionId: "session-unknown" };
  assert.equal((await agent.refused("session/fork", unknown)).data.code, "unknown-session");
  // Another process may fork what this one has.
  const other = await world.start();
  const copy = await other.request("session/fork", params);
  world.model.reply(answer("Three."));
  await other.prompt(copy.sessionId, "Third");
  assert.match(JSON.stringify(world.model.requests.at(-1).body.messages), /First.*Third/);
});
