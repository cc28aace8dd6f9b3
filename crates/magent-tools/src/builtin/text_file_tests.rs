use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use super::*;

fn code_of(path: &Path) -> &'static str {
    read_bytes(path, &StopFlag::default()).unwrap_err().code()
}

#[test]
fn only_regular_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    let start = Instant::now();
    assert_eq!(code_of(&fifo), "not_a_regular_file");
    assert_eq!(code_of(&socket), "not_a_regular_file");
    assert_eq!(code_of(Path::new("/dev/zero")), "not_a_regular_file");
    assert_eq!(code_of(folder.path()), "is_directory");
    assert_eq!(code_of(&folder.path().join("missing")), "not_found");
    assert_eq!(code_of(&fifo.join("below")), "not_found");
    assert!(start.elapsed() < Duration::from_secs(2), "nothing may hang");
}

/// The path is canonical when the call runs, so a link there was swapped in.
#[test]
fn a_link_that_was_swapped_in_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret"), "x").unwrap();
    symlink("secret", folder.path().join("link")).unwrap();
    assert_eq!(code_of(&folder.path().join("link")), "not_a_regular_file");
}

#[test]
fn huge_files_are_refused_without_reading_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge");
    File::create(&path)
        .unwrap()
        .set_len(MAX_FILE_BYTES + 1)
        .unwrap();
    assert_eq!(code_of(&path), "too_large");
}

/// A file in /proc says that it has no bytes.
#[test]
fn files_that_hide_their_size_are_read_whole() {
    let path = Path::new("/proc/self/status");
    if !path.exists() {
        println!("skipped: no /proc on this system");
        return;
    }
    let file = read_bytes(path, &StopFlag::default()).unwrap();
    assert!(!file.bytes.is_empty());
}

#[test]
fn a_stopped_reader_reads_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    std::fs::write(&path, "text").unwrap();
    let stop = StopFlag::default();
    stop.set();
    let error = read_bytes(&path, &stop).unwrap_err();
    assert!(matches!(error, FileError::Stopped));
    assert_eq!(error.into_tool_error("read", "a"), ToolError::Cancelled);
}

#[test]
fn bytes_are_text_in_another_coding_or_binary() {
    let utf8 = |bom: bool, text: &str| {
        Content::Utf8(Utf8Text {
            bom,
            text: text.to_owned(),
        })
    };
    assert_eq!(classify(Vec::new()), utf8(false, ""));
    assert_eq!(classify(b"a\r\nb".to_vec()), utf8(false, "a\r\nb"));
    assert_eq!(
        classify("\u{feff}grün".as_bytes().to_vec()),
        utf8(true, "grün")
    );
    assert_eq!(classify(b"gr\xfcn".to_vec()), Content::OtherCoding);
    assert_eq!(classify(b"\x7fELF\0\x01".to_vec()), Content::Binary);
    // UTF-16 with a mark is text; cut or with a NUL character it is not.
    assert_eq!(classify(b"\xff\xfea\0b\0".to_vec()), Content::OtherCoding);
    assert_eq!(classify(b"\xfe\xff\0a".to_vec()), Content::OtherCoding);
    assert_eq!(classify(b"\xff\xfea\0b".to_vec()), Content::Binary);
    assert_eq!(classify(b"\xff\xfea\0\0\0".to_vec()), Content::Binary);
}

#[test]
fn text_becomes_the_same_bytes_again() {
    for bytes in [b"\xef\xbb\xbfa\r\n".to_vec(), b"a\nb".to_vec()] {
        match classify(bytes.clone()) {
            Content::Utf8(text) => assert_eq!(text.to_bytes(), bytes),
            other => panic!("{other:?}"),
        }
    }
}
