// The protocols that the model server speaks besides OpenAI's chat completions.  Each has
// the path and the key's header of its requests, what the user said last, what is wrong
// with a request's calls, and how an answer looks: words, or thinking with something
// opaque, words and one call.

const events = (...all) =>
  all.map((event) => `${event.type ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`);
const textsOf = (content) =>
  typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("");
/** The text of the last message of a role. */
export const textOfLast = (messages, role) =>
  textsOf((messages ?? []).findLast((message) => message.role === role)?.content);

/** What is wrong with ids of calls and results that have to be the same, in order. */
const unpaired = (calls, results) =>
  JSON.stringify(calls) === JSON.stringify(results)
    ? []
    : [`calls ${calls} have the results ${results}`];

const anthropic = {
  name: "anthropic",
  lisp: (url, key) => `:dialect 'anthropic :url "${url}" :key "${key}"`,
  handles: (url) => url === "/v1/messages",
  keyHeader: "x-api-key",
  keyPrefix: "",
  opaque: "c2lnbmF0dXJlLWE=",
  userText: (body) => textOfLast(body.messages, "user"),
  problems({ messages }) {
    const blocks = (type) =>
      messages.flatMap(({ content }) => content.filter((block) => block.type === type));
    const roles = messages.map(({ role }) => role);
    return [
      ...unpaired(
        blocks("tool_use").map(({ id }) => id),
        blocks("tool_result").map(({ tool_use_id: id }) => id),
      ),
      ...(roles.some((role, n) => role === roles[n - 1]) ? ["roles do not take turns"] : []),
    ];
  },
  answer: (text) =>
    events(
      { type: "message_start", message: { content: [], usage: { input_tokens: 100, output_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 20 } },
      { type: "message_stop" },
    ),
  call: (thought, text, name, args) =>
    events(
      { type: "message_start", message: { content: [], usage: { input_tokens: 100, output_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: thought } },
      { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: anthropic.opaque } },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text } },
      { type: "content_block_stop", index: 1 },
      { type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "toolu_1", name, input: {} } },
      { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: JSON.stringify(args) } },
      { type: "content_block_stop", index: 2 },
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 20 } },
      { type: "message_stop" },
    ),
};

const responses = {
  name: "openai-responses",
  lisp: (url, key) => `:dialect 'openai-responses :url "${url}" :key "${key}"`,
  handles: (url) => url === "/v1/responses",
  keyHeader: "authorization",
  keyPrefix: "Bearer ",
  opaque: "ZW5jcnlwdGVk",
  userText: (body) => textOfLast(body.input, "user"),
  problems: ({ input }) =>
    unpaired(
      input.filter(({ type }) => type === "function_call").map((item) => item.call_id),
      input.filter(({ type }) => type === "function_call_output").map((item) => item.call_id),
    ),
  answer: (text) =>
    responses.messages([text]),
  messages: (texts) =>
    responses.whole(
      texts.map((text, n) => responses.message(`msg_${n + 1}`, text)),
      ...texts.map((delta, n) => ({ type: "response.output_text.delta", item_id: `msg_${n + 1}`, output_index: n, content_index: 0, delta })),
    ),
  message: (id, text) => ({ id, type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text, annotations: [] }] }),
  call: (thought, text, name, args) =>
    responses.whole(
      [
        { id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: thought }], encrypted_content: responses.opaque },
        responses.message("msg_1", text),
        { id: "fc_1", type: "function_call", status: "completed", call_id: "call_1", name, arguments: JSON.stringify(args) },
      ],
      { type: "response.reasoning_summary_text.delta", item_id: "rs_1", output_index: 0, summary_index: 0, delta: thought },
      { type: "response.output_text.delta", item_id: "msg_1", output_index: 1, content_index: 0, delta: text },
      { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 2, delta: JSON.stringify(args) },
    ),
  whole: (output, ...deltas) =>
    events(
      { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
      ...output.map((item, output_index) => ({ type: "response.output_item.added", output_index, item: { ...item, arguments: item.arguments && "", content: item.content && [] } })),
      ...deltas,
      ...output.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
      { type: "response.completed", response: { id: "resp_1", status: "completed", output, usage: { input_tokens: 100, output_tokens: 20 } } },
    ),
};

const gemini = {
  name: "gemini",
  lisp: (url, key) => `:dialect 'gemini :url "${url}" :key "${key}"`,
  handles: (url) => url === "/v1beta/models/native-1:streamGenerateContent?alt=sse",
  keyHeader: "x-goog-api-key",
  keyPrefix: "",
  opaque: "c2lnbmF0dXJlLUc=",
  userText: ({ contents }) => textsOf(contents.findLast(({ role }) => role === "user")?.parts),
  problems({ contents }) {
    const roles = contents.map(({ role }) => role);
    const parts = (content, kind) =>
      (content?.parts ?? []).map((part) => part[kind]).filter(Boolean);
    const names = (content, kind) => parts(content, kind).map(({ id, name }) => `${id} ${name}`);
    const said = ({ role, parts: all }) => role === "user" && all.some(({ text }) => text);
    // Calls of the turn that goes on have to be signed.
    const turn = contents.slice(contents.findLastIndex(said) + 1);
    const unsigned = turn.filter((content) => {
      const call = content.parts.find(({ functionCall }) => functionCall);
      return call && !call.thoughtSignature;
    });
    return [
      ...contents.flatMap((content, n) =>
        content.role === "model"
          ? unpaired(names(content, "functionCall"), names(contents[n + 1], "functionResponse"))
          : [],
      ),
      ...(roles.some((role, n) => role === roles[n - 1]) ? ["roles do not take turns"] : []),
      ...unsigned.map(() => "a call has lost its signature"),
    ];
  },
  response: (part, more) => ({
    candidates: [{ content: { parts: [part], role: "model" }, ...more, index: 0 }],
    usageMetadata: { promptTokenCount: 100, candidatesTokenCount: more ? 15 : 1, thoughtsTokenCount: 5 },
  }),
  answer: (text) =>
    events(gemini.response({ text }), gemini.response({ text: "" }, { finishReason: "STOP" })),
  call: (thought, text, name, args) =>
    events(
      gemini.response({ text: thought, thought: true }),
      gemini.response({ text }),
      gemini.response({ functionCall: { id: "fc_1", name, args }, thoughtSignature: gemini.opaque }),
      gemini.response({ text: "" }, { finishReason: "STOP" }),
    ),
};

const lines = (...all) => all.map((line) => `${JSON.stringify(line)}\n`);

const ollama = {
  name: "ollama",
  lisp: (url, key) => `:dialect 'ollama :url "${url}" :key "${key}"`,
  handles: (url) => url === "/api/chat",
  keyHeader: "authorization",
  keyPrefix: "Bearer ",
  // Nothing is signed here, but thoughts go back to nobody else either.
  opaque: "in the way of Ollama",
  userText: (body) => textOfLast(body.messages, "user"),
  problems: ({ messages }) =>
    unpaired(
      messages.flatMap(({ tool_calls: calls }) => (calls ?? []).map((call) => call.function.name)),
      messages.filter(({ role }) => role === "tool").map((message) => message.tool_name),
    ),
  piece: (message) => ({ model: "native-1", message: { role: "assistant", content: "", ...message }, done: false }),
  end: () => ({ ...ollama.piece({}), done: true, done_reason: "stop", prompt_eval_count: 100, eval_count: 20 }),
  answer: (content) => lines(ollama.piece({ content }), ollama.end()),
  call: (thought, content, name, args) =>
    lines(
      ollama.piece({ thinking: `${thought} ${ollama.opaque}` }),
      ollama.piece({ content }),
      ollama.piece({ tool_calls: [{ function: { name, arguments: args } }] }),
      ollama.end(),
    ),
};

/** All of them. */
export const dialects = [anthropic, responses, gemini, ollama];
