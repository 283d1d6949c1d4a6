//! The functions and filters that transformers adds to Jinja for chat templates.

use std::ffi::CString;
use std::io;

use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, Error, ErrorKind};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

pub fn add_to(environment: &mut Environment) {
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", strftime_now);
    environment.add_filter("tojson", to_json);
}

fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, format!("the template says \"{message}\"")))
}

/// The local time in the notation of C, which is also Python's: strftime_now("%d %b %Y").
fn strftime_now(format: String) -> Result<String, Error> {
    let invalid = |reason: &str| Error::new(ErrorKind::InvalidOperation, format!("strftime_now: {reason}"));
    if format.is_empty() {
        return Ok(format);
    }
    let format = CString::new(format).map_err(|_| invalid("the format holds a zero byte"))?;
    let mut buffer = [0u8; 256];
    // SAFETY: every pointer is to a live local of the right type, `format` ends in a zero byte, and strftime writes at
    // most buffer.len() bytes.
    let written = unsafe {
        let now = libc::time(std::ptr::null_mut());
        let mut parts: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&now, &mut parts).is_null() {
            return Err(invalid("the system has no local time"));
        }
        libc::strftime(buffer.as_mut_ptr().cast(), buffer.len(), format.as_ptr(), &parts)
    };
    if written == 0 {
        return Err(invalid("the result is empty or longer than 255 bytes"));
    }
    Ok(String::from_utf8_lossy(&buffer[..written]).into_owned())
}

/// JSON as Python's json.dumps(ensure_ascii=False) writes it. (The filter of minijinja escapes for HTML.)
fn to_json(value: Value, arguments: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = arguments.get("indent")?;
    arguments.assert_all_used()?;
    match indent {
        Some(width) if width > 64 => Err(Error::new(ErrorKind::InvalidOperation, "tojson: indent is above 64")),
        Some(width) => write_json(&value, PrettyFormatter::with_indent(" ".repeat(width).as_bytes())),
        None => write_json(&value, PythonSeparators),
    }
}

fn write_json(value: &Value, formatter: impl Formatter) -> Result<String, Error> {
    let failed = |e: String| Error::new(ErrorKind::BadSerialization, format!("tojson: {e}"));
    let mut json = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut json, formatter)).map_err(|e| failed(e.to_string()))?;
    String::from_utf8(json).map_err(|e| failed(e.to_string()))
}

/// `{"a": 1, "b": [2, 3]}`: a space after each comma and colon.
struct PythonSeparators;

impl Formatter for PythonSeparators {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
