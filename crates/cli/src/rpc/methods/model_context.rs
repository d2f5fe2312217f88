//! The methods that build contexts for models. Stateless: all that they know comes with the call.

use super::Params;
use crate::model_context::{self, BuildError, BuildInput, Messages, Overrides, Unused};
use crate::rpc::error::RpcError;

pub(super) fn build_context(params: &mut Params<'_>) -> Result<String, RpcError> {
    Ok(read(params, Messages::Input)?.build_json()?)
}

pub(super) fn compute_context_updates(params: &mut Params<'_>) -> Result<String, RpcError> {
    Ok(read(params, Messages::New)?.update_json()?)
}

pub(super) fn accept_summary(params: &mut Params<'_>) -> Result<String, RpcError> {
    let mut unused = Unused::default();
    let accepted = model_context::accept_summary(&mut params.object, &mut unused)?;
    tell(params, unused);
    Ok(accepted)
}

fn read(params: &mut Params<'_>, messages: Messages) -> Result<BuildInput, BuildError> {
    let mut unused = Unused::default();
    let overrides = Overrides::default();
    let input = BuildInput::read(&mut params.object, messages, overrides, &mut unused)?;
    tell(params, unused);
    Ok(input)
}

fn tell(params: &mut Params<'_>, unused: Unused) {
    params.passed_over.extend(unused.names);
    params.notes.extend(unused.notes);
}
