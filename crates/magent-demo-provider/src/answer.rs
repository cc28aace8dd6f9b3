//! What the model answers to one request, before it becomes events on a wire.

use std::time::Duration;

use crate::words::words;

/// The pause between the words of `[[slow N]]`: long enough to interrupt by hand.
const SLOW_WORD: Duration = Duration::from_millis(150);

/// What `[[big N]]` repeats; one delta is one of it.
const FILLER: &str = "The quick brown fox\n";

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Words and calls.
    Answer(Answer),
    /// An error with this HTTP status.
    Http(u16),
}

/// What the model thinks, says and calls in one sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Thoughts, before everything else.
    pub(crate) reasoning: String,
    /// The text, part by part.
    pub(crate) speech: Vec<Speech>,
    /// The tools to call, after the text.
    pub(crate) calls: Vec<Call>,
    /// How it ends.
    pub(crate) ending: Ending,
}

/// A part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    /// These words, at the usual pace.
    Words(String),
    /// So many words, slowly.
    Slow(u64),
    /// So many bytes, at once.  They are made while they are sent and need no memory.
    Filler(u64),
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The tool.
    pub(crate) name: String,
    /// The arguments, which should be a JSON object but need not.
    pub(crate) arguments: String,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As it should.
    #[default]
    Whole,
    /// As if the limit on its length had cut it.
    Cut,
    /// The connection breaks half way through the text.
    Break,
    /// Nothing more comes after the text, and the connection stays open.
    Hang,
}

/// A piece of an answer and the pause after which it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The pause before it.
    pub(crate) pause: Duration,
    /// Its text.
    pub(crate) text: String,
}

impl Answer {
    /// An answer that only says something.
    pub(crate) fn saying(text: impl Into<String>) -> Self {
        Self {
            speech: vec![Speech::Words(text.into())],
            ..Self::default()
        }
    }

    /// The thoughts, piece by piece.
    pub(crate) fn thoughts(&self, pace: Duration) -> impl Iterator<Item = Piece> + Send + use<> {
        spoken(&self.reasoning, pace)
    }

    /// The text that is sent, piece by piece: half of it if the connection is to break.
    pub(crate) fn text(&self, pace: Duration) -> impl Iterator<Item = Piece> + Send + use<> {
        let most = match self.ending {
            // At least one piece, so that there is something to lose.
            Ending::Break => self.text_pieces().div_ceil(2),
            Ending::Whole | Ending::Cut | Ending::Hang => u64::MAX,
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let speech = self.speech.clone();
        speech
            .into_iter()
            .flat_map(move |part| part.pieces(pace))
            .take(most)
    }

    /// The number of pieces of the whole text.
    pub(crate) fn text_pieces(&self) -> u64 {
        self.speech
            .iter()
            .map(Speech::count)
            .fold(0, u64::saturating_add)
    }
}

impl Speech {
    fn count(&self) -> u64 {
        match self {
            Self::Words(text) => words(text).len() as u64,
            Self::Slow(words) => *words,
            Self::Filler(bytes) => bytes.div_ceil(FILLER.len() as u64),
        }
    }

    fn pieces(self, pace: Duration) -> Box<dyn Iterator<Item = Piece> + Send> {
        match self {
            Self::Words(text) => Box::new(spoken(&text, pace)),
            Self::Slow(words) => Box::new((0..words).map(|number| Piece {
                pause: SLOW_WORD,
                text: format!("w{number} "),
            })),
            Self::Filler(bytes) => {
                let size = FILLER.len() as u64;
                Box::new((0..self.count()).map(move |number| {
                    let rest = usize::try_from(bytes - number * size).unwrap_or(usize::MAX);
                    Piece {
                        pause: Duration::ZERO,
                        text: FILLER.get(..rest).unwrap_or(FILLER).to_owned(),
                    }
                }))
            }
        }
    }
}

fn spoken(text: &str, pause: Duration) -> impl Iterator<Item = Piece> + Send + use<> {
    words(text)
        .into_iter()
        .map(move |text| Piece { pause, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(answer: &Answer) -> String {
        answer
            .text(Duration::ZERO)
            .map(|piece| piece.text)
            .collect()
    }

    #[test]
    fn a_filler_has_as_many_bytes_as_asked_for() {
        for bytes in [0, 1, 19, 20, 21, 1000] {
            let answer = Answer {
                speech: vec![Speech::Filler(bytes)],
                ..Answer::default()
            };
            assert_eq!(told(&answer).len() as u64, bytes);
            assert_eq!(
                answer.text(Duration::ZERO).count() as u64,
                answer.text_pieces()
            );
        }
    }

    #[test]
    fn slow_words_take_their_time_and_others_the_usual_pace() {
        let mut answer = Answer::saying("a b");
        answer.speech.push(Speech::Slow(2));
        let pace = Duration::from_millis(7);
        let pauses: Vec<Duration> = answer.text(pace).map(|piece| piece.pause).collect();
        assert_eq!(pauses, [pace, pace, SLOW_WORD, SLOW_WORD]);
        assert_eq!(told(&answer), "a bw0 w1 ");
    }

    #[test]
    fn half_of_the_text_comes_before_a_break() {
        let breaking = |text: &str| {
            told(&Answer {
                ending: Ending::Break,
                ..Answer::saying(text)
            })
        };
        assert_eq!(breaking("a b c d"), "a b ");
        assert_eq!(breaking("a"), "a");
        assert_eq!(breaking(""), "");
    }
}
