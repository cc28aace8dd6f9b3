use super::*;
use crate::tidy::tree_tests::told;

/// The crates of the table, each with all that the table allows.
fn full_tree() -> Tree {
    TABLE.iter().fold(Tree::default(), |tree, row| {
        let mut needs: Vec<String> = row.normal.iter().map(|&name| name.to_owned()).collect();
        needs.extend(row.dev.iter().map(|name| format!("dev {name}")));
        let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
        tree.with_package(row.name, &needs)
    })
}

fn add(tree: &mut Tree, package: &str, name: &str, dev: bool) {
    let found = tree.packages.iter_mut().find(|one| one.name == package);
    found.unwrap().dependencies.push(Dependency {
        name: name.to_owned(),
        dev,
    });
}

#[test]
fn the_table_points_in_one_direction() {
    let place = |name: &str| TABLE.iter().position(|row| row.name == name).unwrap();
    let middle = 1..=5;
    for row in TABLE {
        let here = place(row.name);
        for there in row.normal.iter().chain(row.dev).map(|name| place(name)) {
            assert!(there < here, "{}", row.name);
            assert!(!(middle.contains(&here) && middle.contains(&there)));
        }
    }
}

#[test]
fn edges_of_the_table_are_fine() {
    let mut tree = full_tree();
    add(&mut tree, "magent-sampling", "magent-testkit", true);
    add(&mut tree, "magent-sampling", "reqwest", false);
    add(&mut tree, "magent-module", "emacs", false);
    add(&mut tree, "magent-tools", "serde_json", false);
    // What a crate needs anyway, its tests may have too.
    add(&mut tree, "magent-module", "magent-acp", true);
    assert_eq!(check(&tree), []);
}

#[test]
fn new_edges_are_not() {
    for (package, name, dev, message) in [
        ("magent-types", "magent-ledger", false, "must not need"),
        ("magent-tools", "magent-permission", false, "must not need"),
        ("magent-acp", "magent-tools", false, "must not need"),
        ("magent-ledger", "magent-tools", true, "for its tests"),
        ("magent-runtime", "magent-testkit", false, "must not need"),
        ("xtask", "magent-types", false, "must not need"),
        ("magent-runtime", "emacs", false, "only magent-module may"),
        ("magent-tools", "reqwest", true, "only magent-sampling may"),
        (
            "magent-runtime",
            "agent-client-protocol-schema",
            false,
            "only magent-acp may",
        ),
    ] {
        let mut tree = full_tree();
        add(&mut tree, package, name, dev);
        let told = told(&check(&tree));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(message), "{told:?}");
        assert!(told[0].contains(name), "{told:?}");
    }
}

#[test]
fn unknown_crates_and_edges_that_are_gone_are_told() {
    let mut tree = full_tree().with_package("magent-new", &[]);
    let ledger = tree
        .packages
        .iter_mut()
        .find(|one| one.name.ends_with("ledger"));
    ledger.unwrap().dependencies.clear();
    assert_eq!(
        told(&check(&tree)),
        [
            "crates/magent-ledger/Cargo.toml:1: magent-types is not needed any more: \
             take it out of xtask/src/tidy/edges.rs",
            "crates/magent-new/Cargo.toml:1: magent-new is not in the table of \
             xtask/src/tidy/edges.rs",
        ]
    );
}

#[test]
fn complaints_name_the_line_of_the_manifest() {
    let manifest = "[package]\nname = \"b\"\n\n[dependencies]\nb-more = \"1\"\na.workspace = true\n\
                    \n[dev-dependencies]\na = { path = \"x\" }\n";
    let table = [edges("a", &[], &[]), edges("b", &[], &[])];
    for (needs, line) in [("a", 6), ("dev a", 9)] {
        let tree = Tree::of(&[("crates/b/Cargo.toml", manifest)])
            .with_package("a", &[])
            .with_package("b", &[needs]);
        let complaints = check_with(&tree, &table);
        assert_eq!(complaints.len(), 1);
        assert_eq!(complaints[0].line, line);
    }
}
