use std::os::unix::fs::symlink;

use super::*;
use crate::test_support::{Project, failure};

async fn glob(project: &Project, pattern: &str, path: &str) -> ToolOutput {
    let arguments = json!({ "pattern": pattern, "path": path });
    project.run(&Glob::new(), arguments).await.unwrap()
}

fn found(project: &Project, output: &ToolOutput) -> Vec<String> {
    output.value["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| {
            let path = path.as_str().unwrap();
            path.strip_prefix(project.root.to_str().unwrap()).unwrap()[1..].to_owned()
        })
        .collect()
}

/// Case 26.
#[tokio::test]
async fn files_are_found_by_their_path() {
    let project = Project::new();
    for path in [
        "src/a.ts",
        "src/x/b.ts",
        "src/x/c.rs",
        "d.ts",
        ".github/e.ts",
        ".git/f.ts",
    ] {
        project.write(path, "");
    }
    symlink("src", project.path("link")).unwrap();
    symlink("d.ts", project.path("l.ts")).unwrap();
    symlink("gone", project.path("dangling.ts")).unwrap();
    project.fifo("fifo.ts");
    let output = glob(&project, "src/**/*.ts", ".").await;
    assert_eq!(found(&project, &output), ["src/a.ts", "src/x/b.ts"]);
    let root = project.root.display();
    assert_eq!(
        output.content,
        format!("{root}/src/a.ts\n{root}/src/x/b.ts")
    );
    let all = glob(&project, "**/*.ts", ".").await;
    assert_eq!(
        found(&project, &all),
        [".github/e.ts", "d.ts", "l.ts", "src/a.ts", "src/x/b.ts"]
    );
    assert_eq!(
        found(&project, &glob(&project, "*.ts", "src").await),
        ["src/a.ts"]
    );
    // A file stands for its folder, and the root may be part of the pattern.
    assert_eq!(
        found(&project, &glob(&project, "*.ts", "src/a.ts").await),
        ["src/a.ts"]
    );
    let absolute = format!("{root}/src/*.ts");
    assert_eq!(
        found(&project, &glob(&project, &absolute, ".").await),
        ["src/a.ts"]
    );
    let none = glob(&project, "*.none", ".").await;
    assert_eq!(none.content, "No files found");
    assert_eq!(none.metadata["truncated"], false);
}

#[tokio::test]
async fn limits_end_the_search_and_say_so() {
    let mut project = Project::new();
    for number in 0..30 {
        project.write(&format!("f{number:02}"), "");
    }
    project.limits.glob_max_results = 5;
    let output = glob(&project, "*", ".").await;
    assert_eq!(
        found(&project, &output),
        ["f00", "f01", "f02", "f03", "f04"]
    );
    assert!(
        output
            .content
            .ends_with("\n[stopped after 5 paths; use a narrower pattern or path]")
    );
    assert_eq!(
        Value::Object(output.metadata),
        json!({
            "truncated": true, "reason": "results", "matched": 5, "scanned": 6, "ignored": 0,
        })
    );
    // As many as the limit are no reason to stop.
    project.limits.glob_max_results = 30;
    let output = glob(&project, "*", ".").await;
    assert_eq!(output.metadata["truncated"], false);
    project.limits.glob_max_files_scanned = 10;
    let output = glob(&project, "*9", ".").await;
    assert_eq!(found(&project, &output), ["f09"]);
    assert!(
        output
            .content
            .contains("[stopped after looking at 10 entries, 1 matched;")
    );
    assert_eq!(output.metadata["reason"], "entries");
}

/// C43: nothing is left out in silence.
#[tokio::test]
async fn ignored_paths_are_counted_and_listed_on_demand() {
    let project = Project::new();
    project.write(".gitignore", "dist/\n*.log\n");
    for path in ["dist/a", "dist/b", "x.log", "y"] {
        project.write(path, "");
    }
    let output = glob(&project, "**", ".").await;
    assert_eq!(found(&project, &output), [".gitignore", "y"]);
    assert!(
        output
            .content
            .ends_with("\n[2 ignored paths not listed; include_ignored lists them]")
    );
    let arguments = json!({ "pattern": "**", "path": ".", "include_ignored": true });
    let output = project.run(&Glob::new(), arguments).await.unwrap();
    assert_eq!(
        found(&project, &output),
        [".gitignore", "dist/a", "dist/b", "x.log", "y"]
    );
    assert!(!output.content.contains('['));
}

#[tokio::test]
async fn places_that_cannot_be_searched_are_failures() {
    let mut project = Project::new();
    project.write("state/s", "");
    project.private.push(project.path("state"));
    project.fifo("fifo");
    let run = async |path: &str| {
        let arguments = json!({ "pattern": "*", "path": path });
        failure(project.run(&Glob::new(), arguments).await).0
    };
    assert_eq!(run("missing").await, "not_found");
    assert_eq!(run("fifo").await, "not_a_regular_file");
    assert_eq!(run("state").await, "private");
    assert_eq!(run("state/s").await, "private");
    let arguments = json!({ "pattern": "./", "path": "." });
    assert_eq!(
        failure(project.run(&Glob::new(), arguments).await).0,
        "bad_pattern"
    );
}

#[tokio::test]
async fn names_with_line_breaks_stay_one_line() {
    let project = Project::new();
    project.write("a\nb", "");
    let output = glob(&project, "*", ".").await;
    assert_eq!(output.content.lines().count(), 1);
    assert_eq!(found(&project, &output), ["a\nb"]);
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let project = Project::new();
    project.cancel.cancel();
    let arguments = json!({ "pattern": "*", "path": "/" });
    let end = project.run(&Glob::new(), arguments).await;
    assert_eq!(end, Err(ToolError::Cancelled));
}

#[test]
fn the_title_is_bounded() {
    let project = Project::new();
    let tool = Glob::new();
    let title = |pattern: &str| {
        let arguments = json!({ "pattern": pattern, "path": "src" });
        let call = project.call(&tool, &arguments).unwrap();
        tool.title(&call, &project.context())
    };
    assert_eq!(title("**/*.rs"), "Search files **/*.rs in src");
    assert!(title(&"x".repeat(500)).ends_with("… in src"));
}
