//! The settings of a build, with their defaults: `config`, the model, and the writer of summaries.

use tertulia_context::builder::{ContextBuilder, ContextConfig, ContextError};
use tertulia_context::tokens::{MessageCounter, Model, Tokenizer, find_model};
use tertulia_session::json::{
    FieldError, Kind, Object, Problem, boolean, each, text, whole_number,
};

use super::{BuildError, Overrides, Unused, not_one_of, read_word};

/// A builder, and the values that were derived with it.
#[derive(Debug)]
pub struct Setup {
    pub builder: ContextBuilder,
    pub counter: MessageCounter,
    pub model: Option<String>,
}

impl Setup {
    /// Takes the settings from an input.
    pub fn read(
        input: &mut Object<'_>,
        overrides: &Overrides<'_>,
        unused: &mut Unused,
    ) -> Result<Self, BuildError> {
        let mut config = match input.take_some("config") {
            Some(raw) => Object::try_from(raw).map_err(|error| error.within("config"))?,
            None => Object::default(),
        };
        let (name, model, counter) = read_model(input, overrides, unused)?;
        let summarizes = read_compactor(input)?;
        let member = input.take_text("member")?;
        let config_fields = read_config(&mut config, overrides, model)?;
        unused.rest("config", &config);
        let builder =
            ContextBuilder::new(config_fields).map_err(|error| within("config", error))?;
        let mut builder = builder.with_counter(counter.clone());
        if !summarizes {
            builder = builder.without_compactor();
        }
        if let Some(member) = member {
            builder = builder.for_member(member);
        }
        Ok(Self { builder, counter, model: name })
    }

    /// Returns the maximum number of tokens of a request.
    pub fn limit(&self) -> u64 {
        self.builder.config().max_input_tokens
    }
}

type Named = (Option<String>, Option<&'static Model>, MessageCounter);

fn read_model(
    input: &mut Object<'_>,
    overrides: &Overrides<'_>,
    unused: &mut Unused,
) -> Result<Named, BuildError> {
    let tokenizer = input.take_with("tokenizer", read_word)?;
    let given = input.take_text("model")?;
    if let Some(tokenizer) = tokenizer.filter(|_| overrides.model.is_none()) {
        return match given {
            None => Ok((None, None, MessageCounter::new(tokenizer))),
            Some(_) => {
                let problem = Problem::Excludes { other: "model" };
                Err(FieldError::new(problem).within("tokenizer").into())
            }
        };
    }
    let Some(name) = overrides.model.map(str::to_owned).or(given) else {
        return Ok((None, None, MessageCounter::new(Tokenizer::default())));
    };
    let model = find_model(&name);
    let counter = match model {
        Some(model) => MessageCounter::for_model(model),
        None => {
            let name: String = name.chars().take(60).collect();
            unused.notes.push(format!("unknown model {name:?}; using an estimate"));
            MessageCounter::new(Tokenizer::default())
        }
    };
    Ok((Some(name), model, counter))
}

/// Returns whether summaries are written.
fn read_compactor(input: &mut Object<'_>) -> Result<bool, FieldError> {
    let Some(raw) = input.take("compactor") else { return Ok(true) };
    if Kind::from(raw) == Kind::Null {
        return Ok(false);
    }
    match text(raw).map_err(|error| error.within("compactor"))?.as_str() {
        "extractive" => Ok(true),
        "none" => Ok(false),
        other => {
            let error = not_one_of("extractive, or none or null for no summaries", other);
            Err(error.within("compactor"))
        }
    }
}

fn read_config(
    object: &mut Object<'_>,
    overrides: &Overrides<'_>,
    model: Option<&Model>,
) -> Result<ContextConfig, BuildError> {
    let in_config = |error: FieldError| error.within("config");
    let mut number = |name| object.take_with(name, whole_number).map_err(in_config);
    let max_input_tokens = number("maxInputTokens")?;
    let max_history_messages = number("maxHistoryMessages")?;
    let reserve_tokens = number("reserveTokens")?;
    let summary_tokens = number("summaryTokens")?;
    let recall_tokens = number("recallTokens")?;
    let elide_min_tokens = number("elideMinTokens")?;
    let window = model.and_then(|model| model.window);
    let mut config = match (overrides.max_input_tokens.or(max_input_tokens), window) {
        (Some(max_input_tokens), _) => ContextConfig::new(max_input_tokens),
        (None, Some(window)) => ContextConfig::for_window(window),
        (None, None) => {
            let fix = "is missing; give a number of tokens, or a model whose window is known";
            return Err(BuildError::invalid("config.maxInputTokens", fix));
        }
    };
    config.max_history_messages = max_history_messages;
    config.summary_tokens = summary_tokens;
    config.reserve_tokens = reserve_tokens.unwrap_or(config.reserve_tokens);
    config.recall_tokens = overrides.recall_tokens.or(recall_tokens);
    config.elide_min_tokens = elide_min_tokens.unwrap_or(config.elide_min_tokens);
    let mut flag = |name| object.take_with(name, boolean).map_err(in_config);
    config.enable_compaction = flag("enableCompaction")?.unwrap_or(config.enable_compaction);
    config.request_summaries = flag("requestSummaries")?.unwrap_or(config.request_summaries);
    let strategies = |raw| each(raw, read_word);
    let strategies = object.take_with("strategies", strategies).map_err(in_config)?;
    config.strategies = strategies.unwrap_or(config.strategies);
    let target = read_permille(object, "targetRatio", 1)?;
    config.target_permille = target.unwrap_or(config.target_permille);
    let protect = read_permille(object, "protectRatio", 0)?;
    config.protect_permille = protect.unwrap_or(config.protect_permille);
    Ok(config)
}

/// Reads a share such as 0.6. Returns it in thousandths.
fn read_permille(
    object: &mut Object<'_>,
    name: &'static str,
    min: u64,
) -> Result<Option<u64>, BuildError> {
    let Some(raw) = object.take_some(name) else { return Ok(None) };
    if Kind::from(raw) != Kind::Number {
        let error = FieldError::wrong_kind("a number from 0 to 1, such as 0.6", raw);
        return Err(error.within(name).within("config").into());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and what is out of range is refused below"
    )]
    let permille = raw.get().parse::<f64>().map_or(u64::MAX, |ratio| match ratio {
        ratio if ratio < 0.0 => u64::MAX,
        ratio => (ratio * 1_000.0).round() as u64,
    });
    if (min..=1_000).contains(&permille) {
        return Ok(Some(permille));
    }
    let got: String = raw.get().chars().take(40).collect();
    let least = if min == 0 { "0" } else { "0.001" };
    let problem = format!("must be a number from {least} to 1; got {got}");
    Err(ContextError::field(format!("config.{name}"), problem).into())
}

/// Adds the name of the outer object to an error, because the builder does not know it.
pub(super) fn within(outer: &str, error: ContextError) -> ContextError {
    match error {
        ContextError::InvalidInput(mut invalid) if invalid.entry.is_none() => {
            invalid.field = invalid.field.map(|field| format!("{outer}.{field}").into());
            ContextError::InvalidInput(invalid)
        }
        other => other,
    }
}
