use parking_lot::Mutex;

use super::*;

#[derive(Default)]
struct Log(Mutex<Vec<(Instant, Value)>>);

impl LineSink for Log {
    fn send(&self, lines: Vec<String>) -> bool {
        let now = Instant::now();
        let lines = lines
            .iter()
            .map(|line| (now, serde_json::from_str(line).unwrap()));
        self.0.lock().extend(lines);
        true
    }

    fn notice(&self, _text: &str) -> bool {
        false
    }

    fn pace(&self) -> Pace {
        Pace {
            frame: Duration::from_millis(60),
        }
    }
}

fn piece(target: TextTarget, text: &str) -> TextPiece {
    TextPiece {
        session: "s".into(),
        target,
        text: text.into(),
    }
}

fn message(id: &str) -> TextTarget {
    TextTarget::Message(id.into())
}

#[tokio::test]
async fn pieces_are_joined_and_nothing_is_reordered_or_lost() {
    let log = Arc::new(Log::default());
    let sender = Sender::start(Arc::clone(&log) as Arc<dyn LineSink>);
    for number in 0..1_000 {
        sender.text(piece(message("a"), &format!("{number} ")));
    }
    sender.text(piece(TextTarget::Thought("b".into()), "hm"));
    sender.text(piece(message("a"), "more"));
    sender.message(json!({"id": 1, "result": null}));
    tokio::time::sleep(Duration::from_millis(200)).await;
    let lines = log.0.lock();
    let texts: String = lines
        .iter()
        .map(|(_, line)| &line["params"]["update"])
        .filter(|update| update["messageId"] == "a")
        .map(|update| update["content"]["text"].as_str().unwrap())
        .collect();
    let expected: String = (0..1_000).map(|number| format!("{number} ")).collect();
    assert_eq!(texts, expected + "more");
    assert!(lines.len() <= 6, "{} lines", lines.len());
    let last = &lines.last().unwrap().1;
    assert_eq!(last["id"], 1);
}

#[tokio::test]
async fn sessions_side_by_side_do_not_keep_each_others_pieces_apart() {
    let log = Arc::new(Log::default());
    let sender = Sender::start(Arc::clone(&log) as Arc<dyn LineSink>);
    for number in 0..300 {
        for session in ["s", "t", "u"] {
            let session = session.to_owned();
            let text = format!("{number} ");
            sender.text(TextPiece {
                session,
                ..piece(message("a"), &text)
            });
        }
    }
    sender.text(piece(TextTarget::Thought("b".into()), "hm"));
    sender.text(piece(message("a"), "more"));
    tokio::time::sleep(Duration::from_millis(200)).await;
    let lines = log.0.lock();
    let of_first = lines
        .iter()
        .filter(|(_, line)| line["params"]["sessionId"] == "s")
        .map(|(_, line)| {
            line["params"]["update"]["content"]["text"]
                .as_str()
                .unwrap()
        });
    let numbers: String = (0..300).map(|number| format!("{number} ")).collect();
    assert_eq!(of_first.collect::<String>(), numbers + "hmmore");
    assert!(lines.len() <= 10, "{} lines", lines.len());
}

#[tokio::test]
async fn the_first_piece_goes_at_once_and_the_next_ones_by_frames() {
    let log = Arc::new(Log::default());
    let sender = Sender::start(Arc::clone(&log) as Arc<dyn LineSink>);
    let begun = Instant::now();
    for _ in 0..30 {
        sender.text(piece(message("a"), "x"));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let lines = log.0.lock();
    assert!(lines[0].0 - begun < Duration::from_millis(50));
    assert!((2..=12).contains(&lines.len()), "{} lines", lines.len());
}

#[tokio::test]
async fn terminal_output_is_a_piece_of_text_too() {
    let log = Arc::new(Log::default());
    let sender = Sender::start(Arc::clone(&log) as Arc<dyn LineSink>);
    sender.text(piece(TextTarget::Terminal("c1".into()), "a"));
    sender.text(piece(TextTarget::Terminal("c1".into()), "b"));
    tokio::time::sleep(Duration::from_millis(150)).await;
    let lines = log.0.lock();
    let data: String = lines
        .iter()
        .map(|(_, line)| {
            line["params"]["update"]["_meta"]["terminal_output"]["data"]
                .as_str()
                .unwrap()
        })
        .collect();
    assert_eq!(data, "ab");
    assert_eq!(lines[0].1["params"]["update"]["toolCallId"], "c1");
}
