use proptest::prelude::*;

use super::*;

fn matches(pattern: &str, path: &str) -> bool {
    GlobPattern::new(pattern).unwrap().matches(path)
}

/// Case 26.
#[test]
fn wildcards_mean_what_they_should() {
    for (pattern, path, expected) in [
        ("src/**/*.ts", "src/a.ts", true),
        ("src/**/*.ts", "src/x/y/a.ts", true),
        ("src/**/*.ts", "lib/a.ts", false),
        ("*.ts", "a.ts", true),
        ("*.ts", "x/a.ts", false),
        ("**/*.ts", "a.ts", true),
        ("**", "x/a.ts", true),
        ("src/**", "src/x/a", true),
        ("a**z", "a/b/z", true),
        ("?.ts", "a.ts", true),
        ("?.ts", "é.ts", true),
        ("?.ts", "ab.ts", false),
        ("x?y", "x/y", false),
        ("./src/*.ts", "src/a.ts", true),
        (".//a", "a", true),
        ("src\\*.ts", "src/a.ts", true),
        (".github/*", ".github/ci.yml", true),
        ("*", ".hidden", true),
        // Everything else is literal.
        ("{a,b}.ts", "a.ts", false),
        ("{a,b}.ts", "{a,b}.ts", true),
        ("[ab].ts", "a.ts", false),
        ("a+(b)|c$^.<d>", "a+(b)|c$^.<d>", true),
        ("A.ts", "a.ts", false),
        ("a\nb*", "a\nbc", true),
    ] {
        assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
    }
}

#[test]
fn an_empty_pattern_is_an_error() {
    for pattern in ["", "./", "././"] {
        assert!(GlobPattern::new(pattern).is_err(), "{pattern}");
    }
}

#[test]
fn folders_before_the_first_wildcard_narrow_the_walk() {
    let below =
        |pattern: &str, folder: &str| GlobPattern::new(pattern).unwrap().may_match_below(folder);
    assert!(below("src/a/*.ts", "src"));
    assert!(below("src/a/*.ts", "src/a"));
    assert!(below("src/a/*.ts", "src/a/b"));
    assert!(!below("src/a/*.ts", "src/b"));
    assert!(!below("src/a/*.ts", "sr"));
    assert!(below("s*/a", "anything"));
}

/// The meaning of a pattern, as simple as it can be written.
fn oracle(pattern: &str, path: &str) -> bool {
    if let Some(rest) = pattern.strip_prefix("**/") {
        return oracle(rest, path)
            || path
                .match_indices('/')
                .any(|(slash, _)| oracle(rest, &path[slash + 1..]));
    }
    if let Some(rest) = pattern.strip_prefix("**") {
        return (0..=path.len()).any(|at| path.is_char_boundary(at) && oracle(rest, &path[at..]));
    }
    let mut path_rest = path.chars();
    let mut rest = pattern.chars();
    match rest.next() {
        None => path.is_empty(),
        Some('*') => {
            oracle(rest.as_str(), path)
                || (path_rest.next().is_some_and(|c| c != '/')
                    && oracle(pattern, path_rest.as_str()))
        }
        Some('?') => {
            path_rest.next().is_some_and(|c| c != '/') && oracle(rest.as_str(), path_rest.as_str())
        }
        Some(literal) => {
            path_rest.next() == Some(literal) && oracle(rest.as_str(), path_rest.as_str())
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn matching_agrees_with_the_plain_definition(
        pattern in "([ab./]|\\*|\\*\\*|\\*\\*/|\\?|[<>{}\\[\\]()+^$|é-]){1,7}",
        path in "[ab.é<>{}-]{0,3}(/[ab.()+]{1,3}){0,3}",
    ) {
        prop_assume!(!pattern.starts_with("./"));
        prop_assert_eq!(matches(&pattern, &path), oracle(&pattern, &path));
    }

    #[test]
    fn narrowing_loses_nothing(
        pattern in "([ab]/){0,2}[ab]?(\\*\\*/|\\*)?[ab]",
        path in "[ab](/[ab]){0,4}",
    ) {
        let glob = GlobPattern::new(&pattern).unwrap();
        if glob.matches(&path) {
            for (slash, _) in path.match_indices('/') {
                prop_assert!(glob.may_match_below(&path[..slash]));
            }
        }
    }
}
