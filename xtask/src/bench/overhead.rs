//! `cargo xtask bench overhead`: measures the time that Tertulia adds to a turn, and how fast the program starts. A
//! second program, which only prints a line, is compiled for comparison.

use super::{BenchError, PACKAGE};
use crate::process;
use crate::workspace::Workspace;

const HELLO: &str = "fn main() { println!(\"hello\"); }";

/// Builds the programs and runs the bench.
pub(crate) fn run(workspace: &Workspace, quick: bool) -> Result<(), BenchError> {
    let folder = workspace.target().map_or_else(|| workspace.root().join("target"), Into::into);
    process::run(&mut workspace.cargo(["build", "--release", "--locked", "-p", "tertulia"]))?;
    let source = folder.join("hello.rs");
    let hello = folder.join("hello");
    std::fs::write(&source, HELLO).map_err(BenchError::Hello)?;
    let mut rustc = workspace.program("rustc");
    process::run(rustc.args(["-O", "-o"]).arg(&hello).arg(&source))?;
    let mut bench = workspace.cargo(["run", "--release", "--locked", "-p", PACKAGE, "--"]);
    bench.arg("--overhead").arg(&folder).arg(folder.join("release/tertulia")).arg(hello);
    if quick {
        bench.arg("--quick");
    }
    process::run(&mut bench)?;
    Ok(())
}
