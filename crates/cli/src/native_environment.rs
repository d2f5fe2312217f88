//! Finds the folders in which agents keep their sessions, from the environment of the process.

use std::env;

use tertulia_native::Environment;

use crate::error::{CliError, Result};
use crate::load_team::project_here;

/// Returns the folders in which agents keep their sessions.
pub(crate) fn native_environment() -> Result<Environment> {
    let home = env::var_os("HOME").filter(|home| !home.is_empty()).ok_or(CliError::NoHome)?;
    let environment = Environment::new(home, env::temp_dir());
    Ok(environment.with_variables(|name| env::var_os(name)).with_project(project_here()))
}
