//! The request for Lisp.

use serde_json::{Map, Value, json};

use crate::dialect::speech::{Answer, Speech, call_input, call_name, hidden, join, speeches};
use crate::{Route, SampleRequest, WireTool};

pub(super) fn request(route: &Route, request: &SampleRequest) -> Value {
    let params = &request.params;
    let speeches: Vec<Value> = speeches(route, &request.conversation)
        .iter()
        .map(speech)
        .collect();
    let tools: Vec<Value> = request.tools.iter().map(tool).collect();
    let mut object = Map::new();
    for (key, value) in [
        ("backend", route.backend.as_str().into()),
        ("model", request.model.as_str().into()),
        ("system", request.system.as_str().into()),
        ("stream", request.stream.into()),
        ("speeches", speeches.into()),
        ("tools", tools.into()),
    ] {
        object.insert(key.to_owned(), value);
    }
    if let Some(temperature) = params.temperature {
        object.insert("temperature".into(), temperature.into());
    }
    if let Some(most) = params.max_tokens {
        object.insert("max-tokens".into(), most.into());
    }
    Value::Object(object)
}

fn tool(tool: &WireTool) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters.to_string(),
    })
}

fn speech(speech: &Speech<'_>) -> Value {
    match speech {
        Speech::User(words) => {
            let mut text = words.told().into_owned();
            // gptel takes pictures out of files that a buffer links to only.
            for (image, _) in words.pictures() {
                join(&mut text, &hidden(image));
            }
            json!({"role": "user", "text": text})
        }
        Speech::Model(answer) => {
            json!({"role": "model", "text": answer.text, "calls": calls(answer)})
        }
    }
}

fn calls(answer: &Answer<'_>) -> Vec<Value> {
    answer
        .tools
        .iter()
        .map(|tool| {
            json!({
                "id": tool.call_id.as_str(),
                "name": call_name(&tool.name),
                // As text, since Lisp has one nil for false, null and nothing.
                "arguments": call_input(tool).to_string(),
                "output": tool.output,
                "failed": tool.failed,
            })
        })
        .collect()
}
