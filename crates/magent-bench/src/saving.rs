//! Saving one more turn, and loading, sessions of several lengths.

use std::time::{Duration, Instant};

use magent_ledger::{
    Ledger, OpenFrom, SessionHeader, SessionWriter, StoreWriter, WriterSettings, encode_event,
};

use crate::Failure;
use crate::files::FileStates;
use crate::report::{Figure, median};
use crate::sessions::{LENGTHS, Saved, append, megabytes, record_turn, session_id};

/// Turns that are added to see what checkpoints cost in the long run.
const MORE_TURNS: usize = 1_000;

/// A saved session that is open for writing.
struct Opened {
    ledger: Ledger,
    header: SessionHeader,
    session: SessionWriter,
    writer: StoreWriter,
}

impl Opened {
    fn new(saved: &Saved, turns: usize) -> Result<Self, Failure> {
        let loaded = saved.directory.load(&saved.scope, &session_id(turns))?;
        let writer = StoreWriter::start(|_, _| {})?;
        let source = OpenFrom::Saved(loaded.report);
        let session = writer.open(&saved.directory, &loaded.header, source);
        Ok(Self {
            ledger: loaded.ledger,
            header: loaded.header,
            session,
            writer,
        })
    }

    /// Records and saves a turn as the runtime does.  Returns the bytes of its events and
    /// how long the calling thread was busy with handing them over.
    fn one_more_turn(&mut self, number: usize, durable: bool) -> Result<(u64, Duration), Failure> {
        let mut bytes = 0;
        let mut busy = Duration::ZERO;
        let session = &self.session;
        let mut step = |ledger: &mut Ledger, wanted: bool| {
            let events = ledger.take_unsaved();
            bytes += events
                .iter()
                .map(|event| encode_event(event).to_string().len() as u64 + 1)
                .sum::<u64>();
            let begun = Instant::now();
            session.append(&events, wanted && durable, None);
            busy += begun.elapsed();
        };
        record_turn(&mut self.ledger, number, 1.8e9, &mut step);
        let begun = Instant::now();
        self.session.write_header(self.header.clone());
        if self.session.checkpoint_due(WriterSettings::default()) {
            self.session.checkpoint(self.ledger.snapshot(1.8e9));
        }
        busy += begun.elapsed();
        // Everything before it is done when this is.
        append(&self.session, &mut self.ledger, durable)?;
        Ok((bytes, busy))
    }

    fn close(self) -> Result<(), Failure> {
        if self.writer.stop(Duration::from_secs(30)) {
            Ok(())
        } else {
            Err("the session was not written in time".into())
        }
    }
}

/// Bytes written and time taken by one more turn.
pub(crate) fn one_more_turn() -> Result<Vec<Figure>, Failure> {
    let saved = Saved::new()?;
    let mut figures = Vec::new();
    for turns in LENGTHS {
        let mut opened = Opened::new(&saved, turns)?;
        // The first one opens the log and writes the header.
        opened.one_more_turn(turns, true)?;
        let before = FileStates::below(saved.directory.root())?;
        let (events, busy) = opened.one_more_turn(turns + 1, true)?;
        let after = FileStates::below(saved.directory.root())?;
        opened.close()?;
        let written = after.written_since(&before);
        let name = format!("save a turn after {turns}: bytes per byte of events");
        let ratio = written as f64 / events as f64;
        figures
            .push(Figure::at_most(name, ratio, 2.0, "x").detail(&format!("{written} of {events}")));
        let name = format!("save a turn after {turns}: calling thread, not Emacs's");
        figures.push(Figure::plain(name, busy));
    }
    Ok(figures)
}

/// Bytes written by many more turns, checkpoints included.  These are due when the log
/// has outgrown the snapshot: all snapshots together are at most twice the events, which
/// are written once.
pub(crate) fn with_checkpoints() -> Result<Vec<Figure>, Failure> {
    let saved = Saved::new()?;
    let turns = LENGTHS[LENGTHS.len() - 1];
    let mut opened = Opened::new(&saved, turns)?;
    let (mut written, mut events) = (0, 0);
    let mut longest = Duration::ZERO;
    let mut before = FileStates::below(saved.directory.root())?;
    for number in 0..MORE_TURNS {
        let (bytes, busy) = opened.one_more_turn(turns + number, false)?;
        events += bytes;
        longest = longest.max(busy);
        let after = FileStates::below(saved.directory.root())?;
        written += after.written_since(&before);
        before = after;
    }
    opened.close()?;
    let name = format!("save {MORE_TURNS} turns after {turns}, checkpoints included");
    let detail = format!("{} of {} MB", megabytes(written), megabytes(events));
    Ok(vec![
        Figure::at_most(name, written as f64 / events as f64, 3.0, "x").detail(&detail),
        Figure::plain(
            "save with a checkpoint: longest on the calling thread",
            longest,
        ),
    ])
}

/// Loading, from the files to a ledger that can go on.
pub(crate) fn load() -> Result<Vec<Figure>, Failure> {
    let saved = Saved::new()?;
    let mut figures = Vec::new();
    for turns in LENGTHS {
        let id = session_id(turns);
        let mut times = Vec::new();
        let mut size = 0;
        for _ in 0..5 {
            let begun = Instant::now();
            let mut loaded = saved.directory.load(&saved.scope, &id)?;
            loaded.ledger.reconcile_after_restart(1.8e9);
            times.push(begun.elapsed());
            size = loaded.report.snapshot_length + loaded.report.log_length;
        }
        let name = format!("load a session of {turns} turns");
        let figure = if turns == LENGTHS[LENGTHS.len() - 1] {
            Figure::within(name, median(times), 300.0)
        } else {
            Figure::plain(name, median(times))
        };
        figures.push(figure.detail(&format!("{} MB", megabytes(size))));
    }
    Ok(figures)
}
