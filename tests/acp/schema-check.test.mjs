// The checks themselves: a checker that never complains would prove nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkError, checkParams, checkResult } from "./schema-check.mjs";

const update = (fields) =>
  checkParams("session/update", "Notification", { sessionId: "s", update: fields });
const text = (text) => ({ type: "text", text });

test("the schema check accepts what the protocol allows", () => {
  assert.deepEqual(
    update({ sessionUpdate: "agent_message_chunk", content: text("hi"), messageId: "m" }),
    [],
  );
  const content = [
    { type: "content", content: text("out") },
    { type: "diff", path: "/a", oldText: null, newText: "b" },
  ];
  const row = {
    toolCallId: "t",
    title: "x",
    kind: "edit",
    rawInput: { any: [1, { deep: 2 }] },
  };
  assert.deepEqual(update({ sessionUpdate: "tool_call", ...row, content }), []);
  const meta = { terminal_exit: { exit_code: 1 } };
  assert.deepEqual(
    update({ sessionUpdate: "tool_call_update", toolCallId: "t", _meta: meta }),
    [],
  );
  const usage = { totalTokens: 3, inputTokens: 1, outputTokens: 2 };
  assert.deepEqual(checkResult("session/prompt", { stopReason: "end_turn", usage }), []);
  assert.deepEqual(checkError({ code: -32602, message: "no", data: { code: "bad" } }), []);
});

test("the schema check finds what the protocol does not allow", () => {
  const wrong = {
    "an unknown update": update({ sessionUpdate: "session_push_end" }),
    "content without a type": update({
      sessionUpdate: "tool_call_update",
      toolCallId: "t",
      content: [{ content: text("out") }],
    }),
    "an unknown kind": update({
      sessionUpdate: "tool_call",
      toolCallId: "t",
      title: "x",
      kind: "grep",
    }),
    "a misspelt field": update({
      sessionUpdate: "agent_message_chunk",
      content: text("hi"),
      message_id: "m",
    }),
    "a field too many in a nested object": update({
      sessionUpdate: "agent_message_chunk",
      content: { ...text("hi"), mimeType: "text/plain" },
    }),
    "an update that needs a capability": update({ sessionUpdate: "notice" }),
    "a stop reason of its own": checkResult("session/prompt", { stopReason: "error" }),
    "a missing session id": checkResult("session/new", {}),
    "a result of an unknown method": checkResult("session/nonsense", {}),
    "a notification of an unknown method": checkParams("_magent/error", "Notification", {}),
    "an error without a message": checkError({ code: 1 }),
  };
  for (const [what, problems] of Object.entries(wrong)) {
    assert.notDeepEqual(problems, [], what);
  }
});
