use std::collections::HashSet;

use magent_types::{Locality, ToolKind};
use serde_json::{Value, json};

use super::*;
use crate::test_support::Project;

const PERMISSION_KEYS: [&str; 7] = ["read", "write", "edit", "grep", "glob", "bash", "plan"];

/// Case 35's names: what rules and people know the tools by.
#[test]
fn the_catalogue_lists_what_is_documented() {
    let rows: Vec<_> = builtin_catalog()
        .iter()
        .map(|tool| {
            let spec = tool.spec();
            (
                spec.name,
                spec.permission_key,
                spec.kind,
                spec.locality,
                spec.resource_argument,
                spec.audited,
                tool.has_live_output(),
            )
        })
        .collect();
    let (file, process, local) = (
        Locality::TrampFile,
        Locality::ProjectProcess,
        Locality::Local,
    );
    let path = Some("path");
    assert_eq!(
        rows,
        [
            (
                "read_file",
                "read",
                ToolKind::Read,
                file,
                path,
                false,
                false
            ),
            (
                "write_file",
                "write",
                ToolKind::Edit,
                file,
                path,
                true,
                false
            ),
            ("edit_file", "edit", ToolKind::Edit, file, path, true, false),
            (
                "grep",
                "grep",
                ToolKind::Search,
                process,
                path,
                false,
                false
            ),
            ("glob", "glob", ToolKind::Search, file, path, false, false),
            ("bash", "bash", ToolKind::Execute, process, None, true, true),
            (
                "read_tool_output",
                "read",
                ToolKind::Read,
                local,
                None,
                false,
                false
            ),
            (
                "update_plan",
                "plan",
                ToolKind::Think,
                local,
                None,
                false,
                false
            ),
        ]
    );
}

#[test]
fn names_are_unique_and_found() {
    let catalog = builtin_catalog();
    let names: HashSet<_> = catalog.iter().map(|tool| tool.spec().name).collect();
    assert_eq!(names.len(), catalog.iter().count());
    for name in names {
        assert_eq!(catalog.get(name).unwrap().spec().name, name);
    }
    assert!(catalog.get("unknown").is_none());
}

#[test]
fn specifications_are_complete() {
    for tool in builtin_catalog().iter() {
        let spec = tool.spec();
        let name = spec.name;
        assert!(!spec.description.is_empty(), "{name}");
        assert!(spec.description.chars().count() < 1_500, "{name}");
        assert!(spec.description.is_ascii(), "{name}");
        assert!(!spec.description.contains("  "), "{name}");
        assert!(PERMISSION_KEYS.contains(&spec.permission_key), "{name}");
        for schema in [&spec.parameters, &spec.output] {
            let usable = crate::arguments::schema_errors(schema, &serde_json::Value::Null);
            assert!(usable.is_ok(), "{name}: {usable:?}");
            assert_eq!(schema["type"], "object", "{name}");
            assert_eq!(schema["additionalProperties"], false, "{name}");
        }
        let properties = spec.parameters["properties"].as_object().unwrap();
        assert_eq!(properties["reason"]["type"], "string", "{name}");
        for (property, schema) in properties {
            let described = schema["description"]
                .as_str()
                .is_some_and(|text| !text.is_empty());
            assert!(described, "{name} {property}");
        }
        let required = spec.parameters["required"].as_array().unwrap();
        assert!(!required.contains(&json!("reason")), "{name}");
        for required in required {
            assert!(
                properties.contains_key(required.as_str().unwrap()),
                "{name} {required}"
            );
        }
        if let Some(argument) = spec.resource_argument {
            assert!(required.contains(&json!(argument)), "{name}");
        }
    }
}

/// Arguments that fit the schema of any tool, with one text everywhere.
fn hostile_arguments(properties: &Value, text: &str) -> Value {
    let mut arguments = json!({});
    for (name, schema) in properties.as_object().unwrap() {
        arguments[name] = match schema["type"].as_str() {
            Some("string") if schema.get("enum").is_some() => schema["enum"][0].clone(),
            Some("string") => json!(text),
            Some("integer") => json!(i64::MAX),
            Some("boolean") => json!(true),
            _ => json!([]),
        };
    }
    arguments
}

#[test]
fn titles_are_one_bounded_line_whatever_is_asked() {
    let project = Project::new();
    let context = project.context();
    for text in [
        "\n\r\t\u{0}\u{1b}[31m\u{7}".to_owned(),
        "x".repeat(5_000),
        "a\u{202e}b\u{2028}c\u{85}d".to_owned(),
        "```\n**bold**\n".repeat(100),
        "𝕏".repeat(500),
        " ".to_owned(),
    ] {
        for tool in builtin_catalog().iter() {
            let arguments = hostile_arguments(&tool.spec().parameters["properties"], &text);
            let Value::Object(arguments) = arguments else {
                panic!("not an object")
            };
            for resource in [
                None,
                crate::resolve_path("x/y", &project.root, None, &project.scope).ok(),
                crate::resolve_path(&"d/".repeat(200), &project.root, None, &project.scope).ok(),
                crate::resolve_path("a\nb\u{202e}", &project.root, None, &project.scope).ok(),
            ] {
                let call = crate::Call {
                    arguments: arguments.clone(),
                    resource,
                };
                let title = tool.title(&call, &context);
                let name = tool.spec().name;
                assert!(!title.is_empty(), "{name}");
                assert!(title.chars().count() <= 120, "{name}: {title}");
                assert!(!title.chars().any(char::is_control), "{name}: {title:?}");
                assert!(
                    !title.contains(['\u{202e}', '\u{2028}']),
                    "{name}: {title:?}"
                );
            }
        }
    }
}

/// The audit keeps names and lengths; no text of a user or a model is in it.
#[test]
fn audits_keep_no_contents() {
    let secret = "a secret of the user";
    for tool in builtin_catalog().iter() {
        let arguments = hostile_arguments(&tool.spec().parameters["properties"], secret);
        let Value::Object(mut arguments) = arguments else {
            panic!("not an object")
        };
        arguments.remove("reason");
        let mut preview = tool.audit_preview(&arguments);
        // The name of a file is kept, and shortened by whoever writes the audit.
        preview.remove("path");
        assert!(
            !Value::Object(preview).to_string().contains(secret),
            "{}",
            tool.spec().name
        );
    }
}
