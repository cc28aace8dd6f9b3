//! The tree that is checked: the text files that git tracks, and the workspace's crates
//! as cargo sees them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Everything that the checks look at.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// In the order of git, which is that of their paths.
    pub(crate) files: Vec<TextFile>,
    pub(crate) packages: Vec<Package>,
}

/// A file that is text; its path is relative to the root, with `/`.
#[derive(Debug)]
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A crate of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The path of its `Cargo.toml`.
    pub(crate) manifest: String,
    pub(crate) dependencies: Vec<Dependency>,
}

/// What a crate needs, by the name of the package.
#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Whether only its tests need it.
    pub(crate) dev: bool,
}

impl Tree {
    /// Reads the repository that `inside` lies in.
    pub(crate) fn load(inside: &Path) -> Result<Self, String> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let arguments = ["metadata", "--format-version=1", "--no-deps", "--offline"];
        let metadata = output(&cargo, &arguments, inside)?;
        let metadata: Value = serde_json::from_slice(&metadata)
            .map_err(|error| format!("cargo metadata cannot be read: {error}"))?;
        let root = PathBuf::from(text_at(&metadata, "workspace_root")?);
        Ok(Self {
            files: tracked_files(&root)?,
            packages: list_at(&metadata, "packages")?
                .iter()
                .map(|package| read_package(package, &root))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The file with exactly this path.
    pub(crate) fn file(&self, path: &str) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The files below `folder` (which ends in `/`, or is empty for all) whose name ends
    /// in `extension`.
    pub(crate) fn files_in(
        &self,
        folder: &str,
        extension: &str,
    ) -> impl Iterator<Item = &TextFile> {
        self.files
            .iter()
            .filter(move |file| file.path.starts_with(folder) && file.path.ends_with(extension))
    }
}

impl TextFile {
    /// Whether the file is of tests only: rules about size and documentation are not
    /// for it.
    pub(crate) fn is_test(&self) -> bool {
        let mut parts = self.path.rsplit('/');
        let name = parts.next().unwrap_or_default();
        name == "tests.rs" || name.ends_with("_tests.rs") || parts.any(|part| part == "tests")
    }
}

fn tracked_files(root: &Path) -> Result<Vec<TextFile>, String> {
    let listed = output("git", &["ls-files", "-z"], root)?;
    let listed = String::from_utf8(listed)
        .map_err(|_| "a tracked file has a name that is not UTF-8".to_owned())?;
    let mut files = Vec::new();
    for path in listed.split_terminator('\0') {
        let on_disk = root.join(path);
        // Links are checked where they lead, deleted files not at all.
        if !on_disk.symlink_metadata().is_ok_and(|data| data.is_file()) {
            continue;
        }
        let bytes = std::fs::read(&on_disk).map_err(|error| format!("{path}: {error}"))?;
        if bytes.contains(&0) {
            continue;
        }
        if let Ok(text) = String::from_utf8(bytes) {
            let path = path.to_owned();
            files.push(TextFile { path, text });
        }
    }
    Ok(files)
}

fn read_package(package: &Value, root: &Path) -> Result<Package, String> {
    let manifest = text_at(package, "manifest_path")?;
    let manifest = Path::new(manifest)
        .strip_prefix(root)
        .map_err(|_| format!("{manifest} lies outside of the workspace"))?;
    let dependencies = list_at(package, "dependencies")?.iter().map(|dependency| {
        Ok(Dependency {
            name: text_at(dependency, "name")?.to_owned(),
            dev: dependency.get("kind").and_then(Value::as_str) == Some("dev"),
        })
    });
    Ok(Package {
        name: text_at(package, "name")?.to_owned(),
        version: text_at(package, "version")?.to_owned(),
        manifest: manifest.to_string_lossy().replace('\\', "/"),
        dependencies: dependencies.collect::<Result<_, String>>()?,
    })
}

fn text_at<'a>(value: &'a Value, key: &str) -> Result<&'a str, String> {
    value
        .get(key)
        .and_then(Value::as_str)
        .ok_or_else(|| format!("cargo metadata has no {key}"))
}

fn list_at<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>, String> {
    value
        .get(key)
        .and_then(Value::as_array)
        .ok_or_else(|| format!("cargo metadata has no {key}"))
}

fn output(program: &str, arguments: &[&str], folder: &Path) -> Result<Vec<u8>, String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("{program} cannot be run: {error}"))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{program} {} failed: {said}", arguments.join(" ")))
    }
}
