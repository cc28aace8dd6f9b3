use super::*;
use crate::answer::Speech;

fn delivery(answer: Answer) -> Delivery {
    Delivery {
        answer,
        id: "7".into(),
        created: 1,
        model: "m".into(),
        usage: Some(json!({"prompt_tokens": 1})),
        pace: Duration::from_millis(5),
    }
}

fn calling(arguments: &str) -> Answer {
    Answer {
        reasoning: "so so".into(),
        calls: vec![Call {
            name: "t".into(),
            arguments: arguments.into(),
        }],
        ..Answer::saying("one two")
    }
}

/// What is sent, and a word for what else is done.
fn sent(beats: impl Iterator<Item = Beat>) -> Vec<String> {
    beats
        .map(|beat| match beat.act {
            Act::Send(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            Act::Break => "break".into(),
            Act::Hang => "hang".into(),
        })
        .collect()
}

fn chunks_of(answer: Answer) -> Vec<Value> {
    sent(delivery(answer).events())
        .iter()
        .filter_map(|event| event.strip_prefix("data: ")?.strip_suffix("\n\n"))
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

#[test]
fn events_come_in_the_order_of_a_real_server() {
    let chunks = chunks_of(calling("{\"text\": \"好好好好好好好好\"}"));
    let deltas: Vec<&Value> = chunks.iter().map(|c| &c["choices"][0]["delta"]).collect();
    assert_eq!(deltas[0], &json!({"role": "assistant", "content": ""}));
    assert_eq!(deltas[1], &json!({"reasoning_content": "so "}));
    assert_eq!(deltas[3], &json!({"content": "one "}));
    let call = json!({"id": "call_7_0", "type": "function",
                      "function": {"name": "t", "arguments": ""}, "index": 0});
    assert_eq!(deltas[5], &json!({ "tool_calls": [call] }));
    let pieces: Vec<&str> = deltas[6..]
        .iter()
        .filter_map(|delta| delta["tool_calls"][0]["function"]["arguments"].as_str())
        .collect();
    assert_eq!(pieces.concat(), "{\"text\": \"好好好好好好好好\"}");
    assert!(pieces.iter().all(|piece| piece.len() <= ARGUMENT_BYTES));
    let (usage, finish) = (&chunks[chunks.len() - 1], &chunks[chunks.len() - 2]);
    assert_eq!(finish["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(usage["usage"]["prompt_tokens"], 1);
    let all = sent(delivery(calling("{}")).events());
    assert_eq!(all.last().map(String::as_str), Some("data: [DONE]\n\n"));
}

#[test]
fn endings_show_in_the_events() {
    let ended = |ending: Ending| {
        let answer = Answer {
            ending,
            ..calling("{")
        };
        sent(delivery(answer).events())
    };
    assert!(ended(Ending::Cut).concat().contains("\"length\""));
    for (ending, act) in [(Ending::Break, "break"), (Ending::Hang, "hang")] {
        let events = ended(ending);
        assert_eq!(events.last().map(String::as_str), Some(act));
        assert!(!events.concat().contains("\"tool_calls\""));
        assert!(!events.concat().contains("\"stop\""));
    }
    let silent = delivery(Answer::default()).events();
    assert!(sent(silent).concat().contains("\"stop\""));
}

#[test]
fn a_body_has_everything_at_once_after_the_same_time() {
    let mut answer = calling("{}");
    answer.speech.push(Speech::Slow(2));
    let beats: Vec<Beat> = delivery(answer).body().collect();
    assert_eq!(beats.len(), 1);
    assert_eq!(beats[0].pause, Duration::from_millis(2 * 150 + 4 * 5));
    let body: Value = serde_json::from_str(&sent(beats.into_iter())[0]).unwrap();
    let message = json!({
        "role": "assistant",
        "content": "one twow0 w1 ",
        "reasoning_content": "so so",
        "tool_calls": [{"id": "call_7_0", "type": "function",
                        "function": {"name": "t", "arguments": "{}"}}],
    });
    assert_eq!(body["choices"][0]["message"], message);
    assert_eq!(body["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(body["usage"]["prompt_tokens"], 1);
}

#[test]
fn a_body_can_break_and_hang_too() {
    let ended = |ending: Ending| {
        let answer = Answer {
            ending,
            ..Answer::saying("one two")
        };
        sent(delivery(answer).body())
    };
    let broken = ended(Ending::Break);
    assert_eq!(broken.len(), 2);
    assert!(serde_json::from_str::<Value>(&broken[0]).is_err());
    assert_eq!(broken[1], "break");
    assert_eq!(ended(Ending::Hang), ["hang"]);
}
