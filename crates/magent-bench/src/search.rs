//! The tools `grep` and `glob` beside the program `rg` on the same tree.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use magent_tools::{
    Call, Catalog, HostError, HostPort, LiveOutput, SpillError, SpillPage, SpillReader,
    ToolContext, ToolLimits, builtin_catalog, resolve_path,
};
use magent_types::Scope;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::Failure;
use crate::report::{Figure, median, millis};
use crate::search_tree::{self, LARGE, MINIFIED, RARE, SMALL_FILES};
use crate::world::block_on;

/// How often each search runs; the middle time counts.
const ROUNDS: usize = 7;

/// How much slower than `rg` a search may be.
const AGAINST_RG: f64 = 1.1;

/// Neither Emacs nor results nor a screen are there.
struct Nothing;

#[async_trait]
impl HostPort for Nothing {
    async fn call(&self, _: &str, _: Value, _: Duration) -> Result<Value, HostError> {
        Err(HostError::Absent)
    }
}

impl LiveOutput for Nothing {
    fn write(&self, _: &str) {}
}

impl SpillReader for Nothing {
    fn session_id(&self) -> &str {
        "bench"
    }

    fn read(&self, _: &str, _: usize, _: usize) -> Result<SpillPage, SpillError> {
        Err(SpillError::NotFound)
    }
}

/// A search, and the arguments that make `rg` do the same.
struct Search {
    name: &'static str,
    tool: &'static str,
    arguments: Value,
    rg: Vec<&'static str>,
    /// The lines that are found.
    found: usize,
}

fn searches() -> [Search; 4] {
    let grep = |name, pattern: &'static str, found| Search {
        name,
        tool: "grep",
        arguments: json!({"pattern": pattern, "path": "."}),
        rg: vec!["-n", "-i", "-M400", "--max-columns-preview", pattern],
        found,
    };
    [
        grep("grep, rare hits", RARE, 7),
        grep("grep, 20 hits in 5 MB files", LARGE, 20),
        grep("grep, a line of 5 MB", MINIFIED, 1),
        Search {
            name: "glob, rare pattern",
            tool: "glob",
            arguments: json!({"pattern": "**/module_*777.rs", "path": "."}),
            rg: vec!["--files", "-g", "module_*777.rs"],
            found: SMALL_FILES / 1_000,
        },
    ]
}

/// Runs the searches on a tree of many files.
pub(crate) fn against_ripgrep() -> Result<Vec<Figure>, Failure> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    search_tree::write(&root)?;
    let has_rg = Command::new("rg")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok();
    let context = context(&root);
    let catalog = builtin_catalog();
    block_on(async {
        let mut figures = Vec::new();
        for search in searches() {
            let mut own = Vec::new();
            let mut rg = Vec::new();
            for _ in 0..ROUNDS {
                own.push(run_tool(&catalog, &context, &search).await?);
                if has_rg {
                    rg.push(run_rg(&root, &search)?);
                }
            }
            figures.push(figure(&search, median(own), has_rg.then(|| median(rg))));
        }
        Ok(figures)
    })
}

fn figure(search: &Search, own: Duration, rg: Option<Duration>) -> Figure {
    let Some(rg) = rg else {
        return Figure::noted(search.name, own, "rg is not installed");
    };
    let name = format!("{} against rg", search.name);
    let ratio = own.as_secs_f64() / rg.as_secs_f64();
    let times = format!("{:.0} to {:.0} ms", millis(own), millis(rg));
    Figure::at_most(name, ratio, AGAINST_RG, "x").detail(&times)
}

fn context(root: &Path) -> ToolContext {
    ToolContext {
        scope: Scope::Project(root.to_string_lossy().into_owned()),
        home: None,
        private_directories: Arc::from([]),
        may_read: Arc::new(|_| true),
        environment: None,
        process_setup: None,
        limits: Arc::new(ToolLimits::default()),
        cancel: CancellationToken::new(),
        live: Arc::new(Nothing),
        host: Arc::new(Nothing),
        spill: Arc::new(Nothing),
    }
}

async fn run_tool(
    catalog: &Catalog,
    context: &ToolContext,
    search: &Search,
) -> Result<Duration, Failure> {
    let tool = catalog
        .get(search.tool)
        .ok_or_else(|| format!("there is no tool {}", search.tool))?;
    let base = context.base_directory();
    let arguments = search.arguments.as_object().cloned().unwrap_or_default();
    let call = Call {
        arguments,
        resource: Some(resolve_path(".", &base, None, &context.scope)?),
    };
    let begun = Instant::now();
    let output = tool
        .run(&call, context)
        .await
        .map_err(|error| format!("{}: {error:?}", search.name))?;
    let took = begun.elapsed();
    let found = ["matches", "paths"]
        .iter()
        .filter_map(|key| output.value[key].as_array())
        .map(Vec::len)
        .sum();
    check(search, search.tool, found)?;
    Ok(took)
}

fn run_rg(root: &Path, search: &Search) -> Result<Duration, Failure> {
    let begun = Instant::now();
    let output = Command::new("rg")
        .args(["--no-config", "--hidden", "-g", "!.git"])
        .args(&search.rg)
        .arg(root)
        .stdin(Stdio::null())
        .output()?;
    let took = begun.elapsed();
    let found = output.stdout.split(|byte| *byte == b'\n').count() - 1;
    check(search, "rg", found)?;
    Ok(took)
}

fn check(search: &Search, who: &str, found: usize) -> Result<(), Failure> {
    if found == search.found {
        return Ok(());
    }
    let Search {
        name,
        found: wanted,
        ..
    } = search;
    Err(format!("{name}: {who} found {found} lines, not {wanted}").into())
}
