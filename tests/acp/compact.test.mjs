// Summaries that stand for a conversation.

import assert from "node:assert/strict";
import { scenario } from "./harness.mjs";
import { answer, done, stop, text, usage } from "./model-server.mjs";

const full = (words) => [text(words), stop(), usage(7_900, 50), done];

scenario("/compact sums up, and the conversation stays as it was shown", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(answer("Alpha."));
  await agent.prompt(id, "What is the first letter?");
  world.model.reply(answer("SUMMARY: they speak of letters."));
  assert.equal((await agent.prompt(id, "/compact keep the letters")).stopReason, "end_turn");
  assert.match(agent.said(), /SUMMARY/);
  const [, summing] = world.model.requests;
  assert.match(JSON.stringify(summing.body.messages), /What is the first letter.*keep the letters/);
  world.model.reply(answer("Beta."));
  await agent.prompt(id, "And the second?");
  const told = JSON.stringify(world.model.requests[2].body.messages);
  assert.match(told, /SUMMARY.*And the second/);
  assert.doesNotMatch(told, /What is the first letter/);
  await agent.finish();
  const later = await world.start();
  await later.load(id);
  const prompts = later.updates({ kind: "user_message_chunk" }).map(({ content }) => content.text);
  assert.deepEqual(prompts, ["What is the first letter?", "/compact keep the letters", "And the second?"]);
});

scenario("there is nothing to sum up in a new session", async (world) => {
  const { agent, id } = await world.startSession();
  const error = await agent.refusedPrompt(id, "/compact");
  assert.match(error.message, /nothing to sum up/);
});

scenario(
  "a full context is summed up before the next prompt, unseen, if the user wants that",
  async (world) => {
    const { agent, id } = await world.startSession();
    world.model.reply(full("One."));
    await agent.prompt(id, "First");
    world.model.reply(answer("SUMMARY"));
    world.model.reply(answer("Two."));
    const from = agent.lines.length;
    await agent.prompt(id, "Second");
    const said = agent.said({ from });
    assert.match(said, /summed up first/);
    assert.ok(said.endsWith("Two.") && !said.includes("SUMMARY"), said);
    assert.match(JSON.stringify(world.model.requests[2].body.messages), /SUMMARY.*Second/);
  },
  { lisp: "(setq magent-auto-compact 'compact)" },
);

scenario(
  "a command's answer is that to its prompt, not the summary before it",
  async (world) => {
    world.model.reply(full("One."));
    assert.equal((await world.exec(["First"])).stdout, "One.\n");
    for (const json of [[], ["--json"]]) {
      world.model.reply(answer("SUMMARY"));
      world.model.reply(full("Two."));
      const { code, stdout, stderr } = await world.exec([...json, "--continue", "Second"]);
      assert.equal(code, 0, stderr);
      assert.ok(!stdout.includes("SUMMARY"), stdout);
      assert.ok(json.length ? stdout.includes("Two.") : stdout === "Two.\n", stdout);
    }
  },
  { lisp: "(setq magent-auto-compact 'compact)" },
);

scenario("by default a full context is told", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(full("One."));
  await agent.prompt(id, "First");
  assert.match(agent.said(), /fills 99 %.*\/compact/);
});
