//! The tool `glob`: finds files by the pattern of their path.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use magent_types::{
    ApprovalPolicy, Locality, ToolError, ToolKind, ToolOutput, ToolSpec, one_line, shorten,
};
use serde_json::{Map, Value, json};

use super::audit;
use super::blocking::{StopFlag, read_in_background};
use super::display;
use super::file_change::resource_of;
use super::glob_pattern::GlobPattern;
use super::schema;
use super::search_root::{SearchPlace, SearchRoot};
use super::tree_walk::{EntryKind, Step, WalkEntry, WalkReport, walk_tree};
use crate::{Call, Tool, ToolContext};

const DESCRIPTION: &str = "\
Find files by the pattern of their path relative to the directory path. ** is any number of \
directories, * any part of a name, ? one character; nothing else is special, so braces and \
brackets need one call each. Matching is case-sensitive. Example: src/**/*.rs, which finds \
src/a.rs, too. Returns absolute paths of regular files, sorted, one per line. Hidden files are \
included, .git is not, links to directories are not followed. Paths ignored by .gitignore or \
.ignore are left out unless include_ignored is true. Long results end with a note in brackets; \
use a narrower pattern or path then.";

/// See the module's documentation.
pub(crate) struct Glob {
    spec: ToolSpec,
}

impl Glob {
    /// Makes the tool.
    pub(crate) fn new() -> Self {
        let parameters = schema::parameters(
            json!({
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Pattern such as **/*.rs.",
                },
                "path": {
                    "type": "string",
                    "description": "Directory to begin in; \".\" is the project root.",
                },
                "include_ignored": {
                    "type": "boolean",
                    "description": "Whether ignored files are listed, too. Default false.",
                },
            }),
            &["pattern", "path"],
        );
        Self {
            spec: ToolSpec {
                name: "glob",
                description: DESCRIPTION,
                parameters,
                output: schema::output(json!({
                    "paths": { "type": "array", "items": { "type": "string" } },
                    "truncated": { "type": "boolean" },
                })),
                permission_key: "glob",
                resource_argument: Some("path"),
                kind: ToolKind::Search,
                approval: ApprovalPolicy::Normal,
                locality: Locality::TrampFile,
                audited: false,
            },
        }
    }
}

#[async_trait]
impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, call: &Call, context: &ToolContext) -> String {
        let pattern = shorten(&one_line(call.text("pattern")), 60);
        let path = display::call_path(call, context);
        display::title(&format!("Search files {pattern} in {path}"))
    }

    fn audit_preview(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        audit::preview(arguments, &["path"], &["pattern"])
    }

    async fn run(&self, call: &Call, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let resource = resource_of(call)?;
        let place = SearchPlace::of(resource, context, "glob")?;
        let pattern = GlobPattern::new(relative_pattern(call.text("pattern"), place.path()))
            .map_err(|error| ToolError::failed("bad_pattern", error))?;
        let search = Search {
            place,
            pattern,
            include_ignored: call.flag("include_ignored"),
            max_results: context.limits.glob_max_results,
            max_scanned: context.limits.glob_max_files_scanned,
        };
        read_in_background(&context.cancel, move |stop| search.run(stop)).await
    }
}

/// The pattern below the search root.  Models sometimes write it with the root.
fn relative_pattern<'a>(pattern: &'a str, root: &Path) -> &'a str {
    root.to_str()
        .and_then(|root| pattern.strip_prefix(root.trim_end_matches('/')))
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(pattern)
}

struct Search {
    place: SearchPlace,
    pattern: GlobPattern,
    include_ignored: bool,
    max_results: usize,
    max_scanned: usize,
}

#[derive(Default)]
struct Findings {
    paths: Vec<PathBuf>,
    scanned: usize,
    /// Which limit ended the search.
    reason: Option<&'static str>,
}

impl Search {
    fn run(mut self, stop: &StopFlag) -> Result<ToolOutput, ToolError> {
        let root = match self.place.look()? {
            SearchRoot::Folder => self.place.path().to_owned(),
            SearchRoot::File => {
                let parent = self.place.path().parent();
                parent.unwrap_or(Path::new("/")).to_owned()
            }
        };
        let options = self.place.walk_options(root, self.include_ignored);
        let mut findings = Findings::default();
        let report = walk_tree(&options, stop, &mut |entry| {
            self.visit(entry, &mut findings)
        })
        .map_err(|error| self.place.walk_error(error))?;
        Ok(self.output(findings, report))
    }

    fn visit(&self, entry: &WalkEntry<'_>, findings: &mut Findings) -> Step {
        if findings.scanned >= self.max_scanned {
            findings.reason = Some("entries");
            return Step::Stop;
        }
        findings.scanned += 1;
        let fits = match entry.kind {
            EntryKind::Folder if self.pattern.may_match_below(entry.relative) => {
                return Step::Continue;
            }
            EntryKind::Folder => return Step::SkipFolder,
            EntryKind::File => self.pattern.matches(entry.relative),
            // A link to a file can be read like the file itself.
            EntryKind::Link => self.pattern.matches(entry.relative) && entry.path.is_file(),
            EntryKind::Other => false,
        };
        if fits {
            if findings.paths.len() >= self.max_results {
                findings.reason = Some("results");
                return Step::Stop;
            }
            findings.paths.push(entry.path.to_owned());
        }
        Step::Continue
    }

    fn output(&self, findings: Findings, report: WalkReport) -> ToolOutput {
        let Findings {
            paths,
            scanned,
            reason,
        } = findings;
        let paths: Vec<String> = paths
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        let mut lines: Vec<String> = paths
            .iter()
            .map(|path| display::result_path(path))
            .collect();
        if lines.is_empty() {
            lines.push("No files found".to_owned());
        }
        lines.extend(self.notes(paths.len(), scanned, reason, report));
        let metadata = json!({
            "truncated": reason.is_some(),
            "reason": reason,
            "matched": paths.len(),
            "scanned": scanned,
            "ignored": report.ignored,
        });
        ToolOutput {
            value: json!({ "paths": paths, "truncated": reason.is_some() }),
            content: lines.join("\n"),
            metadata: match metadata {
                Value::Object(metadata) => metadata,
                _ => Map::new(),
            },
            ..ToolOutput::default()
        }
    }

    fn notes(
        &self,
        matched: usize,
        scanned: usize,
        reason: Option<&'static str>,
        report: WalkReport,
    ) -> Vec<String> {
        let mut notes = Vec::new();
        match reason {
            Some("results") => notes.push(format!(
                "[stopped after {matched} paths; use a narrower pattern or path]"
            )),
            Some(_) => notes.push(format!(
                "[stopped after looking at {scanned} entries, {matched} matched; \
                 use a narrower path]"
            )),
            None => {}
        }
        if report.ignored > 0 {
            notes.push(format!(
                "[{} ignored paths not listed; include_ignored lists them]",
                report.ignored
            ));
        }
        if report.unreadable > 0 {
            notes.push(format!("[{} directories unreadable]", report.unreadable));
        }
        notes
    }
}

#[cfg(test)]
#[path = "glob_tests.rs"]
mod tests;
