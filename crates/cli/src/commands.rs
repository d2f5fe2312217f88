//! One module per command; this file calls them.

mod assemble;
mod build;
mod chat;
mod completions;
mod context;
mod cost;
mod demo;
mod doctor;
mod drawing;
mod files;
mod handover;
mod init;
mod receipt;
mod replay;
mod rpc;
mod run;
mod sessions;
mod tokens;
mod why;
mod worktrees;

use tertulia_session::Entry;

use crate::Streams;
use crate::args::Command;
use crate::error::Result;
use crate::suggested_flags::SuggestedFlags;

pub(crate) use run::write_wrong_usage;

pub(crate) fn run(command: Command, streams: &mut Streams<'_>) -> Result {
    let flags = flags_for(&command);
    let ended = match command {
        Command::Init(args) => init::run(&args, streams),
        Command::Chat(args) => chat::run(&args, streams),
        Command::Run(args) => run::run(&args, None, streams),
        Command::Ask(args) => {
            let (run, request) = args.into_run();
            run::run(&run, Some(&request), streams)
        }
        Command::Demo(args) => demo::run(&args, streams),
        Command::Why(args) => why::run(&args, streams),
        Command::Replay(args) => replay::run(&args, streams),
        Command::Context(args) => context::run(&args, streams),
        Command::Build(args) => build::run(&args, streams),
        Command::Assemble(args) => assemble::run(&args, streams),
        Command::Rpc(args) => rpc::run(&args, streams),
        Command::Sessions(args) => sessions::run(&args, streams),
        Command::Handover(args) => handover::run(&args, streams),
        Command::Receipt(args) => receipt::run(&args, streams),
        Command::Worktrees(args) => worktrees::run(&args, streams),
        Command::Tokens(args) => tokens::run(&args, streams),
        Command::Cost(args) => cost::run(&args, streams),
        Command::Doctor(args) => doctor::run(&args, streams),
        Command::Completions(args) => completions::completions(&args, streams),
        Command::Man(args) => completions::man(&args, streams),
    };
    ended.map_err(|error| error.at(flags))
}

/// Returns the speaker's ID of a message.
fn said_by(entry: &Entry) -> Option<&str> {
    entry.message()?.speaker.as_deref().map(|one| &*one.role_id)
}

fn flags_for(command: &Command) -> SuggestedFlags {
    match command {
        Command::Chat(args) => SuggestedFlags::new(Some(&args.team.file), &args.store),
        Command::Run(args) => run::flags_for(args),
        Command::Ask(args) => SuggestedFlags::new(Some(&args.team.file), &args.store),
        Command::Why(args) => SuggestedFlags::new(Some(&args.team), &args.store),
        Command::Replay(args) => SuggestedFlags::new(Some(&args.team), &args.store),
        Command::Context(args) => SuggestedFlags::new(Some(&args.team), &args.store),
        Command::Build(args) => SuggestedFlags::new(None, &args.store),
        Command::Sessions(args) => SuggestedFlags::new(None, &args.store),
        Command::Handover(args) => SuggestedFlags::new(None, &args.store),
        Command::Receipt(args) => SuggestedFlags::new(None, &args.store),
        Command::Cost(args) => SuggestedFlags::new(None, &args.store),
        _ => SuggestedFlags::default(),
    }
}
