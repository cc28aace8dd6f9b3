use super::*;

const ALL_TOOLS: [&str; 5] = [
    "update_plan",
    "read_file",
    "edit_file",
    "write_file",
    "bash",
];
const REFUSED: &str = "[status=failed exit_code=unavailable code=permission-denied]\n\
                       The user refused this call. Do not try to reach the same by other means.";
const MISSING: &str = "[status=failed exit_code=unavailable code=not_found]\n\
                       cannot read notes.txt: there is no such file";

/// A session in which tools give these results.
struct Session {
    tools: Vec<&'static str>,
    messages: Vec<Value>,
}

impl Session {
    fn new(prompt: &str, tools: &[&'static str]) -> Self {
        Self {
            tools: tools.to_vec(),
            messages: vec![json!({"role": "user", "content": prompt})],
        }
    }

    fn ask(&self) -> Answer {
        let tools: Vec<Value> = self
            .tools
            .iter()
            .map(|name| json!({"type": "function", "function": {"name": name}}))
            .collect();
        let body = json!({"tools": tools, "messages": self.messages});
        answer(&ChatRequest::parse(body.to_string().as_bytes()).unwrap())
    }

    /// Asks, checks that this tool is called, and gives its result.
    fn step(&mut self, tool: &str, result: &str) -> Value {
        let answer = self.ask();
        assert_eq!(answer.calls.len(), 1, "{answer:?}");
        let call = &answer.calls[0];
        assert_eq!(call.name, tool);
        let id = self.messages.len().to_string();
        self.messages
            .push(json!({"role": "assistant", "tool_calls": [
            {"id": id, "function": {"name": tool, "arguments": call.arguments}}]}));
        self.messages
            .push(json!({"role": "tool", "tool_call_id": id, "content": result}));
        serde_json::from_str(&call.arguments).unwrap()
    }

    fn end(&self) -> String {
        let answer = self.ask();
        assert_eq!(answer.calls, []);
        let text = answer.text(std::time::Duration::ZERO);
        text.map(|piece| piece.text).collect()
    }
}

fn page(text: &str) -> String {
    let revision = "ab".repeat(32);
    format!("[read_file source=disk modified=false revision={revision} lines=1-2]\n{text}")
}

fn statuses(plan: &Value) -> Vec<&str> {
    let steps = plan["plan"].as_array().unwrap();
    steps
        .iter()
        .map(|s| s["status"].as_str().unwrap())
        .collect()
}

#[test]
fn an_open_entry_is_ticked_off() {
    let mut session = Session::new("hi", &ALL_TOOLS);
    assert!(!session.ask().reasoning.is_empty());
    let plan = session.step("update_plan", "Plan updated");
    assert_eq!(statuses(&plan), ["in_progress", "pending", "pending"]);
    assert!(session.ask().reasoning.is_empty());
    let read = session.step("read_file", &page("# Notes\n- [ ] say hello\n"));
    assert_eq!(read, json!({"path": "notes.txt", "source": "disk"}));
    let edit = session.step("edit_file", "Edited notes.txt (line 2). New revision: x");
    assert_eq!(
        edit,
        json!({"path": "notes.txt", "old_text": "- [ ] say hello",
               "new_text": "- [x] say hello", "expected_revision": "ab".repeat(32)})
    );
    let run = session.step("bash", "1\n");
    assert_eq!(run, json!({"command": "grep -c \"\\[x\\]\" notes.txt"}));
    let plan = session.step("update_plan", "Plan updated");
    assert_eq!(statuses(&plan), ["completed"; 3]);
    let report = session.end();
    assert!(report.starts_with("**Done.**"), "{report}");
    assert!(report.contains("put out `1`"), "{report}");
}

#[test]
fn without_an_open_entry_a_file_is_written() {
    for (read, told) in [
        (MISSING.to_owned(), "no such file here"),
        (page("- [x] say hello\n"), "I read `notes.txt`"),
        (page("- [ ] say hello\n- [ ] say hello\n"), "I read"),
        (page("  - [ ] say hello\n"), "I read"),
    ] {
        let mut session = Session::new("hi", &ALL_TOOLS[1..]);
        session.step("read_file", &read);
        let write = session.step("write_file", "Created. New revision: x");
        assert_eq!(write["path"], "magent-demo.txt");
        assert_eq!(write["expected_revision"], "absent");
        let run = session.step("bash", "2 magent-demo.txt");
        assert_eq!(run["command"], "wc -l magent-demo.txt");
        let report = session.end();
        assert!(report.starts_with("**Done.**"), "{report}");
        assert!(report.contains(told), "{report}");
    }
}

#[test]
fn refusals_are_told_and_not_worked_around() {
    let mut session = Session::new("hi", &ALL_TOOLS);
    session.step("update_plan", "Plan updated");
    session.step("read_file", &page("- [ ] say hello\n"));
    session.step("edit_file", REFUSED);
    let run = session.step("bash", REFUSED);
    assert_eq!(run["command"], "wc -l notes.txt");
    let plan = session.step("update_plan", "Plan updated");
    assert_eq!(statuses(&plan), ["completed", "pending", "pending"]);
    let report = session.end();
    assert!(!report.contains("Done"), "{report}");
    assert!(
        report.contains("The change of `notes.txt` was refused"),
        "{report}"
    );
    assert!(report.contains("The command was refused"), "{report}");

    let mut session = Session::new("你好", &ALL_TOOLS[1..]);
    session.step("read_file", REFUSED);
    session.step("write_file", REFUSED);
    let failed = "[status=failed exit_code=1 code=exit]\nthe command exited with status 1";
    assert_eq!(session.step("bash", failed)["command"], "pwd");
    let report = session.end();
    assert_eq!(report.matches("被拒绝").count(), 2, "{report}");
    assert!(
        report.contains("the command exited with status 1"),
        "{report}"
    );
}

#[test]
fn tools_that_are_not_offered_are_passed_over() {
    let session = Session::new("hi", &[]);
    let report = session.end();
    assert!(report.starts_with("No tools"), "{report}");
    assert!(!session.ask().reasoning.is_empty());

    let mut session = Session::new("hi", &["update_plan"]);
    session.step("update_plan", "Plan updated");
    session.end();

    let mut session = Session::new("hi", &["read_file", "bash"]);
    session.step("read_file", &page("- [ ] say hello\n"));
    session.step("bash", "1 notes.txt");
    session.end();
}

#[test]
fn the_tour_is_given_once() {
    let mut session = Session::new("[[say x]]", &ALL_TOOLS);
    let prompt = |text: &str| json!({"role": "user", "content": text});
    let words = json!({"role": "assistant", "content": "x"});
    session
        .messages
        .extend([words.clone(), prompt("tour, please")]);
    assert_eq!(session.ask().calls.len(), 1);
    session.messages.extend([words, prompt("and now?")]);
    let again = session.end();
    assert!(again.contains("[[slow 40]]"), "{again}");
    session.messages.push(prompt("再来一次"));
    assert!(session.end().contains("脚本"));
}

#[test]
fn what_the_tour_suggests_works() {
    for language in [Language::English, Language::Chinese] {
        let found = directive::parse(&language.again()).unwrap();
        assert_eq!(found.len(), 5, "{found:?}");
    }
}
