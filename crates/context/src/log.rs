//! Log lines of a manager. Each is sent to `tracing` and to the log sink of the caller, if there is one.

use std::fmt;
use std::sync::Arc;

/// The severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Debug,
    /// Something was cut or guessed.
    Warn,
}

/// A receiver of log lines, in addition to `tracing`.
pub type LogSink = Arc<dyn Fn(LogLevel, &str) + Send + Sync>;

pub(crate) struct Log(pub(crate) Option<LogSink>);

impl LogLevel {
    /// Returns the word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Warn => "warn",
        }
    }
}

impl Log {
    pub(crate) fn debug(&self, line: fmt::Arguments<'_>) {
        tracing::debug!(target: "tertulia::context", "{}", OneLine(line));
        self.pass_on(LogLevel::Debug, line);
    }

    pub(crate) fn warn(&self, line: fmt::Arguments<'_>) {
        tracing::warn!(target: "tertulia::context", "{}", OneLine(line));
        self.pass_on(LogLevel::Warn, line);
    }

    fn pass_on(&self, level: LogLevel, line: fmt::Arguments<'_>) {
        if let Some(sink) = &self.0 {
            sink(level, &line.to_string());
        }
    }
}

/// A text as one line of a log: untrusted content can neither end the line nor begin another one.
struct OneLine<'t>(fmt::Arguments<'t>);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        self.0.to_string().chars().try_for_each(|c| match c {
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                write!(out, "{}", c.escape_default())
            }
            c => out.write_char(c),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_is_one_line_whatever_it_quotes() {
        let name = "x\nERROR forged\r\u{1b}[2J\u{2028}é";
        let line = OneLine(format_args!("unknown \"{name}\"")).to_string();
        assert_eq!(line, "unknown \"x\\nERROR forged\\r\\u{1b}[2J\\u{2028}é\"");
    }
}
