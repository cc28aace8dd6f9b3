use magent_types::{PlanStatus, SessionId, Thread};
use proptest::prelude::*;

use super::*;

const NOTHING: &str = "\u{200b}";

fn org(markdown: &str) -> String {
    org_prose::prose(markdown, Some(2))
}

#[test]
fn an_answer_becomes_org() {
    let text = org(
        "# Title\n\nSome *words* and **more**, `code` and [a *link*](http://x/y_z).\n\n\
                    ```rust\n* main\n#+end_src\n```\n\n\
                    1. one\n   - nested\n\n     text\n2. two\n\n\
                    > quoted\n\n| a | b |\n|---|---|\n| 1 | x\\|y |\n\n---\n\n- [x] done\n",
    );
    assert_eq!(
        text.trim_end().replace(NOTHING, ""),
        "*** Title\n\n\
         Some /words/ and *more*, ~code~ and [[http://x/y_z][a /link/]].\n\n\
         #+begin_src rust\n,* main\n,#+end_src\n#+end_src\n\n\
         1. one\n   - nested\n\n     text\n2. two\n\n\
         #+begin_quote\nquoted\n#+end_quote\n\n\
         | a | b |\n|---+---|\n| 1 | x\\vert{}y |\n\n-----\n- [X] done"
    );
}

#[test]
fn what_org_would_take_for_markup_is_kept_apart() {
    for (words, shown) in [
        ("a snake_case_name", "a snake_case_name"),
        ("2 \\* 3 and /usr/bin", "2 * 3 and /\u{200b}usr/bin"),
        ("\\#+title: x", "\u{200b}#+title: x"),
        ("re`mark`able", "re\u{200b}~mark~\u{200b}able"),
        ("`a~b`", "=a~b="),
        ("\\[\\[x\\]\\]", "[\u{200b}[x]]"),
    ] {
        assert_eq!(org(words).trim_end(), shown, "{words}");
    }
}

#[test]
fn code_that_an_answer_leaves_open_ends_with_it() {
    for (text, end) in [
        ("```rust\nfn main() {", "{\n```\n\n"),
        ("~~~~\n~~~", "~~~\n~~~~\n\n"),
        ("```\ncode\n```", "code\n```\n\n"),
        ("words <!--", "<!--\n\n"),
        ("<!-- open", "open\n-->\n\n"),
        ("```", "```\n```\n\n"),
    ] {
        let prose = Markdown.prose(text);
        assert!(prose.ends_with(end), "{text:?}: {prose:?}");
    }
}

#[test]
fn parts_say_what_was_said_to_the_letter() {
    assert_eq!(Markdown.block("", "a ```` b"), "`````\na ```` b\n`````\n\n");
    assert_eq!(Markdown.quote("a\n\nb"), "> a  \n>\n> b  \n\n");
    assert_eq!(
        Org.quote("* a\nb\n\nc"),
        "#+begin_quote\n\u{200b}* a\\\\\nb\n\nc\n#+end_quote\n\n"
    );
    let step = |step: &str, status| PlanEntry {
        step: step.into(),
        status,
    };
    let plan = [
        step("read", PlanStatus::Completed),
        step("write\nit", PlanStatus::Pending),
    ];
    assert_eq!(Org.plan(&plan), "- [X] read\n- [ ] write it\n\n");
    assert_eq!(Markdown.plan(&plan), "- [x] read\n- [ ] write it\n\n");
    assert_eq!(Org.heading(1, "x :tag:"), "* x :tag:\u{200b}\n");
}

#[test]
fn a_document_without_turns_is_a_document() {
    let thread = Thread::new(SessionId::new("s"), magent_types::Scope::Global, 0.0);
    let preamble = Preamble {
        title: "A\ntitle".into(),
        facts: vec![("Begun", readable_time(0.0))],
    };
    let catalog = magent_tools::builtin_catalog();
    let text = document(ExportFormat::Org, &preamble, &thread, &catalog);
    assert!(text.starts_with("#+title: A title\n"), "{text}");
    assert!(
        text.ends_with("- Begun :: 1970-01-01 00:00 UTC\n"),
        "{text}"
    );
}

/// A text of what Markdown and Org make something of.
fn markup() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "*",
        "**",
        "_",
        "/",
        "=",
        "~",
        "~~",
        "`",
        "```",
        "\n",
        "\n\n",
        " ",
        "a",
        "B c",
        "#",
        "# ",
        "#+begin_src x",
        "#+end_src",
        "#+end_quote",
        ":END:",
        ":",
        "|",
        "|-|",
        "> ",
        "- ",
        "1. ",
        "    ",
        "[",
        "](",
        ")",
        "[x]",
        "<b>",
        "<!--",
        "-->",
        "\\",
        "$",
        "{{{",
        "漢",
        "\t",
        "+",
        "\u{200b}",
        "---",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_gets_out_of_its_part(text in markup()) {
        for part in [org_prose::prose(&text, None), Org.quote(&text), Org.block("", &text),
                     Org.aside("Reasoning", &text)] {
            prop_assert!(!part.lines().any(|line| {
                line.starts_with('*') && line.trim_start_matches('*').starts_with(' ')
            }), "a headline in {part:?}");
        }
        // Every block that begins ends, in order.
        let mut open: Vec<String> = Vec::new();
        let prose = org_prose::prose(&text, Some(2));
        for line in prose.lines() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix("#+begin_") {
                if !matches!(open.last().map(String::as_str), Some("src" | "example")) {
                    open.push(name.split(' ').next().unwrap_or_default().to_owned());
                }
            } else if let Some(name) = line.strip_prefix("#+end_") {
                prop_assert_eq!(open.pop(), Some(name.to_owned()), "{}", &prose);
            }
        }
        prop_assert!(open.is_empty(), "{prose:?}");
    }
}
