import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { until } from "./agent.mjs";
import { outputOf, revision, scenario, stages } from "./harness.mjs";
import { answer, callTools } from "./model-server.mjs";

const bash = (command, call) => callTools(["bash", { command }, call]);

// A session whose model runs a command that makes a file, and then says something.
async function askForMark(world, { agent, id }, name = "mark") {
  world.model.reply(bash(`touch ${name}`, name));
  world.model.reply(answer("Over."));
  return agent.prompt(id, `Make ${name}`);
}

const result = (world, call) =>
  world.model.requests.at(-1).body.messages.find(({ tool_call_id: id }) => id === call).content;

scenario("a question is about the row that is there already", async (world) => {
  const session = await world.startSession();
  session.agent.answerNext("allow_once");
  await askForMark(world, session);
  const row = session.agent.position(
    ({ params }) => params?.update?.sessionUpdate === "tool_call",
  );
  const question = session.agent.position(
    ({ method }) => method === "session/request_permission",
  );
  assert.ok(row >= 0 && row < question, "the row comes before the question");
  const { update } = session.agent.lines[row].message.params;
  const { toolCall, options } = session.agent.questions[0];
  assert.equal(toolCall.toolCallId, update.toolCallId);
  assert.equal(update.status ?? "pending", "pending");
  assert.equal(toolCall.kind, "execute");
  assert.equal(toolCall.title, "touch mark");
  assert.deepEqual(toolCall.rawInput, { command: "touch mark" });
  assert.deepEqual(
    options.map(({ kind }) => kind),
    ["allow_once", "allow_always", "reject_once"],
  );
  assert.ok(options.every(({ name }) => name));
});

scenario("allow_once runs the call, and the next one is asked for again", async (world) => {
  const session = await world.startSession();
  session.agent.answerNext("allow_once", "reject_once");
  assert.equal((await askForMark(world, session, "one")).stopReason, "end_turn");
  assert.ok(world.has("one"));
  assert.deepEqual(stages(session.agent.callUpdates("one")), [
    "pending",
    "in_progress",
    "completed",
  ]);
  await askForMark(world, session, "two");
  assert.equal(session.agent.questions.length, 2);
  assert.ok(!world.has("two"));
});

scenario("allow_always counts for the session, and for no other", async (world) => {
  const session = await world.startSession();
  session.agent.answerNext("allow_always");
  await askForMark(world, session, "one");
  await askForMark(world, session, "two");
  assert.equal(session.agent.questions.length, 1);
  assert.ok(world.has("two"));
  const { sessionId } = await session.agent.newSession();
  session.agent.answerNext("reject_once");
  await askForMark(world, { agent: session.agent, id: sessionId }, "three");
  assert.ok(!world.has("three"));
});

scenario("reject_once fails the call, and the model is told", async (world) => {
  const session = await world.startSession();
  session.agent.answerNext("reject_once");
  assert.equal((await askForMark(world, session)).stopReason, "end_turn");
  assert.ok(!world.has("mark"));
  assert.deepEqual(stages(session.agent.callUpdates("mark")), ["pending", "failed"]);
  assert.match(outputOf(session.agent.callUpdates("mark").at(-1)), /refused/i);
  assert.match(result(world, "mark"), /refused/i);
});

scenario("a cancelled outcome without a cancelled turn is a no", async (world) => {
  const session = await world.startSession();
  session.agent.answerNext(() => ({ outcome: { outcome: "cancelled" } }));
  await askForMark(world, session);
  assert.ok(!world.has("mark"));
  assert.equal(session.agent.callUpdates("mark").at(-1).status, "failed");
});

scenario("whatever is no clear yes is a no", async (world) => {
  const session = await world.startSession();
  session.agent.answerNext(
    () => ({ outcome: { outcome: "selected", optionId: "allow_everything" } }),
    () => ({ outcome: { outcome: "cancelled", optionId: "allow_once" } }),
    () => ({ outcome: { optionId: "allow_always" } }),
    () => {
      throw new Error("the client has a bug");
    },
  );
  const names = ["one", "two", "three", "four"];
  for (const name of names) await askForMark(world, session, name);
  assert.deepEqual(names.filter((name) => world.has(name)), []);
});

scenario("a question about write_file shows the change", async (world) => {
  const { agent, id } = await world.startSession();
  const before = "one\ntwo\n";
  const file = world.write("list.txt", before);
  const write = (name, content, expected_revision, call) =>
    callTools(["write_file", { path: name, content, expected_revision }, call]);
  world.model.reply(write("list.txt", "one\n2\n", revision(before), "replace"));
  world.model.reply(write("sub/new.txt", "fresh\n", "absent", "create"));
  world.model.reply(answer("Written."));
  agent.answerNext("allow_once", "allow_once");
  await agent.prompt(id, "Write them");
  const diffs = agent.questions.map(({ toolCall }) =>
    toolCall.content.filter(({ type }) => type === "diff"),
  );
  assert.deepEqual(diffs, [
    [{ type: "diff", path: file, oldText: before, newText: "one\n2\n" }],
    [{ type: "diff", path: path.join(world.project, "sub/new.txt"), newText: "fresh\n" }],
  ]);
  assert.equal(agent.questions[0].toolCall.kind, "edit");
  assert.equal(world.read("list.txt"), "one\n2\n");
  assert.equal(world.read("sub/new.txt"), "fresh\n");
});

scenario(
  "of several calls each is asked for, and a no to one is no no to the others",
  async (world) => {
    const { agent, id } = await world.startSession();
    world.model.reply(
      callTools(
        ["bash", { command: "touch one" }, "one"],
        ["bash", { command: "touch two" }, "two"],
        ["bash", { command: "touch three" }, "three"],
      ),
    );
    world.model.reply(answer("Done."));
    agent.answerNext("allow_once", "reject_once", "allow_once");
    await agent.prompt(id, "All three");
    assert.deepEqual(
      ["one", "two", "three"].map((name) => world.has(name)),
      [true, false, true],
    );
    const lastRow = agent.lines.findLastIndex(
      ({ message }) => message.params?.update?.sessionUpdate === "tool_call",
    );
    const question = agent.position(({ method }) => method === "session/request_permission");
    assert.ok(lastRow < question, "all rows are there before the first question");
  },
);

scenario(
  "rules of the user decide without a question",
  async (world) => {
    const session = await world.startSession();
    await askForMark(world, session);
    assert.ok(world.has("mark"));
    world.model.reply(callTools(["read_file", { path: "secret.txt", source: "disk" }, "read"]));
    world.model.reply(answer("I may not."));
    world.write("secret.txt", "hidden");
    await session.agent.prompt(session.id, "Read it");
    assert.equal(session.agent.callUpdates("read").at(-1).status, "failed");
    assert.ok(!result(world, "read").includes("hidden"));
    assert.equal(session.agent.questions.length, 0);
  },
  {
    lisp: `(setq magent-permission-rules
      '((bash . allow) (read . (("secret.txt" . deny) ("*" . allow)))))`,
  },
);

scenario("a late answer to a question that is gone changes nothing", async (world) => {
  const { agent, id } = await world.startSession();
  let choose;
  const late = new Promise((resolve) => (choose = resolve));
  agent.answerNext(() => late);
  world.model.reply(bash("touch mark", "mark"));
  const prompt = agent.prompt(id, "Make it");
  await until(() => agent.questions.length, "the question");
  await agent.cancel(id);
  assert.equal((await prompt).stopReason, "cancelled");
  choose({ outcome: { outcome: "selected", optionId: "allow_once" } });
  world.model.reply(answer("Next."));
  assert.equal((await agent.prompt(id, "Next")).stopReason, "end_turn");
  assert.ok(!world.has("mark"));
});

scenario("a command is shown whole before it is allowed", async (world) => {
  const session = await world.startSession();
  const command = `echo ${"x".repeat(5_000)}\ntouch mark \`echo\`\necho ${"y".repeat(5_000)}`;
  world.model.reply(bash(command, "long"));
  world.model.reply(answer("Over."));
  session.agent.answerNext("reject_once");
  await session.agent.prompt(session.id, "Run it");
  const { toolCall } = session.agent.questions[0];
  assert.equal(toolCall.rawInput.command, command);
  assert.match(toolCall.title, /and 2 more lines/);
  assert.equal(outputOf(toolCall), `\`\`\`sh\n${command}\n\`\`\``);
  assert.ok(!world.has("mark"));
});

scenario("a yes to one file outside of the project is none to another", async (world) => {
  const { agent, id } = await world.startSession();
  const outside = (name) => path.join(world.home, name);
  const write = (name) =>
    callTools(["write_file", { path: name, content: "x\n", expected_revision: "absent" }]);
  for (const name of ["inside", outside("one"), outside("two")]) world.model.reply(write(name));
  world.model.reply(answer("Written."));
  agent.answerNext("allow_always", "allow_once", "reject_once");
  await agent.prompt(id, "Write them");
  assert.deepEqual(
    agent.questions.map(({ options }) => options.some(({ optionId }) => optionId === "allow_always")),
    [true, false, false],
  );
  assert.ok(fs.existsSync(outside("one")) && !fs.existsSync(outside("two")));
});
