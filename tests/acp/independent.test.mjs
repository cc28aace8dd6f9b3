// Servers that others have written: a mock of every provider's protocol, and a real model if
// MAGENT_REAL_MODEL names the address of a server that speaks like OpenAI and Anthropic do
// (llama.cpp's, for one).

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { textOf } from "./agent.mjs";
import { dialects } from "./dialects.mjs";
import { outputOf, scenario } from "./harness.mjs";
import { KEY } from "./model-server.mjs";

/** A small model on a slow machine reads a prompt for minutes. */
const REAL_MODEL_LIMIT = 300_000;

const chat = {
  name: "openai-chat",
  lisp: (url, key) => `:dialect 'openai-chat :url "${url}/v1/chat/completions" :key "${key}"`,
};
const allDialects = [chat, ...dialects];
const backend = (dialect, url, model) => `(magent-define-backend "Other" ${dialect.lisp(url, KEY)}
    :models '((${model} :context-window 8000)))
(setq magent-default-model "Other:${model}" magent-request-timeout ${REAL_MODEL_LIMIT / 1_000})`;

const mock = await startMock();
if (mock) after(() => mock.stop());
else test("a mock server of another origin", { skip: "@copilotkit/aimock is not installed" }, () => {});

async function startMock() {
  let LLMock;
  try {
    ({ LLMock } = await import("@copilotkit/aimock"));
  } catch {
    return undefined;
  }
  const server = new LLMock({ port: 0, chunkSize: 5, latency: 1 });
  const reading = (hasToolResult) => ({ userMessage: "read the file", hasToolResult });
  server.on(reading(false), {
    content: "Let me look.",
    toolCalls: [{ name: "read_file", arguments: JSON.stringify({ path: "é漢.txt", source: "disk" }) }],
  });
  server.on(reading(true), { content: "It says ✓ 日本語." });
  server.on({ userMessage: "think" }, { content: "42", reasoning: "because of reasons" });
  server.on({ userMessage: "limit" }, { error: { message: "slow down", type: "rate_limit_error" }, status: 429 });
  await server.start();
  return server;
}

for (const dialect of mock ? allDialects : []) {
  const about = (what, body) =>
    scenario(`a mock server, ${dialect.name}: ${what}`, body, {
      lisp: () => backend(dialect, mock.url, "native-1"),
    });

  about("words, a call and its result", async (world) => {
    world.write("é漢.txt", "✓ 日本語\n");
    const { agent, id } = await world.startSession();
    assert.equal((await agent.prompt(id, "Please read the file.")).stopReason, "end_turn");
    assert.equal(agent.said(), "Let me look.It says ✓ 日本語.");
    const row = agent.updates({ kind: "tool_call_update" }).at(-1);
    assert.equal(row.status, "completed");
    assert.match(outputOf(row), /日本語/);
  });

  about("reasoning, then an answer", async (world) => {
    const { agent, id } = await world.startSession();
    await agent.prompt(id, "think");
    assert.equal(agent.said(), "42");
    // This server gives Ollama's reasoning a name that Ollama has not.
    if (dialect.name === "ollama") return;
    assert.equal(textOf(agent.updates({ kind: "agent_thought_chunk" })), "because of reasons");
  });

  about("a refusal with a status", async (world) => {
    const { agent, id } = await world.startSession();
    const error = await agent.refusedPrompt(id, "limit");
    assert.match(error.message, /HTTP 429.*slow down/i);
    assert.equal((await agent.prompt(id, "think")).stopReason, "end_turn");
  });
}

const real = process.env.MAGENT_REAL_MODEL;
const spoken = allDialects.filter(({ name }) => /^(openai|anthropic)/.test(name));
for (const dialect of spoken) {
  const name = `a real model, ${dialect.name}: a turn`;
  if (!real) {
    test(name, { skip: "MAGENT_REAL_MODEL is not set" }, () => {});
    continue;
  }
  const play = async (world) => {
    const { agent, id } = await world.startSession();
    const { stopReason } = await agent.prompt(id, "Say hello in one short sentence.");
    // Small models do not always find an end.
    assert.match(stopReason, /^(end_turn|max_tokens)$/);
    assert.notEqual(agent.said().trim(), "");
    const meter = agent.updates({ kind: "usage_update" }).at(-1);
    assert.ok(meter.used > 0 && meter.size === 8000, JSON.stringify(meter));
  };
  const lisp = () => backend(dialect, real, "smollm2");
  scenario(name, play, { lisp, limit: REAL_MODEL_LIMIT });
}
