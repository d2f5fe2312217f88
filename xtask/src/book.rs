//! `cargo xtask book`, `picture` and `reference`: build the documentation as a book, and write its generated parts.
//! The tests of the command compare the picture and the reference pages with the program; these commands make them
//! write the files instead.

use crate::process::{self, ProcessError};
use crate::tool::{Tool, ToolError};
use crate::workspace::Workspace;

const MDBOOK: Tool = Tool { name: "mdbook", version: "0.4.52" };

/// The variable that makes the tests write their files.
const UPDATE: &str = "TERTULIA_UPDATE";

/// A page that could not be written, or a book that could not be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BookError {
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error(transparent)]
    Process(#[from] ProcessError),
}

/// The pages that the tests of one module write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generated {
    Picture,
    Reference,
}

impl Generated {
    /// Returns the module of the tests.
    fn module(self) -> &'static str {
        match self {
            Self::Picture => "picture::",
            Self::Reference => "reference::",
        }
    }
}

/// Writes the pictures or the reference pages anew.
pub(crate) fn generate(workspace: &Workspace, generated: Generated) -> Result<(), BookError> {
    let mut command = workspace.cargo(["test", "--locked", "-p", "tertulia", "--test", "it"]);
    command.args(["--", generated.module()]).env(UPDATE, "1");
    Ok(process::run(&mut command)?)
}

/// Builds the book into `target/book`; installs mdbook the first time.
pub(crate) fn build(workspace: &Workspace) -> Result<(), BookError> {
    let tool = MDBOOK.find_or_install(workspace)?;
    process::run(workspace.program(tool).arg("build"))?;
    println!("open {}", workspace.root().join("target/book/index.html").display());
    Ok(())
}
