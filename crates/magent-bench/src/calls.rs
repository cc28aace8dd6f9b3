//! Tool calls through permission and audit, the prompts of a turn, and redaction.

use std::time::Instant;

use magent_runtime::ApprovalMode;
use magent_sampling::{Redactor, Route, Secret};
use magent_testkit::{CapturedRequest, ChatStream, Reply};
use magent_types::{Dialect, TurnStatusKind};
use serde_json::{Value, json};

use crate::Failure;
use crate::codecs::route;
use crate::report::{Figure, median};
use crate::world::{World, block_on, outcome};

const CALLS: usize = 200;

/// Files that are read in turn.
const FILES: usize = 20;

fn arguments(number: usize) -> Value {
    json!({"path": format!("src/file_{}.txt", number % FILES), "source": "disk"})
}

async fn world(replies: Vec<Reply>) -> Result<World, Failure> {
    let world = World::new(replies).await?;
    for number in 0..FILES {
        let line = format!("line of file {number} with some words in it\n");
        let name = format!("src/file_{number}.txt");
        world.project.write(&name, line.repeat(80));
    }
    Ok(world)
}

/// Many calls in one answer, which run one after the other.
pub(crate) fn read_files() -> Result<Vec<Figure>, Failure> {
    block_on(async {
        let mut stream = ChatStream::new();
        for number in 0..CALLS {
            let id = format!("call-{number}");
            stream = stream.call(number as u64, &id, "read_file", &arguments(number));
        }
        let stream = stream.finish("tool_calls").usage(10, 5).done();
        let rounds = 3;
        let replies = (0..rounds).flat_map(|_| [Reply::stream(&stream), Reply::answer("done")]);
        let world = world(replies.collect()).await?;
        let mut calls = Vec::new();
        let mut turns = Vec::new();
        for _ in 0..rounds {
            let begun = Instant::now();
            let ended = outcome(world.submit(ApprovalMode::Ask).await?).await?;
            turns.push(begun.elapsed());
            calls.push(world.time_between("tool-call-start", "tool-call-complete")?);
            if ended.status != TurnStatusKind::Completed {
                return Err(format!("the turn ended as {:?}", ended.status).into());
            }
        }
        let audited = world.runtime.audit_records().len();
        if audited < CALLS {
            return Err(format!("only {audited} calls were audited").into());
        }
        let each = median(calls) / CALLS as u32;
        Ok(vec![
            Figure::within(format!("{CALLS} read_file calls, each"), each, 0.5),
            Figure::plain(
                format!("a whole turn of {CALLS} read_file calls"),
                median(turns),
            ),
        ])
    })
}

/// Whether each request of a turn begins with all of the request before it.
pub(crate) fn prompt_prefix() -> Result<Vec<Figure>, Failure> {
    block_on(async {
        let calls = (0..5).map(|number| {
            let id = format!("call-{number}");
            Reply::calling(&id, "read_file", &arguments(number))
        });
        let world = world(calls.chain([Reply::answer("done")]).collect()).await?;
        outcome(world.submit(ApprovalMode::Ask).await?).await?;
        let requests = world.server.requests();
        if requests.len() != 6 {
            return Err(format!("the model was asked {} times", requests.len()).into());
        }
        let same = requests
            .windows(2)
            .all(|pair| matches!(pair, [before, after] if continues(before, after)));
        let name = "byte-identical prompt prefix across the samples of a turn";
        Ok(vec![Figure::holds(name, same)])
    })
}

/// Whether a request only adds messages to one before it.  The order of keys is that of
/// the bytes, so equal texts are equal bytes.
fn continues(before: &CapturedRequest, after: &CapturedRequest) -> bool {
    let rest = |request: &CapturedRequest| {
        let mut body = request.body.clone();
        body["messages"] = Value::Null;
        body.to_string()
    };
    let texts = |request: &CapturedRequest| -> Vec<String> {
        request.messages().iter().map(Value::to_string).collect()
    };
    rest(before) == rest(after) && texts(after).starts_with(&texts(before))
}

/// Taking the secrets of a request out of a long text.
pub(crate) fn redaction() -> Result<Vec<Figure>, Failure> {
    let header = |name: &str, value: &str| (name.to_owned(), Secret::new(value));
    let url = "https://example.invalid/v1?key=query-secret-0123456789";
    let route = Route {
        headers: vec![
            header(
                "Authorization",
                "Bearer sk-0123456789abcdef0123456789abcdef",
            ),
            header("x-api-key", "another-secret-0123456789"),
        ],
        ..route(Dialect::OpenAiChat, url)
    };
    let redactor = Redactor::for_route(&route);
    let mut text = "Some words of an answer, and a key-like sk-word now and then. ".repeat(17_000);
    text.push_str("Bearer sk-0123456789abcdef0123456789abcdef");
    let mut times = Vec::new();
    for _ in 0..5 {
        let begun = Instant::now();
        let clean = redactor.clean(&text);
        times.push(begun.elapsed());
        if clean.contains("0123456789abcdef") {
            return Err("a secret was left".into());
        }
    }
    Ok(vec![Figure::plain("redact 1 MB", median(times))])
}
