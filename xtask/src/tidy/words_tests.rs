use super::*;
use crate::tidy::tree_tests::told;

fn check_file(path: &str, text: &str) -> Vec<String> {
    told(&check(&Tree::of(&[(path, text)])))
}

#[test]
fn folders_of_one_machine_are_found() {
    for folder in FOLDERS {
        let message = format!("{folder} is a folder of one machine");
        for before in ["", "see ", "\"", "file://", "(", "="] {
            let told = check_file("Makefile", &format!("a\n{before}{folder}b\n"));
            assert_eq!(told, [format!("Makefile:2: {message}")]);
        }
        for before in ["a", "$a", "..", "${a}", "~"] {
            assert!(check_file("Makefile", &format!("{before}{folder}b\n")).is_empty());
        }
        let fixture = check_file("tests/fixtures/a.json", folder);
        assert_eq!(fixture, [format!("tests/fixtures/a.json:1: {message}")]);
    }
}

#[test]
fn blanks_are_neat_in_source_and_prose() {
    for path in ["a.rs", "a.el", "a.org", "a.md"] {
        assert!(check_file(path, "a\n\n  b c\n").is_empty());
        assert_eq!(
            check_file(path, "a \n\tb\nc\t\nd\r\n"),
            [
                format!("{path}:1: the line ends in blanks"),
                format!("{path}:2: the line has a tab"),
                format!("{path}:3: the line ends in blanks"),
                format!("{path}:4: the line ends in blanks"),
            ]
        );
    }
    assert!(check_file("Makefile", "a: \n\tb\n").is_empty());
    assert!(check_file("crates/a/tests/fixtures/a.md", "a \n\tb").is_empty());
}

#[test]
fn files_end_with_one_newline() {
    for text in ["", "a\n", "a\n\nb\n"] {
        assert!(check_file("LICENSE", text).is_empty());
    }
    assert_eq!(
        check_file("LICENSE", "a\nb"),
        ["LICENSE:2: the file does not end in a newline"]
    );
    for text in ["a\n\n", "\n", "\n\n\n"] {
        let told = check_file("LICENSE", text);
        assert_eq!(told.len(), 1);
        assert!(told[0].ends_with("more than one newline"));
    }
    assert!(check_file("tests/fixtures/a.sse", "a\n\n").is_empty());
}
