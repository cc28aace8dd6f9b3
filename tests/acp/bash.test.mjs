import assert from "node:assert/strict";
import { until } from "./agent.mjs";
import { isAlive, outputOf, scenario, stages } from "./harness.mjs";
import { answer, callTools } from "./model-server.mjs";

const ALLOWED = { lisp: "(setq magent-permission-rules '((bash . allow)))" };

// Runs a command in a new session and returns the updates of its call.
async function run(world, command, options) {
  const { agent, id } = await world.startSession(options);
  world.model.reply(callTools(["bash", { command }, "sh"]));
  world.model.reply(answer("Done."));
  await agent.prompt(id, "Run it");
  return { agent, id, updates: agent.callUpdates("sh") };
}

const terminalText = (updates) =>
  updates.map(({ _meta }) => _meta?.terminal_output?.data ?? "").join("");

const seenByModel = (world) => world.model.requests.at(-1).body.messages.at(-1).content;

scenario(
  "output of a command is shown while it runs",
  async (world) => {
    const { agent, id } = await world.startSession();
    world.model.reply(
      callTools([
        "bash",
        { command: "echo early; while [ ! -e go ]; do sleep 0.05; done; echo late" },
        "sh",
      ]),
    );
    world.model.reply(answer("Done."));
    const prompt = agent.prompt(id, "Run it");
    const live = await agent.update(
      (update) => outputOf(update).includes("early"),
      "live output",
    );
    assert.equal(live.toolCallId, "sh");
    assert.notEqual(live.status, "completed");
    world.write("go", "");
    await prompt;
    const updates = agent.callUpdates("sh");
    assert.deepEqual(stages(updates), ["pending", "in_progress", "completed"]);
    assert.equal(outputOf(updates.at(-1)), "early\nlate\n");
    assert.ok(
      updates.every(({ _meta }) => !_meta),
      "this client knows no terminals",
    );
  },
  ALLOWED,
);

scenario(
  "a client that has terminals gets output and exit for one",
  async (world) => {
    const { updates } = await run(world, "echo out; echo err >&2; echo 漢字", {
      clientName: "agent-shell",
    });
    assert.equal(updates[0]._meta.terminal_info.terminal_id, "sh");
    assert.equal(terminalText(updates), "out\nerr\n漢字\n");
    const last = updates.at(-1);
    assert.equal(last.status, "completed");
    const { terminal_id: terminal, exit_code: code } = last._meta.terminal_exit;
    assert.deepEqual([terminal, code], ["sh", 0]);
    assert.equal(outputOf(last), "", "the output is not shown twice");
    assert.match(seenByModel(world), /out\nerr\n漢字/);
  },
  ALLOWED,
);

scenario(
  "a command that fails is a failed call with its status and output",
  async (world) => {
    const { updates } = await run(world, "echo why; exit 3");
    assert.equal(updates.at(-1).status, "failed");
    assert.match(outputOf(updates.at(-1)), /status 3[^]*why/);
    const second = await run(world, "echo why; exit 3", { clientName: "agent-shell" });
    assert.equal(second.updates.at(-1).status, "failed");
    assert.equal(second.updates.at(-1)._meta.terminal_exit.exit_code, 3);
    assert.equal(terminalText(second.updates), "why\n");
  },
  ALLOWED,
);

scenario(
  "a terminal is shown again when the session is loaded",
  async (world) => {
    const first = await run(world, "echo out; exit 3", { clientName: "agent-shell" });
    await first.agent.finish();
    const agent = await world.start({ clientName: "agent-shell" });
    await agent.load(first.id);
    const updates = agent.callUpdates("sh");
    assert.equal(updates[0]._meta.terminal_info.terminal_id, "sh");
    assert.equal(terminalText(updates), "out\n");
    assert.equal(updates.at(-1)._meta.terminal_exit.exit_code, 3);
  },
  ALLOWED,
);

scenario(
  "20 MB of output are few updates of bounded size",
  async (world) => {
    const command = "head -c 20000000 /dev/zero | tr '\\0' x | fold -w 200";
    for (const clientName of ["magent-acp-tests", "agent-shell"]) {
      const { agent, updates } = await run(world, command, { clientName });
      assert.equal(updates.at(-1).status, "completed", clientName);
      assert.ok(updates.length < 60, `${updates.length} updates for ${clientName}`);
      const lines = agent.lines.filter(({ message }) => message.params?.update?.toolCallId);
      const bytes = lines.reduce((sum, { size }) => sum + size, 0);
      assert.ok(bytes < 1_000_000, `${bytes} bytes for ${clientName}`);
      assert.ok(seenByModel(world).length < 20_000);
      await agent.finish();
    }
  },
  ALLOWED,
);

scenario(
  "output that is no text, has colours or no line ends is shown as text",
  async (world) => {
    const command = String.raw`printf '\033[31mred\033[0m \377\376 \000 tab\there\r\n'; head -c 300000 /dev/zero | tr '\0' z`;
    const { updates } = await run(world, command);
    const output = outputOf(updates.at(-1));
    assert.match(output, /^red /);
    assert.match(output, /tab\there/);
    assert.ok(
      output.split("\n").every((line) => line.length < 1_200),
      "no line is endless",
    );
  },
  ALLOWED,
);

scenario(
  "a command ends with what it started",
  async (world) => {
    const begun = Date.now();
    const { agent, updates } = await run(world, "sleep 300 & echo $! > pid; echo started");
    assert.ok(Date.now() - begun < 10_000, "a background process does not hold the call up");
    assert.equal(updates.at(-1).status, "completed");
    await agent.finish();
    await until(() => !isAlive(Number(world.read("pid"))), "the end of the background process");
  },
  ALLOWED,
);

scenario(
  "a command that runs too long is stopped, and its output kept",
  async (world) => {
    const { updates } = await run(world, "echo begun; sleep 300");
    assert.equal(updates.at(-1).status, "failed");
    assert.match(outputOf(updates.at(-1)), /begun/);
    assert.match(seenByModel(world), /begun/);
  },
  { lisp: "(setq magent-permission-rules '((bash . allow)) magent-bash-timeout 1)" },
);

scenario(
  "commands get signals as they would in a terminal",
  async (world) => {
    const { updates } = await run(
      world,
      `timeout 1 sleep 5; [ $SECONDS -lt 4 ] && echo "timed out"
       sleep 3 & kill $!; wait $!; echo "killed: $?"
       yes | head -n 1; echo "pipe: \${PIPESTATUS[0]}"`,
    );
    assert.equal(outputOf(updates.at(-1)), "timed out\nkilled: 143\ny\npipe: 141\n");
  },
  ALLOWED,
);

scenario(
  "a command inherits neither files nor a terminal",
  async (world) => {
    const { updates } = await run(
      world,
      "for fd in /proc/$$/fd/*; do [ -e $fd ] && echo ${fd##*/}; done; : </dev/tty",
    );
    assert.match(outputOf(updates.at(-1)), /\n0\n1\n2\n.*\/dev\/tty: No such device/);
  },
  ALLOWED,
);
