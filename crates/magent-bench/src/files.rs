//! What was written to a folder, told from its files.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The files of a folder at some time: their inodes and lengths.
#[derive(Debug, Default)]
pub(crate) struct FileStates(HashMap<PathBuf, (u64, u64)>);

impl FileStates {
    /// Looks at the files below a folder.
    pub(crate) fn below(folder: &Path) -> io::Result<Self> {
        let mut states = Self::default();
        states.add(folder)?;
        Ok(states)
    }

    fn add(&mut self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                self.add(&entry.path())?;
            } else {
                let state = (metadata.ino(), metadata.len());
                self.0.insert(entry.path(), state);
            }
        }
        Ok(())
    }

    /// The bytes written since an earlier time: what files have grown by, and the whole
    /// of those that were replaced.
    pub(crate) fn written_since(&self, earlier: &Self) -> u64 {
        let written = self
            .0
            .iter()
            .map(|(path, (inode, length))| match earlier.0.get(path) {
                Some((same, before)) if same == inode => length.saturating_sub(*before),
                _ => *length,
            });
        written.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_and_replacements_count_and_the_rest_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("same"), "12345").unwrap();
        fs::write(path("grown"), "123").unwrap();
        fs::write(path("replaced"), "1").unwrap();
        let before = FileStates::below(folder.path()).unwrap();
        fs::write(path("grown"), "1234567").unwrap();
        fs::write(path("new"), "12").unwrap();
        fs::rename(path("new"), path("replaced")).unwrap();
        let after = FileStates::below(folder.path()).unwrap();
        assert_eq!(after.written_since(&before), 4 + 2);
    }
}
