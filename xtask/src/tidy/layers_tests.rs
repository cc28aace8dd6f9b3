use super::*;
use crate::tidy::tree_tests::told;

fn check_file(path: &str, text: &str) -> Vec<String> {
    told(&check(&Tree::of(&[(path, text)])))
}

#[test]
fn lower_layers_and_other_packages_may_be_required() {
    let text = "(require 'cl-lib)\n(require 'magent-module)\n(require 'magent-config nil t)\n\
                ;; (require 'magent-acp)\n\"(require 'magent-acp)\"\n\
                (declare-function f \"magent-acp\")\n(autoload 'g \"magent-log\")\n";
    assert!(check_file("lisp/magent-core.el", text).is_empty());
    assert!(check_file("scripts/demo/init.el", "(require 'magent-nowhere)").is_empty());
}

#[test]
fn the_same_layer_and_higher_ones_may_not() {
    let text = "(require 'magent-core)\n(defun f ()\n  (require 'magent-host-file))\n\
                (require 'magent-acp)\n(autoload 'g \"magent-agent-shell\")\n";
    assert_eq!(
        check_file("lisp/magent-host-buffer.el", text),
        [
            "lisp/magent-host-buffer.el:3: magent-host-buffer of layer 3 must not require \
             magent-host-file of layer 3",
            "lisp/magent-host-buffer.el:4: magent-host-buffer of layer 3 must not require \
             magent-acp of layer 6",
            "lisp/magent-host-buffer.el:5: magent-host-buffer of layer 3 must not autoload \
             magent-agent-shell of layer 7",
        ]
    );
    let root = check_file("lisp/magent-acp.el", "(require 'magent)");
    assert_eq!(root.len(), 1);
}

#[test]
fn entries_may_autoload_each_other() {
    let text = "(autoload 'f \"magent-batch\")\n(autoload 'g \"magent-acp\")\n";
    assert!(check_file("lisp/magent.el", text).is_empty());
    let text = "(require 'magent)\n";
    assert_eq!(check_file("lisp/magent-batch.el", text).len(), 1);
}

#[test]
fn unknown_names_are_in_no_layer() {
    assert_eq!(
        check_file("lisp/magent-new.el", "(require 'magent-acp)"),
        ["lisp/magent-new.el:1: the file is in no layer of xtask/src/tidy/layers.rs"]
    );
    assert_eq!(
        check_file("lisp/magent.el", "\n(autoload 'f \"magent-nowhere\")"),
        ["lisp/magent.el:2: magent-nowhere is in no layer of xtask/src/tidy/layers.rs"]
    );
}

#[test]
fn the_lowest_layer_may_require_itself_without_a_circle() {
    let line = Tree::of(&[
        ("lisp/magent-log.el", "(require 'magent-error)"),
        ("lisp/magent-error.el", "(require 'magent-config)"),
    ]);
    assert_eq!(check(&line), []);
    let circle = Tree::of(&[
        ("lisp/magent-config.el", "\n(require 'magent-log)"),
        ("lisp/magent-error.el", "(require 'magent-config)"),
        ("lisp/magent-log.el", "(require 'magent-error)"),
    ]);
    assert_eq!(
        told(&check(&circle))[0],
        "lisp/magent-config.el:2: magent-config and magent-log require each other"
    );
    assert_eq!(check(&circle).len(), 3);
}
