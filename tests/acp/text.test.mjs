// Texts of all kinds and sizes on their way through.

import assert from "node:assert/strict";
import path from "node:path";
import { outputOf, revision, scenario } from "./harness.mjs";
import { answer, callTools, done, lastUserText, stop, text } from "./model-server.mjs";

const EMOJI = "👩‍💻 naïve ﷽ שלום \u{1F680} e\u0301 \u202e";

for (const [locale, env] of [
  ["UTF-8", { LANG: "C.UTF-8" }],
  ["no", { LANG: "", LC_ALL: "C" }],
]) {
  scenario(
    `Unicode passes everywhere, with ${locale} locale`,
    async (world) => {
      const { agent, id } = await world.startSession({ env });
      const file = world.write("файл 文件.txt", "漢字 🙂\n");
      world.model.reply(
        callTools(
          ["read_file", { path: "файл 文件.txt", source: "disk" }, "read"],
          [
            "write_file",
            { path: "новый/ñ.txt", content: EMOJI, expected_revision: "absent" },
            "write",
          ],
          ["bash", { command: "pwd; ls; echo '→ ✓'" }, "sh"],
        ),
      );
      world.model.reply(answer("Сделано ", "✅ ", EMOJI));
      agent.answerNext("allow_once", "allow_once");
      await agent.prompt(id, `Прочти 文件 ${EMOJI}`);
      assert.equal(lastUserText(world.model.requests[0].body), `Прочти 文件 ${EMOJI}`);
      assert.equal(agent.said(), `Сделано ✅ ${EMOJI}`);
      const last = (call) => agent.callUpdates(call).at(-1);
      assert.match(last("read").title, /файл 文件\.txt/);
      assert.equal(outputOf(last("read")), "漢字 🙂\n");
      assert.ok(
        agent.callUpdates("read").some(({ locations }) => locations?.[0].path === file),
      );
      assert.equal(world.read("новый/ñ.txt"), EMOJI);
      assert.match(
        outputOf(last("sh")),
        new RegExp(`${world.project}\n[^]*файл 文件.txt[^]*→ ✓`),
      );
      await agent.finish();

      const next = await world.start({ env });
      const { sessions } = await next.request("session/list", { cwd: world.project });
      assert.equal(sessions[0].cwd, world.project);
      assert.match(sessions[0].title, /^Прочти 文件/);
      await next.load(id);
      assert.equal(next.said(), `Сделано ✅ ${EMOJI}`);
      assert.match(outputOf(next.callUpdates("sh").at(-1)), /→ ✓/);
    },
    { name: "папка 漢字 mit Leerzeichen 🙂" },
  );
}

scenario("characters that are cut in the middle by the network arrive whole", async (world) => {
  const { agent, id } = await world.startSession();
  const bytes = Buffer.from(text(EMOJI));
  const pieces = Array.from(bytes, (byte) => (response) => {
    response.write(Buffer.from([byte]));
    return new Promise(setImmediate);
  });
  world.model.reply(...pieces, stop(), done);
  await agent.prompt(id, "Go");
  assert.equal(agent.said(), EMOJI);
});

scenario("a prompt of one line with 100 KB arrives whole", async (world) => {
  const { agent, id } = await world.startSession();
  const prompt = "ä🙂x".repeat(12_500);
  world.model.reply(answer("Long."));
  world.model.reply(answer("Again."));
  await agent.prompt(id, prompt);
  assert.equal(lastUserText(world.model.requests[0].body), prompt);
  const [{ title }] = agent.updates({ kind: "session_info_update" });
  assert.ok(title.length < 200, "a title is short");
  await agent.finish();
  const next = await world.start();
  await next.load(id);
  const shown = next.updates({ kind: "user_message_chunk" }).map(({ content }) => content.text);
  assert.equal(shown.join(""), prompt);
  await next.prompt(id, "More");
  assert.ok(world.model.requests[1].body.messages.some(({ content }) => content === prompt));
});

scenario(
  "an answer of one line with 300 KB comes in lines that clients can take",
  async (world) => {
    const { agent, id } = await world.startSession();
    const words = "漢".repeat(100_000);
    world.model.reply(text(words), stop(), done);
    await agent.prompt(id, "Go");
    assert.equal(agent.said(), words);
    await agent.finish();
    const next = await world.start();
    await next.load(id);
    assert.equal(next.said(), words);
  },
);

scenario("a file of one line with 2 MB is edited without a line of 2 MB", async (world) => {
  const { agent, id } = await world.startSession();
  const before = `{"a":"${"x".repeat(2_000_000)}","b":1}`;
  world.write("big.json", before);
  const edit = {
    path: "big.json",
    old_text: '"b":1',
    new_text: '"b":2',
    expected_revision: revision(before),
  };
  world.model.reply(callTools(["edit_file", edit, "e"]));
  world.model.reply(callTools(["read_file", { path: "big.json", source: "disk" }, "r"]));
  world.model.reply(callTools(["grep", { pattern: '"b":2', path: "." }, "g"]));
  world.model.reply(answer("Done."));
  await agent.prompt(id, "Set b to 2");
  assert.equal(world.read("big.json"), before.replace('"b":1', '"b":2'));
  for (const call of ["e", "r", "g"]) {
    assert.equal(agent.callUpdates(call).at(-1).status, "completed", call);
  }
});

scenario("calls with 300 KB of arguments run, and their rows stay small", async (world) => {
  const { agent, id } = await world.startSession();
  const names = ["a", "b", "c"];
  const content = (name) => `${name}${"0123456789\n".repeat(27_000)}`;
  world.model.reply(
    callTools(
      ...names.map((name) => [
        "write_file",
        { path: `${name}.txt`, content: content(name), expected_revision: "absent" },
        name,
      ]),
    ),
  );
  world.model.reply(answer("Done."));
  agent.answerNext("allow_always");
  await agent.prompt(id, "Write them");
  for (const name of names) {
    assert.equal(world.read(`${name}.txt`), content(name));
    assert.equal(agent.callUpdates(name).at(-1).status, "completed");
  }
  await agent.finish();
  const next = await world.start();
  await next.load(id);
  const sizes = [...agent.lines, ...next.lines].map(({ size }) => size);
  assert.ok(Math.max(...sizes) < 50_000, `the longest line has ${Math.max(...sizes)} bytes`);
});

scenario("text that looks like markup stays what it is", async (world) => {
  const { agent, id } = await world.startSession();
  const tricky =
    '```\n</tool>\n[Magent: no]\n\u0000\u001b[31m\r\n<|im_end|> {"jsonrpc":"2.0"}\n';
  world.model.reply(text(`A${tricky}Z`), stop(), done);
  await agent.prompt(id, `B${tricky}Y`);
  assert.equal(agent.said(), `A${tricky}Z`);
  assert.equal(lastUserText(world.model.requests[0].body), `B${tricky}Y`);
});

scenario("a path outside of the project is named whole", async (world) => {
  const { agent, id } = await world.startSession();
  const outside = path.join(world.home, "outside.txt");
  world.model.reply(callTools(["read_file", { path: "~/outside.txt", source: "disk" }, "r"]));
  world.model.reply(answer("Not there."));
  await agent.prompt(id, "Read it");
  const [row] = agent.callUpdates("r");
  assert.equal(row.locations[0].path, outside);
});
