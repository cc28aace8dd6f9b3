use super::*;
use crate::test_support::{Project, failure};

async fn update(plan: Value) -> Result<ToolOutput, ToolError> {
    Project::new().run(&UpdatePlan::new(), plan).await
}

#[tokio::test]
async fn a_plan_is_set_whole() {
    let plan = json!({
        "plan": [
            { "step": "Read", "status": "completed" },
            { "step": "Write", "status": "in_progress" },
            { "step": "Test", "status": "pending" },
        ],
        "explanation": "Reading is done.",
    });
    let output = update(plan.clone()).await.unwrap();
    assert_eq!(output.content, "Plan updated: 3 steps, 1 completed.");
    assert_eq!(output.value["plan"], plan["plan"]);
    assert_eq!(output.metadata["explanation"], "Reading is done.");
    let entries = output.plan.unwrap();
    assert_eq!(
        entries[1],
        PlanEntry {
            step: "Write".to_owned(),
            status: PlanStatus::InProgress,
        }
    );
}

/// Case 68.
#[tokio::test]
async fn two_steps_in_progress_are_refused() {
    let step = json!({ "step": "x", "status": "in_progress" });
    let (code, message) = failure(update(json!({ "plan": [step, step] })).await);
    assert_eq!(code, "invalid_plan");
    assert!(message.contains("2 steps"), "{message}");
}

#[tokio::test]
async fn an_empty_plan_clears_it() {
    let output = update(json!({ "plan": [] })).await.unwrap();
    assert_eq!(output.plan, Some(Vec::new()));
    assert_eq!(output.content, "Plan cleared.");
}

#[tokio::test]
async fn malformed_steps_are_refused() {
    for wrong in [
        json!({ "plan": [{ "step": "x", "status": "done" }] }),
        json!({ "plan": [{ "step": "", "status": "pending" }] }),
        json!({ "plan": [{ "step": "x" }] }),
        json!({ "plan": [{ "step": "x", "status": "pending", "more": 1 }] }),
        json!({ "plan": "x" }),
        json!({}),
    ] {
        assert_eq!(
            failure(update(wrong.clone()).await).0,
            "arguments",
            "{wrong}"
        );
    }
    let blank = json!({ "plan": [{ "step": "  ", "status": "pending" }] });
    assert_eq!(failure(update(blank).await).0, "invalid_plan");
}

#[test]
fn the_title_counts_what_is_done() {
    let project = Project::new();
    let tool = UpdatePlan::new();
    let title = |plan: Value| {
        let call = project.call(&tool, &json!({ "plan": plan })).unwrap();
        tool.title(&call, &project.context())
    };
    assert_eq!(
        title(json!([
            { "step": "a", "status": "completed" },
            { "step": "b", "status": "pending" },
        ])),
        "Update plan (1/2 done)"
    );
    assert_eq!(title(json!([])), "Update plan");
}

#[tokio::test]
async fn a_plan_has_a_bounded_number_of_bounded_steps() {
    let step = json!({ "step": "漢".repeat(5_000), "status": "pending" });
    let output = update(json!({ "plan": vec![step.clone(); MOST_STEPS] })).await;
    let entries = output.unwrap().plan.unwrap();
    assert_eq!(entries.len(), MOST_STEPS);
    assert!(
        entries
            .iter()
            .all(|entry| entry.step.chars().count() == LONGEST_TEXT)
    );
    let (code, _) = failure(update(json!({ "plan": vec![step; MOST_STEPS + 1] })).await);
    assert_eq!(code, "invalid_plan");
}
