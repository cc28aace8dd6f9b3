//! The audit: who decided what about which call, without the contents of any.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use magent_types::{Scope, SessionId, TurnId};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

/// Where records go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditTarget {
    /// Nowhere.
    Off,
    /// A bounded list in memory.
    Buffer,
    /// That list and a file, one JSON object per line.
    File(PathBuf),
}

/// How many records stay in memory.
const KEPT: usize = 2_000;
/// How long the end of a turn waits to hear whether its records were written.
const REPORT_LIMIT: Duration = Duration::from_millis(250);

/// What the thread that writes is asked to do.
enum Job {
    Line(String),
    Report(oneshot::Sender<Option<String>>),
}

/// A record as it is kept: free texts as their lengths, paths without the user's
/// folders, ids only in their safe form.
#[derive(Clone, Debug, Default)]
pub struct AuditRecord {
    /// `permission-decision`, `approval-requested`, `tool-call-start`, ...
    pub event: &'static str,
    /// The agent of the request.
    pub agent: String,
    /// The turn.
    pub turn_id: Option<TurnId>,
    /// The session.
    pub session_id: Option<SessionId>,
    /// Where the session belongs.
    pub scope: Option<Scope>,
    /// The tool.
    pub tool: String,
    /// Its permission key.
    pub permission_key: Option<String>,
    /// The decision.
    pub decision: Option<String>,
    /// Why.
    pub decision_source: Option<String>,
    /// How the call stands.
    pub status: Option<String>,
    /// What may be kept of the arguments.
    pub arguments: Map<String, Value>,
    /// How many characters the result has.
    pub result_length: Option<usize>,
    /// The call.
    pub call_id: Option<String>,
    /// The question.
    pub request_id: Option<String>,
    /// How many characters the title has.
    pub title_length: Option<usize>,
    /// The epoch in the turn.
    pub epoch: Option<u32>,
}

/// The audit's two sinks.
pub(crate) struct Audit {
    home: Option<PathBuf>,
    records: Mutex<VecDeque<Arc<Value>>>,
    file: Mutex<Option<(PathBuf, Sender<Job>)>>,
}

impl Audit {
    pub(crate) fn new(home: Option<PathBuf>) -> Self {
        Self {
            home,
            records: Mutex::default(),
            file: Mutex::default(),
        }
    }

    /// Keeps a record.  Never fails and never waits for a disk.
    pub(crate) fn record(&self, target: &AuditTarget, record: &AuditRecord, now: f64) {
        if *target == AuditTarget::Off {
            return;
        }
        let value = Arc::new(self.render(record, now));
        {
            let mut records = self.records.lock();
            if records.len() == KEPT {
                records.pop_front();
            }
            records.push_back(Arc::clone(&value));
        }
        if let AuditTarget::File(path) = target {
            self.send_to_file(path, value.to_string());
        }
    }

    /// The records in memory, oldest first.
    pub(crate) fn records(&self) -> Vec<Arc<Value>> {
        self.records.lock().iter().cloned().collect()
    }

    /// Why the file does not have all records so far; told once, until writing works
    /// again.  Waits for the disk, but not long.
    pub(crate) async fn problem(&self) -> Option<String> {
        let (answer, problem) = oneshot::channel();
        {
            let file = self.file.lock();
            let (_, sender) = file.as_ref()?;
            sender.send(Job::Report(answer)).ok()?;
        }
        let answer = tokio::time::timeout(REPORT_LIMIT, problem).await;
        answer.ok()?.ok()?
    }

    fn send_to_file(&self, path: &Path, line: String) {
        let mut file = self.file.lock();
        let current = file.as_ref().is_some_and(|(known, _)| known == path);
        if !current {
            let (sender, receiver) = mpsc::channel();
            let target = path.to_owned();
            // Ends when the sender is replaced or the process ends.
            let started = std::thread::Builder::new()
                .name("magent-audit".into())
                .spawn(move || write_lines(&target, &receiver));
            if started.is_err() {
                return;
            }
            *file = Some((path.to_owned(), sender));
        }
        if let Some((_, sender)) = file.as_ref() {
            let _ = sender.send(Job::Line(line));
        }
    }

    fn render(&self, record: &AuditRecord, now: f64) -> Value {
        let root = record.scope.as_ref().and_then(Scope::root);
        let arguments: Map<String, Value> = record
            .arguments
            .iter()
            .map(|(key, value)| (key.clone(), self.render_argument(key, value, root)))
            .collect();
        json!({
            "timestamp": timestamp(now),
            "event": record.event,
            "attribution_source": "request-snapshot",
            "agent": safe_id(&record.agent),
            "turn_id": record.turn_id.as_ref().map(|id| safe_id(id.as_str())),
            "subagent_id": Value::Null,
            "session_id": record.session_id.as_ref().map(|id| safe_id(id.as_str())),
            "scope": if root.is_some() { "project" } else { "global" },
            "project_root": root.map(|_| "$PROJECT"),
            "project_id": root.map(short_hash),
            "tool_name": safe_id(&record.tool),
            "perm_key": record.permission_key,
            "decision": record.decision,
            "decision_source": record.decision_source,
            "status": record.status,
            "summary": Value::Null,
            "summary_length": record.title_length,
            "args_preview": arguments,
            "result_preview": Value::Null,
            "result_length": record.result_length,
            "call_id": record.call_id.as_deref().map(safe_id),
            "request_id": record.request_id.as_deref().map(safe_id),
            "title": Value::Null,
            "title_length": record.title_length,
            "detail": Value::Null,
            "detail_length": Value::Null,
            "epoch": record.epoch,
        })
    }

    fn render_argument(&self, key: &str, value: &Value, root: Option<&str>) -> Value {
        match value {
            Value::String(path) if matches!(key, "path" | "file") => {
                self.render_path(path, root).into()
            }
            Value::String(text) => safe_id(text).into(),
            other => other.clone(),
        }
    }

    /// A path below a known folder, or a hash of one elsewhere.
    fn render_path(&self, path: &str, root: Option<&str>) -> String {
        let below = |folder: &str, name: &str| {
            let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{name}{rest}"))
        };
        let home = self.home.as_deref().and_then(Path::to_str);
        if !path.starts_with('/') && !path.contains("..") {
            return format!("$PROJECT/{path}");
        }
        root.and_then(|root| below(root, "$PROJECT"))
            .or_else(|| home.and_then(|home| below(home, "$HOME")))
            .or_else(|| below("/tmp", "$TMP"))
            .unwrap_or_else(|| format!("<external-path:{}>", short_hash(path)))
    }
}

/// The audit must never stop a turn; a line that cannot be written is still in memory.
fn write_lines(path: &Path, jobs: &Receiver<Job>) {
    let mut open = None;
    let mut problem = None;
    let mut is_told = false;
    for job in jobs {
        match job {
            Job::Line(line) => match append(path, &mut open, &line) {
                Ok(()) => (problem, is_told) = (None, false),
                Err(error) => problem = Some(format!("{}: {error}", path.display())),
            },
            Job::Report(answer) => {
                let untold = problem.clone().filter(|_| !is_told);
                is_told |= untold.is_some();
                // Nobody waits any more when it took too long.
                let _ = answer.send(untold);
            }
        }
    }
}

fn append(path: &Path, open: &mut Option<File>, line: &str) -> std::io::Result<()> {
    if open.is_none() {
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
        }
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)?;
        *open = Some(file);
    }
    match open {
        Some(file) => file.write_all(format!("{line}\n").as_bytes()),
        None => Ok(()),
    }
}

/// Ids of the documented form as they are, anything else as a marker.
fn safe_id(text: &str) -> String {
    let safe = (1..=128).contains(&text.len())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.:@+-".contains(c));
    if safe {
        text.to_owned()
    } else {
        format!("<id:{}>", short_hash(text))
    }
}

fn short_hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn timestamp(now: f64) -> String {
    let format =
        time::macros::format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]+0000");
    time::OffsetDateTime::from_unix_timestamp(now as i64)
        .ok()
        .and_then(|time| time.format(format).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> AuditRecord {
        AuditRecord {
            event: "tool-call-start",
            agent: "build".into(),
            scope: Some(Scope::Project("/home/me/p".into())),
            tool: "write_file".into(),
            arguments: [
                ("path".to_owned(), json!("/home/me/p/src/a.rs")),
                ("content_length".to_owned(), json!(12)),
            ]
            .into_iter()
            .collect(),
            call_id: Some("call with spaces".into()),
            ..AuditRecord::default()
        }
    }

    #[test]
    fn records_keep_lengths_and_places_but_no_contents() {
        let audit = Audit::new(Some("/home/me".into()));
        audit.record(&AuditTarget::Buffer, &record(), 0.0);
        let value = &audit.records()[0];
        assert_eq!(value["timestamp"], "1970-01-01T00:00:00+0000");
        assert_eq!(value["args_preview"]["path"], "$PROJECT/src/a.rs");
        assert_eq!(value["args_preview"]["content_length"], 12);
        assert_eq!(value["project_root"], "$PROJECT");
        assert!(value["call_id"].as_str().unwrap().starts_with("<id:"));
        assert_eq!(value["title"], Value::Null);
        let path = |path| audit.render_path(path, Some("/home/me/p"));
        assert_eq!(path("/home/me/x"), "$HOME/x");
        assert_eq!(path("/home/mean/x").find("<external-path:"), Some(0));
        assert_eq!(path("/tmp/x"), "$TMP/x");
    }

    #[test]
    fn off_keeps_nothing_and_memory_is_bounded() {
        let audit = Audit::new(None);
        audit.record(&AuditTarget::Off, &record(), 0.0);
        assert!(audit.records().is_empty());
        for _ in 0..KEPT + 5 {
            audit.record(&AuditTarget::Buffer, &record(), 0.0);
        }
        assert_eq!(audit.records().len(), KEPT);
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_written_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let blocker = folder.path().join("no folder");
        fs::write(&blocker, "").unwrap();
        let audit = Audit::new(None);
        assert_eq!(audit.problem().await, None);
        let target = AuditTarget::File(blocker.join("log.jsonl"));
        audit.record(&target, &record(), 0.0);
        let problem = audit.problem().await.unwrap();
        assert!(problem.contains("no folder/log.jsonl"), "{problem}");
        audit.record(&target, &record(), 1.0);
        assert_eq!(audit.problem().await, None);
        fs::remove_file(&blocker).unwrap();
        audit.record(&target, &record(), 2.0);
        assert_eq!(audit.problem().await, None);
        assert_eq!(audit.records().len(), 3);
    }

    #[test]
    fn the_file_is_private_and_has_one_object_per_line() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit/log.jsonl");
        let audit = Audit::new(None);
        let target = AuditTarget::File(path.clone());
        audit.record(&target, &record(), 0.0);
        audit.record(&target, &record(), 1.0);
        let lines = loop {
            let text = fs::read_to_string(&path).unwrap_or_default();
            if text.lines().count() == 2 && text.ends_with('\n') {
                break text;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        };
        for line in lines.lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            assert_eq!(value["event"], "tool-call-start");
        }
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
