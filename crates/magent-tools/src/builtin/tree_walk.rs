//! Walking the files of a project, in the order of their paths.
//!
//! This module owns what a search looks at: hidden files yes, `.git` and Magent's
//! own folders no, ignored paths only on demand, no links, nothing that is no
//! regular file.  The order makes every bounded result the same each time.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::vec;

use super::blocking::StopFlag;
use super::ignore_rules::{IgnoreRules, RuleFiles};
use super::text_file::FileError;

/// The folder of agent-shell's transcripts, which hold what earlier searches found.
const TRANSCRIPTS: &str = ".agent-shell";

/// What a walk looks at.
#[derive(Clone, Debug)]
pub(crate) struct WalkOptions {
    /// The folder to begin in, canonical.
    pub(crate) root: PathBuf,
    /// The root of the project, whose ignore rules count.
    pub(crate) project_root: Option<PathBuf>,
    /// Folders that are left out.
    pub(crate) private: Vec<PathBuf>,
    /// Whether ignored paths are walked, too.
    pub(crate) include_ignored: bool,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A regular file.
    File,
    /// A folder; its entries follow.
    Folder,
    /// A link, not followed.
    Link,
    /// A FIFO, socket or device.
    Other,
}

/// A place on the walk.
#[derive(Debug)]
pub(crate) struct WalkEntry<'a> {
    /// The absolute path.
    pub(crate) path: &'a Path,
    /// The path below the root, with slashes; bytes that are not UTF-8 are replaced.
    pub(crate) relative: &'a str,
    /// What it is.
    pub(crate) kind: EntryKind,
}

/// How the walk goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// To the next entry.
    Continue,
    /// Past the entries of this folder.
    SkipFolder,
    /// Not at all.
    Stop,
}

/// What a walk left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WalkReport {
    /// Ignored files and folders; what is below an ignored folder is not counted.
    pub(crate) ignored: usize,
    /// Folders that cannot be read.
    pub(crate) unreadable: usize,
}

/// An entry of a folder that is being walked.
struct Found {
    name: OsString,
    kind: EntryKind,
}

/// A folder that is being walked.
struct Frame {
    path: PathBuf,
    relative: String,
    rules: IgnoreRules,
    entries: vec::IntoIter<Found>,
}

/// Walks the folder and calls `visit` for each entry, in the order of the paths.
pub(crate) fn walk_tree(
    options: &WalkOptions,
    stop: &StopFlag,
    visit: &mut dyn FnMut(&WalkEntry<'_>) -> Step,
) -> Result<WalkReport, FileError> {
    let mut report = WalkReport::default();
    let around = if options.include_ignored {
        IgnoreRules::default()
    } else {
        IgnoreRules::around(&options.root, options.project_root.as_deref())
    };
    let root = Frame::open(options, options.root.clone(), String::new(), &around, stop)?;
    let mut frames = vec![root];
    while let Some(frame) = frames.last_mut() {
        let Some(found) = frame.entries.next() else {
            frames.pop();
            continue;
        };
        if stop.is_set() {
            return Err(FileError::Stopped);
        }
        let path = frame.path.join(&found.name);
        let is_folder = found.kind == EntryKind::Folder;
        if is_excluded(&found, &path, options) {
            continue;
        }
        if frame.rules.is_ignored(&path, is_folder) {
            report.ignored += 1;
            continue;
        }
        let relative = frame.relative_path(&found.name);
        let entry = WalkEntry {
            path: &path,
            relative: &relative,
            kind: found.kind,
        };
        match visit(&entry) {
            Step::Stop => break,
            Step::Continue if is_folder => {
                match Frame::open(options, path, relative, &frame.rules, stop) {
                    Ok(frame) => frames.push(frame),
                    Err(FileError::Stopped) => return Err(FileError::Stopped),
                    Err(_) => report.unreadable += 1,
                }
            }
            Step::Continue | Step::SkipFolder => {}
        }
    }
    Ok(report)
}

impl Frame {
    fn open(
        options: &WalkOptions,
        path: PathBuf,
        relative: String,
        around: &IgnoreRules,
        stop: &StopFlag,
    ) -> Result<Self, FileError> {
        let mut entries = Vec::new();
        let mut files = RuleFiles::default();
        for entry in std::fs::read_dir(&path)? {
            if stop.is_set() {
                return Err(FileError::Stopped);
            }
            // An entry that vanishes meanwhile is no failure of the whole folder.
            let Ok(entry) = entry else { continue };
            let Ok(file_type) = entry.file_type() else {
                continue;
            };
            let name = entry.file_name();
            files.note(&name);
            let kind = if file_type.is_file() {
                EntryKind::File
            } else if file_type.is_dir() {
                EntryKind::Folder
            } else if file_type.is_symlink() {
                EntryKind::Link
            } else {
                EntryKind::Other
            };
            entries.push(Found { name, kind });
        }
        entries.sort_unstable_by(path_order);
        let rules = if options.include_ignored {
            IgnoreRules::default()
        } else {
            around.inside(&path, files)
        };
        Ok(Self {
            path,
            relative,
            rules,
            entries: entries.into_iter(),
        })
    }

    fn relative_path(&self, name: &OsStr) -> String {
        let name = name.to_string_lossy();
        if self.relative.is_empty() {
            name.into_owned()
        } else {
            format!("{}/{name}", self.relative)
        }
    }
}

/// The order that makes the whole walk go by the order of the paths' bytes: a
/// folder stands where its name with a slash does.
fn path_order(a: &Found, b: &Found) -> Ordering {
    fn key(found: &Found) -> impl Iterator<Item = u8> + '_ {
        let slash = (found.kind == EntryKind::Folder).then_some(b'/');
        found.name.as_bytes().iter().copied().chain(slash)
    }
    key(a).cmp(key(b))
}

fn is_excluded(found: &Found, path: &Path, options: &WalkOptions) -> bool {
    found.name == ".git"
        || (found.kind == EntryKind::Folder
            && (found.name == TRANSCRIPTS || options.private.iter().any(|folder| folder == path)))
}

#[cfg(test)]
#[path = "tree_walk_tests.rs"]
mod tests;
