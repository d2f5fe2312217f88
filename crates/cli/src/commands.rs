//! One file per command. This one only hands over.

mod assemble;
mod build;
mod chat;
mod completions;
mod context;
mod demo;
mod doctor;
mod drawing;
mod files;
mod init;
mod replay;
mod rpc;
mod run;
mod sessions;
mod tokens;
mod why;

use tertulia_session::Entry;

use crate::Streams;
use crate::advice::SamePlace;
use crate::args::Command;
use crate::error::Result;

pub(crate) use run::write_wrong_usage;

pub(crate) fn run(command: Command, streams: &mut Streams<'_>) -> Result {
    let place = place_of(&command);
    let ended = match command {
        Command::Init(args) => init::run(&args, streams),
        Command::Chat(args) => chat::run(&args, streams),
        Command::Run(args) => run::run(&args, streams),
        Command::Demo(args) => demo::run(&args, streams),
        Command::Why(args) => why::run(&args, streams),
        Command::Replay(args) => replay::run(&args, streams),
        Command::Context(args) => context::run(&args, streams),
        Command::Build(args) => build::run(&args, streams),
        Command::Assemble(args) => assemble::run(&args, streams),
        Command::Rpc(args) => rpc::run(&args, streams),
        Command::Sessions(args) => sessions::run(&args, streams),
        Command::Tokens(args) => tokens::run(&args, streams),
        Command::Doctor(args) => doctor::run(&args, streams),
        Command::Completions(args) => completions::completions(&args, streams),
        Command::Man(args) => completions::man(&args, streams),
    };
    ended.map_err(|error| error.at(place))
}

/// The id of who said an entry, if it is a message.
fn said_by(entry: &Entry) -> Option<&str> {
    entry.message()?.speaker.as_deref().map(|one| &*one.role_id)
}

fn place_of(command: &Command) -> SamePlace {
    match command {
        Command::Chat(args) => SamePlace::of(Some(&args.team.file), &args.store),
        Command::Run(args) => run::place_of(args),
        Command::Why(args) => SamePlace::of(Some(&args.team), &args.store),
        Command::Replay(args) => SamePlace::of(Some(&args.team), &args.store),
        Command::Context(args) => SamePlace::of(Some(&args.team), &args.store),
        Command::Build(args) => SamePlace::of(None, &args.store),
        Command::Sessions(args) => SamePlace::of(None, &args.store),
        _ => SamePlace::default(),
    }
}
