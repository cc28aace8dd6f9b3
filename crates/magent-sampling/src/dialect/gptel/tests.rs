use magent_types::{
    CallId, ConversationEntry, Dialect, Effort, ModelCall, ModelEvent, SamplingParams, StopReason,
    ToolExchange, Usage,
};
use serde_json::{Value, json};

use super::Gptel;
use crate::dialect::{Codec, test_support};
use crate::{ProviderError, Retry, Route, SampleRequest, SseEvent};

fn route() -> Route {
    test_support::route(Dialect::Gptel, "m")
}

fn request(conversation: Vec<ConversationEntry>) -> SampleRequest {
    SampleRequest {
        model: "m".into(),
        system: "Be brief.".into(),
        conversation,
        tools: Vec::new(),
        params: SamplingParams::default(),
        stream: true,
    }
}

fn decode(events: &[Value]) -> (Vec<ModelEvent>, Result<(), ProviderError>) {
    let mut decoder = Gptel.decoder(&route());
    let mut out = Vec::new();
    for event in events {
        let event = SseEvent {
            name: String::new(),
            data: event.to_string(),
        };
        if let Err(error) = decoder.event(&event, &mut out) {
            return (out, Err(error));
        }
    }
    let end = decoder.finish(&mut out);
    (out, end)
}

#[test]
fn a_request_tells_who_said_what_and_what_came_of_calls() {
    let tool = ToolExchange {
        call_id: CallId::new("c1"),
        name: "read_file".into(),
        input: json!({"path": "a"}),
        output: "alpha".into(),
        failed: false,
    };
    let conversation = vec![
        ConversationEntry::User("Read it.".into()),
        ConversationEntry::SampleStart,
        ConversationEntry::Reasoning("hm".into()),
        ConversationEntry::Assistant {
            text: "I read.".into(),
            phase: None,
        },
        ConversationEntry::Tool(tool),
    ];
    let body = Gptel.encode(&route(), &request(conversation));
    assert_eq!(body["system"], "Be brief.");
    assert_eq!(
        body["speeches"],
        json!([
            {"role": "user", "text": "Read it."},
            {"role": "model", "text": "I read.", "calls": [{
                "id": "c1", "name": "read_file", "arguments": "{\"path\":\"a\"}",
                "output": "alpha", "failed": false,
            }]},
        ])
    );
    assert!(body.get("temperature").is_none());
}

#[test]
fn an_answer_is_whole_with_its_end_only() {
    let events = [
        json!({"type": "reasoning", "text": "hm"}),
        json!({"type": "text", "text": "I read."}),
        json!({"type": "call", "id": "c", "name": "read_file", "arguments": "{\"path\":\"a\"}"}),
        json!({"type": "usage", "input": 3, "output": 2}),
        json!({"type": "end", "stop": "tool_calls"}),
    ];
    let (out, end) = decode(&events);
    assert_eq!(end, Ok(()));
    assert_eq!(
        out,
        [
            ModelEvent::ReasoningDelta("hm".into()),
            ModelEvent::TextDelta("I read.".into()),
            ModelEvent::Usage(Usage {
                input: Some(3),
                output: Some(2),
                ..Usage::default()
            }),
            ModelEvent::ToolCall(ModelCall {
                id: "c".into(),
                name: "read_file".into(),
                arguments: "{\"path\":\"a\"}".into(),
            }),
            ModelEvent::Completed(StopReason::ToolCalls),
        ]
    );
    for cut in 0..events.len() - 1 {
        let (out, end) = decode(&events[..=cut]);
        assert!(matches!(end, Err(ProviderError::Truncated { .. })));
        assert!(
            !out.iter()
                .any(|event| matches!(event, ModelEvent::ToolCall(_)))
        );
    }
}

#[test]
fn failures_are_told_by_their_kind() {
    let fails = |event: Value| decode(&[event]).1.unwrap_err();
    let refused = fails(json!({"type": "error", "status": 401, "message": "bad key"}));
    assert_eq!(refused.to_failure("B", "m").code, "unauthorized");
    let reported = fails(json!({"type": "error", "status": 200, "message": "overloaded"}));
    assert!(matches!(reported, ProviderError::Reported { .. }));
    let cut = fails(json!({"type": "error", "kind": "truncated"}));
    assert_eq!(cut.retry(), Retry::BeforeText(None));
    assert!(matches!(
        fails(json!({"type": "error", "kind": "protocol", "message": "a call was lost"})),
        ProviderError::Protocol { .. }
    ));
    assert!(matches!(
        fails(json!({"type": "song"})),
        ProviderError::Protocol { .. }
    ));
}

#[test]
fn a_thought_level_that_cannot_be_told_is_refused() {
    let mut request = request(Vec::new());
    assert_eq!(Gptel.check(&route(), &request), Ok(()));
    request.params.effort = Some(Effort::High);
    assert!(
        Gptel
            .check(&route(), &request)
            .unwrap_err()
            .contains("gptel")
    );
}

#[test]
fn the_words_of_all_providers_are_known() {
    let stop = |word: &str| match decode(&[json!({"type": "end", "stop": word})]).0.pop() {
        Some(ModelEvent::Completed(stop)) => stop,
        other => panic!("{other:?}"),
    };
    assert_eq!(stop("STOP"), StopReason::EndTurn);
    assert_eq!(stop("max_tokens"), StopReason::MaxTokens);
    assert_eq!(stop("guardrail_intervened"), StopReason::Refusal);
    assert_eq!(stop("load"), StopReason::Other("load".into()));
}
