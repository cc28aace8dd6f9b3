//! Pictures of the users' prompts, kept beside the sessions whose items name them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use magent_types::{Scope, SessionId};
use sha2::{Digest, Sha256};

use crate::spill::{copy_files, is_legal_id, remove_folder, session_folder};
use crate::store::{create_private_directory, hex, replace_file};

/// The pictures of all sessions, below one folder.
#[derive(Clone, Debug)]
pub struct ImageStore {
    root: PathBuf,
}

impl ImageStore {
    /// Names the store below the session folder; nothing is made before a picture is kept.
    pub fn new(session_directory: &Path) -> Self {
        Self {
            root: session_directory.join("images"),
        }
    }

    /// Keeps a picture and returns its name, which follows from its bytes.
    pub fn put(
        &self,
        scope: &Scope,
        session: &SessionId,
        mime_type: &str,
        data: &[u8],
    ) -> io::Result<String> {
        let digest = hex(&Sha256::digest(data));
        let ending = mime_type.rsplit('/').next().unwrap_or_default();
        let name = format!("{digest}.{ending}");
        if !is_legal_id(&name) {
            return Err(io::Error::other(format!("{mime_type} is no media type")));
        }
        let directory = session_folder(&self.root, scope, session);
        let file = directory.join(&name);
        if !file.exists() {
            create_private_directory(&directory)?;
            replace_file(&file, data)?;
        }
        Ok(name)
    }

    /// Copies the pictures of one session to another.
    pub fn copy(&self, scope: &Scope, from: &SessionId, to: &SessionId) -> io::Result<()> {
        let folder = |session| session_folder(&self.root, scope, session);
        copy_files(&folder(from), &folder(to))
    }

    /// Removes the pictures of a session.
    pub(crate) fn remove(&self, scope: &Scope, session: &SessionId) -> io::Result<()> {
        remove_folder(&session_folder(&self.root, scope, session))
    }

    /// The bytes of a picture.
    pub fn read(&self, scope: &Scope, session: &SessionId, name: &str) -> io::Result<Vec<u8>> {
        if !is_legal_id(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        fs::read(session_folder(&self.root, scope, session).join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_kept_once_and_only_for_its_session() {
        let folder = tempfile::tempdir().unwrap();
        let store = ImageStore::new(folder.path());
        let scope = Scope::Project("/p".into());
        let [one, other] = ["s-1", "s-2"].map(SessionId::new);
        let name = store.put(&scope, &one, "image/png", b"bytes").unwrap();
        assert!(name.ends_with(".png"));
        assert_eq!(
            store.put(&scope, &one, "image/png", b"bytes").unwrap(),
            name
        );
        assert_eq!(store.read(&scope, &one, &name).unwrap(), b"bytes");
        assert!(store.read(&scope, &other, &name).is_err());
        assert!(store.read(&Scope::Global, &one, &name).is_err());
        assert!(store.read(&scope, &one, "../../secret").is_err());
        assert!(store.put(&scope, &one, "image/../x y", b"b").is_err());
    }
}
