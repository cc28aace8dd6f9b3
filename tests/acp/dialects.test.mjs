// A turn with thinking, words, a call and an answer in every protocol, and what a change of
// the model does to what only one provider understands.

import assert from "node:assert/strict";
import { textOf } from "./agent.mjs";
import { dialects } from "./dialects.mjs";
import { outputOf, scenario, stages } from "./harness.mjs";
import { answer, cut, KEY, pause } from "./model-server.mjs";

for (const dialect of dialects) {
  const lisp = (url) => `(magent-define-backend "Native" ${dialect.lisp(url, KEY)}
    :models '((native-1 :context-window 8000)))
(setq magent-default-model "Native:native-1")`;
  const about = (what, body) => scenario(`${dialect.name}: ${what}`, body, { lisp });
  const callAndAnswer = (world, reply) => {
    const reading = dialect.call("Thought", "I look.", "read_file", { path: "notes.txt", source: "disk" });
    world.model.reply(...reading);
    world.model.reply(...dialect.answer(reply));
  };

  about("a turn with a call", async (world) => {
    world.write("notes.txt", "the secret word is 漢字\n");
    const { agent, id } = await world.startSession();
    callAndAnswer(world, "It is 漢字.");
    assert.equal((await agent.prompt(id, "What is the word?")).stopReason, "end_turn");
    assert.equal(agent.said(), "I look.It is 漢字.");
    assert.match(textOf(agent.updates({ kind: "agent_thought_chunk" })), /^Thought/);
    const rows = agent.updates().filter(({ toolCallId }) => toolCallId);
    assert.deepEqual(stages(rows), ["pending", "in_progress", "completed"]);
    assert.match(outputOf(rows.at(-1)), /漢字/);
    const [first, second] = world.model.requests.map(({ body }) => body);
    assert.ok(JSON.stringify(first).includes("read_file"), "the tools are told");
    assert.ok(JSON.stringify(second).includes(dialect.opaque), "the opaque part goes back");
    assert.ok(JSON.stringify(second).includes("the secret word"), "and so does the result");
    const meter = agent.updates({ kind: "usage_update" }).at(-1);
    assert.deepEqual([meter.used, meter.size], [120, 8000]);
  });

  about("what is opaque stays on its route and is there again after it", async (world) => {
    world.write("notes.txt", "x\n");
    const { agent, id } = await world.startSession();
    const choose = (value) =>
      agent.request("session/set_config_option", { sessionId: id, configId: "model", value });
    callAndAnswer(world, "One.");
    await agent.prompt(id, "First");
    await choose("gptel/Mock/mock-1");
    world.model.reply(answer("Two."));
    await agent.prompt(id, "Second");
    await choose("gptel/Native/native-1");
    world.model.reply(...dialect.answer("Three."));
    await agent.prompt(id, "Third");
    const sent = world.model.requests.map(({ body }) => JSON.stringify(body));
    const has = sent.map((body) => body.includes(dialect.opaque));
    assert.deepEqual(has, [false, true, false, true]);
    for (const words of ["I look.", "One.", "Two.", "Third"]) {
      assert.equal(sent[3].split(JSON.stringify(words).slice(1, -1)).length, 2, words);
    }
    // A session that is opened again tells the same.
    await agent.finish();
    const later = await world.start();
    await later.load(id);
    world.model.reply(...dialect.answer("Four."));
    await later.prompt(id, "Fourth");
    assert.ok(JSON.stringify(world.model.requests[4].body).includes(dialect.opaque));
  });

  if (dialect.messages) {
    about("messages of one answer stay apart, live and loaded", async (world) => {
      const { agent, id } = await world.startSession();
      world.model.reply(...dialect.messages(["I look.", "Done."]));
      await agent.prompt(id, "Look");
      const messages = (updates) => updates.map(({ messageId, content }) => [messageId, content.text]);
      const shown = messages(agent.updates({ kind: "agent_message_chunk" }));
      assert.deepEqual(shown.map(([, text]) => text), ["I look.", "Done."]);
      assert.equal(new Set(shown.map(([messageId]) => messageId)).size, 2);
      await agent.finish();
      const later = await world.start();
      await later.load(id);
      assert.deepEqual(messages(later.updates({ kind: "agent_message_chunk" })), shown);
      await later.finish();
      // In a terminal too.
      world.model.reply(...dialect.messages(["I look.", "Done."]));
      assert.equal((await world.exec(["Look"])).stdout, "I look.\n\nDone.\n");
    });
  }

  about("a stream that breaks off gives no call and no success", async (world) => {
    const { agent, id } = await world.startSession();
    const steps = dialect.call("Thought", "I look.", "bash", { command: "touch mark" });
    world.model.reply(...steps.slice(0, -2), pause(100), cut);
    const error = await agent.refusedPrompt(id, "Break");
    assert.equal(error.data.code, "stream-truncated", error.message);
    assert.ok(!world.has("mark"));
    world.model.reply(...dialect.answer("Alive."));
    assert.equal((await agent.prompt(id, "Again")).stopReason, "end_turn");
  });
}
