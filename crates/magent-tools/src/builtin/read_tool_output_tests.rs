use super::*;
use crate::test_support::{Project, failure};
use crate::{OutputBounds, bound_output};

async fn read(project: &Project, arguments: Value) -> Result<ToolOutput, ToolError> {
    project.run(&ReadToolOutput::new(), arguments).await
}

#[tokio::test]
async fn a_page_has_a_header_and_its_characters() {
    let project = Project::new();
    project.spill.put("result-1", "0123456789é");
    let arguments = json!({
        "result_id": "result-1", "start_character": 3, "character_count": 4,
    });
    let output = read(&project, arguments).await.unwrap();
    assert_eq!(
        output.content,
        "[read_tool_output result_id=result-1 session_id=session-1 characters=3-6 \
         total_characters=11 has_more=true next_start_character=7]\n2345"
    );
    let arguments = json!({ "result_id": "result-1", "start_character": 11 });
    let output = read(&project, arguments).await.unwrap();
    assert!(
        output
            .content
            .contains("characters=11-11 total_characters=11 has_more=false")
    );
    let arguments = json!({ "result_id": "result-1", "start_character": 12 });
    let output = read(&project, arguments).await.unwrap();
    assert!(
        output
            .content
            .contains("characters=none total_characters=11 has_more=false")
    );
}

/// Case 32: the pages of a long result are the result, and none is cut again.
#[tokio::test]
async fn pages_reconstruct_the_result() {
    let project = Project::new();
    let text: String = (0..30_000)
        .map(|n| char::from(b'a' + (n % 26) as u8))
        .collect();
    project.spill.put("result-1", &text);
    let (mut joined, mut next, mut pages) = (String::new(), Some(1), 0);
    while let Some(start) = next {
        let arguments = json!({ "result_id": "result-1", "start_character": start });
        let output = read(&project, arguments).await.unwrap();
        let bounded = bound_output(&output.content, false, &OutputBounds::default(), None);
        assert!(!bounded.omitted);
        joined.push_str(output.value["text"].as_str().unwrap());
        next = output.value["next_start_character"].as_u64();
        pages += 1;
    }
    assert_eq!((joined, pages), (text, 4));
}

#[tokio::test]
async fn a_page_fits_the_bound_of_a_result() {
    let mut project = Project::new();
    project.spill.put("result-1", &"x".repeat(20_000));
    for (bound, length) in [
        (Some(12_000), 8_000),
        (Some(1_000), 488),
        (Some(10), 1),
        (None, 8_000),
    ] {
        project.limits.result_max_length = bound;
        let arguments = json!({ "result_id": "result-1", "character_count": 100_000 });
        let output = read(&project, arguments).await.unwrap();
        assert_eq!(output.value["text"].as_str().unwrap().len(), length);
    }
}

#[tokio::test]
async fn unknown_and_impossible_ids_are_not_found() {
    let project = Project::new();
    for id in ["result-9", "../secret", "", ".hidden", "a/b", "a\nb"] {
        let (code, _) = failure(read(&project, json!({ "result_id": id })).await);
        assert_eq!(code, "tool_result_not_found", "{id:?}");
    }
}
