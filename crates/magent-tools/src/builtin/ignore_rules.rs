//! Which paths of a project are ignored.
//!
//! The rules are those of git and of ripgrep: `.ignore` files, `.gitignore` files,
//! a repository's `info/exclude` and the user's own excludes file, the nearest and
//! the last rule deciding.  `.gitignore` files count outside a repository, too,
//! and a repository never sees the rules of the folders around it.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};

use super::text_file::open_regular;

/// An ignore file beyond this size is cut; it cannot be meant seriously.
const MAX_RULES_BYTES: u64 = 4 * 1024 * 1024;

/// The names in a folder that change the rules for what is below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleFiles {
    /// `.gitignore`.
    pub(crate) gitignore: bool,
    /// `.ignore`.
    pub(crate) ignore: bool,
    /// `.git`: the folder is a repository's root.
    pub(crate) git: bool,
}

impl RuleFiles {
    /// Takes note of a name in a folder.
    pub(crate) fn note(&mut self, name: &std::ffi::OsStr) {
        self.gitignore |= name == ".gitignore";
        self.ignore |= name == ".ignore";
        self.git |= name == ".git";
    }

    /// Looks for the names in a folder.
    fn look(folder: &Path) -> Self {
        let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
        Self {
            gitignore: has(".gitignore"),
            ignore: has(".ignore"),
            git: has(".git"),
        }
    }
}

/// The rules that hold in a folder: its own and those of the folders around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct IgnoreRules(Option<Arc<Level>>);

#[derive(Debug)]
struct Level {
    gitignore: Option<Gitignore>,
    ignore: Option<Gitignore>,
    /// The rules of a repository as a whole, at its root; the first decides.
    repository: Option<Vec<Gitignore>>,
    around: IgnoreRules,
}

impl IgnoreRules {
    /// The rules that hold around a folder: up to the root of its repository, or
    /// else up to the project root.
    pub(crate) fn around(folder: &Path, project_root: Option<&Path>) -> Self {
        let repository = folder
            .ancestors()
            .find(|ancestor| RuleFiles::look(ancestor).git);
        let top = repository.or(project_root.filter(|root| folder.starts_with(root)));
        let Some(top) = top else {
            return Self::default();
        };
        let mut between: Vec<&Path> = folder
            .ancestors()
            .skip(1)
            .take_while(|ancestor| ancestor.starts_with(top))
            .collect();
        between.reverse();
        between
            .into_iter()
            .fold(Self::default(), |rules, ancestor| {
                rules.inside(ancestor, RuleFiles::look(ancestor))
            })
    }

    /// The rules inside a folder that has these files.
    pub(crate) fn inside(&self, folder: &Path, files: RuleFiles) -> Self {
        if files == RuleFiles::default() {
            return self.clone();
        }
        let read = |present: bool, name: &str| {
            present
                .then(|| read_rules(folder, &folder.join(name)))
                .flatten()
        };
        Self(Some(Arc::new(Level {
            gitignore: read(files.gitignore, ".gitignore"),
            ignore: read(files.ignore, ".ignore"),
            repository: files.git.then(|| repository_rules(folder)),
            around: self.clone(),
        })))
    }

    /// Whether a path directly in the folder of these rules is ignored.
    pub(crate) fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        let decide = |rules: &Gitignore| match rules.matched(path, is_folder) {
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
            Match::None => None,
        };
        for level in self.levels() {
            if let Some(ignored) = level.ignore.as_ref().and_then(decide) {
                return ignored;
            }
        }
        for level in self.levels() {
            if let Some(ignored) = level.gitignore.as_ref().and_then(decide) {
                return ignored;
            }
            if let Some(repository) = &level.repository {
                return repository.iter().find_map(decide).unwrap_or(false);
            }
        }
        false
    }

    /// The levels from the folder outwards.
    fn levels(&self) -> impl Iterator<Item = &Level> {
        std::iter::successors(self.0.as_deref(), |level| level.around.0.as_deref())
    }
}

fn repository_rules(root: &Path) -> Vec<Gitignore> {
    let exclude = read_rules(root, &root.join(".git/info/exclude"));
    let own: Option<PathBuf> = gitconfig_excludes_path();
    let own = own.and_then(|file| read_rules(root, &file));
    exclude.into_iter().chain(own).collect()
}

/// Reads a file of rules.  Like git, it skips what it does not understand; unlike
/// a plain read it cannot hang on a FIFO of that name.
fn read_rules(root: &Path, file: &Path) -> Option<Gitignore> {
    let (file, _) = open_regular(file).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_RULES_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new(root);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A broken pattern matches nothing.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

#[cfg(test)]
#[path = "ignore_rules_tests.rs"]
mod tests;
