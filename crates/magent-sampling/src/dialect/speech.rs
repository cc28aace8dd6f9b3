//! The conversation as who said what: what a codec repeats of a sample is one answer.

use std::borrow::Cow;

use magent_types::{ConversationEntry, ToolExchange, UNKNOWN_RESULT, UserImage, parse_json};
use serde_json::{Map, Value, json};

use crate::Route;

/// What one side said.
#[derive(Debug, PartialEq)]
pub(super) enum Speech<'a> {
    /// What the user said and showed.
    User(Words<'a>),
    /// What the model said in one sample, with the results of its calls.
    Model(Answer<'a>),
}

/// The user's words with the pictures that came with them.
#[derive(Debug, PartialEq)]
pub(super) struct Words<'a> {
    /// The words.
    pub(super) text: &'a str,
    /// The pictures.
    pub(super) images: Vec<&'a UserImage>,
}

impl Words<'_> {
    /// The pictures with their bytes in base64.
    pub(super) fn pictures(&self) -> impl Iterator<Item = (&UserImage, &str)> {
        let images = self.images.iter();
        images.filter_map(|image| Some((*image, image.data.as_deref()?)))
    }

    /// The words, with a note for each picture that the model does not get to see.
    pub(super) fn told(&self) -> Cow<'_, str> {
        let mut told = Cow::Borrowed(self.text);
        for image in self.images.iter().filter(|image| image.data.is_none()) {
            join(told.to_mut(), &hidden(image));
        }
        told
    }
}

/// What stands for a picture that the model does not get to see.
pub(super) fn hidden(image: &UserImage) -> String {
    format!("[The picture {} cannot be shown here.]", image.name)
}

/// The address that carries a picture itself.
pub(super) fn data_url(image: &UserImage, data: &str) -> String {
    format!("data:{};base64,{data}", image.mime_type)
}

/// What a model said in one sample: reasoning, then words, then calls.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer<'a> {
    /// All of it in the provider's own form, if it came over this very route.
    pub(super) native: Option<&'a Value>,
    /// Its reasoning; blocks are apart by an empty line.
    pub(super) reasoning: String,
    /// Its words; messages are apart by an empty line.
    pub(super) text: String,
    /// Its calls with what came of them.
    pub(super) tools: Vec<&'a ToolExchange>,
}

impl<'a> Answer<'a> {
    /// What the model reads as the result of the call at `index` of the native form.
    pub(super) fn output(&self, index: usize) -> &'a str {
        self.tools
            .get(index)
            .map_or(UNKNOWN_RESULT, |tool| tool.output.as_str())
    }

    /// Whether the call at `index` failed, or nobody knows what came of it.
    pub(super) fn failed(&self, index: usize) -> bool {
        self.tools.get(index).is_none_or(|tool| tool.failed)
    }

    fn is_empty(&self) -> bool {
        self.native.is_none() && self.text.is_empty() && self.tools.is_empty()
    }
}

/// The conversation as it is told over `route`.  Answers that say nothing but reasoning
/// are left out, since no provider takes them.
pub(super) fn speeches<'a>(
    route: &Route,
    conversation: &'a [ConversationEntry],
) -> Vec<Speech<'a>> {
    let origin = route.origin();
    let mut speeches = Vec::new();
    let mut answer = Answer::default();
    for entry in conversation {
        match entry {
            ConversationEntry::User(text) => {
                end(&mut answer, &mut speeches);
                let images = Vec::new();
                speeches.push(Speech::User(Words { text, images }));
            }
            ConversationEntry::Image(image) => {
                if let Some(Speech::User(words)) = speeches.last_mut() {
                    words.images.push(image);
                }
            }
            ConversationEntry::SampleStart => end(&mut answer, &mut speeches),
            ConversationEntry::Reasoning(text) => join(&mut answer.reasoning, text),
            ConversationEntry::Assistant { text, .. } => {
                // Words after a call begin a new answer: in one answer words come first.
                if !answer.tools.is_empty() {
                    end(&mut answer, &mut speeches);
                }
                join(&mut answer.text, text);
            }
            ConversationEntry::Native(native) => {
                if native.origin == origin {
                    answer.native = Some(&native.answer);
                }
            }
            ConversationEntry::Tool(tool) => answer.tools.push(tool),
        }
    }
    end(&mut answer, &mut speeches);
    speeches
}

fn end<'a>(answer: &mut Answer<'a>, speeches: &mut Vec<Speech<'a>>) {
    let answer = std::mem::take(answer);
    if !answer.is_empty() {
        speeches.push(Speech::Model(answer));
    }
}

pub(super) fn join(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

/// The name of a call as every provider takes it back.  Models make names up, and one that
/// the provider's own rules forbid would have every later request refused; the result of
/// such a call says what was asked for.
pub(super) fn call_name(name: &str) -> Cow<'_, str> {
    const LONGEST: usize = 64;
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    let begins_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if begins_well && name.len() <= LONGEST && name.chars().all(is_plain) {
        return Cow::Borrowed(name);
    }
    if name.trim().is_empty() {
        return Cow::Borrowed("unknown");
    }
    let mut plain = String::new();
    // Gemini refuses names that begin with a digit or a hyphen.
    if name.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
        plain.push('_');
    }
    let characters = name.chars().map(|it| if is_plain(it) { it } else { '_' });
    plain.extend(characters.take(LONGEST - plain.len()));
    Cow::Owned(plain)
}

/// Gives a call in a provider's own form a name that the provider takes back.
pub(super) fn mend_name(call: &mut Map<String, Value>) {
    let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
    let plain = call_name(name);
    if plain != name {
        let plain = plain.into_owned();
        call.insert("name".into(), plain.into());
    }
}

/// The arguments of a call as an object, which every provider wants.  Arguments that were
/// no JSON are kept in the ledger as the text they were.
pub(super) fn call_input(tool: &ToolExchange) -> Value {
    match &tool.input {
        Value::Object(_) => tool.input.clone(),
        Value::Null => json!({}),
        other => json!({"invalid_arguments": other}),
    }
}

/// The arguments that a model wrote as text, as an object to repeat to it.
pub(super) fn arguments_object(arguments: &str) -> Value {
    match parse_json(arguments) {
        Ok(Value::Object(fields)) => Value::Object(fields),
        Ok(Value::Null) => json!({}),
        _ if arguments.trim().is_empty() => json!({}),
        _ => {
            let mut fields = Map::new();
            fields.insert("invalid_arguments".to_owned(), arguments.into());
            Value::Object(fields)
        }
    }
}

#[cfg(test)]
#[path = "speech_tests.rs"]
mod tests;
