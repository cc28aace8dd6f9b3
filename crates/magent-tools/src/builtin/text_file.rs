//! Reading a local file as text, safely.
//!
//! This module owns what counts as a readable file: a regular file of bounded
//! size, never a FIFO, socket or device, which could hang the reader or do
//! something when it is opened; and what counts as text.  It never changes a file.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use magent_types::ToolError;

use super::blocking::StopFlag;
use crate::revision_of;

/// Larger files are refused: nobody reads them page by page, and each page would
/// have to read and hash the whole file.
pub(crate) const MAX_FILE_BYTES: u64 = 50 * 1024 * 1024;

const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// There is nothing of that name.
    #[error("there is no such file")]
    NotFound,
    /// A folder.
    #[error("it is a directory")]
    IsDirectory,
    /// A FIFO, socket or device.
    #[error("it is a {0}, not a regular file")]
    NotRegular(&'static str),
    /// Bytes that are no text.
    #[error("it is a binary file")]
    Binary,
    /// More bytes than anything here reads.
    #[error("it has {0} bytes; files over {MAX_FILE_BYTES} bytes are not read")]
    TooLarge(u64),
    /// Nobody waits for it any more.
    #[error("cancelled")]
    Stopped,
    /// The system refuses.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl FileError {
    /// The failure to find or open a path.
    pub(crate) fn from_lookup(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::NotFound,
            _ => Self::Io(error),
        }
    }

    /// The stable code of the failure.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::IsDirectory => "is_directory",
            Self::NotRegular(_) => "not_a_regular_file",
            Self::Binary => "binary",
            Self::TooLarge(_) => "too_large",
            Self::Stopped => "cancelled",
            Self::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                "permission_denied"
            }
            Self::Io(_) => "io",
        }
    }

    /// The failure as the model reads it; `action` and `shown` make the sentence
    /// "cannot ACTION SHOWN: ...".
    pub(crate) fn into_tool_error(self, action: &str, shown: &str) -> ToolError {
        match self {
            Self::Stopped => ToolError::Cancelled,
            error => ToolError::failed(error.code(), format!("cannot {action} {shown}: {error}")),
        }
    }
}

/// A file's bytes with what was true of them when they were read.
#[derive(Debug)]
pub(crate) struct FileBytes {
    /// All bytes.
    pub(crate) bytes: Vec<u8>,
    /// The opened file's metadata.
    pub(crate) metadata: Metadata,
    /// SHA-256 of the bytes.
    pub(crate) revision: String,
}

/// Reads a whole regular file.
pub(crate) fn read_bytes(path: &Path, stop: &StopFlag) -> Result<FileBytes, FileError> {
    let (mut file, metadata) = open_regular(path)?;
    if metadata.len() > MAX_FILE_BYTES {
        return Err(FileError::TooLarge(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
    let mut limited = Read::take(&mut file, MAX_FILE_BYTES + 1);
    let mut reader = StoppableReader::new(&mut limited, stop);
    reader.read_to_end(&mut bytes).map_err(|error| {
        if stop.is_set() {
            FileError::Stopped
        } else {
            FileError::Io(error)
        }
    })?;
    // Files in /proc and files that grow say less about their size than they hold.
    let length = bytes.len() as u64;
    if length > MAX_FILE_BYTES {
        return Err(FileError::TooLarge(length));
    }
    let revision = revision_of(&bytes);
    Ok(FileBytes {
        bytes,
        metadata,
        revision,
    })
}

/// Opens a regular file for reading.
///
/// The type is looked at before opening, since opening a FIFO or device already
/// does something.
pub(crate) fn open_regular(path: &Path) -> Result<(File, Metadata), FileError> {
    let metadata = std::fs::symlink_metadata(path).map_err(FileError::from_lookup)?;
    check_regular(metadata.file_type())?;
    open_expected_regular(path)
}

/// Opens what was a regular file a moment ago.
///
/// It may be something else by now, so the type of the opened file counts, and
/// `O_NONBLOCK` keeps a FIFO from hanging the open.  The path is canonical, so a
/// link in its last place is not followed.
pub(crate) fn open_expected_regular(path: &Path) -> Result<(File, Metadata), FileError> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_NOCTTY)
        .open(path)
        .map_err(FileError::from_lookup)?;
    let metadata = file.metadata()?;
    check_regular(metadata.file_type())?;
    Ok((file, metadata))
}

fn check_regular(file_type: FileType) -> Result<(), FileError> {
    if file_type.is_file() {
        return Ok(());
    }
    Err(if file_type.is_dir() {
        FileError::IsDirectory
    } else if file_type.is_fifo() {
        FileError::NotRegular("FIFO")
    } else if file_type.is_socket() {
        FileError::NotRegular("socket")
    } else if file_type.is_symlink() {
        FileError::NotRegular("symbolic link")
    } else {
        FileError::NotRegular("device")
    })
}

/// A reader that fails as soon as nobody waits for its bytes.
pub(crate) struct StoppableReader<'a, R> {
    inner: R,
    stop: &'a StopFlag,
}

impl<'a, R: Read> StoppableReader<'a, R> {
    /// Wraps a reader.
    pub(crate) fn new(inner: R, stop: &'a StopFlag) -> Self {
        Self { inner, stop }
    }
}

impl<R: Read> Read for StoppableReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_set() {
            // "Interrupted" would make the callers try again.
            return Err(io::Error::other("cancelled"));
        }
        self.inner.read(buffer)
    }
}

/// What the bytes of a file are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// UTF-8 text.
    Utf8(Utf8Text),
    /// Text in a coding system that only Emacs knows.
    OtherCoding,
    /// No text.
    Binary,
}

/// UTF-8 text as it stands in a file, except for its byte order mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Utf8Text {
    /// Whether the file begins with a byte order mark.
    pub(crate) bom: bool,
    /// The text after the mark, line ends untouched.
    pub(crate) text: String,
}

impl Utf8Text {
    /// The bytes of a file with this text.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.text.len() + UTF8_BOM.len());
        if self.bom {
            bytes.extend_from_slice(UTF8_BOM);
        }
        bytes.extend_from_slice(self.text.as_bytes());
        bytes
    }
}

/// Tells what the bytes of a file are.
pub(crate) fn classify(bytes: Vec<u8>) -> Content {
    if is_utf16(&bytes) {
        return Content::OtherCoding;
    }
    if bytes.contains(&0) {
        return Content::Binary;
    }
    let (bom, bytes) = match bytes.strip_prefix(UTF8_BOM) {
        Some(rest) => (true, rest.to_vec()),
        None => (false, bytes),
    };
    match String::from_utf8(bytes) {
        Ok(text) => Content::Utf8(Utf8Text { bom, text }),
        Err(_) => Content::OtherCoding,
    }
}

/// Whether the bytes are UTF-16 text.  It is full of NUL bytes but no binary file,
/// so it must have a byte order mark and be without fault to count.
fn is_utf16(bytes: &[u8]) -> bool {
    let unit: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return false,
    };
    let (pairs, rest) = bytes.as_chunks::<2>();
    rest.is_empty()
        && char::decode_utf16(pairs.iter().map(|pair| unit(*pair)))
            .all(|decoded| decoded.is_ok_and(|character| character != '\0'))
}

#[cfg(test)]
#[path = "text_file_tests.rs"]
mod tests;
