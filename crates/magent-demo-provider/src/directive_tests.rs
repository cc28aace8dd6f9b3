use super::*;

fn parsed(prompt: &str) -> Vec<Directive> {
    parse(prompt).unwrap()
}

fn told(prompt: &str) -> String {
    parse(prompt).unwrap_err().to_string()
}

fn say(text: &str) -> Directive {
    Directive::Say(text.into())
}

fn call(name: &str, arguments: &str) -> Call {
    Call {
        name: name.into(),
        arguments: arguments.into(),
    }
}

#[test]
fn all_directives_in_order() {
    let prompt = "Please [[think hm]] then [[say Hello, \nworld ]]\n[[par a {}]] [[tool b {\"x\":1}]]\
                  [[slow 3]][[big 40]][[half c]][[http 503]][[drop]][[hang]][[ empty]][[empty]] x";
    assert_eq!(
        parsed(prompt),
        [
            Directive::Think("hm".into()),
            say("Hello, \nworld "),
            Directive::Par(call("a", "{}")),
            Directive::Tool(call("b", "{\"x\":1}")),
            Directive::Slow(3),
            Directive::Big(40),
            Directive::Half("c".into()),
            Directive::Http(503),
            Directive::Drop,
            Directive::Hang,
            Directive::Empty,
        ]
    );
}

#[test]
fn other_double_brackets_are_text() {
    for prompt in [
        "",
        "[[",
        "[[https://example.org][a link]]",
        "[[sayhello]] [[Say x]] [[tools]]",
        "if [[ -f x ]]; then",
        "[say x]",
    ] {
        assert_eq!(parsed(prompt), [], "{prompt}");
    }
    assert_eq!(parsed("[[[say x]]"), [say("x")]);
}

#[test]
fn brackets_in_json_close_nothing() {
    let arguments = [
        r#"{"rows": [["a"]]}"#,
        r#"{"rows":[["a"],[["b"]]]}"#,
        r#"[["a"]]"#,
        r#"{"command": "[[ -f x ]] && echo \"]]\""}"#,
        r#"{"command":"grep -c \"\\[x\\]\" notes.txt"}"#,
        r#"{"text": "[[say not this]]", "rest": "]"}"#,
        "{\n  \"a\": [[]]\n}",
    ];
    for arguments in arguments {
        for space in ["", " ", "\n"] {
            let prompt = format!("x [[tool t {arguments}{space}]] y [[say z]]");
            let expected = [Directive::Tool(call("t", arguments)), say("z")];
            assert_eq!(parsed(&prompt), expected, "{prompt}");
        }
    }
}

#[test]
fn arguments_may_be_missing_or_no_json() {
    assert_eq!(parsed("[[tool t]]"), [Directive::Tool(call("t", "{}"))]);
    assert_eq!(parsed("[[tool t ]]"), [Directive::Tool(call("t", "{}"))]);
    for arguments in ["{\"a\": [1", "{} {}", "not json", "{\"a\":[1]", "$REV"] {
        let prompt = format!("[[par t {arguments}]][[say z]]");
        let expected = [Directive::Par(call("t", arguments)), say("z")];
        assert_eq!(parsed(&prompt), expected, "{prompt}");
    }
    // Too deep for the JSON reader, but not for the brackets.
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let prompt = format!("[[tool t {deep}]]");
    assert_eq!(parsed(&prompt), [Directive::Tool(call("t", &deep))]);
}

#[test]
fn balanced_brackets_in_a_text_are_its_own() {
    assert_eq!(parsed("[[say a[0]]]"), [say("a[0]")]);
    assert_eq!(
        parsed("[[say - [x] try [[slow 40]] now]][[say b]]"),
        [say("- [x] try [[slow 40]] now"), say("b")]
    );
    assert_eq!(parsed("[[say a] b]]"), [say("a] b")]);
    assert_eq!(parsed("[[say :[ ]] [[say b]]"), [say(":[ "), say("b")]);
    assert_eq!(parsed("[[say [[[ ]]]] x"), [say("[[[ ]]")]);
    assert_eq!(parsed("[[say]][[say  ]]"), [say(""), say("")]);
    assert_eq!(parsed("[[say 你好]]"), [say("你好")]);
}

#[test]
fn mistakes_are_told() {
    assert_eq!(told("[[say x"), "the directive [[say]] is not closed");
    assert_eq!(told("[[tool x {}"), "the directive [[tool]] is not closed");
    assert_eq!(parsed("[[tool"), []);
    assert_eq!(told("[[tool x"), "the directive [[tool]] is not closed");
}

#[test]
fn arguments_of_the_wrong_kind_are_told() {
    assert!(told("[[tool ]]").contains("needs the name of a tool"));
    assert!(told("[[half]]").contains("needs the name of a tool"));
    assert!(told("[[half a b]]").contains("needs the name of a tool"));
    assert!(told("[[slow fast]]").ends_with("needs a number from 0 to 100000, not \"fast\""));
    assert!(told("[[slow -1]]").contains("not \"-1\""));
    assert!(told("[[big 999999999999]]").contains("needs a number"));
    assert!(told("[[http 200]]").contains("from 400 to 599"));
    assert!(told("[[drop it]]").ends_with("takes nothing, not \"it\""));
}
