use std::os::unix::fs::symlink;

use super::*;

fn variables(name: &str) -> Option<String> {
    (name == "SET").then(|| "value".to_owned())
}

fn resolve(given: &str, base: &Path) -> Result<String, PathError> {
    let scope = Scope::Project(base.to_str().unwrap().to_owned());
    resolve_with(given, base, Some(Path::new("/home/me")), &scope, &variables)
        .map(|resource| resource.path().to_owned())
}

fn project() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    (folder, root)
}

#[test]
fn relative_home_and_variable_paths_become_absolute() {
    let (_keep, root) = project();
    let text = root.to_str().unwrap();
    assert_eq!(resolve("a/./b/../c", &root).unwrap(), format!("{text}/a/c"));
    assert_eq!(resolve("$SET/x", &root).unwrap(), format!("{text}/value/x"));
    assert_eq!(resolve("${SET}x", &root).unwrap(), format!("{text}/valuex"));
    assert_eq!(resolve("~/notes", &root).unwrap(), "/home/me/notes");
    assert_eq!(resolve("a$", &root).unwrap(), format!("{text}/a$"));
    assert_eq!(resolve("$$SET", &root).unwrap(), format!("{text}/$SET"));
}

#[test]
fn undefined_variables_and_other_homes_have_no_identity() {
    let (_keep, root) = project();
    assert_eq!(
        resolve("$FOO/x", &root),
        Err(PathError::UndefinedVariable("FOO".into()))
    );
    assert_eq!(
        resolve("${FOO}", &root),
        Err(PathError::UndefinedVariable("FOO".into()))
    );
    assert_eq!(
        resolve("${FOO", &root),
        Err(PathError::UndefinedVariable("FOO".into()))
    );
    assert_eq!(
        resolve("~root/x", &root),
        Err(PathError::Home("~root".into()))
    );
    assert_eq!(resolve("", &root), Err(PathError::Empty));
    assert_eq!(resolve("a\0b", &root), Err(PathError::Nul));
}

#[test]
fn paths_that_no_system_takes_are_refused_at_once() {
    let (_keep, root) = project();
    for given in ["a/".repeat(5_000_000), format!("${}", "x".repeat(5_000))] {
        assert_eq!(resolve(&given, &root), Err(PathError::TooLong));
    }
    let far = |_: &str| Some("x/".repeat(3_000));
    let local = Scope::Project(root.to_str().unwrap().to_owned());
    assert_eq!(
        resolve_with("$FAR", &root, None, &local, &far),
        Err(PathError::TooLong)
    );
    let remote = Scope::Project("/ssh:h:/p".to_owned());
    assert_eq!(
        resolve_path(&"a/".repeat(5_000), &root, None, &remote),
        Err(PathError::TooLong)
    );
    let Err(error) = resolve(&format!("${}", "x".repeat(4_000)), &root) else {
        panic!("there is no such variable");
    };
    assert!(error.to_string().len() < 300, "{error}");
}

/// C57: a link inside the project that leads outside must show where it leads,
/// for reads, for new files below it, and when it dangles.
#[test]
fn links_are_followed_even_to_what_does_not_exist() {
    let (_keep, root) = project();
    let (_keep_outside, outside) = project();
    symlink(&outside, root.join("outbox")).unwrap();
    symlink(outside.join("missing"), root.join("dangling")).unwrap();
    let outside = outside.to_str().unwrap();
    assert_eq!(
        resolve("outbox/new/x", &root).unwrap(),
        format!("{outside}/new/x")
    );
    assert_eq!(
        resolve("dangling", &root).unwrap(),
        format!("{outside}/missing")
    );
    // ".." after a link leaves the link's target, as the kernel does it.
    let parent = Path::new(outside).parent().unwrap();
    assert_eq!(
        resolve("outbox/../y", &root).unwrap(),
        parent.join("y").to_str().unwrap()
    );
}

#[test]
fn circles_of_links_are_an_error() {
    let (_keep, root) = project();
    symlink(root.join("b"), root.join("a")).unwrap();
    symlink(root.join("a"), root.join("b")).unwrap();
    assert_eq!(resolve("a/x", &root), Err(PathError::TooManyLinks));
}

#[test]
fn remote_paths_are_named_by_text_alone() {
    let scope = Scope::Project("/ssh:host:/srv/app".to_owned());
    let resolve = |given: &str| {
        resolve_with(given, Path::new("/"), None, &scope, &variables)
            .map(|resource| (resource.path().to_owned(), resource.is_remote()))
    };
    assert_eq!(
        resolve("src/../a.rs").unwrap(),
        ("/ssh:host:/srv/app/a.rs".to_owned(), true)
    );
    assert_eq!(resolve("/etc/hosts").unwrap().0, "/ssh:host:/etc/hosts");
    assert_eq!(resolve("/ssh:host:/x").unwrap().0, "/ssh:host:/x");
    assert_eq!(resolve("/ssh:other:/x"), Err(PathError::OtherHost));
}

#[test]
fn a_remote_path_in_a_local_project_is_refused() {
    let (_keep, root) = project();
    assert_eq!(resolve("/ssh:host:/x", &root), Err(PathError::OtherHost));
}
