//! The methods that build contexts for models, from entries that come with the call or from a stored session.

use tertulia_context::builder::ContextIndex;
use tertulia_session::json::{FieldError, Problem, text};
use tertulia_store::SessionId;

use super::sessions::session_id;
use super::{Answer, Params};
use crate::model_context::{self, BuildError, BuildInput, Messages, Overrides, Unused};
use crate::rpc::RpcServer;
use crate::rpc::error::RpcError;

type Build = fn(&BuildInput, &mut ContextIndex) -> Result<String, BuildError>;

impl RpcServer {
    pub(super) fn build_context(&mut self, params: &mut Params<'_>) -> Answer {
        self.build(params, Messages::Input, BuildInput::build_json)
    }

    pub(super) fn compute_context_updates(&mut self, params: &mut Params<'_>) -> Answer {
        self.build(params, Messages::New, BuildInput::update_json)
    }

    fn build(&mut self, params: &mut Params<'_>, messages: Messages, build: Build) -> Answer {
        let session = take_session(params)?;
        // The log of a stored session is lent to the input when it is built.
        let session_entries = session.is_some().then(Vec::new);
        let overrides = Overrides { session_entries, ..Overrides::default() };
        let mut unused = Unused::default();
        let mut input = BuildInput::read(&mut params.object, messages, overrides, &mut unused)?;
        tell(params, unused);
        Ok(match session {
            None => build(&input, &mut ContextIndex::new())?,
            Some(session) => {
                self.sessions.with_log(&session, |log| log.lend(&mut input, build))??
            }
        })
    }

    pub(super) fn accept_summary(&mut self, params: &mut Params<'_>) -> Answer {
        let session = take_session(params)?;
        let mut unused = Unused::default();
        let object = &mut params.object;
        let accepted = match session {
            None => model_context::accept_summary(object, None, &mut unused)?,
            Some(session) => self.sessions.with_log(&session, |log| {
                model_context::accept_summary(object, Some(log.entries()), &mut unused)
            })??,
        };
        tell(params, unused);
        Ok(accepted)
    }
}

/// The stored session that stands in the place of `sessionEntries`.
fn take_session(params: &mut Params<'_>) -> Result<Option<SessionId>, RpcError> {
    let Some(id) = params.object.take_with("sessionId", text)? else { return Ok(None) };
    if params.object.names().any(|name| name == "sessionEntries") {
        let excluded = Problem::Excludes { other: "sessionId" };
        return Err(FieldError::new(excluded).within("sessionEntries").into());
    }
    session_id(&id).map(Some)
}

fn tell(params: &mut Params<'_>, unused: Unused) {
    params.passed_over.extend(unused.names);
    params.notes.extend(unused.notes);
}
