//! The whole tour, with tools that only pretend.

use serde_json::{Value, json};

use crate::provider::{Provider, streaming};

const REVISION: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// A session with a client that offers all tools of the tour.
struct Session<'a> {
    provider: &'a Provider,
    messages: Vec<Value>,
    /// The calls so far: names and arguments.
    calls: Vec<(String, Value)>,
}

impl<'a> Session<'a> {
    fn new(provider: &'a Provider) -> Self {
        Self {
            provider,
            messages: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// Runs a turn with these results of calls; returns the final answer.
    fn turn(&mut self, prompt: &str, result: impl Fn(&str) -> String) -> String {
        self.messages
            .push(json!({"role": "user", "content": prompt}));
        for _ in 0..10 {
            let mut request = streaming(self.messages.clone().into());
            request["tools"] = tools();
            let answer = self.provider.chat(&request);
            assert!(answer.whole, "{answer:?}");
            let text = answer.text();
            let mut message = json!({"role": "assistant", "content": text});
            let calls = answer.calls();
            if calls.is_empty() {
                self.messages.push(message);
                return text;
            }
            message["tool_calls"] = calls
                .iter()
                .map(|(id, name, arguments)| {
                    json!({"id": id, "type": "function",
                           "function": {"name": name, "arguments": arguments}})
                })
                .collect();
            self.messages.push(message);
            for (id, name, arguments) in calls {
                let output = result(&name);
                self.messages
                    .push(json!({"role": "tool", "tool_call_id": id, "content": output}));
                let arguments = serde_json::from_str(&arguments).expect("arguments");
                self.calls.push((name, arguments));
            }
        }
        panic!("the tour does not end: {:?}", self.calls);
    }

    fn names(&self) -> Vec<&str> {
        self.calls.iter().map(|(name, _)| name.as_str()).collect()
    }

    fn arguments(&self, tool: &str) -> &Value {
        let call = self.calls.iter().find(|(name, _)| name == tool);
        &call.expect("a call").1
    }
}

fn tools() -> Value {
    [
        "bash",
        "edit_file",
        "grep",
        "read_file",
        "update_plan",
        "write_file",
    ]
    .into_iter()
    .map(|name| json!({"type": "function", "function": {"name": name, "parameters": {}}}))
    .collect()
}

fn notes(tool: &str) -> String {
    match tool {
        "read_file" => format!(
            "[read_file source=disk modified=false revision={REVISION} lines=1-2 total_lines=2 \
             has_more=false next_start_line=none]\n# Notes\n- [ ] say hello\n"
        ),
        "edit_file" => format!("Edited notes.txt (line 2): +1 -1 lines. New revision: {REVISION}"),
        "write_file" => format!("Created magent-demo.txt: +2 -0 lines. New revision: {REVISION}"),
        "bash" => "1\n".to_owned(),
        _ => "Plan updated: 3 steps, 0 completed.".to_owned(),
    }
}

fn failed(code: &str, message: &str) -> String {
    format!("[status=failed exit_code=unavailable code={code}]\n{message}")
}

#[test]
fn notes_with_an_open_entry() {
    let provider = Provider::start();
    let mut session = Session::new(&provider);
    let report = session.turn("Show me what you can do", notes);
    assert_eq!(
        session.names(),
        [
            "update_plan",
            "read_file",
            "edit_file",
            "bash",
            "update_plan"
        ]
    );
    assert_eq!(
        session.arguments("update_plan")["plan"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        session.arguments("edit_file")["expected_revision"],
        REVISION
    );
    assert_eq!(
        session.arguments("bash")["command"],
        "grep -c \"\\[x\\]\" notes.txt"
    );
    assert!(report.contains("ticked off"), "{report}");
    assert!(report.contains("demo model"), "{report}");
    assert!(report.contains("magent-define-backend"), "{report}");

    let again = session.turn("And now?", notes);
    assert_eq!(session.calls.len(), 5);
    assert!(again.contains("[[slow 40]]") && again != report, "{again}");
    assert!(session.turn("[[say bye]]", notes).contains("bye"));
}

#[test]
fn no_notes() {
    let provider = Provider::start();
    let mut session = Session::new(&provider);
    let report = session.turn("hello", |tool| match tool {
        "read_file" => failed("not_found", "cannot read notes.txt: there is no such file"),
        tool => notes(tool),
    });
    assert_eq!(
        session.names(),
        [
            "update_plan",
            "read_file",
            "write_file",
            "bash",
            "update_plan"
        ]
    );
    let write = session.arguments("write_file");
    assert_eq!(
        (&write["path"], &write["expected_revision"]),
        (&json!("magent-demo.txt"), &json!("absent"))
    );
    assert_eq!(
        session.arguments("bash")["command"],
        "wc -l magent-demo.txt"
    );
    assert!(report.contains("no such file here"), "{report}");
}

#[test]
fn everything_refused() {
    let provider = Provider::start();
    let mut session = Session::new(&provider);
    let report = session.turn("hello", |tool| match tool {
        "edit_file" | "bash" => failed(
            "permission-denied",
            "The user refused this call. Do not try to reach the same by other means.",
        ),
        tool => notes(tool),
    });
    assert_eq!(
        session.names(),
        [
            "update_plan",
            "read_file",
            "edit_file",
            "bash",
            "update_plan"
        ]
    );
    assert_eq!(report.matches("was refused").count(), 2, "{report}");
    assert!(!report.contains("ticked off"), "{report}");
}

#[test]
fn a_chinese_prompt() {
    let provider = Provider::start();
    let mut session = Session::new(&provider);
    let report = session.turn("请演示一下", notes);
    assert!(report.contains("演示模型"), "{report}");
    let plan = session.arguments("update_plan").to_string();
    assert!(plan.contains("读取笔记"), "{plan}");
    assert!(session.turn("还有呢？", notes).contains("脚本"));
}
