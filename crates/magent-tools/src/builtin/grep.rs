//! The tool `grep`: finds lines in files by a regular expression.

use std::path::Path;

use async_trait::async_trait;
use globset::{GlobBuilder, GlobMatcher};
use magent_types::{
    ApprovalPolicy, Locality, ToolError, ToolKind, ToolOutput, ToolSpec, one_line, shorten,
};
use serde_json::{Map, Value, json};

use super::audit;
use super::blocking::{StopFlag, read_in_background};
use super::display;
use super::file_change::resource_of;
use super::line_search::{LineSearch, SearchReport};
use super::schema;
use super::search_root::{SearchPlace, SearchRoot};
use super::text_file::read_bytes;
use crate::{Call, ReadFilter, Tool, ToolContext};

const DESCRIPTION: &str = "\
Search the lines of files with a regular expression (Rust syntax: no look-around, no \
back-references; escape ( ) [ ] { } . * + ? | to find them literally). Case-insensitive unless \
case_sensitive is true. path is a directory or one file. The answer begins with the revision of \
every file shown, which edit_file accepts, then lines as path:line:text, sorted, paths relative \
to the project root; long lines are cut around the match. Hidden files are searched; .git, \
binary files and paths ignored by .gitignore or .ignore are not, and the answer says how many \
were ignored. Name an ignored directory as path to search it. At most 100 lines by default; \
use a narrower pattern, glob or path then.";

/// What follows is for people, what precedes it for the model only.
const REVISIONS_END: &str = "[/file revisions]";

/// See the module's documentation.
pub(crate) struct Grep {
    spec: ToolSpec,
}

impl Grep {
    /// Makes the tool.
    pub(crate) fn new() -> Self {
        let parameters = schema::parameters(
            json!({
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Regular expression, matched within single lines.",
                },
                "path": {
                    "type": "string",
                    "description": "Directory or file; \".\" is the project root.",
                },
                "case_sensitive": {
                    "type": "boolean",
                    "description": "Whether case counts. Default false.",
                },
                "glob": {
                    "type": "string",
                    "description": "Search only files that fit, such as *.rs or src/**/*.{ts,tsx}; \
                                    with a leading ! only those that do not.",
                },
            }),
            &["pattern", "path"],
        );
        Self {
            spec: ToolSpec {
                name: "grep",
                description: DESCRIPTION,
                parameters,
                output: output_schema(),
                permission_key: "grep",
                resource_argument: Some("path"),
                kind: ToolKind::Search,
                approval: ApprovalPolicy::Normal,
                locality: Locality::ProjectProcess,
                audited: false,
            },
        }
    }
}

fn output_schema() -> Value {
    schema::output(json!({
        "matches": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "path": { "type": "string" },
                    "line": { "type": "integer" },
                    "text": { "type": "string" },
                },
                "required": ["path", "line", "text"],
                "additionalProperties": false,
            },
        },
        "revisions": { "type": "object", "additionalProperties": { "type": "string" } },
        "truncated": { "type": "boolean" },
        "ignored_paths": { "type": "integer" },
    }))
}

#[async_trait]
impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, call: &Call, context: &ToolContext) -> String {
        let pattern = shorten(&one_line(call.text("pattern")), 60);
        let path = display::call_path(call, context);
        display::title(&format!("Search \"{pattern}\" in {path}"))
    }

    fn audit_preview(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        audit::preview(arguments, &["path", "case_sensitive"], &["pattern"])
    }

    fn display_content<'a>(&self, content: &'a str) -> &'a str {
        match content.split_once(REVISIONS_END) {
            Some((_, lines)) => lines.trim_start_matches('\n'),
            None => content,
        }
    }

    async fn run(&self, call: &Call, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let resource = resource_of(call)?;
        let place = SearchPlace::of(resource, context, "grep")?;
        let limit = context.limits.grep_max_matches.max(1);
        let lines = LineSearch::new(call.text("pattern"), call.flag("case_sensitive"), limit)
            .map_err(|error| ToolError::failed("bad_pattern", error))?;
        let filter = match call.text("glob") {
            "" => None,
            glob => Some(FileFilter::new(glob)?),
        };
        let search = Search {
            place,
            lines,
            filter,
            may_read: context.may_read.clone(),
            limit,
        };
        let project = context.clone();
        read_in_background(&context.cancel, move |stop| {
            let (report, denied) = search.run(stop)?;
            let mut files = describe_files(report, &project, stop)?;
            files.denied = denied;
            Ok(files.output(search.limit))
        })
        .await
    }
}

/// A restriction to some files.  It only takes files away, so it never brings
/// ignored ones back.
struct FileFilter {
    matcher: GlobMatcher,
    whole_path: bool,
    negated: bool,
}

impl FileFilter {
    fn new(glob: &str) -> Result<Self, ToolError> {
        let (negated, pattern) = match glob.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, glob),
        };
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let whole_path = pattern.contains('/');
        let matcher = GlobBuilder::new(pattern.trim_start_matches('/'))
            .literal_separator(true)
            .build()
            .map_err(|error| ToolError::failed("bad_glob", error.to_string()))?
            .compile_matcher();
        Ok(Self {
            matcher,
            whole_path,
            negated,
        })
    }

    fn accepts(&self, relative: &str) -> bool {
        let name = match relative.rsplit_once('/') {
            Some((_, name)) if !self.whole_path => name,
            _ => relative,
        };
        self.matcher.is_match(name) != self.negated
    }
}

struct Search {
    place: SearchPlace,
    lines: LineSearch,
    filter: Option<FileFilter>,
    may_read: ReadFilter,
    limit: usize,
}

impl Search {
    /// Returns what was found, and how many files the rules keep from being read.
    fn run(&self, stop: &StopFlag) -> Result<(SearchReport, usize), ToolError> {
        let mut place = self.place.clone();
        let mut denied = 0;
        let report = match place.look()? {
            SearchRoot::File => self.lines.search_file(place.path(), stop),
            SearchRoot::Folder => {
                let options = place.walk_options(place.path().to_owned(), false);
                self.lines.search_tree(&options, stop, &mut |entry| {
                    let wanted = self
                        .filter
                        .as_ref()
                        .is_none_or(|filter| filter.accepts(entry.relative));
                    // What read_file must not show, a search must not show either.
                    let readable = wanted && (self.may_read)(&entry.path.to_string_lossy());
                    denied += usize::from(wanted && !readable);
                    readable
                })
            }
        };
        let report = report.map_err(|error| place.walk_error(error))?;
        Ok((report, denied))
    }
}

/// A file in the result.
struct DescribedFile {
    shown: String,
    revision: Option<String>,
    lines: Vec<super::line_search::LineHit>,
}

struct DescribedReport {
    files: Vec<DescribedFile>,
    truncated: bool,
    ignored: usize,
    denied: usize,
    unreadable: usize,
}

/// Names the files and takes their revisions, of those only that are shown.
fn describe_files(
    report: SearchReport,
    context: &ToolContext,
    stop: &StopFlag,
) -> Result<DescribedReport, ToolError> {
    let mut files = Vec::with_capacity(report.files.len());
    for hits in report.files {
        stop.check()?;
        files.push(DescribedFile {
            shown: shown_path(context, &hits.path),
            // A file that is gone or huge by now has none, and cannot be edited.
            revision: read_bytes(&hits.path, stop).ok().map(|file| file.revision),
            lines: hits.lines,
        });
    }
    Ok(DescribedReport {
        files,
        truncated: report.truncated,
        ignored: report.walk.ignored,
        denied: 0,
        unreadable: report.walk.unreadable + report.unreadable,
    })
}

fn shown_path(context: &ToolContext, path: &Path) -> String {
    display::result_path(&context.display_path(&path.to_string_lossy()))
}

impl DescribedReport {
    fn output(&self, limit: usize) -> ToolOutput {
        let revisions: Map<String, Value> = self
            .files
            .iter()
            .filter_map(|file| Some((file.shown.clone(), Value::from(file.revision.clone()?))))
            .collect();
        let matches: Vec<Value> = self
            .files
            .iter()
            .flat_map(|file| {
                file.lines.iter().map(
                    |line| json!({ "path": file.shown, "line": line.number, "text": line.text }),
                )
            })
            .collect();
        let metadata = Map::from_iter([
            ("backend".to_owned(), "ripgrep-library".into()),
            ("revisions".to_owned(), Value::Object(revisions.clone())),
            ("truncated".to_owned(), self.truncated.into()),
            ("limit".to_owned(), limit.into()),
            ("ignored".to_owned(), self.ignored.into()),
        ]);
        ToolOutput {
            value: json!({
                "matches": matches,
                "revisions": revisions,
                "truncated": self.truncated,
                "ignored_paths": self.ignored,
            }),
            content: self.content(limit),
            metadata,
            ..ToolOutput::default()
        }
    }

    fn content(&self, limit: usize) -> String {
        let mut lines = Vec::new();
        if self.files.is_empty() {
            lines.push("No matches found".to_owned());
        } else {
            lines.push("[file revisions]".to_owned());
            for file in &self.files {
                let revision = file.revision.as_deref().unwrap_or("unavailable");
                lines.push(format!("{revision} {}", file.shown));
            }
            lines.push(REVISIONS_END.to_owned());
        }
        for file in &self.files {
            for line in &file.lines {
                lines.push(format!("{}:{}:{}", file.shown, line.number, line.text));
            }
        }
        if self.truncated {
            lines.push(format!(
                "[truncated: only the first {limit} matching lines are shown; \
                 use a narrower pattern, glob or path]"
            ));
        }
        if self.ignored > 0 {
            lines.push(format!("[{} ignored paths not searched]", self.ignored));
        }
        if self.denied > 0 {
            lines.push(format!(
                "[{} files not searched: the permission rules deny reading them]",
                self.denied
            ));
        }
        if self.unreadable > 0 {
            lines.push(format!("[{} paths could not be read]", self.unreadable));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
#[path = "grep_tests.rs"]
mod tests;
