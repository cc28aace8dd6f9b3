import assert from "node:assert/strict";
import { scenario } from "./harness.mjs";
import { answer } from "./model-server.mjs";

const currentValues = (configOptions) =>
  Object.fromEntries(configOptions.map(({ id, currentValue }) => [id, currentValue]));

scenario("set_mode switches the agent, and the options follow", async (world) => {
  const { agent, id } = await world.startSession();
  await agent.request("session/set_mode", { sessionId: id, modeId: "plan" });
  const update = ({ sessionUpdate }) => sessionUpdate === "current_mode_update";
  assert.equal((await agent.update(update, "the mode")).currentModeId, "plan");
  const params = { sessionId: id, configId: "effort", value: "low" };
  const { configOptions } = await agent.request("session/set_config_option", params);
  assert.deepEqual(currentValues(configOptions), {
    mode: "plan",
    model: "auto",
    effort: "low",
    thinking: "auto",
  });

  world.model.reply(answer("A plan."));
  await agent.prompt(id, "Plan it");
  const tools = world.model.requests[0].body.tools.map((tool) => tool.function.name);
  assert.ok(tools.includes("read_file"));
});

scenario("clients that show options only hear of a mode set as a mode", async (world) => {
  const { agent, id } = await world.startSession();
  await agent.request("session/set_mode", { sessionId: id, modeId: "plan" });
  const update = await agent.update(
    ({ sessionUpdate }) => sessionUpdate === "config_option_update",
    "the options",
    2_000,
  );
  assert.equal(currentValues(update.configOptions).mode, "plan");
});

scenario("set_config_option sets mode, model and effort for the next prompt", async (world) => {
  const { agent, id } = await world.startSession();
  const set = (configId, value) =>
    agent.request("session/set_config_option", { sessionId: id, configId, value });
  await set("mode", "plan");
  await set("effort", "high");
  const { configOptions } = await set("model", "gptel/Mock/mock-2");
  assert.deepEqual(currentValues(configOptions), {
    mode: "plan",
    model: "gptel/Mock/mock-2",
    effort: "high",
    thinking: "auto",
  });
  const mode = await agent.update(
    ({ sessionUpdate }) => sessionUpdate === "current_mode_update",
    "clients that show modes only hear of it, too",
  );
  assert.equal(mode.currentModeId, "plan");
  world.model.reply(answer("As you wish."));
  await agent.prompt(id, "Go");
  const { model, reasoning_effort: effort } = world.model.requests[0].body;
  assert.deepEqual([model, effort], ["mock-2", "high"]);

  await set("model", "auto");
  await set("effort", "auto");
  world.model.reply(answer("Back to normal."));
  await agent.prompt(id, "Go");
  const second = world.model.requests[1].body;
  assert.deepEqual([second.model, second.reasoning_effort], ["mock-1", undefined]);
});

scenario("options that do not exist are refused and change nothing", async (world) => {
  const { agent, id } = await world.startSession();
  const option = (configId, value) => ["session/set_config_option", { configId, value }];
  const wrong = [
    ["session/set_mode", { modeId: "destroy" }],
    option("mode", "destroy"),
    option("model", "gptel/Mock/mock-3"),
    option("model", "mock-2"),
    option("effort", "tremendous"),
    option("colour", "red"),
  ];
  for (const [method, params] of wrong) {
    const error = await agent.refused(method, { sessionId: id, ...params });
    assert.equal(error.code, -32602, `${JSON.stringify(params)}: ${error.message}`);
    const named = Object.values(params).some((value) => error.message.includes(value));
    assert.ok(named, `"${error.message}" names what was wrong`);
  }
  const boolean = { sessionId: id, configId: "mode", type: "boolean", value: true };
  const { error } = await agent.requestRaw("session/set_config_option", boolean);
  assert.equal(error.code, -32602);
  const params = { sessionId: id, configId: "effort", value: "auto" };
  const { configOptions } = await agent.request("session/set_config_option", params);
  assert.deepEqual(currentValues(configOptions), {
    mode: "build",
    model: "auto",
    effort: "auto",
    thinking: "auto",
  });
});

scenario("an option set during a turn counts from the next prompt on", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(answer("One."));
  world.model.reply(answer("Two."));
  const first = agent.prompt(id, "One");
  await world.model.request(1);
  const params = { sessionId: id, configId: "model", value: "gptel/Mock/mock-2" };
  await agent.request("session/set_config_option", params);
  await first;
  await agent.prompt(id, "Two");
  assert.deepEqual(
    world.model.requests.map(({ body }) => body.model),
    ["mock-1", "mock-2"],
  );
});

scenario("an option set after the last prompt is kept", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(answer("Hello."));
  await agent.prompt(id, "Hi");
  const params = { sessionId: id, configId: "effort", value: "high" };
  await agent.request("session/set_config_option", params);
  await agent.finish();
  const next = await world.start();
  const { configOptions } = await next.resume(id);
  assert.equal(currentValues(configOptions).effort, "high");
});

scenario("options are there again when the session is, as far as their model is", async (world) => {
  const { agent, id } = await world.startSession();
  const set = (configId, value) =>
    agent.request("session/set_config_option", { sessionId: id, configId, value });
  await set("model", "gptel/Mock/mock-2");
  await set("effort", "high");
  await set("thinking", "disabled");
  const refused = await agent.refusedPrompt(id, "Go");
  assert.match(refused.message, /how to switch thinking to disabled for Mock:mock-2/);
  await agent.finish();
  const later = await world.start();
  const { configOptions } = await later.load(id);
  assert.deepEqual(currentValues(configOptions), {
    mode: "build",
    model: "gptel/Mock/mock-2",
    effort: "high",
    thinking: "disabled",
  });
  await later.finish();

  world.forgetModel("mock-2");
  const last = await world.start();
  const without = await last.load(id);
  assert.equal(currentValues(without.configOptions).model, "auto");
  const told = await last.update(
    ({ sessionUpdate, content }) =>
      sessionUpdate === "agent_message_chunk" && /not configured/.test(content.text),
    "the notice",
  );
  assert.match(told.content.text, /Mock:mock-2 .*Mock:mock-1 is used instead/);
});

scenario(
  "a model that is set up while the session is open is shown with the next prompt",
  async (world) => {
    const { agent, id } = await world.startSession();
    world.write("set-up", "");
    world.model.reply(answer("Here I am."));
    let reached = false;
    for (let tries = 0; tries < 50 && !reached; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      reached = !world.has("set-up");
    }
    await agent.prompt(id, "Hello");
    const { configOptions } = await agent.update(
      ({ sessionUpdate }) => sessionUpdate === "config_option_update",
      "the options",
    );
    const model = configOptions.find((option) => option.id === "model");
    assert.equal(model.options[0].name, "Auto → Mock:mock-1");
  },
  {
    lisp: `(defvar kept magent-backend--all)
(setq magent-backend--all nil)
(run-at-time 0.1 0.1 (lambda ()
  (when (file-exists-p (expand-file-name "../project/set-up" (getenv "HOME")))
    (setq magent-backend--all kept)
    (delete-file (expand-file-name "../project/set-up" (getenv "HOME"))))))`,
  },
);

scenario(
  "a wanted model that does not exist is told, and no other is taken",
  async (world) => {
    const { agent, id } = await world.startSession();
    await assert.rejects(agent.prompt(id, "Hello"), (error) => {
      assert.match(error.message, /no model mock-9\. There are Mock:mock-1, Mock:mock-2/);
      return true;
    });
    assert.equal(world.model.requests.length, 0);
  },
  { lisp: `(setq magent-default-model "mock-9")` },
);
