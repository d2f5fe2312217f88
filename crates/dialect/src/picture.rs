//! A picture as a request can carry it: checked base64, or an address. Called by the renderers.

use std::borrow::Cow;

use tertulia_session::{Image, ImageSource};

/// A picture that can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picture<'a> {
    /// Base64 and its type.
    Data { mime_type: &'a str, data: &'a str },
    /// An address and the type, which may be unknown.
    Url { mime_type: &'a str, url: &'a str },
}

/// Why a picture is left out where text alone is taken.
pub(crate) const TEXT_ONLY: &str = "the place takes text only";

impl<'a> Picture<'a> {
    /// The address, which holds the data itself where they are known.
    pub(crate) fn url(self) -> Cow<'a, str> {
        match self {
            Self::Data { mime_type, data } => format!("data:{mime_type};base64,{data}").into(),
            Self::Url { url, .. } => url.into(),
        }
    }
}

/// The picture, or why it cannot be sent.
pub(crate) fn picture(image: &Image) -> Result<Picture<'_>, &'static str> {
    let picture = match &image.source {
        ImageSource::Data(data) => Picture::Data { mime_type: &image.mime_type, data },
        ImageSource::Url(url) => match Image::split_data_address(url) {
            Some((mime_type, data)) => Picture::Data { mime_type, data },
            None => Picture::Url { mime_type: &image.mime_type, url },
        },
    };
    match picture {
        Picture::Data { data, .. } if !is_base64(data) => Err("its data is not base64"),
        Picture::Data { mime_type, .. } if !mime_type.starts_with("image/") => {
            Err("its type is no image type")
        }
        Picture::Url { url, .. } if !is_address(url) => Err("its address is not http or https"),
        picture => Ok(picture),
    }
}

/// The same, for vendors that take PNG, JPEG, GIF and WebP only.
pub(crate) fn common_picture(image: &Image) -> Result<Picture<'_>, &'static str> {
    match picture(image)? {
        Picture::Data { mime_type, .. } if !is_common(mime_type) => {
            Err("its type is not PNG, JPEG, GIF or WebP")
        }
        picture => Ok(picture),
    }
}

fn is_common(mime_type: &str) -> bool {
    matches!(mime_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}

fn is_address(url: &str) -> bool {
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty()) && !url.contains(char::is_whitespace)
}

fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    let padding = data.len() - digits.len();
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !digits.is_empty()
        && padding <= 2
        && data.len().is_multiple_of(4)
        && digits.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_whole_groups_of_four() {
        for data in ["AAAA", "AAA=", "AA==", "a+/9"] {
            assert!(is_base64(data), "{data}");
        }
        for data in ["", "A", "AAA", "A===", "====", "AA=A", "AA A", "é==="] {
            assert!(!is_base64(data), "{data}");
        }
    }
}
