//! What the room has to say beside its results. Every line goes to `tracing` (silent unless somebody
//! listens) and to a sink that the caller may put in.

use std::fmt;
use std::sync::Arc;

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For whoever looks for a cause.
    Debug,
    /// Something was cut or guessed.
    Warn,
}

/// Where lines go, besides `tracing`.
pub type LogSink = Arc<dyn Fn(LogLevel, &str) + Send + Sync>;

/// The log of one manager.
#[derive(Clone, Default)]
pub(crate) struct Log {
    sink: Option<LogSink>,
}

impl LogLevel {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Warn => "warn",
        }
    }
}

impl Log {
    pub(crate) fn new(sink: Option<LogSink>) -> Self {
        Self { sink }
    }

    pub(crate) fn debug(&self, line: fmt::Arguments<'_>) {
        tracing::debug!(target: "tertulia::context", "{line}");
        self.pass_on(LogLevel::Debug, line);
    }

    pub(crate) fn warn(&self, line: fmt::Arguments<'_>) {
        tracing::warn!(target: "tertulia::context", "{line}");
        self.pass_on(LogLevel::Warn, line);
    }

    fn pass_on(&self, level: LogLevel, line: fmt::Arguments<'_>) {
        if let Some(sink) = &self.sink {
            sink(level, &line.to_string());
        }
    }
}
