import assert from "node:assert/strict";
import { until } from "./agent.mjs";
import { textOf } from "./agent.mjs";
import { outputOf, revision, scenario, stages } from "./harness.mjs";
import {
  answer,
  calls,
  callTools,
  done,
  gate,
  lastUserText,
  pause,
  stop,
  text,
  thinking,
  usage,
} from "./model-server.mjs";

scenario("thinking and text are streamed in order and complete", async (world) => {
  const { agent, id } = await world.startSession();
  const held = gate();
  world.model.reply(
    thinking("First "),
    thinking("I think."),
    text("Hello"),
    held.step,
    text(", wor"),
    text("ld."),
    stop(),
    usage(100, 20),
    done,
  );
  const prompt = agent.prompt(id, "Greet me");
  await until(() => agent.said() === "Hello", "the first words, before the answer is whole");
  held.open();
  assert.equal((await prompt).stopReason, "end_turn");
  const chunks = agent.updates().filter(({ messageId }) => messageId);
  const thoughts = chunks.filter(
    ({ sessionUpdate }) => sessionUpdate === "agent_thought_chunk",
  );
  assert.equal(textOf(thoughts), "First I think.");
  assert.equal(agent.said(), "Hello, world.");
  const kinds = chunks.map(({ sessionUpdate }) => sessionUpdate);
  assert.ok(kinds.indexOf("agent_message_chunk") > kinds.lastIndexOf("agent_thought_chunk"));
  assert.equal(new Set(chunks.map(({ messageId }) => messageId)).size, 2);
});

scenario("thoughts between texts begin new messages", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(
    text("A"),
    thinking("b"),
    text("C"),
    thinking("d"),
    text("E"),
    stop(),
    done,
  );
  await agent.prompt(id, "Alternate");
  const chunks = agent.updates().filter(({ messageId }) => messageId);
  assert.deepEqual(
    chunks.map(({ content }) => content.text),
    ["A", "b", "C", "d", "E"],
  );
  assert.equal(new Set(chunks.map(({ messageId }) => messageId)).size, 5);
});

scenario("thousands of tiny deltas become few updates, and no text is lost", async (world) => {
  const { agent, id } = await world.startSession();
  const words = Array.from({ length: 5_000 }, (_, n) => `w${n} `);
  const slowly = words.flatMap((word, n) => (n % 100 ? [text(word)] : [pause(5), text(word)]));
  world.model.reply(...slowly, stop(), usage(100, 5_000), done);
  await agent.prompt(id, "Count");
  assert.equal(agent.said(), words.join(""));
  const chunks = agent.updates({ kind: "agent_message_chunk" }).length;
  assert.ok(chunks < 100, `${chunks} updates`);
  assert.ok(chunks > 1, "it is still a stream");
});

scenario("deltas that come slowly are passed on without waiting for more", async (world) => {
  const { agent, id } = await world.startSession();
  const held = Array.from({ length: 5 }, gate);
  world.model.reply(...held.flatMap(({ step }, n) => [text(`${n}`), step]), stop(), done);
  const prompt = agent.prompt(id, "Slowly");
  for (const [n, { open }] of held.entries()) {
    const shown = "01234".slice(0, n + 1);
    await until(() => agent.said() === shown, `the digits ${shown}`, 2_000);
    open();
  }
  await prompt;
});

scenario(
  "read_file and edit_file are shown as rows from pending to completed",
  async (world) => {
    const { agent, id } = await world.startSession();
    const before = "def greet():\n    return 'helo'\n";
    const after = before.replace("helo", "hello");
    const file = world.write("greet.py", before);
    world.model.reply(
      text("I look first."),
      callTools(["read_file", { path: "greet.py", source: "disk" }, "r"]),
    );
    const edit = {
      path: "greet.py",
      old_text: "'helo'",
      new_text: "'hello'",
      expected_revision: revision(before),
    };
    world.model.reply(callTools(["edit_file", edit, "e"]));
    world.model.reply(answer("Fixed."));
    assert.equal((await agent.prompt(id, "Fix the typo")).stopReason, "end_turn");
    assert.equal(world.read("greet.py"), after);
    assert.equal(
      agent.questions.length,
      0,
      "reading and editing in the project needs no question",
    );

    for (const [call, kind] of [
      ["r", "read"],
      ["e", "edit"],
    ]) {
      const updates = agent.callUpdates(call);
      assert.deepEqual(stages(updates), ["pending", "in_progress", "completed"], call);
      assert.equal(updates[0].kind, kind);
      assert.match(updates.at(-1).title, /greet\.py/);
      assert.ok(
        updates.some(({ locations }) => locations?.some((location) => location.path === file)),
        `the location of ${call}`,
      );
    }
    assert.equal(outputOf(agent.callUpdates("r").at(-1)), before);
    const diff = agent
      .callUpdates("e")
      .at(-1)
      .content.find(({ type }) => type === "diff");
    assert.equal(diff.path, file);
    assert.notEqual(diff.oldText, diff.newText);
    assert.equal(before.replace(diff.oldText, diff.newText), after, "the diff is the change");
    const order = agent
      .updates({ session: id })
      .filter(({ sessionUpdate }) =>
        ["agent_message_chunk", "tool_call"].includes(sessionUpdate),
      )
      .map(({ toolCallId, content }) => toolCallId ?? content.text);
    assert.deepEqual(order, ["I look first.", "r", "e", "Fixed."]);
  },
);

scenario("a plan is shown whole at every change", async (world) => {
  const { agent, id } = await world.startSession();
  const plan = (first, second) => [
    { step: "Read the code", status: first },
    { step: "Write the test", status: second },
  ];
  world.model.reply(callTools(["update_plan", { plan: plan("in_progress", "pending") }]));
  world.model.reply(callTools(["update_plan", { plan: plan("completed", "in_progress") }]));
  world.model.reply(answer("Planned."));
  await agent.prompt(id, "Plan it");
  const plans = agent.updates({ kind: "plan" }).map(({ entries }) => entries);
  assert.deepEqual(
    plans.map((entries) => entries.map(({ content, status }) => [content, status])),
    [
      [
        ["Read the code", "in_progress"],
        ["Write the test", "pending"],
      ],
      [
        ["Read the code", "completed"],
        ["Write the test", "in_progress"],
      ],
    ],
  );
});

scenario("usage comes after each sample and for the whole prompt", async (world) => {
  const { agent, id } = await world.startSession();
  world.write("a.txt", "a\n");
  world.model.reply(
    calls(["read_file", { path: "a.txt", source: "disk" }]),
    stop("tool_calls"),
    usage(1_000, 50),
    done,
  );
  const details = {
    prompt_tokens_details: { cached_tokens: 900 },
    completion_tokens_details: { reasoning_tokens: 7 },
  };
  world.model.reply(text("It says a."), stop(), usage(1_200, 30, details), done);
  const { usage: total } = await agent.prompt(id, "Read a.txt");
  assert.deepEqual(
    agent.updates({ kind: "usage_update" }).map(({ used, size }) => ({ used, size })),
    [
      { used: 1_050, size: 8_000 },
      { used: 1_230, size: 8_000 },
    ],
  );
  assert.deepEqual(total, {
    totalTokens: 2_280,
    inputTokens: 2_200,
    outputTokens: 80,
    thoughtTokens: 7,
    cachedReadTokens: 900,
  });
});

scenario(
  "without a known window or usage there is no meter, and the turn is fine",
  async (world) => {
    const { agent, id } = await world.startSession();
    const params = { sessionId: id, configId: "model", value: "gptel/Mock/mock-2" };
    await agent.request("session/set_config_option", params);
    world.model.reply(text("Hi."), stop(), usage(10, 2), done);
    world.model.reply(text("Ho."), stop(), done);
    await agent.prompt(id, "One");
    const { usage: unknown } = await agent.prompt(id, "Two");
    assert.deepEqual(agent.updates({ kind: "usage_update" }), []);
    assert.equal(unknown ?? undefined, undefined);
  },
);

scenario("stop reasons are those of the model", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(text("And so on"), stop("length"), done);
  world.model.reply(text("No."), stop("content_filter"), done);
  assert.equal((await agent.prompt(id, "Go on")).stopReason, "max_tokens");
  assert.equal((await agent.prompt(id, "Do evil")).stopReason, "refusal");
});

scenario(
  "a limit of requests ends a turn with its own stop reason",
  async (world) => {
    const { agent, id } = await world.startSession();
    world.write("a.txt", "a\n");
    for (const _ of [1, 2]) {
      world.model.reply(callTools(["read_file", { path: "a.txt", source: "disk" }]));
    }
    assert.equal((await agent.prompt(id, "Loop")).stopReason, "max_turn_requests");
  },
  { lisp: "(setq magent-max-sampling-requests 2)" },
);

scenario(
  "a failed call is a failed row with its reason, and the turn goes on",
  async (world) => {
    const { agent, id } = await world.startSession();
    world.model.reply(
      callTools(
        ["read_file", { path: "missing.txt", source: "disk" }, "missing"],
        ["no_such_tool", { a: 1 }, "unknown"],
        ["read_file", { wrong: true }, "arguments"],
        ["read_file", '{"path": "mis', "broken"],
      ),
    );
    world.model.reply(answer("None of it worked."));
    assert.equal((await agent.prompt(id, "Try")).stopReason, "end_turn");
    for (const call of ["missing", "unknown", "arguments", "broken"]) {
      const last = agent.callUpdates(call).at(-1);
      assert.equal(last.status, "failed", call);
      assert.notEqual(outputOf(last), "", call);
    }
  },
);

scenario("calls whose ids come again, or are missing, are rows of their own", async (world) => {
  const { agent, id } = await world.startSession();
  world.write("a.txt", "a\n");
  const read = (call) => callTools(["read_file", { path: "a.txt", source: "disk" }, call]);
  for (const call of ["call_0", "call_0", "", "call_0"]) world.model.reply(read(call));
  world.model.reply(answer("Read."));
  await agent.prompt(id, "Read it");
  world.model.reply(read("call_0"));
  world.model.reply(answer("Read again."));
  await agent.prompt(id, "Read it again");
  const rows = agent.updates({ kind: "tool_call" }).map(({ toolCallId }) => toolCallId);
  assert.equal(new Set(rows).size, 5);
  assert.ok(rows.every((call) => agent.callUpdates(call).at(-1).status === "completed"));
});

scenario("two sessions of one project work side by side", async (world) => {
  const agent = await world.start();
  const ids = [(await agent.newSession()).sessionId, (await agent.newSession()).sessionId];
  const held = gate();
  world.model.replyTo("for A", text("A begins. "), held.step, ...answer("A ends."));
  world.model.replyTo("for B", answer("B is done."));
  const slow = agent.prompt(ids[0], "This is for A");
  await until(() => agent.said({ session: ids[0] }), "the first session's text");
  assert.equal((await agent.prompt(ids[1], "This is for B")).stopReason, "end_turn");
  assert.equal(agent.said({ session: ids[1] }), "B is done.");
  assert.equal(agent.said({ session: ids[0] }), "A begins. ");
  held.open();
  assert.equal((await slow).stopReason, "end_turn");
  assert.equal(agent.said({ session: ids[0] }), "A begins. A ends.");
});

scenario("two prompts to one session run one after the other", async (world) => {
  const { agent, id } = await world.startSession();
  const held = gate();
  world.model.replyTo("one", text("First."), held.step, stop(), done);
  world.model.replyTo("two", answer("Second."));
  const prompts = [agent.prompt(id, "Do one"), agent.prompt(id, "Do two")];
  await until(() => agent.said() === "First.", "the first answer");
  assert.equal(world.model.requests.length, 1);
  held.open();
  const results = await Promise.all(prompts);
  assert.deepEqual(
    results.map(({ stopReason }) => stopReason),
    ["end_turn", "end_turn"],
  );
  assert.equal(lastUserText(world.model.requests[1].body), "Do two");
  const said = world.model.requests[1].body.messages.map(({ content }) => content);
  assert.ok(said.includes("First."), "the second prompt comes after the first answer");
  const firstEnd = agent.position(({ result }) => result?.stopReason);
  const second = agent.position(({ params }) => params?.update?.content?.text === "Second.");
  assert.ok(firstEnd < second, "the first prompt is answered before the second turn shows");
});

scenario("files and links in a prompt reach the model", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(answer("Seen."));
  await agent.prompt(id, [
    { type: "text", text: "Compare these." },
    {
      type: "resource",
      resource: { uri: "file:///src/a.rs", text: "fn a() {}", mimeType: "text/x-rust" },
    },
    { type: "resource_link", uri: "file:///src/b.rs", name: "b.rs", size: 12 },
  ]);
  const seen = lastUserText(world.model.requests[0].body);
  for (const part of ["Compare these.", "/src/a.rs", "fn a() {}", "/src/b.rs"]) {
    assert.ok(seen.includes(part), part);
  }
});

scenario("/authority is answered without the model", async (world) => {
  const { agent, id } = await world.startSession();
  const { stopReason } = await agent.prompt(id, "/authority");
  assert.equal(stopReason, "end_turn");
  const report = agent.said();
  assert.match(report, /Agent \*\*build\*\*/);
  for (const tool of ["read_file", "edit_file", "bash"]) assert.ok(report.includes(tool), tool);
  assert.equal(world.model.requests.length, 0);
});

scenario("a slash that is no command is an ordinary prompt", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(answer("A path."));
  await agent.prompt(id, "/etc/hosts is what?");
  assert.equal(lastUserText(world.model.requests[0].body), "/etc/hosts is what?");
});
