//! Chat templates as transformers renders them: Jinja with trimmed blocks and a few functions of its own.

use minijinja::value::Value;
use minijinja::{Environment, context};
use serde::Serialize;

use crate::template_functions;

const NAME: &str = "chat_template";
/// Instructions that one rendering may take; a template of a long conversation needs some ten thousand.
const FUEL: u64 = 5_000_000;

/// One turn of a conversation, under the names that templates use.
#[derive(Serialize)]
pub struct Message<'a> {
    pub role: &'a str,
    pub content: &'a str,
}

pub struct ChatTemplate {
    environment: Environment<'static>,
}

impl ChatTemplate {
    pub fn load(source: &str) -> Result<Self, String> {
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        template_functions::add_to(&mut environment);
        let source = without_generation_tags(source);
        environment.add_template_owned(NAME, source).map_err(|e| e.to_string())?;
        Ok(Self { environment })
    }

    /// `variables` are the special tokens by name: bos_token, eos_token and so on.
    pub fn render(
        &self,
        messages: &[Message],
        variables: &[(&str, &str)],
        add_generation_prompt: bool,
    ) -> Result<String, String> {
        let variables: Value = variables.iter().map(|&(name, value)| (name, Value::from(value))).collect();
        let template = self.environment.get_template(NAME).map_err(|e| e.to_string())?;
        // transformers defines tools and documents even when there are none.
        let none = Value::from(());
        let values = context! { messages, add_generation_prompt, tools => none, documents => none, ..variables };
        template.render(values).map_err(|e| e.to_string())
    }
}

/// Replaces `{% generation %}` and `{% endgeneration %}`, which only mark an answer for training, by blocks that are
/// always taken, so that their whitespace control keeps its effect.
fn without_generation_tags(source: &str) -> String {
    let mut result = String::with_capacity(source.len());
    let mut rest = source;
    while let Some((before, tag, after)) = next_block(rest) {
        result.push_str(before);
        match tag.trim_matches(['-', '+']).trim() {
            "generation" => result.push_str(&format!("{{%{}%}}", tag.replacen("generation", "if true", 1))),
            "endgeneration" => result.push_str(&format!("{{%{}%}}", tag.replacen("endgeneration", "endif", 1))),
            _ => result.push_str(&format!("{{%{tag}%}}")),
        }
        rest = after;
    }
    result + rest
}

/// Splits at the first `{% tag %}`: what is before it, the tag without its delimiters, what is after it.
fn next_block(source: &str) -> Option<(&str, &str, &str)> {
    let (before, inside) = source.split_once("{%")?;
    let (tag, after) = inside.split_once("%}")?;
    Some((before, tag, after))
}
