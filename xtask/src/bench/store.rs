//! `cargo xtask bench store`: the bench of the session store, on the disk that holds the builds. A folder in
//! memory would not tell what a sync costs.

use super::{BenchError, PACKAGE};
use crate::command::UsageError;
use crate::process;
use crate::workspace::Workspace;

/// Reads the words behind `bench store`; says whether it is to be quick.
pub(crate) fn parse(arguments: &[String]) -> Result<bool, UsageError> {
    match arguments {
        [] => Ok(false),
        [option] if option == "--quick" => Ok(true),
        [argument, ..] => {
            let (command, argument) = ("bench store", argument.clone());
            Err(UsageError::UnexpectedArgument { command, argument })
        }
    }
}

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
