use super::*;

fn parsed(arguments: &[&str]) -> Result<Command, UsageError> {
    parse(arguments.iter().map(OsString::from))
}

#[test]
fn every_option_has_a_default_and_can_be_set() {
    assert_eq!(parsed(&[]), Ok(Command::Serve(Options::default())));
    let given = [
        "--port",
        "80",
        "--url-file",
        "u",
        "--until-eof",
        "--delay-ms",
        "0",
    ];
    assert_eq!(
        parsed(&given),
        Ok(Command::Serve(Options {
            port: 80,
            url_file: Some("u".into()),
            until_eof: true,
            delay: Duration::ZERO,
        }))
    );
    assert_eq!(parsed(&["--help", "--nonsense"]), Ok(Command::Help));
}

#[test]
fn mistakes_are_told_in_one_line() {
    let told = |arguments: &[&str]| parsed(arguments).unwrap_err().to_string();
    assert_eq!(told(&["serve"]), "unknown argument \"serve\" (see --help)");
    assert_eq!(told(&["--port"]), "--port needs a value (see --help)");
    assert_eq!(
        told(&["--port", "65536"]),
        "--port needs a whole number from 0 to 65535, not \"65536\" (see --help)"
    );
    assert!(told(&["--delay-ms", "-1"]).starts_with("--delay-ms needs"));
    assert!(!told(&["a\nb"]).contains('\n'));
}
