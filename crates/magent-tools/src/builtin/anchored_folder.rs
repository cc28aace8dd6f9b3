//! A folder that stays the one that was checked while files in it are named.
//!
//! Between the check of a path and its use, another process may put a link in the place
//! of one of its folders; a name would then lead elsewhere.  Names below an opened folder
//! do not.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// An opened folder.
#[derive(Debug)]
pub(crate) struct AnchoredFolder {
    path: PathBuf,
    _opened: Option<File>,
}

impl AnchoredFolder {
    /// Opens the folder of a canonical path; fails if that leads elsewhere by now.
    #[cfg(target_os = "linux")]
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::OpenOptionsExt;

        let opened = std::fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH | libc::O_DIRECTORY)
            .open(folder)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        match std::fs::read_link(&path) {
            Ok(real) if real == folder => Ok(Self {
                path,
                _opened: Some(opened),
            }),
            Ok(_) => Err(io::Error::other(
                "its folder was replaced by another meanwhile",
            )),
            // Where there is no /proc, the name has to do.
            Err(_) => Ok(Self::by_name(folder)),
        }
    }

    /// Other systems have no names below an opened folder.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self::by_name(folder))
    }

    fn by_name(folder: &Path) -> Self {
        Self {
            path: folder.to_owned(),
            _opened: None,
        }
    }

    /// The folder's own path, valid as long as this value.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
