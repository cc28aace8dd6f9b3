use super::*;
use crate::tidy::tree_tests::told;

fn check_file(path: &str, text: &str) -> Vec<String> {
    told(&check_with(&Tree::of(&[(path, text)]), &[]))
}

fn lines(count: usize) -> String {
    "    x;\n".repeat(count)
}

#[test]
fn files_have_a_limit_without_their_tests() {
    for path in ["src/a.rs", "lisp/a.el"] {
        assert!(check_file(path, &lines(400)).is_empty());
        assert_eq!(
            check_file(path, &lines(401)),
            [format!("{path}:1: the file has 401 lines, more than 400")]
        );
    }
    let text = format!(
        "{}#[cfg(test)]\nmod tests {{\n{}}}\n",
        lines(400),
        lines(99)
    );
    assert!(check_file("src/a.rs", &text).is_empty());
    // What follows the tests counts again.
    assert_eq!(check_file("src/a.rs", &format!("{text}\n")).len(), 1);
    for path in ["src/a_tests.rs", "tests/it/a.rs", "README.md"] {
        assert!(check_file(path, &lines(999)).is_empty());
    }
}

#[test]
fn rust_functions_have_a_limit() {
    let function = |count| format!("//! A.\n\nfn f() {{\n{}}}\n", lines(count));
    assert!(check_file("src/a.rs", &function(58)).is_empty());
    assert_eq!(
        check_file("src/a.rs", &function(59)),
        ["src/a.rs:3: f has 61 lines, more than 60"]
    );
    let test = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(80));
    assert!(check_file("src/a.rs", &test).is_empty());
}

#[test]
fn lisp_functions_have_a_limit() {
    for head in ["defun", "cl-defun", "cl-defmethod", "defmacro"] {
        let function = |count| format!(";; A.\n({head} f ()\n{}  y)\n", "  ;; x\n".repeat(count));
        assert!(check_file("lisp/a.el", &function(38)).is_empty());
        assert_eq!(
            check_file("lisp/a.el", &function(39)),
            ["lisp/a.el:2: f has 41 lines, more than 40"]
        );
    }
    let table = format!("(defconst a\n  '(\n{}))\n", lines(80));
    assert!(check_file("lisp/a.el", &table).is_empty());
}

#[test]
fn exceptions_have_limits_too_and_end_when_they_are_not_needed() {
    let exception = |function, most| Exception {
        path: "src/a.rs",
        function,
        most,
        reason: "is old",
    };
    let tree = Tree::of(&[("src/a.rs", &lines(450))]);
    assert_eq!(check_with(&tree, &[exception(None, 450)]), []);
    assert_eq!(
        told(&check_with(&tree, &[exception(None, 449)])),
        ["src/a.rs:1: the file has 450 lines, more than 449 (an exception: is old)"]
    );
    assert_eq!(
        told(&check_with(
            &tree,
            &[exception(None, 450), exception(Some("f"), 70)]
        )),
        ["src/a.rs:1: f needs no exception any more: take it out of xtask/src/tidy/sizes.rs"]
    );
    let small = Tree::of(&[("src/a.rs", "//! A.\n")]);
    assert_eq!(
        told(&check_with(&small, &[exception(None, 450)])),
        [
            "src/a.rs:1: the file needs no exception any more: take it out of \
          xtask/src/tidy/sizes.rs"
        ]
    );
}
