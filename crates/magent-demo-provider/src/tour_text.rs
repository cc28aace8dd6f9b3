//! What the model says on the tour, in English and in Chinese.

use crate::report::{Outcome, first_line};
use crate::tour::{NOTES, OWN_FILE};
use crate::words::is_chinese;

/// The language of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// For everybody else.
    English,
    /// For prompts in Chinese.
    Chinese,
}

/// What became of the calls; nothing of those that were not made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The look at the notes.
    pub(crate) read: Option<Outcome>,
    /// The edit of the notes.
    pub(crate) edit: Option<Outcome>,
    /// The writing of a file.
    pub(crate) write: Option<Outcome>,
    /// The command.
    pub(crate) run: Option<Outcome>,
}

impl Facts {
    fn told(&self) -> impl Iterator<Item = &Outcome> {
        [&self.read, &self.edit, &self.write, &self.run]
            .into_iter()
            .flatten()
    }

    /// Whether everything went as it should.  That there are no notes is nothing bad.
    fn all_well(&self) -> bool {
        self.told()
            .all(|outcome| outcome.is_done() || *outcome == Outcome::Missing)
    }
}

impl Language {
    /// The language to answer a prompt in.
    pub(crate) fn of(prompt: &str) -> Self {
        if is_chinese(prompt) {
            Self::Chinese
        } else {
            Self::English
        }
    }

    fn pick<T>(self, english: T, chinese: T) -> T {
        match self {
            Self::English => english,
            Self::Chinese => chinese,
        }
    }

    /// The first thoughts.
    pub(crate) fn reasoning(self) -> &'static str {
        self.pick(
            "A newcomer wants to see how a session goes. I make a plan, look at the notes, \
             change one line, check it with a command, and then say what happened.",
            "有新朋友想看看一次会话是怎样进行的。我先列出计划，再读笔记，改一行，\
             用一条命令检查，最后说明做了什么。",
        )
    }

    /// The sentence before the plan.
    pub(crate) fn opening(self) -> &'static str {
        self.pick(
            "Welcome! I am the built-in demo model, and this is a short tour; here is my plan.",
            "欢迎！我是内置的演示模型，下面是一次简短的导览，先列出计划。",
        )
    }

    /// The steps of the plan.
    pub(crate) fn plan(self) -> [&'static str; 3] {
        self.pick(
            ["Read the notes", "Change a file", "Check it with a command"],
            ["读取笔记", "修改一个文件", "用命令检查结果"],
        )
    }

    /// The sentence before the look at the notes.
    pub(crate) fn before_read(self) -> &'static str {
        self.pick("First I read `notes.txt`.", "先读取 `notes.txt`。")
    }

    /// The sentence before the edit.
    pub(crate) fn before_edit(self) -> &'static str {
        self.pick(
            "There is an open entry, `say hello`; I tick it off.",
            "有一条还没完成的记录 `say hello`，我把它勾上。",
        )
    }

    /// The sentence before the writing of a file.
    pub(crate) fn before_write(self) -> &'static str {
        self.pick(
            "I know of no entry to tick off, so I write a small file of my own.",
            "没有可以勾选的记录，所以我新建一个小文件。",
        )
    }

    /// The text of that file.
    pub(crate) fn file_content(self) -> &'static str {
        self.pick(
            "Hello from Magent's demo model.\nThis file is safe to delete.\n",
            "Magent 演示模型向你问好。\n这个文件可以放心删除。\n",
        )
    }

    /// The sentence before the command.
    pub(crate) fn before_run(self) -> &'static str {
        self.pick(
            "Last comes a command; unless your rules say otherwise, you decide whether it runs.",
            "最后是一条命令；除非规则另有规定，是否运行由你决定。",
        )
    }

    /// What a conversation is summed up as.
    pub(crate) fn summary(self) -> String {
        self.pick(
            "Summary: this was a conversation with the demo, a script that follows directives."
                .to_owned(),
            "摘要：这是与演示脚本的对话，它会执行指令。".to_owned(),
        )
    }

    /// What is said to every prompt after the tour.
    pub(crate) fn again(self) -> String {
        const EXAMPLES: &str = "\
- `[[slow 40]]`\n\
- `[[think A riddle.]] [[say An answer.]]`\n\
- `[[tool bash {\"command\": \"date\"}]]`\n\
- `[[http 503]]`";
        self.pick(
            format!(
                "I am only a script and do not understand what you write, but I follow \
                 directives. Try one of these; the first is good for interrupting:\n\n\
                 {EXAMPLES}\n\n{}",
                Self::English.how_to_go_on()
            ),
            format!(
                "我只是一个脚本，看不懂你写的内容，但我会执行指令。可以试试下面这些，\
                 第一条适合用来练习中断：\n\n{EXAMPLES}\n\n{}",
                Self::Chinese.how_to_go_on()
            ),
        )
    }

    fn how_to_go_on(self) -> &'static str {
        self.pick(
            "To use a real model, set up a backend in gptel, or define one with \
             `magent-define-backend`.",
            "要使用真正的模型，请在 gptel 里配置后端，或者用 `magent-define-backend` 定义一个。",
        )
    }

    /// The final answer: four to eight lines of Markdown.
    pub(crate) fn report(self, facts: &Facts) -> String {
        let mut lines = vec![self.headline(facts).to_owned()];
        let told = [
            facts.read.as_ref().map(|outcome| self.about_read(outcome)),
            facts.edit.as_ref().map(|outcome| self.about_edit(outcome)),
            facts
                .write
                .as_ref()
                .map(|outcome| self.about_write(outcome)),
            facts.run.as_ref().map(|outcome| self.about_run(outcome)),
        ];
        lines.extend(told.into_iter().flatten().map(|line| format!("- {line}")));
        lines.push(String::new());
        lines.push(
            self.pick(
                "This was the built-in demo model, a script: no real model was asked.",
                "以上来自内置的演示模型，它只是一个脚本，没有调用任何真正的模型。",
            )
            .to_owned(),
        );
        lines.push(self.how_to_go_on().to_owned());
        lines.join("\n")
    }

    fn headline(self, facts: &Facts) -> &'static str {
        if facts.told().next().is_none() {
            self.pick(
                "No tools came with this request, so all I can do is talk.",
                "这次请求没有提供工具，所以我只能说说话。",
            )
        } else if facts.all_well() {
            self.pick("**Done.** This is what I did:", "**完成。** 我做了这些：")
        } else {
            self.pick(
                "**That was the tour**, but not everything went through:",
                "**导览结束**，但不是每一步都成功了：",
            )
        }
    }

    fn about_read(self, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Done(_) => {
                self.pick(format!("I read `{NOTES}`."), format!("读取了 `{NOTES}`。"))
            }
            Outcome::Missing => self.pick(
                format!("I looked for `{NOTES}`, but there is no such file here."),
                format!("想读取 `{NOTES}`，但这里没有这个文件。"),
            ),
            Outcome::Refused => self.pick(
                format!("Reading `{NOTES}` was refused, so I do not know what it says."),
                format!("读取 `{NOTES}` 被拒绝了，所以我不知道它的内容。"),
            ),
            Outcome::Failed(reason) => self.pick(
                format!("Reading `{NOTES}` failed: {reason}"),
                format!("读取 `{NOTES}` 失败了：{reason}"),
            ),
        }
    }

    fn about_edit(self, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Done(_) => self.pick(
                format!("I ticked off `say hello` in `{NOTES}`."),
                format!("在 `{NOTES}` 里勾上了 `say hello`。"),
            ),
            other => self.change_not_made(NOTES, other),
        }
    }

    fn about_write(self, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Done(_) => self.pick(
                format!("I wrote `{OWN_FILE}`."),
                format!("新建了 `{OWN_FILE}`。"),
            ),
            other => self.change_not_made(OWN_FILE, other),
        }
    }

    fn change_not_made(self, file: &str, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Failed(reason) => self.pick(
                format!("The change of `{file}` failed: {reason}"),
                format!("修改 `{file}` 失败了：{reason}"),
            ),
            Outcome::Refused | Outcome::Missing | Outcome::Done(_) => self.pick(
                format!("The change of `{file}` was refused, so I left it as it was."),
                format!("修改 `{file}` 被拒绝了，所以什么都没有改。"),
            ),
        }
    }

    fn about_run(self, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Done(output) => {
                let output = first_line(output).replace('`', "'");
                self.pick(
                    format!("The command ran and put out `{output}`."),
                    format!("命令运行了，输出是 `{output}`。"),
                )
            }
            Outcome::Failed(reason) => self.pick(
                format!("The command failed: {reason}"),
                format!("命令失败了：{reason}"),
            ),
            Outcome::Refused | Outcome::Missing => self.pick(
                "The command was refused, so nothing was checked.".to_owned(),
                "命令被拒绝了，所以没有检查。".to_owned(),
            ),
        }
    }
}

#[cfg(test)]
#[path = "tour_text_tests.rs"]
mod tests;
