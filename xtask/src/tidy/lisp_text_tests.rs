use super::*;

/// The form in short: atoms as they are, strings in quotes, lists in parentheses.
fn show(nodes: &[Node]) -> String {
    let one = |node: &Node| match &node.form {
        Form::Atom(name) => name.clone(),
        Form::Text(text) => format!("{text:?}"),
        Form::List(parts) => format!("({})", show(parts)),
    };
    nodes.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn forms_are_read() {
    for (text, shown) in [
        ("(a \"b)\" c) ; d (\ne", r#"(a "b)" c) e"#),
        ("(require 'magent-x nil t)", "(require magent-x nil t)"),
        ("`(a ,b ,@c #'d [e f])", "(a b c d (e f))"),
        (r#"(a ?\( ?) ?\" ?\\ ?\C-x ?;)"#, "(a ? ? ? ? ? ?)"),
        (r#"("a\"b\\")"#, r#"("a\"b\\")"#),
        (r"a\(b", "a(b"),
        ("#'(lambda ()) #x1F", "(lambda ()) #x1F"),
        ("(a (b", "(a (b))"),
        ("a) b", "a b"),
        ("\"open", r#""open""#),
    ] {
        assert_eq!(show(&read(text)), shown, "{text}");
    }
}

#[test]
fn lines_are_those_of_the_first_and_last_character() {
    let nodes = read(";; one\n(defun f ()\n  \"a\nb\"\n  (g))\n(h)\n");
    let lines: Vec<(usize, usize)> = nodes
        .iter()
        .map(|node| (node.line, node.end_line))
        .collect();
    assert_eq!(lines, [(2, 5), (6, 6)]);
    let text = &nodes[0].parts()[3];
    assert_eq!(
        (text.text(), text.line, text.end_line),
        (Some("a\nb"), 3, 4)
    );
}

#[test]
fn lists_come_outer_first_and_in_order() {
    let nodes = read("(a (b (c)) (d)) e (f)");
    let heads: Vec<&str> = lists(&nodes).into_iter().filter_map(Node::head).collect();
    assert_eq!(heads, ["a", "b", "c", "d", "f"]);
    assert_eq!(nodes[1].head(), None);
    assert_eq!(nodes[1].atom(), Some("e"));
}
