//! Where a search begins, and what it must leave out.

use std::path::{Path, PathBuf};

use magent_types::ToolError;

use super::display;
use super::text_file::FileError;
use super::tree_walk::WalkOptions;
use crate::{Resource, ToolContext};

/// A search as the context of its call allows it.  Made on the async side, and
/// looked up on the disk only in the background.
#[derive(Clone, Debug)]
pub(crate) struct SearchPlace {
    path: PathBuf,
    shown: String,
    project_root: Option<PathBuf>,
    private: Vec<PathBuf>,
}

/// What stands at the beginning of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SearchRoot {
    /// A folder and everything below it.
    Folder,
    /// A single regular file.
    File,
}

impl SearchPlace {
    /// The place a call names.  A search on another host is refused: running it
    /// here would look at other files than the ones that were meant.
    pub(crate) fn of(
        resource: &Resource,
        context: &ToolContext,
        tool: &str,
    ) -> Result<Self, ToolError> {
        if resource.is_remote() {
            return Err(ToolError::failed(
                "remote_unsupported",
                format!("{tool} on a remote project is not available yet"),
            ));
        }
        Ok(Self {
            path: resource.local().to_owned(),
            shown: display::result_path(&context.display_path(resource.path())),
            project_root: context.scope.root().map(PathBuf::from),
            private: context.private_directories.to_vec(),
        })
    }

    /// The canonical path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Looks what is there.
    pub(crate) fn look(&mut self) -> Result<SearchRoot, ToolError> {
        // The walk meets canonical paths only.
        for folder in &mut self.private {
            if let Ok(canonical) = folder.canonicalize() {
                *folder = canonical;
            }
        }
        if self
            .private
            .iter()
            .any(|folder| self.path.starts_with(folder))
        {
            return Err(ToolError::failed(
                "private",
                format!(
                    "{} holds Magent's own files, which are not searched",
                    self.shown
                ),
            ));
        }
        let refuse = |error: FileError| error.into_tool_error("search", &self.shown);
        match std::fs::symlink_metadata(&self.path) {
            Ok(metadata) if metadata.is_dir() => Ok(SearchRoot::Folder),
            Ok(metadata) if metadata.is_file() => Ok(SearchRoot::File),
            Ok(_) => Err(refuse(FileError::NotRegular("special file"))),
            Err(error) => Err(refuse(FileError::from_lookup(error))),
        }
    }

    /// The walk from a folder on.
    pub(crate) fn walk_options(&self, root: PathBuf, include_ignored: bool) -> WalkOptions {
        WalkOptions {
            root,
            project_root: self.project_root.clone(),
            private: self.private.clone(),
            include_ignored,
        }
    }

    /// The failure of a walk.
    pub(crate) fn walk_error(&self, error: FileError) -> ToolError {
        error.into_tool_error("search", &self.shown)
    }
}
