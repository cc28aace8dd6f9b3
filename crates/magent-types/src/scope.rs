//! Where a session belongs.

/// The exact place a session belongs to; sessions of one scope are never shown in another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// No project.
    Global,
    /// A project, named by its canonical root.  A remote root stays the text that
    /// TRAMP uses, without any look at the remote host.
    Project(String),
}

impl Scope {
    /// Returns the project root, if there is one.
    pub fn root(&self) -> Option<&str> {
        match self {
            Self::Global => None,
            Self::Project(root) => Some(root),
        }
    }

    /// Whether the root is on another host, in TRAMP's notation (`/method:host:/path`).
    pub fn is_remote(&self) -> bool {
        self.root().is_some_and(is_remote_path)
    }
}

/// Whether a path is in TRAMP's notation, `/method:[user@]host:path`.
fn is_remote_path(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else {
        return false;
    };
    let Some((method, tail)) = rest.split_once(':') else {
        return false;
    };
    // A local directory may hold a colon ("/srv/a:b"); TRAMP's method has no slash.
    !method.is_empty()
        && method
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        && tail.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_roots_are_told_from_their_text() {
        let remote = |path: &str| Scope::Project(path.to_owned()).is_remote();
        assert!(remote("/ssh:host:/srv/app"));
        assert!(remote("/ssh:me@host#2222:/srv"));
        assert!(remote("/mock:a|mock:b:/p"));
        assert!(!remote("/srv/a:b/c:d"));
        assert!(!remote("/home/me/project"));
        assert!(!Scope::Global.is_remote());
    }
}
