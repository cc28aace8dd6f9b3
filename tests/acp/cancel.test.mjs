import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "./agent.mjs";
import { isAlive, outputOf, scenario } from "./harness.mjs";
import { answer, callTools, cut, hang, pause, text, thinking } from "./model-server.mjs";

/** A cancelled turn ends at once for the user; this leaves room for a busy machine. */
const AT_ONCE = 1_000;

// Cancels the session, asserts that the prompt ends as it should, soon, and that the
// session is good for another prompt.
async function cancelled(world, { agent, id }, prompt) {
  const begun = Date.now();
  await agent.cancel(id);
  assert.equal((await prompt).stopReason, "cancelled");
  const took = Date.now() - begun;
  assert.ok(took < AT_ONCE, `it took ${took} ms`);
  const from = agent.lines.length;
  world.model.reply(answer("Still here."));
  assert.equal((await agent.prompt(id, "And now?")).stopReason, "end_turn");
  assert.equal(agent.said({ session: id, from }), "Still here.");
}

scenario("cancel before the first byte", async (world) => {
  const session = await world.startSession();
  world.model.reply(hang);
  const prompt = session.agent.prompt(session.id, "Think long");
  const request = await world.model.request(1);
  await cancelled(world, session, prompt);
  assert.ok(request.gone, "the provider's connection is closed");
});

scenario("cancel while the provider has not even answered", async (world) => {
  const session = await world.startSession();
  world.model.reply(Object.assign([hang], { ownHead: true }));
  const prompt = session.agent.prompt(session.id, "Think long");
  await world.model.request(1);
  await cancelled(world, session, prompt);
});

scenario("cancel in the middle of thinking", async (world) => {
  const session = await world.startSession();
  world.model.reply(thinking("Hmm."), hang);
  const prompt = session.agent.prompt(session.id, "Think");
  await session.agent.update(
    ({ sessionUpdate }) => sessionUpdate === "agent_thought_chunk",
    "a thought",
  );
  await cancelled(world, session, prompt);
});

scenario("cancel in the middle of text keeps what was said", async (world) => {
  const session = await world.startSession();
  world.model.reply(text("Half a sen"), hang);
  const prompt = session.agent.prompt(session.id, "Talk");
  await until(() => session.agent.said() === "Half a sen", "text");
  await cancelled(world, session, prompt);
  await session.agent.finish();
  const next = await world.start();
  await next.load(session.id);
  assert.match(next.said(), /Half a sen[^]*Still here\./);
});

scenario("cancel while a client draws a flood of text", async (world) => {
  const session = await world.startSession();
  const flood = Array.from({ length: 400 }, (_, n) => [text(`word ${n} `), pause(2)]).flat();
  world.model.reply(...flood, hang);
  const prompt = session.agent.prompt(session.id, "Talk");
  await until(() => session.agent.said().includes("word 50"), "text");
  await cancelled(world, session, prompt);
});

for (const answers of ["answered cancelled", "left open"]) {
  scenario(`cancel during a question for permission that is ${answers}`, async (world) => {
    const session = await world.startSession();
    const { agent, id } = session;
    world.model.reply(
      callTools(
        ["bash", { command: "touch mark" }, "sh"],
        ["bash", { command: "touch more" }, "more"],
      ),
    );
    let close;
    agent.answerNext(() => new Promise((resolve) => (close = resolve)));
    const prompt = agent.prompt(id, "Run it");
    await until(() => close, "the question");
    // The protocol wants clients to answer open questions like this when they cancel.
    if (answers === "answered cancelled") close({ outcome: { outcome: "cancelled" } });
    await cancelled(world, session, prompt);
    assert.ok(!world.has("mark") && !world.has("more"));
    assert.equal(agent.questions.length, 1, "nothing more is asked");
    const [row, ...updates] = agent.callUpdates("sh");
    assert.equal(updates.at(-1).status, "failed");
    assert.equal(updates.at(-1).title ?? row.title, row.title, "the row keeps its title");
  });
}

scenario(
  "cancel during a command ends its whole process group",
  async (world) => {
    const session = await world.startSession();
    const { agent, id } = session;
    const command =
      "trap '' TERM INT; sleep 301 & echo $$ $! > pids; echo running; sleep 302; wait";
    world.model.reply(callTools(["bash", { command }, "sh"]));
    const prompt = agent.prompt(id, "Run it");
    await agent.update((update) => outputOf(update).includes("running"), "output");
    const pids = world.read("pids").trim().split(" ").map(Number);
    assert.ok(pids.every(isAlive));
    await agent.cancel(id);
    const begun = Date.now();
    assert.equal((await prompt).stopReason, "cancelled");
    await until(() => !pids.some(isAlive), "the end of the processes", 1_000);
    assert.ok(Date.now() - begun < AT_ONCE);
    assert.equal(agent.callUpdates("sh").at(-1).status, "failed");
    world.model.reply(answer("Still here."));
    assert.equal((await agent.prompt(id, "And now?")).stopReason, "end_turn");
  },
  { lisp: "(setq magent-permission-rules '((bash . allow)))" },
);

scenario("cancel during the pause before another attempt", async (world) => {
  const session = await world.startSession();
  world.model.reply(cut);
  const prompt = session.agent.prompt(session.id, "Try");
  await until(() => /again/i.test(session.agent.said()), "the notice of another attempt");
  await cancelled(world, session, prompt);
  assert.equal(world.model.requests.length, 2, "the broken request and the next prompt's");
});

scenario("cancel ends the running prompt and those that wait", async (world) => {
  const session = await world.startSession();
  const { agent, id } = session;
  world.model.reply(text("Working"), hang);
  const prompts = ["one", "two", "three"].map((word) => agent.prompt(id, `Do ${word}`));
  await until(() => agent.said() === "Working", "text");
  const answers = Promise.all(prompts);
  await cancelled(
    world,
    session,
    answers.then((all) => {
      assert.deepEqual(
        all.map(({ stopReason }) => stopReason),
        Array(3).fill("cancelled"),
      );
      return all[0];
    }),
  );
});

scenario("cancel sent right after the prompt", async (world) => {
  const { agent, id } = await world.startSession();
  for (let n = 0; n < 10; n += 1) {
    // Whether a request was made before the cancel took effect is a matter of luck.
    world.model.replyTo(`try ${n}.`, hang);
    const prompt = agent.prompt(id, `try ${n}.`);
    await agent.cancel(id);
    assert.equal((await prompt).stopReason, "cancelled");
  }
  world.model.dropUnused();
  world.model.reply(answer("Still here."));
  assert.equal((await agent.prompt(id, "And now?")).stopReason, "end_turn");
});

scenario("cancel without a turn does not hit the next prompt", async (world) => {
  const { agent, id } = await world.startSession();
  await agent.cancel(id);
  world.model.reply(answer("Here."));
  assert.equal((await agent.prompt(id, "Hello")).stopReason, "end_turn");
  await agent.cancel(id);
  await agent.cancel("session-of-nobody");
  world.model.reply(answer("There."));
  assert.equal((await agent.prompt(id, "Again")).stopReason, "end_turn");
});

scenario("cancel of one session leaves the other alone", async (world) => {
  const { agent, id } = await world.startSession();
  const other = (await agent.newSession()).sessionId;
  world.model.replyTo("stop me", text("A"), hang);
  world.model.replyTo("spare me", text("B"), pause(300), ...answer("C"));
  const stopped = agent.prompt(id, "stop me");
  const spared = agent.prompt(other, "spare me");
  await until(() => agent.said({ session: id }) && agent.said({ session: other }), "text");
  await agent.cancel(id);
  assert.equal((await stopped).stopReason, "cancelled");
  assert.equal((await spared).stopReason, "end_turn");
  assert.equal(agent.said({ session: other }), "BC");
});

scenario("cancel twice is cancelled once", async (world) => {
  const session = await world.startSession();
  world.model.reply(text("Working"), hang);
  const prompt = session.agent.prompt(session.id, "Work");
  await until(() => session.agent.said() === "Working", "text");
  await session.agent.cancel(session.id);
  await cancelled(world, session, prompt);
});

scenario(
  "cancel while many calls are being looked at leaves no call without a row",
  async (world) => {
    const session = await world.startSession();
    world.write("a.txt", "a\n");
    const read = ["read_file", { path: "a.txt", source: "disk" }];
    world.model.reply(callTools(...Array(150).fill(read)));
    const prompt = session.agent.prompt(session.id, "Read");
    await session.agent.update(({ sessionUpdate }) => sessionUpdate === "tool_call", "a row");
    await cancelled(world, session, prompt);
  },
);

scenario(
  "cancel at any moment of a turn with thoughts, text and calls",
  async (world) => {
    const { agent, id } = await world.startSession();
    world.write("a.txt", "a\n".repeat(1_000));
    for (let n = 0; n < 40; n += 1) {
      world.model.dropUnused();
      world.model.reply(
        thinking("Let me see. "),
        pause(n % 7),
        text("I read and run. "),
        callTools(
          ["read_file", { path: "a.txt", source: "disk" }],
          ["bash", { command: `echo ${n}; sleep 0.02; seq 100` }],
          ["read_file", { path: "a.txt", source: "disk" }],
        ),
      );
      world.model.reply(text("And on. "), pause(n % 11), text("So it is."), hang);
      const prompt = agent.prompt(id, `Round ${n}`);
      await sleep(n * 2);
      await agent.cancel(id);
      assert.equal((await prompt).stopReason, "cancelled");
    }
    world.model.dropUnused();
  },
  { lisp: "(setq magent-permission-rules '((bash . allow)))" },
);
