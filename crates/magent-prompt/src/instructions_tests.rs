use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct Project {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        Self {
            _folder: folder,
            root,
        }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn read(&self, files: &[PathBuf]) -> String {
        let all = |_: &str| true;
        project_instructions(&self.root, files, &InstructionSettings::default(), &all)
    }
}

#[test]
fn without_instructions_there_is_no_text() {
    let project = Project::new();
    assert_eq!(project.read(&[]), "");
    project.write("AGENTS.md", " \n");
    assert_eq!(project.read(&[]), "");
}

/// Case 60.
#[test]
fn nested_instructions_follow_the_root_in_order_and_once() {
    let project = Project::new();
    project.write("AGENTS.md", "root rules");
    project.write("a/AGENTS.md", "a rules");
    project.write("a/b/AGENTS.md", "b rules");
    project.write("c/AGENTS.md", "unrelated");
    let one = project.write("a/b/x.rs", "");
    let two = project.write("a/b/y.rs", "");
    let text = project.read(&[one, two]);
    let places: Vec<usize> = ["root rules", "a rules", "b rules"]
        .iter()
        .map(|part| text.find(part).unwrap())
        .collect();
    assert!(places.is_sorted());
    assert_eq!(text.matches("b rules").count(), 1);
    assert!(
        text.contains("## a/b/AGENTS.md (applies to a/b/)"),
        "{text}"
    );
    assert!(!text.contains("unrelated"));
}

/// C62.
#[test]
fn parents_and_links_out_of_the_project_are_not_read() {
    let project = Project::new();
    let outside = project.root.parent().unwrap().join("AGENTS.md");
    fs::write(&outside, "outside secret").unwrap();
    symlink(&outside, project.root.join("AGENTS.md")).unwrap();
    let elsewhere = project.root.parent().unwrap().join("x.rs");
    fs::write(&elsewhere, "").unwrap();
    assert_eq!(project.read(&[elsewhere]), "");
}

#[test]
fn the_limit_counts_all_files_together() {
    let project = Project::new();
    project.write("AGENTS.md", &"r".repeat(65_000));
    project.write("a/AGENTS.md", &"漢".repeat(5_000_000 / 3));
    let file = project.write("a/x.rs", "");
    let text = project.read(&[file]);
    assert!(text.len() < 66_200, "{}", text.len());
    assert!(text.contains('漢'));
    assert!(text.ends_with('\u{fffd}') || text.ends_with('漢'));
}

#[test]
fn a_pipe_named_like_instructions_hangs_nothing() {
    let project = Project::new();
    let made = std::process::Command::new("mkfifo")
        .arg(project.root.join("AGENTS.md"))
        .status()
        .unwrap();
    assert!(made.success());
    assert_eq!(project.read(&[]), "");
}

#[test]
fn a_link_does_not_show_what_may_not_be_read() {
    let project = Project::new();
    project.write(".env", "KEY=hunter2");
    project.write("a/AGENTS.md", "a rules");
    std::os::unix::fs::symlink(".env", project.root.join("AGENTS.md")).unwrap();
    let files = [project.write("a/x.rs", "")];
    let may_read = |path: &str| !path.ends_with(".env");
    let settings = InstructionSettings::default();
    let text = project_instructions(&project.root, &files, &settings, &may_read);
    assert!(
        text.contains("a rules") && !text.contains("hunter2"),
        "{text}"
    );
}
