//! Prompts that come with Magent: Org files, built into the program so that an
//! installed copy always has them.

/// Every file below `prompts/`, as `prompts/manifest.txt` lists them.
const RESOURCES: &[(&str, &str)] = &[
    (
        "agents/build.org",
        include_str!("../../../prompts/agents/build.org"),
    ),
    (
        "agents/compaction.org",
        include_str!("../../../prompts/agents/compaction.org"),
    ),
    (
        "agents/plan.org",
        include_str!("../../../prompts/agents/plan.org"),
    ),
    ("system.org", include_str!("../../../prompts/system.org")),
    ("trust.org", include_str!("../../../prompts/trust.org")),
];

/// A prompt that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no prompt {0}")]
pub struct ResourceError(pub String);

/// The names of all bundled prompts.
pub fn resource_names() -> impl Iterator<Item = &'static str> {
    RESOURCES.iter().map(|(name, _)| *name)
}

/// A bundled prompt's text: the file without its keyword lines at the top, with every
/// `{{key}}` replaced by the value given for it.
pub fn prompt_resource(name: &str, values: &[(&str, &str)]) -> Result<String, ResourceError> {
    let (_, text) = RESOURCES
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| ResourceError(name.to_owned()))?;
    Ok(fill(body(text), values))
}

fn body(text: &str) -> &str {
    let mut rest = text;
    while let Some((line, tail)) = rest.split_once('\n') {
        if !line.starts_with("#+") && !line.trim().is_empty() {
            break;
        }
        rest = tail;
    }
    rest.trim_end()
}

/// Replaces in one pass, so that a value that looks like a key is left as it is.
fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let after = &rest[start + 2..];
        let known = after.find("}}").and_then(|end| {
            let (_, value) = values.iter().find(|(key, _)| *key == &after[..end])?;
            Some((end, value))
        });
        match known {
            Some((end, value)) => {
                out.push_str(&rest[..start]);
                out.push_str(value);
                rest = &after[end + 2..];
            }
            None => {
                out.push_str(&rest[..start + 2]);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_manifest_lists_every_prompt_exactly_once() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../prompts");
        let manifest = std::fs::read_to_string(folder.join("manifest.txt")).unwrap();
        let listed: Vec<&str> = manifest.lines().collect();
        let unique: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(listed.len(), unique.len());
        let mut on_disk = BTreeSet::new();
        collect(&folder, &folder, &mut on_disk);
        let listed: BTreeSet<String> = listed.into_iter().map(str::to_owned).collect();
        assert_eq!(listed, on_disk);
        assert_eq!(listed, resource_names().map(str::to_owned).collect());
    }

    fn collect(root: &Path, folder: &Path, names: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(root, &path, names);
            } else if path.extension().is_some_and(|extension| extension == "org") {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                names.insert(name.to_owned());
            }
        }
    }

    #[test]
    fn every_prompt_has_a_text_without_keyword_lines() {
        for name in resource_names() {
            let text = prompt_resource(name, &[]).unwrap();
            assert!(text.len() > 40, "{name}");
            assert!(!text.starts_with("#+"), "{name}");
        }
        assert_eq!(
            prompt_resource("../Cargo.toml", &[]),
            Err(ResourceError("../Cargo.toml".into()))
        );
    }

    #[test]
    fn keys_are_replaced_literally_and_once() {
        let fill = |text| fill(text, &[("a", "{{b}}"), ("b", "x")]);
        assert_eq!(fill("1 {{a}} {{b}} {{c}} {{"), "1 {{b}} x {{c}} {{");
    }
}
