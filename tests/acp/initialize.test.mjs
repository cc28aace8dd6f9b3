import assert from "node:assert/strict";
import { scenario } from "./harness.mjs";

scenario("initialize tells version, name and what is supported", async (world) => {
  const agent = await world.start();
  const { protocolVersion, agentInfo, agentCapabilities, authMethods } = agent.introduction;
  assert.equal(protocolVersion, 1);
  assert.equal(agentInfo.name, "magent");
  assert.equal(agentInfo.title, "Magent");
  assert.match(agentInfo.version, /^\d+\.\d+\.\d+/);
  assert.deepEqual(authMethods, []);
  assert.equal(agentCapabilities.loadSession, true);
  assert.equal(agentCapabilities.promptCapabilities.embeddedContext, true);
  const { list, resume, close } = agentCapabilities.sessionCapabilities;
  assert.deepEqual([list, resume, close], [{}, {}, {}]);
});

scenario("initialize leaves out what is not supported", async (world) => {
  const agent = await world.start();
  const absent = [];
  const walk = (value, where) => {
    if (value === false || value === null) absent.push(where);
    if (typeof value !== "object" || value === null) return;
    for (const [key, part] of Object.entries(value)) walk(part, `${where}.${key}`);
  };
  walk(agent.introduction, "result");
  assert.deepEqual(
    absent,
    [],
    "clients take a capability that is there for one that is supported",
  );
  assert.ok(!("delete" in agent.introduction.agentCapabilities.sessionCapabilities));
  assert.ok(!("audio" in agent.introduction.agentCapabilities.promptCapabilities));
});

scenario(
  "initialize answers a client of another protocol version with its own",
  async (world) => {
    const agent = world.launch();
    for (const protocolVersion of [0, 2, 99]) {
      const answer = await agent.requestRaw("initialize", { protocolVersion });
      assert.equal(answer.result.protocolVersion, 1, `asked for ${protocolVersion}`);
    }
  },
);
