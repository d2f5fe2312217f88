//! Counts the tokens of a picture by its width and height, which are read from the first bytes. The length of its
//! base64 does not matter. The vendors publish the formulas. [`super::MessageCounter`] calls this code.

mod base64;
mod header;

use super::Vendor;

/// The size of a picture in pixels; neither is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimensions {
    pub width: u32,
    pub height: u32,
}

/// Reads the size of a PNG, JPEG, GIF or WebP picture from the beginning of its base64. Returns `None` for an
/// invalid picture or another format.
pub fn read_dimensions(base64: &str) -> Option<Dimensions> {
    header::read(base64::bytes(base64))
}

impl Vendor {
    /// Returns the tokens of a picture of this size.
    pub fn image_tokens(self, size: Dimensions) -> u64 {
        match self {
            Self::Anthropic => anthropic(size),
            Self::OpenAi => open_ai(size),
            Self::Google => google(size),
        }
    }

    /// Returns the tokens of a picture whose size cannot be read. For Anthropic and OpenAI it is the maximum that
    /// they charge, for Google the six tiles of its own example.
    pub fn unknown_image_tokens(self) -> u64 {
        match self {
            Self::Anthropic => anthropic::TOKENS_MAX,
            Self::OpenAi => open_ai::BASE + 8 * open_ai::TILE,
            Self::Google => 6 * google::TILE,
        }
    }
}

/// Anthropic: `width * height / 750`. A picture with more than 1,568 pixels on the long edge, or more than about
/// 1,600 tokens, is scaled down first. <https://docs.anthropic.com/en/docs/build-with-claude/vision>
mod anthropic {
    pub(super) const PIXELS_PER_TOKEN: u64 = 750;
    pub(super) const EDGE_MAX: u64 = 1_568;
    pub(super) const TOKENS_MAX: u64 = 1_600;
}

/// OpenAI, high detail: the picture is scaled into 2,048 × 2,048, then down to 768 on the short edge. It costs 85,
/// and 170 for each tile of 512. <https://platform.openai.com/docs/guides/images-vision>
mod open_ai {
    pub(super) const EDGE_MAX: u64 = 2_048;
    pub(super) const SHORT_EDGE_MAX: u64 = 768;
    pub(super) const TILE_EDGE: u64 = 512;
    pub(super) const TILE: u64 = 170;
    pub(super) const BASE: u64 = 85;
}

/// Google: one tile for a picture of up to 384 pixels on both edges. Larger ones are divided into tiles of two
/// thirds of the short edge, but at least 256 and at most 768 pixels. Each tile costs 258.
/// <https://ai.google.dev/gemini-api/docs/tokens>
mod google {
    pub(super) const SMALL_EDGE_MAX: u64 = 384;
    pub(super) const TILE_EDGE_MIN: u64 = 256;
    pub(super) const TILE_EDGE_MAX: u64 = 768;
    pub(super) const TILE: u64 = 258;
}

fn anthropic(size: Dimensions) -> u64 {
    let (width, height) = scale_down(edges(size), anthropic::EDGE_MAX, u64::max);
    (width * height).div_ceil(anthropic::PIXELS_PER_TOKEN).min(anthropic::TOKENS_MAX)
}

fn open_ai(size: Dimensions) -> u64 {
    let inside = scale_down(edges(size), open_ai::EDGE_MAX, u64::max);
    let (width, height) = scale_down(inside, open_ai::SHORT_EDGE_MAX, u64::min);
    let tiles = width.div_ceil(open_ai::TILE_EDGE) * height.div_ceil(open_ai::TILE_EDGE);
    open_ai::BASE + open_ai::TILE * tiles
}

fn google(size: Dimensions) -> u64 {
    let (width, height) = edges(size);
    if width.max(height) <= google::SMALL_EDGE_MAX {
        return google::TILE;
    }
    let two_thirds = width.min(height) * 2 / 3;
    let edge = two_thirds.clamp(google::TILE_EDGE_MIN, google::TILE_EDGE_MAX);
    google::TILE * width.div_ceil(edge) * height.div_ceil(edge)
}

fn edges(size: Dimensions) -> (u64, u64) {
    (u64::from(size.width), u64::from(size.height))
}

fn scale_down((width, height): (u64, u64), max: u64, which: fn(u64, u64) -> u64) -> (u64, u64) {
    let edge = which(width, height);
    if edge <= max {
        return (width, height);
    }
    let scale = |length: u64| (length * max / edge).max(1);
    (scale(width), scale(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(width: u32, height: u32, [anthropic, open_ai, google]: [u64; 3]) {
        let size = Dimensions { width, height };
        assert_eq!(Vendor::Anthropic.image_tokens(size), anthropic, "Anthropic");
        assert_eq!(Vendor::OpenAi.image_tokens(size), open_ai, "OpenAI");
        assert_eq!(Vendor::Google.image_tokens(size), google, "Google");
    }

    #[test]
    fn the_vendors_own_examples_cost_what_they_say() {
        // Anthropic: 200² is about 54, 1000² about 1,334, 1092² about 1,590.
        // OpenAI: 1024² is 765, 2048 × 4096 is 1,105. Google: 960 × 540 is six tiles.
        check(200, 200, [54, 255, 258]);
        check(1_000, 1_000, [1_334, 765, 1_032]);
        check(1_024, 1_024, [1_399, 765, 1_032]);
        check(2_048, 4_096, [1_600, 1_105, 4_644]);
        check(960, 540, [692, 765, 1_548]);
    }

    #[test]
    fn pictures_of_any_shape_have_a_price() {
        check(1, 1, [1, 255, 258]);
        check(u32::MAX, 1, [3, 765, 258 * u64::from(u32::MAX).div_ceil(256)]);
        let huge = Dimensions { width: u32::MAX, height: u32::MAX };
        assert_eq!(Vendor::Anthropic.image_tokens(huge), 1_600);
        assert_eq!(Vendor::OpenAi.image_tokens(huge), 765);
        assert!(Vendor::Google.image_tokens(huge) > 1_000_000);
    }

    #[test]
    fn a_picture_without_a_size_costs_no_less_than_a_large_one() {
        let large = Dimensions { width: 2_048, height: 700 };
        for vendor in [Vendor::Anthropic, Vendor::OpenAi] {
            assert!(vendor.unknown_image_tokens() >= vendor.image_tokens(large), "{vendor:?}");
        }
    }
}
