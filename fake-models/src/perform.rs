//! Performs one step on a connection, in the same way for every vendor; the caller passes the vendor's voice.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::http;
use crate::roster::hand_over;
use crate::step::{Step, first_line, pieces_of, said_in, words_of};
use crate::vendor::{Answer, End, Reading, Vendor};

/// The time between two checks, during a pause, whether the server should stop.
const NAP: Duration = Duration::from_millis(20);

/// The time for reading the last pieces before the connection is cut.
const BEFORE_CUT: Duration = Duration::from_millis(100);

/// The state of a connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It accepts the next request.
    Open,
    /// It is closed.
    Closed,
}

/// Answers on one connection.
pub(crate) struct Stage<'a> {
    pub(crate) stream: &'a mut TcpStream,
    /// Set when the server should stop.
    pub(crate) stop: &'a AtomicBool,
}

/// An answer, and what follows it.
struct Plan<'a> {
    pieces: Vec<String>,
    pause: Duration,
    last: Last<'a>,
}

enum Last<'a> {
    End(End<'a>),
    EndEarly,
    Cut,
    Hang,
}

impl Stage<'_> {
    /// Performs a step.
    pub(crate) fn perform(
        &mut self,
        step: &Step,
        vendor: Vendor,
        reading: &Reading,
        answer: Answer,
    ) -> io::Result<After> {
        let plan = match step {
            Step::Status(status) => return self.json(*status, &vendor.error(*status)),
            Step::Overflow => return self.json(400, &vendor.overflow()),
            Step::UsageLimit => {
                let (status, body) = vendor.usage_limit();
                return self.json(status, &body);
            }
            _ => plan(step, reading),
        };
        let mut voice = vendor.voice(answer);
        if !reading.is_streamed {
            return match plan.last {
                Last::Cut | Last::EndEarly => self.cut(),
                Last::Hang => self.hang(),
                Last::End(end) => {
                    self.pause(plan.pause);
                    self.json(200, &voice.whole(&plan.pieces.concat(), end))
                }
            };
        }
        if matches!(plan.last, Last::Cut) && plan.pieces.is_empty() {
            return self.cut();
        }
        http::open_events(self.stream)?;
        http::send_events(self.stream, &voice.begin(!plan.pieces.is_empty()))?;
        for piece in &plan.pieces {
            self.pause(plan.pause);
            http::send_events(self.stream, &voice.piece(piece))?;
        }
        match plan.last {
            Last::Cut => self.cut(),
            Last::Hang => self.hang(),
            Last::EndEarly => self.close(),
            Last::End(end) => {
                http::send_events(self.stream, &voice.finish(end))?;
                self.close()
            }
        }
    }

    /// Sends one value.
    pub(crate) fn json(&mut self, status: u16, value: &serde_json::Value) -> io::Result<After> {
        http::send_json(self.stream, status, value)?;
        Ok(After::Open)
    }

    fn close(&mut self) -> io::Result<After> {
        http::close_events(self.stream)?;
        Ok(After::Open)
    }

    fn cut(&mut self) -> io::Result<After> {
        self.pause(BEFORE_CUT);
        self.stream.shutdown(Shutdown::Both)?;
        Ok(After::Closed)
    }

    fn hang(&self) -> io::Result<After> {
        while !self.stop.load(Ordering::Acquire) {
            thread::sleep(NAP);
        }
        Ok(After::Closed)
    }

    fn pause(&self, pause: Duration) {
        let mut left = pause;
        while !left.is_zero() && !self.stop.load(Ordering::Acquire) {
            let nap = left.min(NAP);
            thread::sleep(nap);
            left = left.saturating_sub(nap);
        }
    }
}

fn plan<'a>(step: &'a Step, reading: &Reading) -> Plan<'a> {
    let user = &reading.user;
    let whole = Last::End(End::Whole);
    let (pieces, last) = match step {
        Step::Text(pieces) => (pieces.clone(), whole),
        Step::Slow { text, .. } => (words_of(text), whole),
        Step::Shell(command) => (Vec::new(), Last::End(End::Shell(command))),
        Step::DropMidStream(text) => (pieces_of(text), Last::Cut),
        Step::EndEarly(text) => (pieces_of(text), Last::EndEarly),
        Step::Stall(text) => (pieces_of(text), Last::Hang),
        Step::Echo => (pieces_of(&first_line(user)), whole),
        Step::Say => (pieces_of(&said_in(user)), whole),
        Step::HandOver { to, sign } => {
            let request = format!("{}\n{user}", reading.system);
            (pieces_of(&hand_over(&request, to, *sign)), whole)
        }
        // All except the last are answered earlier, because they have no stream.
        Step::Status(_) | Step::Overflow | Step::UsageLimit | Step::Empty => (Vec::new(), whole),
        Step::Refusal => (Vec::new(), Last::End(End::Refused)),
    };
    let pause = match step {
        Step::Slow { pause, .. } => *pause,
        _ => Duration::ZERO,
    };
    Plan { pieces, pause, last }
}
