//! Texts from Lisp, whatever they hold.

use emacs::{ErrorKind, FromLisp, ModuleError, Result, Value};

/// A string argument.  Bytes that are no Unicode (undecodable bytes of a file, lone
/// surrogates) become replacement characters; nothing that a user can have in a buffer
/// makes a call fail.
pub(crate) struct Text(pub(crate) String);

impl<'e> FromLisp<'e> for Text {
    fn from_lisp(value: Value<'e>) -> Result<Self> {
        match Vec::<u8>::from_lisp(value) {
            Ok(bytes) => Ok(lossy(bytes)),
            Err(error) if is_no_unicode(&error) => {
                let env = value.env;
                let coding = env.intern("utf-8-unix")?;
                let encoded = env.call("encode-coding-string", (value, coding))?;
                Ok(lossy(Vec::<u8>::from_lisp(encoded)?))
            }
            Err(error) => Err(error),
        }
    }
}

fn lossy(bytes: Vec<u8>) -> Text {
    Text(
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    )
}

fn is_no_unicode(error: &emacs::Error) -> bool {
    matches!(
        error.downcast_ref::<ErrorKind>(),
        Some(ErrorKind::Module(ModuleError::NonUnicodeString { .. }))
    )
}
