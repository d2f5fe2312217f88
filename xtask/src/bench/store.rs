//! `cargo xtask bench store`: the bench of the session store, on the disk with the builds. A folder in
//! memory would not show the cost of a sync.

use super::{BenchError, PACKAGE};
use crate::process;
use crate::workspace::Workspace;

/// Runs the bench.
pub(crate) fn run(workspace: &Workspace, quick: bool) -> Result<(), BenchError> {
    let mut bench = workspace.cargo(["run", "--release", "--locked", "-p", PACKAGE, "--"]);
    let folder = workspace.target().map_or_else(|| workspace.root().join("target"), Into::into);
    bench.arg("--store").arg(folder);
    if quick {
        bench.arg("--quick");
    }
    process::run(&mut bench)?;
    Ok(())
}
