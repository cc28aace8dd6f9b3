//! Decides what the model answers.

use crate::answer::{Answer, Call, Ending, Reply, Speech};
use crate::directive::{self, BadDirective, Directive};
use crate::report::newest_revision;
use crate::request::ChatRequest;
use crate::tour;
use crate::words::shortened;

/// What stands in a directive for the newest revision of a file.
const REVISION_MARK: &str = "$REV";

/// The most characters of a result that are repeated.
const LONGEST_QUOTE: usize = 200;

/// What a call of `[[half NAME]]` has instead of arguments.
const CUT_ARGUMENTS: &str = "{\"path\": \"note";

/// Decides the answer to a request: what its prompt directs, or else the tour.
pub(crate) fn reply(request: &ChatRequest) -> Result<Reply, BadDirective> {
    let directives = directive::parse(request.prompt())?;
    if directives.is_empty() {
        return Ok(Reply::Answer(tour::answer(request)));
    }
    let mut steps = steps(directives);
    let last = steps.len().saturating_sub(1);
    let current = request.steps_done().min(last);
    let mut step = steps.swap_remove(current);
    if let Some(status) = step.http {
        return Ok(Reply::Http(status));
    }
    if current == last && step.needs_words() {
        step.answer.speech.push(Speech::Words(last_words(request)));
    }
    let revision = revision(request);
    for call in &mut step.answer.calls {
        call.arguments = call.arguments.replace(REVISION_MARK, &revision);
    }
    Ok(Reply::Answer(step.answer))
}

/// What the model does in one sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Step {
    answer: Answer,
    http: Option<u16>,
    /// Whether it is meant to say nothing.
    silent: bool,
}

impl Step {
    fn needs_words(&self) -> bool {
        !self.silent && self.answer.speech.is_empty() && self.answer.ending != Ending::Hang
    }

    fn call(&mut self, name: String, arguments: String) {
        self.answer.calls.push(Call { name, arguments });
    }

    fn think(&mut self, text: &str) {
        let reasoning = &mut self.answer.reasoning;
        if !reasoning.is_empty() {
            reasoning.push(' ');
        }
        reasoning.push_str(text);
    }
}

/// Sorts directives into steps.  A call ends a step; the last step has none.
fn steps(directives: Vec<Directive>) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut step = Step::default();
    for directive in directives {
        let mut ends = false;
        match directive {
            Directive::Think(text) => step.think(&text),
            Directive::Say(text) => step.answer.speech.push(Speech::Words(text)),
            Directive::Slow(words) => step.answer.speech.push(Speech::Slow(words)),
            Directive::Big(bytes) => step.answer.speech.push(Speech::Filler(bytes)),
            Directive::Par(call) => step.call(call.name, call.arguments),
            Directive::Tool(call) => {
                step.call(call.name, call.arguments);
                ends = true;
            }
            Directive::Half(name) => {
                step.call(name, CUT_ARGUMENTS.to_owned());
                step.answer.ending = Ending::Cut;
                ends = true;
            }
            Directive::Http(status) => step.http = Some(status),
            Directive::Drop => step.answer.ending = Ending::Break,
            Directive::Hang => step.answer.ending = Ending::Hang,
            Directive::Empty => step.silent = true,
        }
        if ends {
            steps.push(std::mem::take(&mut step));
        }
    }
    // Parallel calls that nothing follows are a step all the same.
    if !step.answer.calls.is_empty() {
        steps.push(std::mem::take(&mut step));
    }
    steps.push(step);
    steps
}

/// What the model says in the end if nothing else is directed.
fn last_words(request: &ChatRequest) -> String {
    let Some(result) = request.turn_results().last() else {
        return "Hello from the demo model.".to_owned();
    };
    let line = result.lines().rfind(|line| !line.trim().is_empty());
    format!(
        "Done: {}",
        shortened(line.unwrap_or("").trim(), LONGEST_QUOTE)
    )
}

fn revision(request: &ChatRequest) -> String {
    let newest = request.all_results().rev().find_map(newest_revision);
    newest.unwrap_or("absent").to_owned()
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
