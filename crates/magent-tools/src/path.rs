//! The identity of a path: one canonical name for the permission check, for the
//! execution and for everything that is shown.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use magent_types::{Scope, short};

/// The file or folder that a call names, frozen when the call is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// What the model wrote.
    given: String,
    /// The canonical absolute path, or a TRAMP name.
    path: String,
    /// Whether it is on another host.
    remote: bool,
}

impl Resource {
    /// The canonical absolute path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What the model wrote.
    pub fn given(&self) -> &str {
        &self.given
    }

    /// Whether it is on another host, so that only Emacs can reach it.
    pub fn is_remote(&self) -> bool {
        self.remote
    }

    /// The canonical path as a local file name.
    pub fn local(&self) -> &Path {
        Path::new(&self.path)
    }
}

/// Why a path has no identity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The text is empty.
    #[error("the path is empty")]
    Empty,
    /// The text holds a NUL, which no file name can.
    #[error("the path holds a NUL character")]
    Nul,
    /// The text is longer than any system takes.
    #[error("the path is longer than {LONGEST_PATH} bytes")]
    TooLong,
    /// A variable in the path is not set.
    #[error("the path uses the variable ${0}, which is not set")]
    UndefinedVariable(String),
    /// `~` is used without a home directory, or names another user.
    #[error("the path begins with {0}, which cannot be resolved; write an absolute path")]
    Home(String),
    /// Links that lead in a circle, or further than any sane layout.
    #[error("the path follows too many symbolic links")]
    TooManyLinks,
    /// A path on another host needs Emacs.
    #[error("the path is on another host than the project")]
    OtherHost,
    /// The file system refused to tell.
    #[error("the path cannot be resolved: {0}")]
    Io(String),
}

const MAX_LINKS: u32 = 40;

/// The limit of Linux.  Each part of a path costs a look at the disk.
const LONGEST_PATH: usize = 4_096;

/// Gives a path its identity.
///
/// `~` and `$VAR`/`${VAR}` are expanded, a relative path starts at `base`, and
/// every symbolic link is followed, also in the parents of something that does
/// not exist yet and also when the last component is a dangling link, because a
/// write would go through it.
pub fn resolve_path(
    given: &str,
    base: &Path,
    home: Option<&Path>,
    scope: &Scope,
) -> Result<Resource, PathError> {
    let environment = |name: &str| std::env::var(name).ok();
    resolve_with(given, base, home, scope, &environment)
}

fn resolve_with(
    given: &str,
    base: &Path,
    home: Option<&Path>,
    scope: &Scope,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Resource, PathError> {
    if given.is_empty() {
        return Err(PathError::Empty);
    }
    if given.len() > LONGEST_PATH {
        return Err(PathError::TooLong);
    }
    if given.contains('\0') {
        return Err(PathError::Nul);
    }
    if scope.is_remote() || Scope::Project(given.to_owned()).is_remote() {
        return remote_resource(given, scope);
    }
    let expanded = expand_variables(given, environment)?;
    let expanded = expand_home(&expanded, home)?;
    let absolute = base.join(expanded);
    if absolute.as_os_str().len() > LONGEST_PATH {
        return Err(PathError::TooLong);
    }
    let canonical = canonicalize_missing(&absolute)?;
    let path = canonical
        .to_str()
        .ok_or_else(|| PathError::Io("the canonical name is not UTF-8".to_owned()))?
        .to_owned();
    Ok(Resource {
        given: given.to_owned(),
        path,
        remote: false,
    })
}

/// Names a path of a remote project by text alone: looking at the remote host is
/// left to the operation itself, which goes through Emacs.
fn remote_resource(given: &str, scope: &Scope) -> Result<Resource, PathError> {
    let root = scope.root().ok_or(PathError::OtherHost)?;
    let (prefix, root_local) = split_remote(root).ok_or(PathError::OtherHost)?;
    let local = match split_remote(given) {
        Some((given_prefix, local)) if given_prefix == prefix => local.to_owned(),
        Some(_) => return Err(PathError::OtherHost),
        None => given.to_owned(),
    };
    let joined = if local.starts_with('/') || local.starts_with('~') {
        local
    } else {
        format!("{}/{local}", root_local.trim_end_matches('/'))
    };
    Ok(Resource {
        given: given.to_owned(),
        path: format!("{prefix}{}", normalize_text(&joined)),
        remote: true,
    })
}

fn split_remote(path: &str) -> Option<(&str, &str)> {
    if !Scope::Project(path.to_owned()).is_remote() {
        return None;
    }
    let colon = path.rfind(':')?;
    Some((&path[..=colon], &path[colon + 1..]))
}

/// Removes `.` and `..` from a path by text.
fn normalize_text(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let lead = if path.starts_with('~') { "" } else { "/" };
    format!("{lead}{}", parts.join("/"))
}

fn expand_variables(
    given: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<String, PathError> {
    let mut out = String::with_capacity(given.len());
    let mut rest = given;
    while let Some(dollar) = rest.find('$') {
        out.push_str(&rest[..dollar]);
        let after = &rest[dollar + 1..];
        if let Some(tail) = after.strip_prefix('$') {
            out.push('$');
            rest = tail;
            continue;
        }
        let (name, tail) = match after.strip_prefix('{') {
            Some(braced) => match braced.split_once('}') {
                Some((name, tail)) => (name, tail),
                None => return Err(PathError::UndefinedVariable(short(braced))),
            },
            None => {
                let end = after
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(after.len());
                after.split_at(end)
            }
        };
        if name.is_empty() {
            // A lone dollar is a legal part of a file name.
            out.push('$');
        } else {
            let value =
                environment(name).ok_or_else(|| PathError::UndefinedVariable(short(name)))?;
            out.push_str(&value);
        }
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

fn expand_home(path: &str, home: Option<&Path>) -> Result<PathBuf, PathError> {
    let Some(rest) = path.strip_prefix('~') else {
        return Ok(PathBuf::from(path));
    };
    let (user, tail) = rest.split_once('/').unwrap_or((rest, ""));
    match home {
        Some(home) if user.is_empty() => Ok(home.join(tail)),
        _ => Err(PathError::Home(format!("~{}", short(user)))),
    }
}

/// Follows every symbolic link of an absolute path, also where it leads to
/// something that does not exist.
fn canonicalize_missing(absolute: &Path) -> Result<PathBuf, PathError> {
    let mut done = PathBuf::from("/");
    let mut todo: Vec<OsString> = components_reversed(absolute);
    let mut links = 0;
    while let Some(part) = todo.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&part);
        match std::fs::symlink_metadata(&next) {
            Ok(metadata) if metadata.file_type().is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(PathError::TooManyLinks);
                }
                let target = std::fs::read_link(&next).map_err(io_error)?;
                if target.is_absolute() {
                    done = PathBuf::from("/");
                }
                todo.extend(components_reversed(&target));
            }
            Ok(_) => done = next,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                done = next;
            }
            Err(error) => return Err(io_error(error)),
        }
    }
    Ok(done)
}

fn components_reversed(path: &Path) -> Vec<OsString> {
    let mut parts: Vec<OsString> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(part) => Some(part.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect();
    parts.reverse();
    parts
}

#[expect(clippy::needless_pass_by_value, reason = "the shape map_err wants")]
fn io_error(error: io::Error) -> PathError {
    PathError::Io(error.to_string())
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
