// Providers that fail in the ways providers fail.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { until } from "./agent.mjs";
import { scenario } from "./harness.mjs";
import {
  answer,
  calls,
  cut,
  done,
  hang,
  httpError,
  KEY,
  lastUserText,
  pause,
  startModelServer,
  stop,
  text,
  thinking,
} from "./model-server.mjs";

// Asserts that the prompt fails with this code, in words for people, and that the next
// one works.
async function fails(world, { agent, id }, code, expected) {
  const error = await agent.refusedPrompt(id, "Hello?");
  assert.equal(error.data?.code, code, JSON.stringify(error));
  assert.equal(error.data.kind, "provider");
  assert.match(error.message, expected);
  assert.ok(error.message.length < 600, error.message);
  const words = error.message.replace("<redacted>", "");
  assert.ok(!/[<>{}\n]/.test(words), `in words for people: ${words}`);
  world.model.reply(answer("Here again."));
  assert.equal((await agent.prompt(id, "And now?")).stopReason, "end_turn");
  assert.match(agent.said({ session: id }), /Here again\.$/);
  return error;
}

/** What was written gets out before the connection breaks. */
const ON_ITS_WAY = pause(100);

// A default backend whose key is computed.
const backendWithKey = (lisp) => `(magent-define-backend "Locked" :dialect 'openai-chat
  :url "http://127.0.0.1:1" :key (lambda () ${lisp}) :models '(m))
(setq magent-default-model "Locked:m")`;

const apiError = (message, type) => ({ error: { message, type, code: null } });

scenario("a wrong key fails the prompt and says where to look", async (world) => {
  const session = await world.startSession();
  const body = apiError(`Incorrect API key provided: ${KEY}.`, "invalid_request_error");
  world.model.reply(httpError(401, body));
  await fails(world, session, "unauthorized", /Mock.*401.*key/i);
});

scenario("a rate limit of a minute or less is waited for, and that is told", async (world) => {
  const { agent, id } = await world.startSession();
  const body = apiError("Rate limit reached", "tokens");
  world.model.reply(httpError(429, body, { "retry-after": "2" }));
  world.model.reply(answer("At last."));
  await agent.prompt(id, "Go");
  assert.match(agent.said(), /Rate limit reached.*Trying again in 2 s.*At last\./s);
});

scenario("a cancel ends the wait for a rate limit", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(httpError(429, apiError("Slow down"), { "retry-after": "50" }));
  const prompt = agent.prompt(id, "Go");
  await until(() => /Trying again in 50 s/.test(agent.said()), "the notice");
  agent.cancel(id);
  assert.equal((await prompt).stopReason, "cancelled");
});

scenario("a longer rate limit fails the prompt and says how long to wait", async (world) => {
  const session = await world.startSession();
  const body = apiError("Rate limit reached", "tokens");
  world.model.reply(httpError(429, body, { "retry-after": "700" }));
  await fails(world, session, "rate-limited", /Rate limit reached.*700 s/);
});

scenario("a page in HTML instead of an answer is no wall of markup", async (world) => {
  const session = await world.startSession();
  const page = `<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>${"x".repeat(50_000)}</style></head><body><h1>Bad Gateway</h1></body></html>`;
  world.model.reply(httpError(502, page, { "content-type": "text/html" }));
  await fails(world, session, "server-error", /502/);
});

scenario("an error without a body still says its status", async (world) => {
  const session = await world.startSession();
  world.model.reply(httpError(500, ""));
  await fails(world, session, "server-error", /500/);
});

scenario("a model that does not exist fails the prompt", async (world) => {
  const session = await world.startSession();
  world.model.reply(
    httpError(404, apiError("The model mock-1 does not exist", "model_not_found")),
  );
  await fails(world, session, "not-found", /mock-1/);
});

scenario(
  "an error in the middle of a stream fails the prompt and keeps the text",
  async (world) => {
    const session = await world.startSession();
    world.model.reply(
      text("So far "),
      `data: ${JSON.stringify(apiError("overloaded", "server_error"))}\n\n`,
    );
    await fails(world, session, "provider-error", /overloaded/);
    assert.equal(session.agent.said(), "So far Here again.");
  },
);

scenario("a stream that is no stream fails the prompt", async (world) => {
  const session = await world.startSession();
  world.model.reply("data: this is no JSON\n\n");
  await fails(world, session, "protocol", /127\.0\.0\.1/);
});

scenario(
  "a stream that breaks before any text is tried again, and the user is told",
  async (world) => {
    const { agent, id } = await world.startSession();
    world.model.reply(cut);
    world.model.reply(thinking("Let me"), cut);
    world.model.reply(answer("Third time lucky."));
    assert.equal((await agent.prompt(id, "Hello?")).stopReason, "end_turn");
    const said = agent.said();
    assert.match(
      said,
      /\[Magent: .*again \(1 of 2\).*\]\n.*\[Magent: .*\(2 of 2\).*\]\nThird time lucky\.$/s,
    );
    assert.equal(world.model.requests.length, 3);
    world.model.reply(answer("Yes."));
    await agent.prompt(id, "Really?");
    const { messages } = world.model.requests[3].body;
    assert.ok(!JSON.stringify(messages).includes("Magent:"), "notices are not for the model");
  },
);

scenario(
  "a stream that keeps breaking fails the prompt",
  async (world) => {
    const session = await world.startSession();
    world.model.reply(cut);
    world.model.reply(cut);
    await fails(world, session, "stream-truncated", /ended before/);
  },
  { lisp: "(setq magent-stream-retry-limit 1)" },
);

scenario("a stream that breaks in the middle of text is not tried again", async (world) => {
  const session = await world.startSession();
  world.model.reply(text("Half an ans"), ON_ITS_WAY, cut);
  await fails(world, session, "stream-truncated", /ended before/);
  assert.equal(session.agent.said(), "Half an ansHere again.");
  const { messages } = world.model.requests[1].body;
  assert.deepEqual(messages.at(-1).content, "And now?");
});

scenario("a stream that breaks in the middle of a call runs nothing", async (world) => {
  const session = await world.startSession();
  world.model.reply(text("I will."), calls(["bash", '{"command": "touch ma']), ON_ITS_WAY, cut);
  await fails(world, session, "stream-truncated", /ended before/);
  assert.ok(!world.has("ma"));
  assert.equal(session.agent.updates({ kind: "tool_call" }).length, 0);
});

scenario(
  "silence fails the prompt after the time the user set",
  async (world) => {
    const session = await world.startSession();
    world.model.reply(text("One moment"), hang);
    const begun = Date.now();
    await fails(world, session, "timeout", /1 s.*magent-request-timeout/);
    assert.ok(Date.now() - begun < 5_000);
    assert.ok(world.model.requests[0].gone);
  },
  { lisp: "(setq magent-request-timeout 1)" },
);

scenario("an answer without a word fails the prompt", async (world) => {
  const session = await world.startSession();
  world.model.reply(stop(), done);
  await fails(world, session, "empty-completion", /mock-1/);
});

scenario("an answer of thoughts only fails the prompt", async (world) => {
  const session = await world.startSession();
  world.model.reply(thinking("I could say something."), stop(), done);
  await fails(world, session, "empty-completion", /mock-1/);
  assert.ok(!session.agent.said().includes("I could"));
});

scenario("a server that is not there fails the prompt", async (world) => {
  const session = await world.startSession();
  await world.model.close();
  const error = await session.agent.refusedPrompt(session.id, "Hello?");
  assert.equal(error.data.code, "unreachable");
  assert.match(error.message, /127\.0\.0\.1.*Mock/);
});

scenario("the failure of a queued prompt is its own", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.replyTo("one", httpError(500, apiError("broken", "server_error")));
  world.model.replyTo("two", answer("Fine."));
  const [one, two] = await Promise.all([
    agent.refusedPrompt(id, "Do one"),
    agent.prompt(id, "Do two"),
  ]);
  assert.equal(one.data.code, "server-error");
  assert.equal(two.stopReason, "end_turn");
  assert.equal(lastUserText(world.model.requests[1].body), "Do two");
});

scenario(
  "a key that cannot be had fails the prompt, and what its function says is not told",
  async (world) => {
    const { agent, id } = await world.startSession();
    const error = await agent.refusedPrompt(id, "Hello?");
    assert.match(error.message, /The :key of backend Locked fails with an error of the type error/);
    assert.ok(!JSON.stringify(error).includes("keyring"), "it may hold the key itself");
    assert.equal(world.model.requests.length, 0);
    const params = { sessionId: id, configId: "model", value: "gptel/Mock/mock-1" };
    await agent.request("session/set_config_option", params);
    world.model.reply(answer("Hello."));
    assert.equal((await agent.prompt(id, "Hello?")).stopReason, "end_turn");
  },
  { lisp: backendWithKey(`(error "the keyring is locked")`) },
);

scenario(
  "Lisp that asks for a key takes no line of the client, and the prompt fails",
  async (world) => {
    const { agent, id } = await world.startSession();
    const failed = agent.refusedPrompt(id, "Hello?");
    const listed = agent.request("session/list", {});
    const patience = new Promise((resolve) => setTimeout(resolve, 4_000, "nothing"));
    assert.notEqual(await Promise.race([listed, patience]), "nothing", "the list is answered");
    assert.notEqual(
      await Promise.race([failed, patience]),
      "nothing",
      "the prompt is answered",
    );
    assert.equal(await agent.takeStderr(/./), "Key: ");
  },
  { lisp: backendWithKey(`(read-string "Key: ")`) },
);

scenario(
  "without any model the session says so when it is opened, and so does a prompt",
  async (world) => {
    const agent = await world.start();
    const { sessionId, configOptions } = await agent.newSession();
    assert.equal(configOptions[1].currentValue, "auto");
    const told = await agent.update(
      ({ sessionUpdate }) => sessionUpdate === "agent_message_chunk",
      "the notice",
    );
    assert.match(told.content.text, /No model is configured\..*magent-define-backend/);
    const error = await agent.refusedPrompt(sessionId, "Hello?");
    assert.equal(error.data.code, "no-model");
    assert.match(error.message, /magent-define-backend/);
  },
  { lisp: "(setq magent-backend--all nil)" },
);

scenario("a redirect gets neither the key nor the conversation", async (world) => {
  const session = await world.startSession();
  const elsewhere = await startModelServer();
  try {
    for (const status of [301, 302, 307, 308]) {
      world.model.reply(httpError(status, "", { location: `${elsewhere.url}/v1/x?key=1` }));
      const port = new URL(elsewhere.url).port;
      const error = await fails(world, session, "redirected", new RegExp(`127.0.0.1:${port}`));
      assert.ok(!error.message.includes("key=1"));
    }
    assert.equal(elsewhere.requests.length, 0);
  } finally {
    await elsewhere.close();
  }
});

scenario("a key that the model repeats is taken out of its answer", async (world) => {
  const { agent, id } = await world.startSession();
  const [head, tail] = [KEY.slice(0, 8), KEY.slice(8)];
  world.model.reply(thinking(`so ${head}`), thinking(`${tail}!`), text(`It is ${KEY}, `), [
    calls(["bash", { command: `echo ${KEY}` }, "echo"]),
    stop("tool_calls"),
    done,
  ]);
  world.model.reply(answer(`I said ${head}`, `${tail}.`));
  agent.answerNext("reject_once");
  assert.equal((await agent.prompt(id, "Which key?")).stopReason, "end_turn");
  assert.match(agent.said({ session: id }), /I said <redacted>\.$/);
  assert.ok(!JSON.stringify(agent.lines).includes(tail));
  const saved = fs.readdirSync(world.sessions, { recursive: true, withFileTypes: true });
  for (const file of saved.filter((entry) => entry.isFile())) {
    const content = fs.readFileSync(path.join(file.parentPath ?? file.path, file.name), "utf8");
    assert.ok(!content.includes(tail), file.name);
  }
});

scenario("half a surrogate pair costs one character", async (world) => {
  const { agent, id } = await world.startSession();
  const piece = (escape) =>
    `data: {"choices":[{"index":0,"delta":{"content":"${escape}"}}]}\n\n`;
  world.model.reply(piece("a\\ud83d"), piece("\\ude00b"), piece("\\ud83d\\ude00"), stop(), done);
  assert.equal((await agent.prompt(id, "Smile")).stopReason, "end_turn");
  assert.equal(agent.said({ session: id }), "a\ufffd\ufffdb😀");
});
