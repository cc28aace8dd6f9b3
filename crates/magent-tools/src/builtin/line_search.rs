//! Searching the lines of many files at once.
//!
//! One thread walks the tree, two search the files it finds.  Results are put
//! back into the order of the walk, so that a search that ends early shows the
//! first matches by path, the same ones each time.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch,
};

use super::blocking::StopFlag;
use super::clipped_line::clip_around;
use super::text_file::{FileError, StoppableReader, open_expected_regular};
use super::tree_walk::{EntryKind, Step, WalkEntry, WalkOptions, WalkReport, walk_tree};

/// More threads than this take the processor away from the user.
const SEARCH_THREADS: usize = 2;

/// Files that are handed to a search thread at once.  Waking a thread takes about as
/// long as searching a small file.
const BATCH: usize = 16;

/// Batches found but not searched yet.
const QUEUE: usize = 16;

/// A line longer than this ends the search of its file, which has no lines then.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// Most characters of a line in a result.
const SHOWN_CHARACTERS: usize = 400;

/// A file's place in the order of the walk, and its path.
type NumberedPath = (usize, PathBuf);

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineHit {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// The line, clipped around the match if it is long.
    pub(crate) text: String,
}

/// The matching lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileHits {
    /// The file.
    pub(crate) path: PathBuf,
    /// At least one line, in order.
    pub(crate) lines: Vec<LineHit>,
}

/// What a search found and left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SearchReport {
    /// Files with matches, by path.
    pub(crate) files: Vec<FileHits>,
    /// Whether there are more matches.
    pub(crate) truncated: bool,
    /// What the walk left out.
    pub(crate) walk: WalkReport,
    /// Files that could not be searched.
    pub(crate) unreadable: usize,
}

/// A search for a pattern.
#[derive(Clone, Debug)]
pub(crate) struct LineSearch {
    matcher: RegexMatcher,
    limit: usize,
}

impl LineSearch {
    /// Reads the pattern; the error is the engine's own message.
    pub(crate) fn new(pattern: &str, case_sensitive: bool, limit: usize) -> Result<Self, String> {
        let build = |crlf: bool| {
            let mut builder = RegexMatcherBuilder::new();
            builder.case_insensitive(!case_sensitive).multi_line(true);
            // Either way no match spans lines, which the fast search relies on.
            if crlf {
                builder.crlf(true);
            } else {
                builder.line_terminator(Some(b'\n'));
            }
            builder.build(pattern)
        };
        // `$` should find the end of a line in a CRLF file, too.  A pattern that
        // names the carriage return itself needs it to be a part of the line.
        let matcher = build(true)
            .or_else(|_| build(false))
            .map_err(|error| error.to_string())?;
        Ok(Self { matcher, limit })
    }

    /// Searches a single file.
    pub(crate) fn search_file(
        &self,
        path: &Path,
        stop: &StopFlag,
    ) -> Result<SearchReport, FileError> {
        let lines = self.file_lines(&mut self.searcher(), path, stop)?;
        let mut results = Results::new(self.limit);
        results.deliver(0, Outcome::of(path.to_owned(), lines));
        Ok(results.into_report(WalkReport::default()))
    }

    /// Searches the files below a folder that `wanted` accepts by their relative path.
    pub(crate) fn search_tree(
        &self,
        options: &WalkOptions,
        stop: &StopFlag,
        wanted: &mut dyn FnMut(&WalkEntry<'_>) -> bool,
    ) -> Result<SearchReport, FileError> {
        let results = Mutex::new(Results::new(self.limit));
        let enough = StopFlag::default();
        let (sender, receiver) = sync_channel::<Vec<NumberedPath>>(QUEUE);
        let receiver = Arc::new(Mutex::new(receiver));
        let walked = std::thread::scope(|scope| {
            for _ in 0..SEARCH_THREADS {
                let (receiver, results, enough) = (Arc::clone(&receiver), &results, &enough);
                scope.spawn(move || self.search_queue(&receiver, results, enough, stop));
            }
            // Each side owns its end of the queue: it closes when the walk is done,
            // which ends the threads, and when all threads are gone, which ends the walk.
            drop(receiver);
            let sender = sender;
            let mut index = 0;
            let mut batch = Vec::new();
            let walked = walk_tree(options, stop, &mut |entry: &WalkEntry<'_>| {
                if enough.is_set() {
                    return Step::Stop;
                }
                if entry.kind == EntryKind::File && wanted(entry) {
                    batch.push((index, entry.path.to_owned()));
                    index += 1;
                    if batch.len() == BATCH && sender.send(std::mem::take(&mut batch)).is_err() {
                        return Step::Stop;
                    }
                }
                Step::Continue
            });
            // Without threads there is nobody left who could want the rest.
            let _ = sender.send(batch);
            walked
        });
        if stop.is_set() {
            return Err(FileError::Stopped);
        }
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(results.into_report(walked?))
    }

    /// Searches files from the queue until it closes.
    fn search_queue(
        &self,
        queue: &Mutex<Receiver<Vec<NumberedPath>>>,
        results: &Mutex<Results>,
        enough: &StopFlag,
        stop: &StopFlag,
    ) {
        let mut searcher = self.searcher();
        loop {
            // The lock is held while waiting: the other thread would wait as well.
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(batch) = next else { return };
            for (index, path) in batch {
                if enough.is_set() || stop.is_set() {
                    break;
                }
                let outcome = match self.file_lines(&mut searcher, &path, stop) {
                    Ok(lines) => Outcome::of(path, lines),
                    Err(_) => Outcome::Unreadable,
                };
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                if results.deliver(index, outcome) {
                    enough.set();
                }
            }
        }
    }

    /// The matching lines of a file, at most one more than the limit.
    fn file_lines(
        &self,
        searcher: &mut Searcher,
        path: &Path,
        stop: &StopFlag,
    ) -> Result<Vec<LineHit>, FileError> {
        let (file, _) = open_expected_regular(path)?;
        let mut sink = HitSink {
            matcher: &self.matcher,
            limit: self.limit + 1,
            stop,
            lines: Vec::new(),
        };
        let reader = StoppableReader::new(file, stop);
        searcher.search_reader(&self.matcher, reader, &mut sink)?;
        Ok(sink.lines)
    }

    fn searcher(&self) -> Searcher {
        let end = self.matcher.line_terminator().unwrap_or_default();
        SearcherBuilder::new()
            .line_number(true)
            .line_terminator(end)
            .binary_detection(BinaryDetection::quit(0))
            .memory_map(MmapChoice::never())
            .heap_limit(Some(MAX_LINE_BYTES))
            .build()
    }
}

/// Collects the matching lines of one file.
struct HitSink<'a> {
    matcher: &'a RegexMatcher,
    limit: usize,
    stop: &'a StopFlag,
    lines: Vec<LineHit>,
}

impl Sink for HitSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let bytes = matched.bytes();
        let place = self.matcher.find(bytes).ok().flatten();
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (start, end) = place.map_or((0, 0), |place| {
            (place.start().min(line.len()), place.end().min(line.len()))
        });
        self.lines.push(LineHit {
            number: matched.line_number().unwrap_or_default(),
            text: clip_around(line, start, end, SHOWN_CHARACTERS),
        });
        Ok(self.lines.len() < self.limit && !self.stop.is_set())
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        // What looked like text before the first NUL was none.
        if finish.binary_byte_offset().is_some() {
            self.lines.clear();
        }
        Ok(())
    }
}

/// What came out for one file.
enum Outcome {
    Nothing,
    Hits(FileHits),
    Unreadable,
}

impl Outcome {
    fn of(path: PathBuf, lines: Vec<LineHit>) -> Self {
        if lines.is_empty() {
            Self::Nothing
        } else {
            Self::Hits(FileHits { path, lines })
        }
    }
}

/// The outcomes in the order of the walk.
struct Results {
    limit: usize,
    /// The first file whose outcome is not known yet.
    next: usize,
    waiting: BTreeMap<usize, Outcome>,
    files: Vec<FileHits>,
    lines: usize,
    unreadable: usize,
}

impl Results {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            next: 0,
            waiting: BTreeMap::new(),
            files: Vec::new(),
            lines: 0,
            unreadable: 0,
        }
    }

    /// Takes the outcome of a file; the answer is whether more are of no use.
    fn deliver(&mut self, index: usize, outcome: Outcome) -> bool {
        self.waiting.insert(index, outcome);
        while let Some(outcome) = self.waiting.remove(&self.next) {
            self.next += 1;
            if self.lines > self.limit {
                continue;
            }
            match outcome {
                Outcome::Nothing => {}
                Outcome::Unreadable => self.unreadable += 1,
                Outcome::Hits(hits) => {
                    self.lines += hits.lines.len();
                    self.files.push(hits);
                }
            }
        }
        self.lines > self.limit
    }

    fn into_report(mut self, walk: WalkReport) -> SearchReport {
        let truncated = self.lines > self.limit;
        let mut room = self.limit;
        for hits in &mut self.files {
            hits.lines.truncate(room);
            room -= hits.lines.len();
        }
        self.files.retain(|hits| !hits.lines.is_empty());
        SearchReport {
            files: self.files,
            truncated,
            walk,
            unreadable: self.unreadable,
        }
    }
}

#[cfg(test)]
#[path = "line_search_tests.rs"]
mod tests;
