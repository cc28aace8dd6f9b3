// Words for a turn that runs.

import assert from "node:assert/strict";
import { until } from "./agent.mjs";
import { scenario } from "./harness.mjs";
import { answer, callTools, hang, pause, text } from "./model-server.mjs";

const steering = (agent, sessionId, words) =>
  agent.request("_session/steering", {
    sessionId,
    prompt: [{ type: "text", text: words }],
    _meta: { steering: { idleBehavior: "promptRequired" } },
  });

scenario("words join a running turn, and the ack comes before what they cause", async (world) => {
  const { agent, id } = await world.startSession();
  assert.deepEqual(agent.introduction._meta.steering, { supported: true });
  world.model.reply(text("I count."), pause(300), ...callTools(["bash", { command: "true" }]));
  world.model.reply(answer("Un, deux."));
  const prompt = agent.prompt(id, "Count");
  await until(() => agent.said() === "I count.", "text");
  assert.deepEqual(await steering(agent, id, "In French"), { outcome: "injected" });
  assert.ok(!agent.said().includes("Un"), "nothing reacts before the ack");
  assert.equal((await prompt).stopReason, "end_turn");
  assert.equal(agent.said(), "I count.Un, deux.");
  const { messages } = world.model.requests[1].body;
  assert.deepEqual(messages.at(-1), { role: "user", content: "In French" });
  // They are part of the conversation when it is loaded.
  await agent.finish();
  const later = await world.start();
  await later.load(id);
  const said = later.updates({ kind: "user_message_chunk" }).map(({ content }) => content.text);
  assert.deepEqual(said, ["Count", "In French"]);
});

scenario("without a turn, and for commands, a prompt is asked for", async (world) => {
  const { agent, id } = await world.startSession();
  assert.deepEqual(await steering(agent, id, "Hello"), { outcome: "promptRequired" });
  world.model.reply(text("Hm"), hang);
  const prompt = agent.prompt(id, "Wait");
  await until(() => agent.said() === "Hm", "text");
  assert.deepEqual(await steering(agent, id, "/help"), { outcome: "promptRequired" });
  await agent.cancel(id);
  assert.deepEqual(await steering(agent, id, "More"), { outcome: "promptRequired" });
  assert.equal((await prompt).stopReason, "cancelled");
});

scenario("what cannot be said to a turn is refused", async (world) => {
  const { agent, id } = await world.startSession();
  const refused = async (params) => (await agent.refused("_session/steering", params)).code;
  assert.equal(await refused({ sessionId: id, prompt: [] }), -32602);
  assert.equal(await refused({ sessionId: "other", prompt: [{ type: "text", text: "x" }] }), -32602);
  assert.equal(await refused({ sessionId: id }), -32602);
});
