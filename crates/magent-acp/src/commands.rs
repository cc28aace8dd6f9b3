//! Slash commands, and the answers that need no model.

use std::fmt::Write;

use agent_client_protocol_schema::v1::{AvailableCommand, AvailableCommandsUpdate, SessionUpdate};
use magent_runtime::{AuthorityRow, Runtime, RuntimeConfig, RuntimeError, SessionOptions};
use magent_types::{ApprovalPolicy, SessionId};

/// The commands, in the order in which they are offered.
///
/// There is never only one: shells that complete after a slash would put it into every
/// path that is typed.
const COMMANDS: [(&str, &str); 3] = [
    ("authority", "Show what the agent may do here, and why"),
    (
        "compact",
        "Let the model go on with a summary; add what it should keep",
    ),
    ("help", "Show what can be done in this conversation"),
];

/// The list for the client's completion.
pub(crate) fn available() -> SessionUpdate {
    let commands = COMMANDS
        .iter()
        .map(|(name, description)| AvailableCommand::new(*name, *description))
        .collect();
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands))
}

/// The command that a prompt begins with; text that begins with any other slash is an
/// ordinary prompt.
pub(crate) fn command_of(words: &str) -> Option<&'static str> {
    let rest = words.strip_prefix('/')?;
    let name = rest.split_whitespace().next()?;
    COMMANDS
        .iter()
        .map(|(known, _)| *known)
        .find(|known| *known == name)
}

/// What a prompt is answered with, as Markdown, if it begins with a command.
pub fn answer(
    runtime: &Runtime,
    session: &SessionId,
    config: &RuntimeConfig,
    words: &str,
) -> Option<Result<String, RuntimeError>> {
    Some(match command_of(words)? {
        // The runtime does it, with a model.
        "compact" => return None,
        "help" => Ok(help()),
        _ => authority(runtime, session, config),
    })
}

fn authority(
    runtime: &Runtime,
    session: &SessionId,
    config: &RuntimeConfig,
) -> Result<String, RuntimeError> {
    let rows = runtime.authority(session, config)?;
    Ok(authority_report(session, &runtime.options(session)?, &rows))
}

/// The text of `/help`, as Markdown.
fn help() -> String {
    let mut text = String::from(
        "Say what you want to have done, in this project; what may change or run something \
         is asked for first. Commands:\n\n",
    );
    for (name, description) in COMMANDS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- `/{name}`: {description}.");
    }
    text.push_str(
        "\nThe model and the agent (`build` carries tasks out, `plan` explores) are options of \
         the session; rules of your own are in `magent-permission-rules`.",
    );
    text
}

/// The report of `/authority`, as Markdown.
fn authority_report(
    session: &SessionId,
    options: &SessionOptions,
    rows: &[AuthorityRow],
) -> String {
    let mut text = format!("Agent **{}**, session {session}\n\n", options.agent);
    // A list, not a table: sentences do not fit into the columns of a narrow window.
    for row in rows {
        let decision = row
            .decision
            .map_or("disabled", |decision| decision.as_str());
        let shown = if row.exposed {
            ""
        } else {
            ", not shown to the model"
        };
        let approval = match row.approval {
            ApprovalPolicy::Normal => "",
            ApprovalPolicy::OnceOnly => ", once only",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "- `{}` (key `{}`): **{decision}**{shown}{approval}. {}",
            row.tool, row.permission_key, row.explanation
        );
    }
    let mut keys: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| !row.patterns.is_empty()) {
        if keys.contains(&row.permission_key) {
            continue;
        }
        keys.push(row.permission_key);
        let patterns: Vec<String> = row
            .patterns
            .iter()
            .map(|(pattern, decision)| format!("`{pattern}` {}", decision.as_str()))
            .collect();
        let _ = writeln!(
            text,
            "\nPatterns of `{}`: {}.",
            row.permission_key,
            patterns.join(", ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell completes what all candidates have in common.
    #[test]
    fn commands_have_no_common_beginning() {
        let (first, _) = COMMANDS[0];
        assert!(
            COMMANDS
                .iter()
                .any(|(name, _)| name.chars().next() != first.chars().next())
        );
        for (name, _) in COMMANDS {
            assert!(help().contains(&format!("`/{name}`")));
        }
    }

    #[test]
    fn only_known_commands_are_commands() {
        assert_eq!(command_of("/authority"), Some("authority"));
        assert_eq!(command_of("/authority now\nplease"), Some("authority"));
        assert_eq!(command_of("/help"), Some("help"));
        assert_eq!(command_of("/unknown text"), None);
        assert_eq!(command_of("/"), None);
        assert_eq!(command_of("say /authority"), None);
    }
}
