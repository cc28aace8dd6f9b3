use proptest::prelude::*;

use super::*;

fn decode(pieces: &[&[u8]]) -> Vec<(String, String)> {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece, &mut events);
    }
    decoder.finish(&mut events);
    events
        .into_iter()
        .map(|event| (event.name, event.data))
        .collect()
}

fn data(text: &str) -> Vec<String> {
    decode(&[text.as_bytes()])
        .into_iter()
        .map(|(_, data)| data)
        .collect()
}

#[test]
fn fields_comments_and_line_ends_of_every_kind() {
    assert_eq!(data("data: a\n\ndata:b\n\n"), ["a", "b"]);
    assert_eq!(data("data: a\r\n\r\ndata: b\r\r"), ["a", "b"]);
    assert_eq!(
        data(": ping\n\n: ping\ndata: a\n: x\ndata: b\n\n"),
        ["a\nb"]
    );
    assert_eq!(data("\u{feff}data: a\n\n"), ["a"]);
    assert_eq!(data("id: 1\nretry: 5\ndata\n\n"), [""]);
    assert_eq!(data("data:  two spaces\n\n"), [" two spaces"]);
    let named = decode(&[b"event: error\ndata: {}\n\ndata: x\n\n"]);
    assert_eq!(named[0], ("error".into(), "{}".into()));
    assert_eq!(named[1].0, "");
    let field = decode(&[b"data: x\n\nerror: {\"a\":1}\n\n"]);
    assert_eq!(field[1], ("error".into(), "{\"a\":1}".into()));
}

#[test]
fn an_event_without_its_blank_line_is_not_lost() {
    assert_eq!(data("data: a\n\ndata: b\n"), ["a", "b"]);
    assert_eq!(data("data: a\n\ndata: b"), ["a", "b"]);
    assert_eq!(data("event: x\n\n"), Vec::<String>::new());
}

/// A page, an error or a whole answer that a server sends as if it were a stream.
#[test]
fn what_is_no_stream_of_events_at_all_is_given_as_one_event() {
    assert_eq!(data("<html>\n<p>a: b</p>\n"), ["<html>\n<p>a: b</p>\n"]);
    assert_eq!(data("{\"error\":1}"), ["{\"error\":1}\n"]);
    assert_eq!(data("{\r\r\n\"a\": 1}\n\n"), ["{\n\"a\": 1}\n"]);
    // Beside events, and as the beginning of one, such lines say nothing.
    assert_eq!(data("<p>\n\ndata: a\n\n<p>\n"), ["a"]);
    assert_eq!(data("\u{feff}"), Vec::<String>::new());
    assert_eq!(decode(&[b"\xef\xbb"]), []);
    assert_eq!(data("dat"), Vec::<String>::new());
    assert_eq!(data(": ping\n\nevent"), Vec::<String>::new());
}

#[test]
fn broken_utf8_ends_nothing() {
    let events = decode(&[b"data: a\xff\n\ndata: b\n\n"]);
    assert_eq!(events[0].1, "a\u{fffd}");
    assert_eq!(events[1].1, "b");
}

/// C1: one large event in tiny pieces.  Quadratic work would take minutes here.
#[test]
fn a_large_event_in_single_bytes_is_read_in_linear_time() {
    let body = "x".repeat(2_000_000);
    let text = format!("data: {body}\n\n");
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    for byte in text.as_bytes() {
        decoder.push(std::slice::from_ref(byte), &mut events);
    }
    assert_eq!(events[0].data.len(), body.len());
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(
        lines in prop::collection::vec("(data: ?[a漢🚀\\{\\}]{0,5}|event: [ab]|: c|)", 0..12),
        ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n", "\r"]), 12),
        cuts in prop::collection::vec(0..200_usize, 0..6),
    ) {
        let text: String = lines.iter().zip(&ends).map(|(l, e)| format!("{l}{e}")).collect();
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&bytes[from..cut]);
            from = cut;
        }
        pieces.push(&bytes[from..]);
        prop_assert_eq!(decode(&pieces), decode(&[bytes]));
    }
}
