//! Summaries that a model writes: the request for one as JSON, reading it back, and accepting or refusing the text.

use serde::ser::{Serialize, SerializeMap, Serializer};
use tertulia_context::builder::{ContextIndex, SummaryRequest};
use tertulia_session::json::{FieldError, Object, RawValue, each, text, whole_number};
use tertulia_session::record::EntryRecord;
use tertulia_session::{Entry, EntryId};

use super::config::within;
use super::input::read_entries;
use super::output::entries;
use super::{BuildError, Overrides, Setup, Unused};
use crate::to_json;

const SOME_AUTHOR: &str = "model";

/// Checks a model's text with the log of the object or a stored one. Returns the result as JSON.
pub fn accept_summary(
    object: &mut Object<'_>,
    stored: Option<&[Entry]>,
    unused: &mut Unused,
) -> Result<String, BuildError> {
    let setup = Setup::read(object, &Overrides::default(), unused)?;
    let given = object.take_some("sessionEntries").map(read_entries).transpose()?;
    let given = given.unwrap_or_default();
    let log = stored.unwrap_or(&given);
    let short = object.take("request");
    let raw = object.take("summaryRequest").or(short);
    let expected = "the summaryRequest of the result that asked for a text";
    let raw = raw.ok_or_else(|| FieldError::missing("summaryRequest", expected))?;
    let request = read_request(raw, unused).map_err(|error| error.within("summaryRequest"))?;
    let text = object.need_text("text")?;
    let author = object.take_text("author")?;
    let author = author.as_deref().unwrap_or(SOME_AUTHOR);
    let mut index = ContextIndex::new();
    let accepted = setup.builder.accept_summary(&mut index, log, &request, &text, author);
    let accepted = accepted.map_err(|error| within("summaryRequest", error))?;
    Ok(to_json(&AcceptedRecord {
        accepted: accepted.accepted,
        reason: accepted.reason.as_deref(),
        entries_to_append: entries(&accepted.entries_to_append),
    }))
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct AcceptedRecord<'a> {
    accepted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    entries_to_append: Vec<EntryRecord<'a>>,
}

pub(super) struct SummaryRequestRecord<'a>(pub(super) &'a SummaryRequest);

impl Serialize for SummaryRequestRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.0;
        let mut map = serializer.serialize_map(None)?;
        let range = [
            ("coveredFromId", request.covered_from_id.as_ref()),
            ("coveredToId", request.covered_to_id.as_ref()),
            ("firstKeptEntryId", Some(&request.first_kept_entry_id)),
        ];
        for (name, id) in range {
            if let Some(id) = id {
                map.serialize_entry(name, id.as_str())?;
            }
        }
        map.serialize_entry("coveredCount", &request.covered_count)?;
        map.serialize_entry("coveredHash", &request.covered_hash)?;
        let kept: Vec<&str> = request.kept_ids.iter().map(EntryId::as_str).collect();
        map.serialize_entry("keptIds", &kept)?;
        map.serialize_entry("maxTokens", &request.max_tokens)?;
        map.serialize_entry("text", &request.text)?;
        map.end()
    }
}

/// Reads a request that the caller passes back. Its text was meant for the model and may be left out.
fn read_request(raw: &RawValue, unused: &mut Unused) -> Result<SummaryRequest, FieldError> {
    let mut object = Object::try_from(raw)?;
    let id = |object: &mut Object<'_>, name| object.take_text(name).map(|id| id.map(EntryId::from));
    let ids = |raw| each(raw, |raw| text(raw).map(EntryId::from));
    let number = "a whole number of 0 or more";
    let request = SummaryRequest {
        covered_from_id: id(&mut object, "coveredFromId")?,
        covered_to_id: id(&mut object, "coveredToId")?,
        first_kept_entry_id: object.need_text("firstKeptEntryId")?.into(),
        covered_count: object.take_with("coveredCount", whole_number)?.unwrap_or_default(),
        covered_hash: object.need_text("coveredHash")?.into(),
        kept_ids: object.take_with("keptIds", ids)?.unwrap_or_default(),
        max_tokens: whole_number(object.need("maxTokens", number)?)
            .map_err(|error| error.within("maxTokens"))?,
        text: object.take_text("text")?.unwrap_or_default(),
    };
    unused.rest("summaryRequest", &object);
    Ok(request)
}
