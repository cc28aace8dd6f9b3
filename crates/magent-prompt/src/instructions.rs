//! Project instructions: `AGENTS.md` from the project's root down to the files that a
//! request is about.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What is looked for, and how much of it is taken.
#[derive(Clone, Debug)]
pub struct InstructionSettings {
    /// The names of instruction files.
    pub file_names: Vec<String>,
    /// The most bytes of all files together; 0 switches them off.
    pub max_bytes: usize,
}

impl Default for InstructionSettings {
    fn default() -> Self {
        Self {
            file_names: vec!["AGENTS.md".to_owned()],
            max_bytes: 65_536,
        }
    }
}

/// The instructions that apply to a request: those of the root first, then, folder by
/// folder, those on the way to each of the request's files.  Returns an empty text when
/// there are none.
///
/// `root` is canonical and local.  Nothing outside of it is read, not through a link
/// either, nor are the folders above it, nor a file whose canonical path `may_read` does
/// not allow.  Blocks on the disk.
pub fn project_instructions(
    root: &Path,
    request_files: &[PathBuf],
    settings: &InstructionSettings,
    may_read: &dyn Fn(&str) -> bool,
) -> String {
    let mut left = settings.max_bytes;
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    for folder in folders(root, request_files) {
        for name in &settings.file_names {
            if left == 0 {
                return text;
            }
            let Some(path) = inside(root, &folder.join(name)) else {
                continue;
            };
            let is_allowed = path.to_str().is_some_and(may_read);
            if !is_allowed || !seen.insert(path.clone()) {
                continue;
            }
            if let Some(body) = read(&path, left) {
                left -= body.len().min(left);
                append(&mut text, root, &folder, name, &body);
            }
        }
    }
    text
}

/// The root and every folder between it and a file, outer ones first.
fn folders(root: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders = vec![root.to_owned()];
    for file in files {
        let Some(file) = inside(root, file) else {
            continue;
        };
        let mut chain: Vec<PathBuf> = file
            .ancestors()
            .skip(1)
            .take_while(|folder| *folder != root)
            .map(Path::to_owned)
            .collect();
        chain.reverse();
        for folder in chain {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    folders
}

/// The canonical path, if it is below the root.
fn inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    (path.starts_with(root) && path != root).then_some(path)
}

fn read(path: &Path, most: usize) -> Option<String> {
    // A pipe of that name must not hang the request.
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn append(text: &mut String, root: &Path, folder: &Path, name: &str, body: &str) {
    if text.is_empty() {
        text.push_str(
            "# Project instructions\n\nWritten by the project's people; the deeper file wins where two disagree.",
        );
    }
    let relative = folder.strip_prefix(root).unwrap_or(folder);
    let file = relative.join(name);
    let scope = if relative.as_os_str().is_empty() {
        "the whole project".to_owned()
    } else {
        format!("{}/", relative.display())
    };
    text.push_str(&format!(
        "\n\n## {} (applies to {scope})\n\n{body}",
        file.display()
    ));
}

#[cfg(test)]
#[path = "instructions_tests.rs"]
mod tests;
