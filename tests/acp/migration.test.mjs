// Sessions that the Elisp Magent saved.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { scenario } from "./harness.mjs";
import { answer } from "./model-server.mjs";

const FIXTURE = fileURLToPath(
  new URL("../../crates/magent-ledger/tests/fixtures/session-v6", import.meta.url),
);
const ID = "session-20261130-223647";

/** Puts the session into the world as if it had been saved for its project. */
function adopt(world) {
  const projects = path.join(FIXTURE, "projects");
  const [scope] = fs.readdirSync(projects);
  const text = fs.readFileSync(path.join(projects, scope, `${ID}.json`), "utf8");
  const name = createHash("sha1").update(world.project).digest("hex");
  const folder = path.join(world.sessions, "projects", name);
  fs.mkdirSync(folder, { recursive: true });
  fs.cpSync(path.join(FIXTURE, "tool-results"), path.join(world.sessions, "tool-results"), {
    recursive: true,
  });
  const file = path.join(folder, `${ID}.json`);
  fs.writeFileSync(file, text.replaceAll("/home/user/project", world.project));
  return file;
}

scenario("a session of schema 6 is listed, shown whole, and goes on", async (world) => {
  const file = adopt(world);
  const agent = await world.start();
  const { sessions } = await agent.request("session/list", { cwd: world.project });
  assert.deepEqual(
    sessions.map(({ sessionId, title }) => [sessionId, title]),
    [[ID, "hello there"]],
  );
  await agent.load(ID);
  const updates = agent.updates({ session: ID });
  const shown = updates.map(({ sessionUpdate }) => sessionUpdate);
  const count = (kind) => shown.filter((name) => name === kind).length;
  assert.equal(count("user_message_chunk"), 7);
  assert.ok(count("agent_thought_chunk") >= 1);
  assert.equal(count("tool_call"), 5);
  const calls = updates.filter(({ sessionUpdate }) => /^tool_call/.test(sessionUpdate));
  const failed = calls.filter(({ status }) => status === "failed");
  assert.ok(failed.length >= 1, "the call that failed is one");
  const said = updates
    .filter(({ sessionUpdate }) => /message_chunk$/.test(sessionUpdate))
    .map(({ content }) => content.text);
  const at = (text) => said.findIndex((part) => part.includes(text));
  const order = ["hello there", "A short answer.", "read it", "用中文说", "你好，世界 🚀", "tick"];
  const places = order.map(at);
  assert.ok(!places.includes(-1), `all is there: ${places}`);
  assert.deepEqual(places, [...places].sort((a, b) => a - b), "in its order");
  world.model.reply(answer("Gone on."));
  await agent.prompt(ID, "Go on");
  const told = JSON.stringify(world.model.requests[0].body.messages);
  assert.match(told, /hello there.*A short answer.*你好.*Go on/);
  assert.equal(JSON.parse(fs.readFileSync(file, "utf8"))["schema-version"], 8);
  assert.ok(fs.existsSync(`${file}.v6`), "the old file is kept");
  await agent.finish();
  const next = await world.start();
  await next.load(ID);
  assert.match(next.said({ session: ID }), /Gone on\.$/);
});
