//! What a client sends, in the runtime's terms.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource, Error};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use magent_types::{PromptBlock, PromptImage, PromptInput, Scope, short_name};

use crate::error::bad_params;

/// The scope of a working directory: a project whose root it is.  A local directory is
/// named canonically; a remote one by its text alone, so that nothing is asked of the
/// remote host.
pub(crate) fn scope_of(cwd: &Path) -> Result<Scope, Error> {
    let text = cwd
        .to_str()
        .ok_or_else(|| bad_params("cwd is not UTF-8."))?
        .to_owned();
    let trimmed = match text.trim_end_matches('/') {
        "" => "/".to_owned(),
        trimmed => trimmed.to_owned(),
    };
    let remote = Scope::Project(trimmed);
    if remote.is_remote() {
        return Ok(remote);
    }
    if !cwd.is_absolute() {
        return Err(bad_params(format!("cwd is not absolute: {text}.")));
    }
    let canonical: PathBuf = cwd
        .canonicalize()
        .map_err(|error| bad_params(format!("cwd {text} cannot be used: {error}.")))?;
    if !canonical.is_dir() {
        return Err(bad_params(format!("cwd {text} is not a directory.")));
    }
    match canonical.to_str() {
        Some(root) => Ok(Scope::Project(root.to_owned())),
        None => Err(bad_params("cwd is not UTF-8.")),
    }
}

/// The user's prompt.
pub(crate) fn prompt_of(blocks: Vec<ContentBlock>) -> Result<PromptInput, Error> {
    let blocks = blocks
        .into_iter()
        .map(prompt_block)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(PromptInput { blocks })
}

fn prompt_block(block: ContentBlock) -> Result<PromptBlock, Error> {
    match block {
        ContentBlock::Text(text) => Ok(PromptBlock::Text(text.text)),
        ContentBlock::ResourceLink(link) => Ok(PromptBlock::ResourceLink {
            uri: link.uri,
            name: link.name,
            mime_type: link.mime_type,
            size: link.size,
        }),
        ContentBlock::Resource(resource) => match resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => Ok(PromptBlock::Resource {
                uri: text.uri,
                mime_type: text.mime_type,
                text: text.text,
            }),
            EmbeddedResourceResource::BlobResourceContents(blob) => match blob.mime_type {
                Some(mime) if mime.starts_with("image/") => {
                    image(Some(&blob.uri), mime, &blob.blob)
                }
                _ => Err(bad_params(format!(
                    "The attachment {} is binary, which is not supported; attach a text file.",
                    blob.uri
                ))),
            },
            _ => Err(bad_params("This kind of attachment is not supported.")),
        },
        ContentBlock::Image(content) => {
            image(content.uri.as_deref(), content.mime_type, &content.data)
        }
        ContentBlock::Audio(_) => Err(bad_params("Audio in prompts is not supported.")),
        _ => Err(bad_params("This kind of content is not supported.")),
    }
}

/// A picture, named by the file it comes from.
fn image(uri: Option<&str>, mime_type: String, data: &str) -> Result<PromptBlock, Error> {
    // A URI of slashes alone names nothing.
    let name = uri
        .filter(|uri| uri.contains(|character| character != '/'))
        .map_or("picture", short_name);
    let data = STANDARD
        .decode(data.trim())
        .map_err(|error| bad_params(format!("The picture {name} is no base64: {error}.")))?;
    Ok(PromptBlock::Image(PromptImage {
        name: name.to_owned(),
        mime_type,
        data,
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn local_directories_are_canonical_and_remote_ones_only_named() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let link = real.join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert_eq!(
            scope_of(&link).unwrap(),
            Scope::Project(real.to_str().unwrap().into())
        );
        assert_eq!(
            scope_of(Path::new("/ssh:nowhere.invalid:/srv/app/")).unwrap(),
            Scope::Project("/ssh:nowhere.invalid:/srv/app".into())
        );
        for bad in ["relative", "/no/such/directory", "/etc/hosts"] {
            assert!(scope_of(Path::new(bad)).is_err(), "{bad}");
        }
    }

    fn read(value: serde_json::Value) -> Result<PromptBlock, Error> {
        let block: ContentBlock = serde_json::from_value(value).unwrap();
        Ok(prompt_of(vec![block])?.blocks.remove(0))
    }

    #[test]
    fn pictures_are_read_in_both_forms() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png",
            "uri": "file:///p/shot.png"});
        let blob = json!({"type": "resource", "resource":
            {"uri": "file:///p/shot.png", "blob": "aGk=", "mimeType": "image/png"}});
        for value in [image, blob] {
            let expected = PromptImage {
                name: "shot.png".into(),
                mime_type: "image/png".into(),
                data: b"hi".into(),
            };
            assert_eq!(read(value).unwrap(), PromptBlock::Image(expected));
        }
    }

    #[test]
    fn binaries_and_broken_pictures_are_refused_by_name() {
        let refused = |value| read(value).unwrap_err().message;
        let image = json!({"type": "image", "data": "%", "mimeType": "image/png",
            "uri": "file:///shot.png"});
        assert!(refused(image).contains("shot.png"));
        let blob = json!({"type": "resource",
            "resource": {"uri": "file:///a.bin", "blob": "AA=="}});
        assert!(refused(blob).contains("file:///a.bin"));
    }
}
