use super::*;

fn outcomes() -> Vec<Option<Outcome>> {
    vec![
        None,
        Some(Outcome::Done("[x]\ny".into())),
        Some(Outcome::Refused),
        Some(Outcome::Missing),
        Some(Outcome::Failed("no `reason`".into())),
    ]
}

#[test]
fn a_report_has_four_to_eight_lines_and_says_who_speaks() {
    for language in [Language::English, Language::Chinese] {
        for outcome in outcomes() {
            for only_change in [None, Some(Outcome::Refused)] {
                let facts = Facts {
                    read: outcome.clone(),
                    edit: outcome.clone().filter(|_| only_change.is_none()),
                    write: only_change,
                    run: outcome.clone(),
                };
                let report = language.report(&facts);
                let lines = report.lines().count();
                assert!((4..=8).contains(&lines), "{report}");
                assert!(report.contains("`magent-define-backend`"), "{report}");
                assert!(report.contains("gptel"), "{report}");
                assert_eq!(is_chinese(&report), language == Language::Chinese);
            }
        }
    }
}

#[test]
fn only_a_smooth_tour_is_called_done() {
    let headline = |edit: Outcome| {
        Language::English.headline(&Facts {
            read: Some(Outcome::Missing),
            edit: Some(edit),
            ..Facts::default()
        })
    };
    assert!(headline(Outcome::Done(String::new())).contains("Done"));
    assert!(!headline(Outcome::Refused).contains("Done"));
    assert!(!headline(Outcome::Failed(String::new())).contains("Done"));
}
