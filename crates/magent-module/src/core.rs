//! The one core of this process.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use magent_acp::{Connection, LineSink, Pace};
use magent_runtime::{
    HostBridge, HostRequest, HostSink, ObserverId, Runtime, RuntimeConfig, RuntimePorts,
};
use magent_sampling::HttpSampler;
use magent_types::{Failure, FailureKind};
use parking_lot::Mutex;
use serde_json::Value;

use crate::errors::{bad_argument, failed, not_started, report_panics_to};
use crate::outbox::{Event, Outbox};
use crate::process;

/// How many threads do the runtime's work.
const WORKERS: usize = 2;

/// The runtime with everything that ties it to Emacs.
pub(crate) struct Core {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) host: Arc<HostBridge>,
    pub(crate) handle: tokio::runtime::Handle,
    /// Kept alive for as long as the process: nothing may wait for its end.
    _tasks: tokio::runtime::Runtime,
    connections: Mutex<HashMap<u64, Arc<Connection>>>,
    pub(crate) observers: Mutex<HashMap<String, ObserverId>>,
    next: AtomicU64,
}

static CORE: OnceLock<Core> = OnceLock::new();

/// The core, once it was started.
pub(crate) fn core() -> Result<&'static Core, Failure> {
    CORE.get().ok_or_else(not_started)
}

/// Requests to Emacs go through the outbox.
struct EmacsSink(Arc<Outbox>);

impl HostSink for EmacsSink {
    fn send(&self, request: HostRequest) -> bool {
        if !self.0.has_waker() {
            return false;
        }
        self.0.push(Event::Host {
            id: request.id.as_str().to_owned(),
            op: request.op,
            args: request.args.to_string(),
        });
        true
    }
}

/// Lines of an ACP client inside Emacs go through the outbox.
struct ClientSink {
    connection: u64,
    outbox: Arc<Outbox>,
}

impl LineSink for ClientSink {
    fn send(&self, lines: Vec<String>) -> bool {
        for line in lines {
            self.outbox.push(Event::Acp {
                connection: self.connection,
                line,
            });
        }
        true
    }

    fn notice(&self, text: &str) -> bool {
        self.outbox.push(Event::Notice {
            connection: self.connection,
            text: text.to_owned(),
        });
        true
    }

    fn pace(&self) -> Pace {
        Pace {
            frame: self.outbox.frame(),
        }
    }
}

/// Starts the core, or does nothing if it runs.  The options are an object with the
/// texts `session-directory`, `home`, `holder` and `about`.
pub(crate) fn start(outbox: &Arc<Outbox>, options: &Value) -> Result<(), Failure> {
    if CORE.get().is_some() {
        return Ok(());
    }
    let text = |key: &str| options.get(key).and_then(Value::as_str).map(str::to_owned);
    let session_directory = text("session-directory")
        .map(PathBuf::from)
        .ok_or_else(|| bad_argument("session-directory is missing"))?;
    let tasks = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("magent")
        .on_thread_start(process::block_signals)
        .enable_all()
        .build()
        .map_err(|error| {
            let message = format!("The core's threads cannot be started: {error}.");
            Failure::new(FailureKind::Internal, "threads", message)
        })?;
    let host = Arc::new(HostBridge::new(Arc::new(EmacsSink(Arc::clone(outbox)))));
    let runtime = Runtime::start(RuntimePorts {
        host: Arc::clone(&host),
        sampler: Arc::new(HttpSampler::new()),
        session_directory,
        home: text("home").map(PathBuf::from),
        holder: text("holder").unwrap_or_else(|| "another Emacs".to_owned()),
        about: text("about").unwrap_or_default(),
        process_setup: Some(process::start_afresh),
        handle: tasks.handle().clone(),
    })
    .map_err(failed)?;
    let storage = Arc::clone(outbox);
    runtime.watch_storage(Box::new(move |session, problem| {
        storage.push(Event::Storage {
            session: session.as_str().to_owned(),
            problem: problem.map(str::to_owned),
        });
    }));
    let log = Arc::clone(outbox);
    report_panics_to(move |text| {
        log.push(Event::Log {
            level: "error",
            text: text.to_owned(),
        });
    });
    let core = Core {
        outbox: Arc::clone(outbox),
        runtime,
        host,
        handle: tasks.handle().clone(),
        _tasks: tasks,
        connections: Mutex::default(),
        observers: Mutex::default(),
        next: AtomicU64::new(0),
    };
    // Lisp calls from one thread, so nobody was faster.
    let _ = CORE.set(core);
    Ok(())
}

/// The outbox; there is one before there is a core.
pub(crate) fn outbox() -> &'static Arc<Outbox> {
    static OUTBOX: OnceLock<Arc<Outbox>> = OnceLock::new();
    OUTBOX.get_or_init(Outbox::new)
}

/// Reads options; `nil` is their defaults.
pub(crate) fn read_config(text: Option<&str>) -> Result<Arc<RuntimeConfig>, Failure> {
    let Some(text) = text else {
        return Ok(Arc::new(RuntimeConfig::default()));
    };
    let value = parse(text)?;
    RuntimeConfig::from_json(&value)
        .map(Arc::new)
        .map_err(failed)
}

/// Reads JSON that Lisp made.
pub(crate) fn parse(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| bad_argument(format!("The JSON is bad: {error}.")))
}

impl Core {
    /// A number that was not used before.
    pub(crate) fn fresh(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Opens a connection for a client inside Emacs.
    pub(crate) fn open_client(&self, config: Arc<RuntimeConfig>) -> u64 {
        let id = self.fresh();
        let sink = Arc::new(ClientSink {
            connection: id,
            outbox: Arc::clone(&self.outbox),
        });
        self.open(id, config, sink);
        id
    }

    /// Opens a connection whose lines go to the given sink.
    pub(crate) fn open(
        &self,
        id: u64,
        config: Arc<RuntimeConfig>,
        sink: Arc<dyn LineSink>,
    ) -> Arc<Connection> {
        let _inside = self.handle.enter();
        let runtime = Arc::clone(&self.runtime);
        let connection = Connection::open(runtime, config, sink, &Default::default());
        self.connections.lock().insert(id, Arc::clone(&connection));
        connection
    }

    /// A connection by its number.
    pub(crate) fn connection(&self, id: u64) -> Result<Arc<Connection>, Failure> {
        self.connections
            .lock()
            .get(&id)
            .cloned()
            .ok_or_else(|| bad_argument(format!("There is no connection {id}.")))
    }

    /// Ends a connection.  Its work ends on the runtime's threads.
    pub(crate) fn close(&self, id: u64) {
        if let Some(connection) = self.connections.lock().remove(&id) {
            self.handle.spawn(async move { connection.close() });
        }
    }

    /// Ends a connection after what it has received is answered.
    pub(crate) fn end(&self, id: u64) {
        if let Some(connection) = self.connections.lock().remove(&id) {
            connection.end();
        }
    }

    /// Ends everything, for the end of Emacs.
    pub(crate) fn shutdown(&self, deadline: Duration) {
        let _inside = self.handle.enter();
        self.runtime.shutdown(deadline);
    }
}
