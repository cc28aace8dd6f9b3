// Pictures in prompts.

import assert from "node:assert/strict";
import fs from "node:fs";
import { dialects } from "./dialects.mjs";
import { scenario } from "./harness.mjs";
import { answer, KEY } from "./model-server.mjs";

// One white pixel.
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAG7buVgAAAABJRU5ErkJggg==";
const picture = (fields = {}) => ({
  type: "image",
  data: PIXEL,
  mimeType: "image/png",
  uri: "file:///tmp/shot.png",
  ...fields,
});
const look = (...blocks) => [{ type: "text", text: "Look" }, ...blocks];

const blind = (url) => `(magent-define-backend "Blind" :dialect 'openai-chat :url "${url}"
  :key "${KEY}" :models '((blind-1 :capabilities (tool-use))))`;

scenario("a picture reaches the model, in later prompts and after a restart, too", async (world) => {
  const { agent, id } = await world.startSession();
  assert.equal(agent.introduction.agentCapabilities.promptCapabilities.image, true);
  for (const words of ["A pixel.", "Still.", "Again."]) world.model.reply(answer(words));
  await agent.prompt(id, look(picture()));
  await agent.prompt(id, "And now?");
  await agent.finish();
  const later = await world.start();
  await later.load(id);
  const shown = later.updates({ kind: "user_message_chunk" })[0].content.text;
  assert.match(shown, /^Look\n\n\[Attached: shot\.png\]/);
  await later.prompt(id, "And after the restart?");
  for (const { body } of world.model.requests) {
    assert.deepEqual(body.messages[1].content, [
      { type: "text", text: "Look" },
      { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } },
    ]);
  }
  const logs = fs.readdirSync(world.sessions, { recursive: true, withFileTypes: true });
  for (const entry of logs.filter((file) => file.isFile() && !file.name.endsWith(".png"))) {
    const content = fs.readFileSync(`${entry.parentPath ?? entry.path}/${entry.name}`, "utf8");
    assert.ok(!content.includes(PIXEL), `${entry.name} holds the picture itself`);
  }
});

scenario("a picture without words is a prompt", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(answer("A pixel."));
  await agent.prompt(id, [picture()]);
  assert.equal(world.model.requests[0].body.messages[1].content[0].type, "image_url");
});

scenario(
  "a model that sees nothing is told so, and the user before it",
  async (world) => {
    const { agent, id } = await world.startSession();
    const choose = (value) =>
      agent.request("session/set_config_option", { sessionId: id, configId: "model", value });
    world.model.reply(answer("A pixel."));
    await agent.prompt(id, look(picture()));
    await choose("gptel/Blind/blind-1");
    const error = await agent.refusedPrompt(id, look(picture()));
    assert.match(error.message, /Blind:blind-1 takes no pictures/);
    world.model.reply(answer("I cannot."));
    await agent.prompt(id, "What was it?");
    const [first] = world.model.requests[1].body.messages.filter(({ role }) => role === "user");
    assert.match(first.content, /^Look\n\n\[The picture shot\.png cannot be shown here\.\]$/);
  },
  { lisp: blind },
);

scenario("what is no picture is refused, and the next prompt works", async (world) => {
  const { agent, id } = await world.startSession();
  for (const [wrong, why] of [
    [{ data: "no base64!" }, /shot\.png is no base64/],
    [{ data: "" }, /shot\.png is empty/],
    [{ mimeType: "image/tiff" }, /image\/tiff/],
    [{ mimeType: "../../x" }, /\.\.\/\.\.\/x/],
    [{ data: Buffer.alloc(11 << 20).toString("base64") }, /11 MB; 10 MB is the limit/],
  ]) {
    const error = await agent.refusedPrompt(id, look(picture(wrong)));
    assert.match(error.message, why);
  }
  world.model.reply(answer("Fine."));
  await agent.prompt(id, "Hello");
  assert.equal(world.model.requests.length, 1);
});

for (const dialect of dialects) {
  scenario(
    `a picture reaches a model that speaks ${dialect.name}`,
    async (world) => {
      const { agent, id } = await world.startSession();
      world.model.reply(...dialect.answer("A pixel."));
      await agent.prompt(id, look(picture()));
      assert.ok(JSON.stringify(world.model.requests[0].body).includes(PIXEL));
    },
    {
      lisp: (url) => `(magent-define-backend "Native" ${dialect.lisp(url, KEY)}
  :models '(native-1))
(setq magent-default-model "Native:native-1")`,
    },
  );
}
