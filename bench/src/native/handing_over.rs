//! The time of a handover under a budget, from the entries of the session to the text for the agent.

use std::error::Error;

use tertulia_dialect::native::NativeFormat;
use tertulia_operations::handover::{HandoverOptions, hand_over};
use tertulia_session::Timestamp;

use super::sessions::{conversation, log};
use crate::arguments::Scale;
use crate::measure::alone;
use crate::report::{Figure, Theme, Unit, grouped};

const MILLISECONDS_MAX: f64 = 1_000.0;
const BUDGET: u64 = 60_000;

pub(super) fn measure(scale: &Scale) -> Result<Theme, Box<dyn Error>> {
    let entries = log(conversation(scale.stored_messages / 100));
    let mut figures = Vec::new();
    for to in NativeFormat::ALL.into_iter().filter(|format| format.is_writable()) {
        let options = HandoverOptions {
            to,
            session: "long",
            title: Some("A long session"),
            folder: "/src/app",
            model: None,
            budget: Some(BUDGET),
            last: None,
            member: None,
            taken: &[],
            is_new: true,
            now: Timestamp::from_millis(1_800_000_000_000),
        };
        let written = hand_over(&entries, &options)?.written;
        let milliseconds = alone(scale.time, || hand_over(&entries, &options).is_ok()) / 1e6;
        let name = format!("{} messages for {}", grouped(entries.len()), to.agent_name());
        let detail = format!("{} B are written", grouped(written.text.len()));
        let figure = Figure::new(name, milliseconds, Unit::Milliseconds);
        figures.push(figure.at_most(MILLISECONDS_MAX).of(detail));
    }
    Ok(Theme { title: "Handing a session over within 60,000 tokens", figures })
}
