//! `tertulia rpc`: answers JSON-RPC requests line by line until the input ends.

use tertulia_operations::lines::Lines;
use tertulia_operations::rpc::RpcServer;

use crate::Streams;
use crate::args::RpcArgs;
use crate::error::{CliError, Result};
use crate::load_team::project_here;
use crate::store_location::StoreLocation;

pub(crate) fn run(args: &RpcArgs, streams: &mut Streams<'_>) -> Result {
    let store = match StoreLocation::read(&args.store) {
        Err(error @ CliError::NoHome) => Err(error.to_string()),
        location => Ok(location?.into_url()),
    };
    let mut server = RpcServer::with_store(tertulia_store::now_millis, store)
        .in_project(|| Some(project_here()));
    let mut lines = Lines::new(streams.stdin, args.limits.max_line_bytes);
    while let Some(line) = lines.next_line().map_err(CliError::Input)? {
        let answered = match line.text {
            Ok(text) => server.answer(text, &mut streams.stdout),
            Err(error) => server.refuse(&error, &mut streams.stdout),
        };
        // A caller may wait for this answer before it writes the next line.
        let answered = answered.and_then(|()| streams.stdout.flush());
        answered.map_err(|error| match CliError::output(error) {
            CliError::ReaderDone => CliError::Failed(
                "standard output was closed by its reader; the conversations of this process are lost"
                    .to_owned(),
            ),
            broken => broken,
        })?;
    }
    Ok(())
}
