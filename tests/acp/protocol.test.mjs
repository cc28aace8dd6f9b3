import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { until } from "./agent.mjs";
import { scenario } from "./harness.mjs";
import { answer, callTools, lastUserText } from "./model-server.mjs";

const NO_SESSION = [-32602, -32002];

scenario(
  "an unknown method is refused with -32601, an unknown notification is ignored",
  async (world) => {
    const { agent, id } = await world.startSession();
    for (const method of [
      "session/nonsense",
      "_vendor/thing",
      "fs/read_text_file",
      "authenticate",
    ]) {
      const { error } = await agent.requestRaw(method, { sessionId: id });
      assert.equal(error.code, -32601, method);
      assert.ok(error.message.includes(method));
    }
    agent.writeRaw('{"jsonrpc":"2.0","method":"session/whatever","params":{}}\n');
    agent.writeRaw('{"jsonrpc":"2.0","method":"_vendor/thing"}\n');
    world.model.reply(answer("Fine."));
    assert.equal((await agent.prompt(id, "Alright?")).stopReason, "end_turn");
  },
);

scenario("wrong parameters are refused with -32602", async (world) => {
  const { agent, id } = await world.startSession();
  const cwd = world.project;
  const wrong = [
    ["initialize", {}],
    ["session/new", {}],
    ["session/new", { cwd: 7, mcpServers: [] }],
    ["session/new", []],
    ["session/load", { cwd, mcpServers: [] }],
    ["session/prompt", { sessionId: id }],
    ["session/prompt", { sessionId: id, prompt: "text" }],
    ["session/prompt", { sessionId: id, prompt: [] }],
    ["session/prompt", { sessionId: id, prompt: [{ type: "text", text: " \n" }] }],
    ["session/prompt", { sessionId: id, prompt: [{ type: "hologram" }] }],
    ["session/set_mode", { sessionId: id }],
    ["session/set_config_option", { sessionId: id }],
    ["session/close", {}],
    ["session/list", { cwd: 7 }],
  ];
  for (const [method, params] of wrong) {
    const { error, result } = await agent.requestRaw(method, params);
    const what = `${method} ${JSON.stringify(params)}: ${JSON.stringify(result ?? error)}`;
    assert.equal(error?.code, -32602, what);
    assert.ok(error.message.length < 300, what);
  }
  const missing = await agent.requestRaw("session/prompt", undefined);
  assert.equal(missing.error.code, -32602);
});

scenario("a session that nobody knows is refused by every method", async (world) => {
  const agent = await world.start();
  const cwd = world.project;
  const text = [{ type: "text", text: "Hello?" }];
  for (const sessionId of [
    "session-20200101-000000-none",
    "",
    "../../etc/passwd",
    "a/b",
    "漢字",
  ]) {
    const requests = [
      ["session/load", { sessionId, cwd, mcpServers: [] }],
      ["session/resume", { sessionId, cwd, mcpServers: [] }],
      ["session/prompt", { sessionId, prompt: text }],
      ["session/set_mode", { sessionId, modeId: "plan" }],
      ["session/set_config_option", { sessionId, configId: "mode", value: "plan" }],
      ["session/close", { sessionId }],
    ];
    for (const [method, params] of requests) {
      const { error } = await agent.requestRaw(method, params);
      assert.ok(
        NO_SESSION.includes(error?.code),
        `${method} "${sessionId}": ${error?.message}`,
      );
    }
  }
  assert.deepEqual(agent.updates(), []);
});

scenario("a session of another project is not loaded into this one", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(answer("Hello."));
  await agent.prompt(id, "Hi");
  const other = world.folder("other");
  const error = await agent.refused("session/load", {
    sessionId: id,
    cwd: other,
    mcpServers: [],
  });
  assert.ok(NO_SESSION.includes(error.code), error.message);
});

scenario(
  "a line that is no JSON or no message is answered, and the connection goes on",
  async (world) => {
    const { agent, id } = await world.startSession();
    const lines = [
      ["this is no JSON", -32700],
      ['{"jsonrpc":"2.0","id":1,', -32700],
      ["\u0000\u0001", -32700],
      ["[]", -32600],
      ["7", -32600],
      ['{"jsonrpc":"2.0"}', -32600],
      ['{"jsonrpc":"2.0","method":7}', -32600],
    ];
    for (const [line, code] of lines) {
      const from = agent.lines.length;
      agent.writeRaw(`${line}\n`);
      const { message } = await until(() => agent.lines[from], `an answer to ${line}`);
      assert.equal(message.error?.code, code, line);
      assert.equal(message.id, null, line);
    }
    agent.writeRaw("\n \n\r\n");
    agent.writeRaw('{"jsonrpc":"2.0","id":"nobody-asked","result":{}}\n');
    agent.writeRaw(Buffer.from([0x7b, 0xff, 0xfe, 0x0a]));
    world.model.reply(answer("Still here."));
    assert.equal((await agent.prompt(id, "Still there?")).stopReason, "end_turn");
  },
);

scenario("lines may come in pieces, together, and with carriage returns", async (world) => {
  const agent = await world.start();
  const listed = (id) => ({ jsonrpc: "2.0", id, method: "session/list", params: {} });
  const ids = ["p1", "p2", "p3"];
  const answers = ids.map((id) => agent.expectRaw(listed(id)));
  const [first, ...rest] = ids.map((id) => `${JSON.stringify(listed(id))}\r\n`);
  for (const character of first) agent.writeRaw(character);
  agent.writeRaw(rest.join(""));
  for (const answer of await Promise.all(answers)) assert.deepEqual(answer.result.sessions, []);
});

scenario("ids of requests come back as they were", async (world) => {
  const agent = await world.start();
  for (const id of [0, 12345678901, -1, "text", "漢字", ""]) {
    const message = await agent.requestRaw("session/list", {}, { id });
    assert.ok(message.result, `id ${JSON.stringify(id)}`);
  }
});

scenario("sound and binary files in a prompt are refused by name", async (world) => {
  const { agent, id } = await world.startSession();
  const text = { type: "text", text: "Look at this" };
  const blob = { uri: "file:///tmp/a.bin", blob: "AAEC", mimeType: "application/octet-stream" };
  const refusals = [
    [{ type: "audio", data: "aGk=", mimeType: "audio/wav" }, /audio/i],
    [{ type: "resource", resource: blob }, /a\.bin.*binary/i],
  ];
  for (const [block, message] of refusals) {
    const error = await agent.refusedPrompt(id, [text, block]);
    assert.equal(error.code, -32602);
    assert.match(error.message, message);
  }
  assert.equal(world.model.requests.length, 0);
  world.model.reply(answer("Text is fine."));
  await agent.prompt(id, [text]);
  const { messages } = world.model.requests[0].body;
  const user = messages.filter(({ role }) => role === "user");
  assert.equal(user.length, 1, "what was refused is no part of the conversation");
});

scenario("a working directory must be absolute and be one", async (world) => {
  const agent = await world.start();
  const file = world.write("file.txt", "");
  const wrong = ["project", "./", "../project", "", path.join(world.project, "missing"), file];
  for (const cwd of wrong) {
    const error = await agent.refused("session/new", { cwd, mcpServers: [] });
    assert.equal(error.code, -32602, `"${cwd}": ${error.message}`);
    assert.match(error.message, /cwd/);
    if (cwd.startsWith("/")) continue;
    const listing = await agent.refused("session/list", { cwd });
    assert.equal(listing.code, -32602, `"${cwd}": ${listing.message}`);
  }
});

scenario("sessions of a folder that is gone can still be listed", async (world) => {
  const agent = await world.start();
  const folder = world.folder("short-lived");
  const { sessionId } = await agent.newSession({ cwd: folder });
  world.model.reply(answer("Hello."));
  await agent.prompt(sessionId, "Hi");
  fs.rmSync(folder, { recursive: true });
  const { sessions } = await agent.request("session/list", {});
  assert.deepEqual(
    sessions.map(({ cwd }) => cwd),
    [folder],
  );
  const all = await agent.requestRaw("session/list", { cwd: folder });
  assert.ok(all.result ?? all.error.code === -32602, JSON.stringify(all));
});

scenario("a folder and a link to it are the same project", async (world) => {
  const agent = await world.start();
  const link = path.join(path.dirname(world.project), "link");
  fs.symlinkSync(world.project, link);
  const { sessionId } = await agent.newSession({ cwd: `${link}/` });
  world.model.reply(answer("Hello."));
  await agent.prompt(sessionId, "Hi");
  for (const cwd of [world.project, link]) {
    const { sessions } = await agent.request("session/list", { cwd });
    assert.deepEqual(
      sessions.map(({ sessionId }) => sessionId),
      [sessionId],
      cwd,
    );
  }
});

scenario("MCP servers are not used, and the user is told", async (world) => {
  const agent = await world.start();
  const mcpServers = [
    { name: "files", command: "/bin/false", args: [], env: [] },
    { type: "http", name: "web", url: "http://127.0.0.1:9/mcp", headers: [] },
  ];
  const { sessionId } = await agent.newSession({ mcpServers });
  await until(() => /MCP/.test(agent.said({ session: sessionId })), "a notice");
  const response = agent.position(({ result }) => result?.sessionId);
  const notice = agent.position(({ params }) => /MCP/.test(params?.update?.content?.text));
  assert.ok(notice > response, "a client knows the session only after the response");
  world.model.reply(answer("Without MCP."));
  assert.equal((await agent.prompt(sessionId, "Hi")).stopReason, "end_turn");
  assert.ok(!JSON.stringify(world.model.requests[0].body.messages).includes("MCP servers"));
  assert.equal(lastUserText(world.model.requests[0].body), "Hi");
});

scenario("a request with half a surrogate pair is answered", async (world) => {
  const { agent, id } = await world.startSession();
  world.model.reply(answer("Here."));
  assert.equal((await agent.prompt(id, "cut \ud83d")).stopReason, "end_turn");
  assert.equal(lastUserText(world.model.requests[0].body), "cut \ufffd");
});

scenario("the folder that the agent was started in may go", async (world) => {
  const cwd = world.folder("started-here");
  const agent = await world.start({ cwd });
  fs.rmdirSync(cwd);
  const { sessionId } = await agent.newSession();
  world.write("a.txt", "words\n");
  world.model.reply(callTools(["read_file", { path: "a.txt", source: "disk" }, "read"]));
  world.model.reply(answer("Read."));
  await agent.prompt(sessionId, "Read it");
  assert.equal(agent.callUpdates("read").at(-1).status, "completed");
});
