//! The tour: what the model does when a prompt has no directives.
//!
//! It shows a whole turn (a plan, a file read, a change, a command, an answer) with the
//! tools that the request offers, and tells honestly what became of each call.  The next
//! step follows from the calls made since the prompt, so a tool that is not offered is
//! simply passed over.

use serde_json::{Value, json};

use crate::answer::{Answer, Call};
use crate::directive;
use crate::report::{Outcome, newest_revision};
use crate::request::ChatRequest;
use crate::tour_text::{Facts, Language};

/// The file that the tour looks for.
pub(crate) const NOTES: &str = "notes.txt";
/// The file that it writes if there is nothing to tick off.
pub(crate) const OWN_FILE: &str = "magent-demo.txt";

const OPEN_ENTRY: &str = "- [ ] say hello";
const CLOSED_ENTRY: &str = "- [x] say hello";

/// Answers a request that says not itself what to do.
pub(crate) fn answer(request: &ChatRequest) -> Answer {
    let language = Language::of(request.prompt());
    if request.quotes_conversation() {
        return Answer::saying(language.summary());
    }
    if has_been_given(request) {
        return Answer::saying(language.again());
    }
    let tour = Tour::of(request, language);
    let mut answer = tour
        .plan()
        .or_else(|| tour.read())
        .or_else(|| tour.edit())
        .or_else(|| tour.write())
        .or_else(|| tour.run())
        .or_else(|| tour.close_plan())
        .unwrap_or_else(|| Answer::saying(language.report(&tour.facts())));
    if tour.calls.is_empty() {
        language.reasoning().clone_into(&mut answer.reasoning);
    }
    answer
}

/// Whether an earlier prompt of the conversation got the tour.
fn has_been_given(request: &ChatRequest) -> bool {
    request
        .earlier_prompts()
        .any(|prompt| directive::parse(prompt).is_ok_and(|found| found.is_empty()))
}

/// How far the tour is.
struct Tour<'a> {
    request: &'a ChatRequest,
    language: Language,
    /// The calls so far and their results.
    calls: Vec<(&'a str, &'a str)>,
}

impl<'a> Tour<'a> {
    fn of(request: &'a ChatRequest, language: Language) -> Self {
        Self {
            request,
            language,
            calls: request.calls_done().collect(),
        }
    }

    fn result(&self, tool: &str) -> Option<&'a str> {
        let call = self.calls.iter().find(|(name, _)| *name == tool);
        call.map(|(_, result)| *result)
    }

    fn outcome(&self, tool: &str) -> Option<Outcome> {
        self.result(tool).map(|result| Outcome::of(tool, result))
    }

    fn is_done(&self, tool: &str) -> bool {
        self.outcome(tool).is_some_and(|outcome| outcome.is_done())
    }

    /// A call of a tool that is offered and was not called yet.
    fn call(&self, tool: &str, arguments: Value, text: &str) -> Option<Answer> {
        (self.request.offers(tool) && self.result(tool).is_none())
            .then(|| calling(tool, &arguments, text))
    }

    fn plan(&self) -> Option<Answer> {
        let plan = self.plan_with(["in_progress", "pending", "pending"]);
        self.call("update_plan", plan, self.language.opening())
    }

    fn read(&self) -> Option<Answer> {
        let arguments = json!({"path": NOTES, "source": "disk"});
        self.call("read_file", arguments, self.language.before_read())
    }

    fn edit(&self) -> Option<Answer> {
        let revision = self.revision_to_edit()?;
        let arguments = json!({
            "path": NOTES,
            "old_text": OPEN_ENTRY,
            "new_text": CLOSED_ENTRY,
            "expected_revision": revision,
        });
        self.call("edit_file", arguments, self.language.before_edit())
    }

    /// The revision of the notes if they have the entry to tick off, once.
    fn revision_to_edit(&self) -> Option<&'a str> {
        let (header, text) = self.result("read_file")?.split_once('\n')?;
        let is_there = text.lines().any(|line| line == OPEN_ENTRY);
        (is_there && text.matches(OPEN_ENTRY).count() == 1)
            .then(|| newest_revision(header))
            .flatten()
    }

    /// Writes a file of its own, unless there was something to edit.
    fn write(&self) -> Option<Answer> {
        if self.result("edit_file").is_some() {
            return None;
        }
        let arguments = json!({
            "path": OWN_FILE,
            "content": self.language.file_content(),
            "expected_revision": "absent",
        });
        self.call("write_file", arguments, self.language.before_write())
    }

    fn run(&self) -> Option<Answer> {
        let arguments = json!({"command": self.command()});
        self.call("bash", arguments, self.language.before_run())
    }

    /// A command that checks the change, or, if there was none, one that cannot fail for
    /// want of it.
    fn command(&self) -> &'static str {
        if self.is_done("edit_file") {
            r#"grep -c "\[x\]" notes.txt"#
        } else if self.is_done("write_file") {
            "wc -l magent-demo.txt"
        } else if self.is_done("read_file") {
            "wc -l notes.txt"
        } else {
            "pwd"
        }
    }

    /// Brings the plan up to date, for it would show work in progress for ever.
    fn close_plan(&self) -> Option<Answer> {
        let updates = self.calls.iter().filter(|(name, _)| *name == "update_plan");
        if updates.count() != 1 || self.calls.len() == 1 {
            return None;
        }
        let status = |done: bool| if done { "completed" } else { "pending" };
        let plan = self.plan_with([
            status(self.is_done("read_file")),
            status(self.is_done("edit_file") || self.is_done("write_file")),
            status(self.is_done("bash")),
        ]);
        self.request
            .offers("update_plan")
            .then(|| calling("update_plan", &plan, ""))
    }

    fn plan_with(&self, statuses: [&str; 3]) -> Value {
        let steps = self.language.plan();
        let entries: Vec<Value> = steps
            .into_iter()
            .zip(statuses)
            .map(|(step, status)| json!({"step": step, "status": status}))
            .collect();
        json!({"plan": entries})
    }

    fn facts(&self) -> Facts {
        Facts {
            read: self.outcome("read_file"),
            edit: self.outcome("edit_file"),
            write: self.outcome("write_file"),
            run: self.outcome("bash"),
        }
    }
}

fn calling(tool: &str, arguments: &Value, text: &str) -> Answer {
    let mut answer = match text {
        "" => Answer::default(),
        text => Answer::saying(text),
    };
    answer.calls.push(Call {
        name: tool.to_owned(),
        arguments: arguments.to_string(),
    });
    answer
}

#[cfg(test)]
#[path = "tour_tests.rs"]
mod tests;
