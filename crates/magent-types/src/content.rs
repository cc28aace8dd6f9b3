//! What a user sends with a prompt.

/// A picture that came with a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptImage {
    /// Its name for people.
    pub name: String,
    /// Its media type, such as `image/png`.
    pub mime_type: String,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// One block of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum PromptBlock {
    /// Words of the user.
    Text(String),
    /// A file or buffer whose text came with the prompt.
    Resource {
        /// Where it is from.
        uri: String,
        /// Its media type, if told.
        mime_type: Option<String>,
        /// Its text.
        text: String,
    },
    /// A file the user pointed at without its text.
    ResourceLink {
        /// Where it is.
        uri: String,
        /// Its name for people.
        name: String,
        /// Its media type, if told.
        mime_type: Option<String>,
        /// Its size in bytes, if told.
        size: Option<i64>,
    },
    /// A picture.
    Image(PromptImage),
}

/// A prompt: the user's blocks in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptInput {
    /// The blocks.
    pub blocks: Vec<PromptBlock>,
}

impl PromptInput {
    /// A prompt of words only.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            blocks: vec![PromptBlock::Text(text.into())],
        }
    }

    /// The user's own words: text blocks joined and trimmed.
    pub fn words(&self) -> String {
        let texts: Vec<&str> = self
            .blocks
            .iter()
            .filter_map(|block| match block {
                PromptBlock::Text(text) => Some(text.as_str()),
                PromptBlock::Resource { .. }
                | PromptBlock::ResourceLink { .. }
                | PromptBlock::Image(_) => None,
            })
            .collect();
        texts.concat().trim().to_owned()
    }

    /// What the transcript shows: the words, then a line that names what was attached.
    pub fn display_text(&self) -> String {
        let labels: Vec<&str> = self
            .blocks
            .iter()
            .filter_map(|block| match block {
                PromptBlock::Text(_) => None,
                PromptBlock::Resource { uri, .. } => Some(short_name(uri)),
                PromptBlock::ResourceLink { name, .. } => Some(name.as_str()),
                PromptBlock::Image(image) => Some(image.name.as_str()),
            })
            .collect();
        let words = self.words();
        if labels.is_empty() {
            return words;
        }
        let attached = format!("[Attached: {}]", labels.join(", "));
        if words.is_empty() {
            attached
        } else {
            format!("{words}\n\n{attached}")
        }
    }

    /// What the model reads: text as it is, resources between labelled lines.
    pub fn model_text(&self) -> String {
        let mut parts = Vec::new();
        let words = self.words();
        if !words.is_empty() {
            parts.push(words);
        }
        for block in &self.blocks {
            match block {
                PromptBlock::Text(_) | PromptBlock::Image(_) => {}
                PromptBlock::Resource {
                    uri,
                    mime_type,
                    text,
                } => {
                    let mime = mime_type
                        .as_deref()
                        .map(|mime| format!(" ({mime})"))
                        .unwrap_or_default();
                    parts.push(format!(
                        "[begin attached resource {uri}{mime}]\n{text}\n[end attached resource {uri}]"
                    ));
                }
                PromptBlock::ResourceLink {
                    uri,
                    name,
                    mime_type,
                    size,
                } => {
                    let mut facts = Vec::new();
                    facts.extend(mime_type.clone());
                    facts.extend(size.map(|size| format!("{size} bytes")));
                    let facts = if facts.is_empty() {
                        String::new()
                    } else {
                        format!(" ({})", facts.join(", "))
                    };
                    parts.push(format!("[attached link: {name} {uri}{facts}]"));
                }
            }
        }
        parts.join("\n\n")
    }

    /// The pictures.
    pub fn images(&self) -> impl Iterator<Item = &PromptImage> {
        self.blocks.iter().filter_map(|block| match block {
            PromptBlock::Image(image) => Some(image),
            _ => None,
        })
    }

    /// Whether there is nothing to answer.
    pub fn is_blank(&self) -> bool {
        self.display_text().trim().is_empty()
    }
}

/// The last part of a URI, which people know a file by.
pub fn short_name(uri: &str) -> &str {
    uri.rsplit('/').find(|part| !part.is_empty()).unwrap_or(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attachments_are_named_for_people_and_quoted_for_the_model() {
        let input = PromptInput {
            blocks: vec![
                PromptBlock::Text(" explain ".into()),
                PromptBlock::Resource {
                    uri: "file:///p/a.rs".into(),
                    mime_type: Some("text/rust".into()),
                    text: "fn a() {}".into(),
                },
                PromptBlock::ResourceLink {
                    uri: "file:///p/big.log".into(),
                    name: "big.log".into(),
                    mime_type: None,
                    size: Some(9),
                },
            ],
        };
        assert_eq!(input.display_text(), "explain\n\n[Attached: a.rs, big.log]");
        assert_eq!(
            input.model_text(),
            "explain\n\n[begin attached resource file:///p/a.rs (text/rust)]\nfn a() {}\n\
             [end attached resource file:///p/a.rs]\n\n[attached link: big.log file:///p/big.log (9 bytes)]"
        );
        assert!(PromptInput::text(" \n ").is_blank());
    }
}
