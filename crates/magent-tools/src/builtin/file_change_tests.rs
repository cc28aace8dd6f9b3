use super::*;

fn code(result: Result<Expected, ToolError>) -> String {
    match result {
        Err(ToolError::Failed { code, .. }) => code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_expected_revision_has_one_of_two_forms() {
    let digest = "AB".repeat(32);
    assert_eq!(Expected::parse("absent"), Ok(Expected::Absent));
    assert_eq!(
        Expected::parse(&format!(" {digest}\n")),
        Ok(Expected::Revision("ab".repeat(32)))
    );
    for wrong in [
        "",
        "Absent",
        "null",
        "abc",
        &"g".repeat(64),
        &"é".repeat(32),
    ] {
        assert_eq!(code(Expected::parse(wrong)), "bad_revision", "{wrong}");
    }
}

/// Case 11: the message names both revisions, or what is there instead.
#[test]
fn a_stale_revision_names_what_is_there() {
    let message = |expected: &Expected, actual: Option<&str>| match expected.check(actual, "a") {
        Err(ToolError::Failed { code, message, .. }) => {
            assert_eq!(code, "stale_revision");
            message
        }
        other => panic!("{other:?}"),
    };
    let expected = Expected::Revision("old".to_owned());
    assert_eq!(expected.check(Some("old"), "a"), Ok(()));
    assert_eq!(Expected::Absent.check(None, "a"), Ok(()));
    let text = message(&expected, Some("new"));
    assert!(
        text.contains("a has revision new, not the expected old"),
        "{text}"
    );
    assert!(message(&expected, None).contains("a does not exist"));
    assert!(message(&Expected::Absent, Some("new")).contains("a exists, with revision new"));
}
