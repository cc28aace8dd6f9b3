use super::*;
use crate::tidy::tree_tests::told;

const DEFUNS: &str = r#"//! Functions.

const ABI: &str = concat!(env!("CARGO_PKG_VERSION"), "+7");

/// Not `#[defun]` in words.
#[defun]
fn abi() -> Result<String> {}

/// Two.
#[defun]
fn acp_send<'e>(env: &'e Env, connection: i64, config: Option<Pair<Text, Text>>) -> Result<()> {}

#[defun(name = "busy?", mod_in_name = false)]
#[allow(x)]
fn busy_p(env: &Env, session: Text) -> Result<bool> {}

fn helper(a: u8) {}
"#;

fn check_lisp(lisp: &str) -> Vec<String> {
    let tree = Tree::of(&[
        ("crates/magent-module/src/defuns.rs", DEFUNS),
        ("lisp/magent-core.el", lisp),
    ]);
    told(&check(&tree))
}

#[test]
fn the_functions_of_the_module_are_found() {
    let found: Vec<(String, usize)> = defuns_of(DEFUNS)
        .into_iter()
        .map(|defun| (defun.name, defun.arguments))
        .collect();
    let expected = [
        ("magent-core-abi", 0),
        ("magent-core-acp-send", 2),
        ("magent-core-busy?", 1),
    ];
    assert_eq!(
        found,
        expected.map(|(name, count)| (name.to_owned(), count))
    );
}

#[test]
fn right_declarations_are_fine() {
    for declaration in [
        "magent-core-abi \"ext:magent-module\" ()",
        "magent-core-abi \"ext:magent-module\" nil",
        "magent-core-abi \"ext:magent-module\"",
        "magent-core-acp-send \"ext:magent-module\" (connection config)",
        "magent-core-acp-send \"ext:magent-module\" t",
        "magent-core-made-of-lisp \"magent-core\" (a b c)",
        "gptel-name \"ext:gptel\" (a b c)",
    ] {
        let told = check_lisp(&format!("(declare-function {declaration})\n"));
        assert!(told.is_empty(), "{told:?}");
    }
}

#[test]
fn wrong_declarations_are_not() {
    for arguments in ["()", "(a)", "(a b c)", "(a &optional b)", "(a b &rest c)"] {
        let declaration =
            format!("\n(declare-function magent-core-acp-send \"ext:magent-module\" {arguments})");
        assert_eq!(
            check_lisp(&declaration),
            [
                "lisp/magent-core.el:2: magent-core-acp-send is declared with other arguments \
              than the 2 of the module"
            ]
        );
    }
    assert_eq!(
        check_lisp("(declare-function magent-core-helper \"ext:magent-module\" (a))"),
        ["lisp/magent-core.el:1: the module has no function magent-core-helper"]
    );
}

#[test]
fn both_sides_have_the_same_version() {
    let check = |rust: &str, lisp: &str| {
        let tree = Tree::of(&[
            ("crates/magent-module/src/defuns.rs", rust),
            ("lisp/magent-module.el", lisp),
        ]);
        told(&check(&tree.with_package("magent-module", &[])))
    };
    let lisp = |version: &str| format!("\n(defconst magent-module-abi {version}\n  \"It.\")\n");
    assert!(check(DEFUNS, &lisp("\"1.2.3+7\"")).is_empty());
    assert!(check("const ABI: &str = \"4\";\n", &lisp("\"4\"")).is_empty());
    assert_eq!(
        check(DEFUNS, &lisp("\"1.2.3+6\"")),
        [
            "lisp/magent-module.el:2: magent-module-abi is 1.2.3+6, but ABI in \
          crates/magent-module/src/defuns.rs:3 is 1.2.3+7"
        ]
    );
    assert!(check(DEFUNS, "")[0].contains("magent-module-abi is missing"));
    for rust in ["", "const ABI: &str = other();\n"] {
        assert!(check(rust, &lisp("\"4\""))[0].contains("there is no constant ABI"));
    }
}
