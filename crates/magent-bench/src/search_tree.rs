//! A tree of many small files and a few large ones, to search in.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// Small files.
pub(crate) const SMALL_FILES: usize = 20_000;
/// Files with this in a line.
pub(crate) const RARE: &str = "rare_needle";
/// Lines with this, all in the large files.
pub(crate) const LARGE: &str = "large_needle";
/// A word in the middle of the only line of a large file.
pub(crate) const MINIFIED: &str = "minified_needle";

const LARGE_FILES: usize = 4;
const LARGE_BYTES: usize = 5_000_000;

/// Writes the tree.
pub(crate) fn write(root: &Path) -> io::Result<()> {
    fs::create_dir(root.join(".git"))?;
    fs::write(root.join(".gitignore"), "*.o\n/target/\n")?;
    for number in 0..SMALL_FILES {
        let folder = root.join(format!(
            "src/part_{:02}/group_{}",
            number / 400,
            number / 100 % 4
        ));
        if number % 100 == 0 {
            fs::create_dir_all(&folder)?;
        }
        let mut text = format!("// file {number}\n");
        for line in 0..30 {
            text.push_str(&format!(
                "let value_{line} = compute({number}, \"words and words\");\n"
            ));
        }
        if number % 3_000 == 1_234 {
            text.push_str(&format!("let {RARE} = {number};\n"));
        }
        fs::write(folder.join(format!("module_{number}.rs")), text)?;
    }
    fs::create_dir(root.join("logs"))?;
    for number in 0..LARGE_FILES {
        write_log(&root.join(format!("logs/{number}.log")))?;
    }
    write_minified(&root.join("logs/bundle.js"))
}

fn write_log(path: &Path) -> io::Result<()> {
    let mut file = io::BufWriter::new(fs::File::create(path)?);
    let line = "12:34:56 INFO server: a request was answered in 12 ms, status 200\n";
    let lines = LARGE_BYTES / line.len();
    for number in 0..lines {
        file.write_all(line.as_bytes())?;
        if number % (lines / 5) == 1_000 {
            writeln!(file, "12:34:57 ERROR {LARGE}")?;
        }
    }
    file.flush()
}

fn write_minified(path: &Path) -> io::Result<()> {
    let piece = "function a(b){return b.c(d=>e(d)+1)};";
    let half = piece.repeat(LARGE_BYTES / piece.len() / 2);
    fs::write(path, format!("{half}var {MINIFIED}=1;{half}"))
}
