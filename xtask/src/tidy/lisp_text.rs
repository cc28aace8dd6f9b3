//! Just enough of a reader for Emacs Lisp: forms and the lines they are on.
//!
//! Quotes are dropped, characters are the atom `?`, and what does not balance is read as
//! far as it goes, since byte compilation complains about that.

/// Something that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) form: Form,
    pub(crate) line: usize,
    pub(crate) end_line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Atom(String),
    Text(String),
    List(Vec<Node>),
}

impl Node {
    /// The parts of a list; nothing for anything else.
    pub(crate) fn parts(&self) -> &[Node] {
        match &self.form {
            Form::List(parts) => parts,
            _ => &[],
        }
    }

    pub(crate) fn atom(&self) -> Option<&str> {
        match &self.form {
            Form::Atom(name) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.form {
            Form::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The symbol that a list starts with.
    pub(crate) fn head(&self) -> Option<&str> {
        self.parts().first().and_then(Node::atom)
    }
}

/// Every list of `nodes`, at any depth, the outer before the inner.
pub(crate) fn lists(nodes: &[Node]) -> Vec<&Node> {
    let mut found = Vec::new();
    let mut left: Vec<&Node> = nodes.iter().rev().collect();
    while let Some(node) = left.pop() {
        if matches!(node.form, Form::List(_)) {
            found.push(node);
            left.extend(node.parts().iter().rev());
        }
    }
    found
}

/// Reads all forms of a file.
pub(crate) fn read(text: &str) -> Vec<Node> {
    let mut reader = Reader {
        chars: text.chars().collect(),
        at: 0,
        line: 1,
    };
    // The lists that are open, the file itself first, with the lines they start on.
    let mut open: Vec<(usize, Vec<Node>)> = vec![(1, Vec::new())];
    while let Some(next) = reader.peek() {
        let line = reader.line;
        let form = match next {
            '(' | '[' => {
                reader.take();
                open.push((line, Vec::new()));
                continue;
            }
            ')' | ']' => {
                reader.take();
                close(&mut open, reader.line);
                continue;
            }
            ';' => {
                reader.take_while(|char| char != '\n');
                continue;
            }
            '"' => Form::Text(reader.string()),
            '?' => reader.character(),
            '\'' | '`' | ',' | '@' => {
                reader.take();
                continue;
            }
            '#' if reader.chars.get(reader.at + 1) == Some(&'\'') => {
                reader.take();
                continue;
            }
            _ if next.is_whitespace() => {
                reader.take();
                continue;
            }
            _ => Form::Atom(reader.symbol()),
        };
        let end_line = reader.line;
        if let Some((_, parts)) = open.last_mut() {
            parts.push(Node {
                form,
                line,
                end_line,
            });
        }
    }
    while open.len() > 1 {
        close(&mut open, reader.line);
    }
    open.pop().map(|(_, nodes)| nodes).unwrap_or_default()
}

fn close(open: &mut Vec<(usize, Vec<Node>)>, end_line: usize) {
    if open.len() < 2 {
        return;
    }
    if let Some((line, parts)) = open.pop()
        && let Some((_, outer)) = open.last_mut()
    {
        outer.push(Node {
            form: Form::List(parts),
            line,
            end_line,
        });
    }
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    line: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        self.line += usize::from(next == '\n');
        Some(next)
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(next) = self.peek().filter(|next| wanted(*next)) {
            self.take();
            taken.push(next);
        }
        taken
    }

    fn string(&mut self) -> String {
        self.take();
        let mut text = String::new();
        while let Some(next) = self.take() {
            match next {
                '"' => break,
                '\\' => text.extend(self.take()),
                _ => text.push(next),
            }
        }
        text
    }

    fn character(&mut self) -> Form {
        self.take();
        if self.take() == Some('\\') {
            self.take();
        }
        self.symbol();
        Form::Atom("?".to_owned())
    }

    fn symbol(&mut self) -> String {
        let mut name = String::new();
        while let Some(next) = self.peek() {
            match next {
                '\\' => {
                    self.take();
                    name.extend(self.take());
                }
                '(' | ')' | '[' | ']' | '"' | '\'' | '`' | ';' | ',' => break,
                _ if next.is_whitespace() => break,
                _ => {
                    self.take();
                    name.push(next);
                }
            }
        }
        name
    }
}

#[cfg(test)]
#[path = "lisp_text_tests.rs"]
mod tests;
