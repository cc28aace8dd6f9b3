use super::*;

#[test]
fn comments_strings_and_characters_are_blanked_in_place() {
    for (text, left) in [
        ("a // b\nc", "a c"),
        ("a // b", "a"),
        ("a /* b /* c */ d */ e", "a e"),
        (r#"f("a\"}", x)"#, "f( , x)"),
        (r##"f(r#"a"}"#, x)"##, "f( , x)"),
        (r#"f(br"\", x)"#, "f(b , x)"),
        ("'{' '\\'' '\\u{7D}' 'é' x", "x"),
        ("fn f<'a>(x: &'a u8)", "fn f<'a>(x: &'a u8)"),
        ("r#fn bar\"{\"", "r#fn bar"),
        ("\"open {", ""),
        ("r\"open {", ""),
    ] {
        let masked = mask(text);
        let words: Vec<&str> = masked.split_whitespace().collect();
        assert_eq!(words.join(" "), left, "{text}");
        assert_eq!(masked.len(), text.len());
    }
    let two_lines = mask("\"a\n{\" b");
    assert_eq!(two_lines, "  \n   b");
    assert_eq!(line_of(&two_lines, two_lines.len()), 2);
}

#[test]
fn items_end_at_a_semicolon_or_a_brace() {
    for (code, item) in [
        ("mod a; mod b;", "mod a;"),
        ("use a::{b, c}; x", "use a::{b, c};"),
        ("fn f() -> [u8; 2] { {} } x", "fn f() -> [u8; 2] { {} }"),
        ("#[path = x]\nmod a; x", "#[path = x]\nmod a;"),
        ("static A: B = B { c: 1 };\nx", "static A: B = B { c: 1 };"),
        ("mod a", "mod a"),
    ] {
        assert_eq!(&code[..item_end(code, 0)], item);
    }
}

#[test]
fn what_only_tests_see_is_found() {
    let code = "fn a() {}\n#[cfg(test)]\nfn b() { x; }\nfn c() {}\n#[cfg(test)]\nmod t;\n";
    let seen: Vec<&str> = test_ranges(code)
        .into_iter()
        .map(|range| &code[range])
        .collect();
    assert_eq!(
        seen,
        ["#[cfg(test)]\nfn b() { x; }", "#[cfg(test)]\nmod t;"]
    );
    let nested = "#[cfg(test)]\nmod t { #[cfg(test)] fn f() {} }";
    assert_eq!(test_ranges(nested).len(), 1);
    assert_eq!(test_ranges(nested)[0], 0..nested.len());
}

#[test]
fn functions_are_found_with_parameters_and_lines() {
    let code = "impl A {\n    pub fn f<F: Fn(u8) -> u8>(x: F) -> [u8; 2]\n    where\n        \
                F: B,\n    {\n        fn g() {}\n    }\n    fn h();\n}\ntype T = fn (u8);\n";
    let found: Vec<(&str, &str, usize)> = functions(code)
        .iter()
        .map(|function| (function.name, function.parameters, function.lines))
        .collect();
    assert_eq!(found, [("f", "x: F", 6), ("g", "", 1)]);
    assert!(functions("often x() {}").is_empty());
    assert!(functions("fn cut(").is_empty());
}

#[test]
fn commas_inside_of_brackets_separate_nothing() {
    assert_eq!(
        comma_parts("a: B<C, D>, e: fn(F, G) -> H, i: (J, K),"),
        ["a: B<C, D>", " e: fn(F, G) -> H", " i: (J, K)"]
    );
    assert!(comma_parts(" \n ").is_empty());
}
