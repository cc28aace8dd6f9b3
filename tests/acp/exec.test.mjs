// One turn from the command line.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { scenario } from "./harness.mjs";
import { answer, callTools, calls, done, lastUserText, pause, stop, text } from "./model-server.mjs";

scenario("the answer goes to standard output, and the rest does not", async (world) => {
  world.model.reply(callTools(["bash", { command: "touch mark" }]));
  world.model.reply(answer("Done: ", "漢字"));
  const { code, stdout, stderr } = await world.exec(["--approve", "bash=allow", "Make", "it"]);
  assert.deepEqual([code, stdout.trim()], [0, "Done: 漢字"], stderr);
  assert.match(stderr, /touch mark/);
  assert.equal(lastUserText(world.model.requests[0].body), "Make it");
  assert.ok(world.has("mark"));
});

scenario("without a terminal nobody allows what is asked for", async (world) => {
  world.model.reply(callTools(["bash", { command: "touch mark" }]));
  world.model.reply(answer("I could not."));
  const { code, stdout } = await world.exec(["Make it"]);
  assert.deepEqual([code, stdout.trim()], [0, "I could not."]);
  assert.ok(!world.has("mark"));
});

scenario("standard input is the prompt as it is, and what is no text is marked", async (world) => {
  world.model.reply(answer("Seen."));
  const input = Buffer.from("caf\xe9 1\r\n\u6f22 2\n", "latin1");
  const { code, stderr } = await world.exec(["-"], { input });
  assert.equal(code, 0, stderr);
  assert.match(lastUserText(world.model.requests[0].body), /^caf\ufffd 1\r\n/);
});

scenario("wrong use ends with status 2 and one line that says why", async (world) => {
  for (const [args, why] of [
    [["--approve", "bogus", "x"], /approv/i],
    [["--approve", "bash=frob", "x"], /frob/],
    [["--model", "Nobody:none", "x"], /Nobody/],
    [["--agent", "nobody", "x"], /nobody/],
    [["--cwd", "/no/such/folder", "x"], /no\/such\/folder/],
    [["--frob", "x"], /--frob/],
    [["-x"], /option -x.* -- before/],
    [["--model", "mock-9", "x"], /There are Mock:mock-1/],
    [["--approve", "bash:rm *=deny,bash=allow", "x"], /rm \*/],
    [[" "], /empty/],
    [[], /empty/],
  ]) {
    const { code, stdout, stderr } = await world.exec(["--json", ...args]);
    assert.deepEqual([code, stdout], [2, ""], `${args}: ${stderr}`);
    assert.match(stderr, why);
    assert.ok(stderr.trim().split("\n").length <= 2, stderr);
  }
});

scenario("a later command goes on with the latest session or a named one", async (world) => {
  const none = await world.exec(["--continue", "And?"]);
  assert.equal(none.code, 2);
  assert.match(none.stderr, /no session of .*project/);
  world.model.reply(answer("One."));
  const { stdout } = await world.exec(["--json", "First"]);
  const id = JSON.parse(stdout.split("\n")[0])["session-id"];
  world.model.reply(answer("Two."));
  assert.equal((await world.exec(["--continue", "Second"])).stdout.trim(), "Two.");
  world.model.reply(answer("Three."));
  assert.equal((await world.exec(["--session", id, "Third"])).stdout.trim(), "Three.");
  const roles = world.model.requests[2].body.messages.map(({ role }) => role);
  assert.deepEqual(roles, ["system", "user", "assistant", "user", "assistant", "user"]);
  const unknown = await world.exec(["--session", "nobody", "Fourth"]);
  assert.deepEqual([unknown.code, unknown.stdout], [2, ""]);
});

scenario("a folder of a project belongs to the project", async (world) => {
  spawnSync("git", ["init", "-q", world.project]);
  world.write("AGENTS.md", "RULES OF THE ROOT");
  const cwd = world.folder("project/sub");
  world.model.reply(answer("One."));
  assert.equal((await world.exec(["First"], { cwd })).code, 0);
  assert.match(JSON.stringify(world.model.requests[0].body), /RULES OF THE ROOT/);
  world.model.reply(answer("Two."));
  assert.equal((await world.exec(["--continue", "Second"])).code, 0);
  assert.match(JSON.stringify(world.model.requests[1].body), /First/);
  // Who names a folder means that folder.
  world.model.reply(answer("Three."));
  assert.equal((await world.exec(["--cwd", cwd, "Third"])).code, 0);
  assert.doesNotMatch(JSON.stringify(world.model.requests[2].body), /RULES OF THE ROOT/);
});

scenario("a turn that nobody listens to any more ends at once", async (world) => {
  for (const [options, said, why] of [
    [{ head: true }, "One.", /^$/],
    [{ redirect: ">/dev/full" }, "", /^magent: .*No space left.*\n$/],
    [{ redirect: ">&-" }, "", /^magent: .*Bad file descriptor.*\n$/],
  ]) {
    for (const json of [[], ["--json"]]) {
      world.model.reply([
        text("One."),
        pause(300),
        text("Two."),
        pause(700),
        calls(["bash", { command: "touch mark" }]),
        stop("tool_calls"),
        done,
      ]);
      const args = ["--approve", "always", ...json, "Go"];
      const { code, stdout, stderr } = await world.exec(args, options);
      assert.equal(code, 1, stderr);
      assert.match(stderr, why);
      if (!json.length) assert.equal(stdout, said);
      assert.ok(!world.has("mark"));
    }
  }
  const full = await world.exec(["/authority"], { redirect: ">/dev/full" });
  assert.equal(full.code, 1);
});

scenario("setup that cannot work ends with status 2 and says what to do here", async (world) => {
  const { code, stderr } = await world.exec(["Go"], {
    env: { MAGENT_MODULE: path.join(world.home, "none.so") },
  });
  assert.equal(code, 2);
  assert.match(stderr, /none\.so.*Run make build in \/.*\.\n$/);
  world.configure('(setq magent-ca-bundle "/no/such/bundle.pem")');
  const bundle = await world.exec(["Go"]);
  assert.equal(bundle.code, 2);
  assert.match(bundle.stderr, /bundle\.pem cannot be used/);
});

scenario("help is help wherever it is asked for", async (world) => {
  const { code, stdout } = await world.exec(["--help"]);
  assert.equal(code, 0);
  assert.match(stdout, /^Usage: magent exec/);
});

scenario("a prompt after two dashes may begin with one", async (world) => {
  world.model.reply(answer("Yes."));
  const { code, stderr } = await world.exec(["--", "--frob", "-x"]);
  assert.equal(code, 0, stderr);
  assert.equal(lastUserText(world.model.requests[0].body), "--frob -x");
});

scenario("commands are answered without a model", async (world) => {
  const { code, stdout, stderr } = await world.exec(["/authority"]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /`edit_file` \(key `edit`\): \*\*allow\*\*.*pattern `\*`/);
  assert.match((await world.exec(["/help", "me"])).stdout, /\/authority/);
});

scenario("an answer that is not on the disk is no success", async (world) => {
  fs.writeFileSync(world.sessions, "no folder");
  world.model.reply(answer("Done."));
  const { code, stdout, stderr } = await world.exec(["Go"]);
  assert.deepEqual([code, stdout.trim()], [1, "Done."]);
  assert.match(stderr, /not on the disk/);
  world.model.reply(answer("Done."));
  const json = await world.exec(["--json", "Go"]);
  assert.equal(JSON.parse(json.stdout.trim().split("\n").at(-1)).saved, false);
  const none = await world.exec(["--continue", "Go"]);
  assert.equal(none.code, 2);
  assert.match(none.stderr, /cannot be listed/);
});

scenario("what is left of a damaged session is recovered", async (world) => {
  const { agent, id } = await world.startSession();
  for (const words of ["One", "Two", "Three"]) {
    world.model.reply(answer(`${words}.`));
    await agent.prompt(id, words);
  }
  await agent.finish();
  const folder = path.join(world.sessions, "projects");
  const log = path.join(folder, fs.readdirSync(folder)[0], `${id}.jsonl`);
  const whole = fs.readFileSync(log, "utf8");
  const at = whole.indexOf('"Two"');
  fs.writeFileSync(log, whole.slice(0, at) + "\u0000" + whole.slice(at + 1));
  const damaged = fs.readFileSync(log);
  const refused = await world.exec(["--session", id, "Go on"]);
  assert.deepEqual([refused.code, /jsonl:\d+/.test(refused.stderr)], [2, true], refused.stderr);
  const { code, stdout, stderr } = await world.run(["recover", id]);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /Missing: the log's line \d+/);
  assert.deepEqual(fs.readFileSync(log), damaged, "the damaged one stays as it is");
  world.model.reply(answer("Four."));
  const next = await world.exec(["--session", stdout.trim(), "Go on"]);
  assert.deepEqual([next.code, next.stdout], [0, "Four.\n"], next.stderr);
  const told = JSON.stringify(world.model.requests.at(-1).body.messages);
  assert.match(told, /One.*Three.*Go on/);
  const unknown = await world.run(["recover", "session-nothing"]);
  assert.equal(unknown.code, 2);
  assert.equal((await world.run(["recover"])).code, 2);
});
