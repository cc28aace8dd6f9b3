//! A project folder that goes away with the test.

use std::fs;
use std::path::{Path, PathBuf};

/// A temporary project.
pub struct TempProject {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl TempProject {
    /// Makes an empty project.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // macOS keeps temporary folders behind a link.
        let root = folder.path().canonicalize().expect("its real path");
        Self {
            _folder: folder,
            root,
        }
    }

    /// The canonical root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the root.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file, making its folders.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("its folders");
        fs::write(&path, content).expect("the file");
        path
    }

    /// Reads a file as text.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file")
    }
}

impl Default for TempProject {
    fn default() -> Self {
        Self::new()
    }
}
