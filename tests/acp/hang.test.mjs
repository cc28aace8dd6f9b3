import { scenario } from "./harness.mjs";
import { hang } from "./model-server.mjs";
scenario("hangs", async (world) => { const { agent, id } = await world.startSession(); world.model.reply(hang); await agent.prompt(id, "x"); });
scenario("ok", async (world) => { await world.startSession(); });
