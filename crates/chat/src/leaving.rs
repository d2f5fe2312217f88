//! Leaving the process from a thread that hears signals. Nobody unwinds the turn that runs then, and its agent
//! has a session of its own: it is ended first. Called by `run` and both chats.

use std::time::{Duration, Instant};

/// The exit code of a process that somebody interrupted.
const INTERRUPTED: i32 = 130;
/// What comes so soon is the same request: `timeout` signals its child and then the whole group.
const ECHO: Duration = Duration::from_millis(250);

/// Ends every agent, and the process.
pub(crate) fn leave_now() -> ! {
    tertulia_team::end_all_now();
    std::process::exit(INTERRUPTED)
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// To end in good order.
    End,
    /// The same once more, from the same hand.
    Echo,
    /// To end at once.
    EndNow,
}

/// Tells the signals of one process apart.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    first: Option<Instant>,
}

impl Requests {
    /// What a signal asks for that comes now.
    pub(crate) fn hear(&mut self, now: Instant) -> Request {
        match self.first {
            None => {
                self.first = Some(now);
                Request::End
            }
            Some(first) if now.duration_since(first) < ECHO => Request::Echo,
            Some(_) => Request::EndNow,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_at_once_is_an_echo_and_what_comes_later_is_meant() {
        let begun = Instant::now();
        let mut requests = Requests::default();
        let heard = [0, 20, 249, 250, 9_000]
            .map(|moment| requests.hear(begun + Duration::from_millis(moment)));
        let [first, second, third, later, last] = heard;
        assert_eq!([first, second, third], [Request::End, Request::Echo, Request::Echo]);
        assert_eq!([later, last], [Request::EndNow, Request::EndNow]);
    }
}
