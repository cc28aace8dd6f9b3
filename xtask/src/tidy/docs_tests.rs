use super::*;
use crate::tidy::tree_tests::told;

fn check_file(path: &str, text: &str) -> Vec<String> {
    told(&check_with(&Tree::of(&[(path, text)]), &[]))
}

#[test]
fn rust_files_begin_with_documentation() {
    assert!(check_file("crates/a/src/b.rs", "//! B.\nfn f() {}\n").is_empty());
    for text in ["", "fn f() {}\n", "// B.\n", "\n//! B.\n"] {
        assert_eq!(
            check_file("crates/a/src/b.rs", text),
            ["crates/a/src/b.rs:1: the file does not begin with its documentation (//!)"]
        );
    }
    for path in ["crates/a/tests/it/b.rs", "crates/a/src/b_tests.rs", "b.el"] {
        assert!(check_file(path, "fn f() {}\n").is_empty());
    }
}

#[test]
fn library_roots_only_name_their_parts() {
    let good = "//! A.\n\n#![forbid(unsafe_code)]\n#![allow(\n    a::b,\n    reason = \"; {\"\n)]\n\n\
                mod a;\npub mod b;\n#[cfg(test)]\nmod c;\n/// D.\n#[doc(inline)]\n\
                pub use a::{\n    D, E,\n};\nuse f as g;\npub(crate) use h::I;\n";
    assert_eq!(check_file("crates/a/src/lib.rs", good), [""; 0]);
    let bad = "//! A.\n\nmod a;\n\npub fn f() {\n    use b;\n}\n\nc::d!();\nmod e {\n    use f;\n}\n\
               const G: u8 = 1;\n";
    let at = |line| {
        format!(
            "crates/a/src/lib.rs:{line}: lib.rs is for documentation, attributes, mod and use only"
        )
    };
    assert_eq!(
        check_file("crates/a/src/lib.rs", bad),
        [at(5), at(9), at(10), at(13)]
    );
    assert!(check_file("crates/a/src/main.rs", bad).is_empty());
}

#[test]
fn exceptions_end_when_they_are_not_needed() {
    let exceptions = [("crates/a/src/lib.rs", "is old")];
    let tree = |text| Tree::of(&[("crates/a/src/lib.rs", text)]);
    assert_eq!(check_with(&tree("//! A.\nfn f() {}\n"), &exceptions), []);
    assert_eq!(
        told(&check_with(&tree("//! A.\nmod f;\n"), &exceptions)),
        [
            "crates/a/src/lib.rs:1: the file needs no exception any more: take it out of \
          xtask/src/tidy/docs.rs"
        ]
    );
}
