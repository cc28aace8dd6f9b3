//! The tool `bash`: runs a shell command.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use async_trait::async_trait;
use magent_types::{
    ApprovalPolicy, Locality, ToolError, ToolKind, ToolOutput, ToolSpec, one_line, shorten,
};
use nix::sys::signal::Signal;
use serde_json::{Map, Value, json};

use super::audit;
use super::blocking::read_in_background;
use super::output_buffer::{OutputBuffer, StreamDecoder};
use super::schema;
use super::shell_process::{Ending, ShellProcess, Surroundings};
use crate::{Call, Tool, ToolContext};

const TITLE_COLUMNS: usize = 60;
/// Characters of a command: people who are asked about it have to see all of it.
const COMMAND_LIMIT: usize = 16_000;

const DESCRIPTION: &str = "\
Run a command with bash -o pipefail -c in the project root. Output and errors come back \
together; an exit status other than 0 is a failed call. There is no input and no terminal, so \
use options that ask nothing; pagers are off. Every call is a new shell: directory and \
variables do not last, and processes left in the background are killed when the command ends, \
unless they began a session of their own. The user's time limit ends a command that runs too \
long, with the output so far. Prefer read_file, grep and glob for looking at files, and \
edit_file for changing them.";

/// See the module's documentation.
pub(crate) struct Bash {
    spec: ToolSpec,
}

impl Bash {
    /// Makes the tool.
    pub(crate) fn new() -> Self {
        let parameters = schema::parameters(
            json!({
                "command": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": COMMAND_LIMIT,
                    "description": "The command, one or more lines; a long script belongs in a file.",
                },
            }),
            &["command"],
        );
        Self {
            spec: ToolSpec {
                name: "bash",
                description: DESCRIPTION,
                parameters,
                output: schema::output(json!({
                    "exit_code": { "type": "integer" },
                    "output": { "type": "string" },
                })),
                permission_key: "bash",
                resource_argument: None,
                kind: ToolKind::Execute,
                approval: ApprovalPolicy::Normal,
                locality: Locality::ProjectProcess,
                audited: true,
            },
        }
    }
}

#[async_trait]
impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, call: &Call, _context: &ToolContext) -> String {
        let mut lines = call
            .text("command")
            .lines()
            .map(one_line)
            .filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_else(|| "bash".to_owned());
        let title = shorten(&first, TITLE_COLUMNS);
        match lines.count() {
            0 => title,
            1 => format!("{title} (and 1 more line)"),
            more => format!("{title} (and {more} more lines)"),
        }
    }

    fn audit_preview(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        audit::preview(arguments, &[], &["command"])
    }

    fn has_live_output(&self) -> bool {
        true
    }

    fn check(&self, call: &Call, context: &ToolContext) -> Result<(), ToolError> {
        check_call(call, context, context.limits.bash_timeout)
    }

    async fn run(&self, call: &Call, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let timeout = context.limits.bash_timeout;
        self.check(call, context)?;
        let process = start(call, context).await?;
        let mut kept = OutputBuffer::default();
        let mut decoder = StreamDecoder::default();
        let mut sink = |bytes: &[u8]| {
            kept.push(bytes);
            let text = decoder.push(bytes);
            if !text.is_empty() {
                context.live.write(&text);
            }
        };
        let ending = process
            .supervise(timeout, &context.cancel, &mut sink)
            .await
            .map_err(|error| ToolError::failed("io", format!("the command was lost: {error}")))?;
        let rest = decoder.finish();
        if !rest.is_empty() {
            context.live.write(&rest);
        }
        match ending {
            Ending::Cancelled => Err(ToolError::Cancelled),
            Ending::TimedOut => Err(timed_out(timeout, kept.into_text())),
            Ending::Exited(status) => exited(status, kept.into_text()),
        }
    }
}

fn check_call(call: &Call, context: &ToolContext, timeout: Duration) -> Result<(), ToolError> {
    let command = call.text("command");
    if command.trim().is_empty() {
        return Err(ToolError::failed("blank_command", "the command is blank"));
    }
    if command.contains('\0') {
        return Err(ToolError::failed(
            "bad_command",
            "the command holds a NUL character, which no argument can",
        ));
    }
    if timeout.is_zero() {
        return Err(ToolError::failed(
            "bad_timeout",
            "the time limit of commands is zero; the user has to set a positive one",
        ));
    }
    if context.scope.is_remote() {
        return Err(ToolError::failed(
            "remote_unsupported",
            "bash on a remote project is not available yet",
        ));
    }
    Ok(())
}

async fn start(call: &Call, context: &ToolContext) -> Result<ShellProcess, ToolError> {
    let command = call.text("command").to_owned();
    let folder = context.base_directory();
    let program = context.limits.bash_program.clone();
    let surroundings = Surroundings {
        environment: context.environment.clone(),
        setup: context.process_setup,
    };
    read_in_background(&context.cancel, move |_| {
        if !folder.is_dir() {
            return Err(ToolError::failed(
                "missing_directory",
                format!("the project root {} is no directory", folder.display()),
            ));
        }
        let name = OsString::from(&program);
        ShellProcess::start(&name, &command, &folder, &surroundings).map_err(|error| {
            let (code, reason) = match error.kind() {
                // A folder on the search path that may not be read gives the second.
                std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied => (
                    "missing_executable",
                    "there is no such program, or it may not be run".to_owned(),
                ),
                std::io::ErrorKind::ArgumentListTooLong => (
                    "bad_command",
                    "the command, or the environment of Emacs that it would get, is too long for \
                     the system"
                        .to_owned(),
                ),
                _ => ("io", error.to_string()),
            };
            ToolError::failed(code, format!("cannot run the shell {program}: {reason}"))
        })
    })
    .await
}

fn timed_out(timeout: Duration, content: String) -> ToolError {
    let seconds = timeout.as_secs_f64();
    ToolError::Failed {
        code: "timeout".to_owned(),
        message: format!("the command was stopped after {seconds} s, the time limit"),
        content,
        exit_code: None,
        metadata: Map::from_iter([("timeout".to_owned(), json!(seconds))]),
    }
}

/// What a shell returns for a program that SIGPIPE ended.
const SIGPIPE_STATUS: i32 = 128 + libc::SIGPIPE;

fn exited(status: ExitStatus, output: String) -> Result<ToolOutput, ToolError> {
    if status.success() {
        let content = if output.is_empty() {
            "(no output)".to_owned()
        } else {
            output.clone()
        };
        return Ok(ToolOutput {
            value: json!({ "exit_code": 0, "output": output }),
            content,
            ..ToolOutput::default()
        });
    }
    let message = match (status.code(), status.signal()) {
        // Because of pipefail this is the status of `yes | head`, too.
        (Some(SIGPIPE_STATUS), _) => format!(
            "the command exited with status {SIGPIPE_STATUS}: a program wrote to another that \
             had ended, as in a pipeline to head, which may be no fault"
        ),
        (Some(code), _) => format!("the command exited with status {code}"),
        (None, Some(signal)) => format!("the command was killed by {}", signal_name(signal)),
        (None, None) => "the command ended in an unknown way".to_owned(),
    };
    Err(ToolError::Failed {
        code: "exit".to_owned(),
        message,
        content: output,
        exit_code: status.code(),
        metadata: Map::new(),
    })
}

fn signal_name(signal: i32) -> String {
    match Signal::try_from(signal) {
        Ok(known) => format!("signal {signal} ({known})"),
        Err(_) => format!("signal {signal}"),
    }
}

#[cfg(test)]
#[path = "bash_tests.rs"]
mod tests;
