import os
import pickle
import struct
import zlib
from contextlib import suppress

import numpy as np
import pytest
from PIL import ExifTags, Image

from tagsight.data.photo import MAX_PIXELS, decode_photo, read_photo, read_size
from tagsight.errors import InputError, UnreadablePhotoError


def draw_ramp(width=40, height=30):
    """Red grows to the right, green downwards: every corner has its own colour."""
    ys, xs = np.indices((height, width))
    return np.stack([xs * 255 // (width - 1), ys * 255 // (height - 1), np.full_like(xs, 60)], axis=2).astype(np.uint8)


def save(path, pixels, mode=None, **options):
    image = Image.fromarray(pixels)
    (image.convert(mode) if mode else image).save(path, **options)
    return path


@pytest.mark.parametrize("name", ["a.png", "a.bmp", "a.tif", "a.webp"])
def test_lossless_formats_keep_every_pixel(tmp_path, name):
    pixels = draw_ramp()
    photo = read_photo(save(tmp_path / name, pixels, **({"lossless": True} if name == "a.webp" else {})))
    np.testing.assert_array_equal(photo.pixels, pixels)
    assert photo.pixels.dtype == np.uint8
    assert photo.size == (40, 30)


@pytest.mark.parametrize("name", ["a.jpg", "a.avif"])
def test_lossy_formats_keep_pixels_approximately(tmp_path, name):
    pixels = draw_ramp()
    photo = read_photo(save(tmp_path / name, pixels, quality=95))
    assert np.abs(photo.pixels.astype(int) - pixels).mean() < 3
    assert photo.size == (40, 30)


def test_the_content_decides_the_format_not_the_name(tmp_path):
    pixels = draw_ramp()
    np.testing.assert_array_equal(read_photo(save(tmp_path / "a.jpg", pixels, format="PNG")).pixels, pixels)


@pytest.mark.parametrize("mode", ["L", "1", "LA"])
def test_grey_has_three_equal_channels(tmp_path, mode):
    expected = np.asarray(Image.fromarray(draw_ramp()).convert(mode).convert("RGB"))
    photo = read_photo(save(tmp_path / "a.png", draw_ramp(), mode))
    np.testing.assert_array_equal(photo.pixels, expected)


@pytest.mark.parametrize("name", ["a.png", "a.gif"])
def test_palette_colours_are_applied(tmp_path, name):
    image = Image.fromarray(draw_ramp()).quantize(16)
    image.save(tmp_path / name)
    np.testing.assert_array_equal(read_photo(tmp_path / name).pixels, np.asarray(image.convert("RGB")))


@pytest.mark.parametrize(("name", "options"), [("a.tif", {}), ("a.jpg", {"quality": 100})])
def test_cmyk_ink_becomes_light(tmp_path, name, options):
    ink = np.zeros((16, 16, 4), np.uint8)
    ink[:, :8, 0] = 255
    Image.frombytes("CMYK", (16, 16), ink.tobytes()).save(tmp_path / name, **options)
    pixels = read_photo(tmp_path / name).pixels.astype(int)
    assert np.abs(pixels[:, 1] - (0, 255, 255)).max() < 12
    assert np.abs(pixels[:, -2] - 255).max() < 12


@pytest.mark.parametrize("name", ["a.png", "a.tif"])
def test_16_bit_grey_keeps_its_high_bits(tmp_path, name):
    samples = np.linspace(0, 65535, 600).astype(np.uint16).reshape(20, 30)
    photo = read_photo(save(tmp_path / name, samples))
    np.testing.assert_array_equal(photo.pixels, np.repeat((samples // 256)[..., None], 3, axis=2))


def test_16_bit_grey_of_the_other_byte_order(tmp_path):
    samples = np.linspace(0, 65535, 600).astype(">u2").reshape(20, 30)
    Image.frombytes("I;16B", (30, 20), samples.tobytes()).save(tmp_path / "a.tif")
    np.testing.assert_array_equal(read_photo(tmp_path / "a.tif").pixels[..., 0], samples // 256)


def test_16_bit_colour_keeps_its_high_bits(tmp_path):
    """Pillow cannot write 16-bit RGB, so the PNG is put together by hand."""
    samples = np.random.default_rng(0).integers(0, 65536, (5, 7, 3)).astype(">u2")
    rows = b"".join(b"\0" + row.tobytes() for row in samples)
    (tmp_path / "a.png").write_bytes(make_png(7, 5, rows, depth=16, kind=2))
    np.testing.assert_array_equal(read_photo(tmp_path / "a.png").pixels, samples // 256)


def test_transparent_pixels_are_drawn_on_white(tmp_path):
    pixels = np.zeros((10, 30, 4), np.uint8)
    pixels[:, :10] = (200, 0, 0, 255)
    pixels[:, 10:20] = (200, 0, 0, 0)
    pixels[:, 20:] = (0, 0, 0, 128)
    read = read_photo(save(tmp_path / "a.png", pixels)).pixels
    assert read[5, 5].tolist() == [200, 0, 0]
    assert read[5, 15].tolist() == [255, 255, 255]
    assert np.abs(read[5, 25].astype(int) - 127).max() <= 1


def test_hidden_colour_does_not_bleed_when_a_photo_is_reduced(tmp_path):
    pixels = np.zeros((100, 100, 4), np.uint8)
    pixels[:, ::2] = (0, 0, 255, 0)
    pixels[:, 1::2] = (0, 0, 0, 255)
    read = read_photo(save(tmp_path / "a.png", pixels), max_side=50).pixels
    assert np.abs(read.astype(int) - 127).max() <= 1


@pytest.mark.parametrize("name", ["a.png", "a.gif"])
def test_a_transparent_palette_entry_is_drawn_on_white(tmp_path, name):
    image = Image.new("P", (8, 8), 1)
    image.putpalette([10, 20, 30, 200, 100, 50])
    image.paste(0, (0, 0, 4, 8))
    image.save(tmp_path / name, transparency=0)
    read = read_photo(tmp_path / name).pixels
    assert read[0, 0].tolist() == [255, 255, 255]
    assert read[0, 7].tolist() == [200, 100, 50]


def test_of_an_animation_the_first_frame_is_read(tmp_path):
    frames = [Image.new("RGB", (6, 5), colour) for colour in ("red", "lime", "blue")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert read_photo(tmp_path / "a.gif").pixels[2, 3].tolist() == [255, 0, 0]


UPRIGHT = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: lambda a: np.rot90(a),
}


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.webp", "a.jpg", "a.avif"])
def test_exif_orientation_turns_the_photo_upright(tmp_path, orientation, name):
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    options = {"a.webp": {"lossless": True}, "a.jpg": {"quality": 95}, "a.avif": {"quality": 95}}.get(name, {})
    path = save(tmp_path / name, draw_ramp(), exif=exif, **options)
    photo = read_photo(path, max_side=500)
    expected = UPRIGHT[orientation](draw_ramp())
    assert photo.pixels.shape == expected.shape
    assert np.abs(photo.pixels.astype(int) - expected).mean() < 3
    assert photo.size == read_size(path) == (expected.shape[1], expected.shape[0])


@pytest.mark.parametrize("name", ["a.jpg", "a.tif"])
def test_a_reduced_turned_photo_keeps_its_true_size(tmp_path, name):
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    photo = read_photo(save(tmp_path / name, draw_ramp(800, 600), exif=exif), max_side=100)
    assert photo.size == (600, 800)
    assert photo.pixels.shape == (100, 75, 3)
    expected = np.rot90(draw_ramp(800, 600), -1)[4::8, 4::8]
    assert np.abs(photo.pixels.astype(int) - expected).max() < 12


def test_damaged_exif_leaves_the_photo_as_stored(tmp_path):
    pixels = draw_ramp()
    photo = read_photo(save(tmp_path / "a.png", pixels, exif=b"Exif\0\0garbage, not TIFF"))
    np.testing.assert_array_equal(photo.pixels, pixels)


@pytest.mark.parametrize("name", ["a.png", "a.jpg"])
@pytest.mark.parametrize(
    ("size", "expected"),
    [((1600, 1200), (500, 375)), ((501, 3), (500, 3)), ((2000, 1), (500, 1)), ((1, 2000), (1, 500))],
)
def test_large_photos_are_reduced_to_the_longer_side(tmp_path, name, size, expected):
    save(tmp_path / name, np.full((size[1], size[0], 3), 90, np.uint8))
    photo = read_photo(tmp_path / name)
    assert photo.size == size
    assert photo.pixels.shape == (expected[1], expected[0], 3)
    assert np.abs(photo.pixels.astype(int) - 90).max() <= 2


def test_reduction_averages_areas(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (120, 200, 3), dtype=np.uint8)
    read = read_photo(save(tmp_path / "a.png", pixels), max_side=50).pixels
    expected = pixels.reshape(30, 4, 50, 4, 3).mean(axis=(1, 3))
    assert np.abs(read - expected).max() <= 1


@pytest.mark.parametrize("size", [(1, 1), (1, 30), (30, 1), (499, 20), (500, 500)])
def test_small_photos_keep_their_pixels(tmp_path, size):
    pixels = np.random.default_rng(1).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    photo = read_photo(save(tmp_path / "a.png", pixels))
    np.testing.assert_array_equal(photo.pixels, pixels)
    assert photo.size == size


def test_a_photo_beyond_pillows_warning_is_read(tmp_path):
    Image.new("1", (10_000, 9_000)).save(tmp_path / "a.png")
    photo = read_photo(tmp_path / "a.png")
    assert photo.size == (10_000, 9_000)
    assert photo.pixels.shape == (450, 500, 3)


def make_png(width, height, rows, *, depth=8, kind=0):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def make_bytes(tmp_path, name):
    return save(tmp_path / name, np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)).read_bytes()


def make_bad(tmp_path, kind):
    if kind == "zero bytes":
        return b""
    if kind == "html":
        return b"<!DOCTYPE html><html><body>404</body></html>"
    if kind == "bomb":
        return make_png(60_000, 60_000, b"")
    if kind == "header alone":
        return make_bytes(tmp_path, "whole.jpg")[:100]
    if kind == "damaged png":
        whole = bytearray(make_bytes(tmp_path, "whole.png"))
        whole[200:260] = bytes(60)
        return bytes(whole)
    if kind == "unknown format":
        return b"P6 1 1 255 abc"
    whole = make_bytes(tmp_path, f"whole.{kind.split()[1]}")
    return whole[: len(whole) // 2]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("zero bytes", "the file is empty"),
        ("html", "not a file of a known format"),
        ("unknown format", "not a file of a known format"),
        ("bomb", f"more than {MAX_PIXELS:,} pixels"),
        ("header alone", ""),
        ("damaged png", ""),
        ("truncated jpg", "truncated"),
        ("truncated png", "truncated"),
        ("truncated bmp", "truncated"),
        ("truncated webp", ""),
        ("truncated gif", ""),
        ("truncated tif", ""),
        ("truncated avif", ""),
    ],
)
def test_bad_files_are_named_with_their_reason(tmp_path, kind, reason):
    path = tmp_path / "bad.jpg"
    path.write_bytes(make_bad(tmp_path, kind))
    with pytest.raises(UnreadablePhotoError) as caught:
        read_photo(path)
    assert str(caught.value).startswith(f"{str(path)!r} cannot be read as a photo: ")
    assert caught.value.reason
    assert reason in caught.value.reason
    assert caught.value.path == path


def test_damaged_avif_never_raises_anything_else(tmp_path):
    whole = make_bytes(tmp_path, "a.avif")
    random = np.random.default_rng(0)
    for _ in range(100):
        damaged = bytearray(whole)
        damaged[random.integers(400)] = random.integers(256)
        with suppress(UnreadablePhotoError):
            decode_photo(bytes(damaged), "damaged")


@pytest.mark.parametrize("mode", ["F", "I"])
def test_32_bit_samples_are_refused_with_a_remedy(tmp_path, mode):
    Image.new(mode, (4, 4)).save(tmp_path / "a.tif")
    with pytest.raises(UnreadablePhotoError, match="save it with 8 or 16 bits"):
        read_photo(tmp_path / "a.tif")


def test_a_decompression_bomb_is_refused_before_decoding(tmp_path, monkeypatch):
    path = tmp_path / "bomb.png"
    path.write_bytes(make_png(20_000, 9_000, b""))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    monkeypatch.setattr(Image.Image, "load", lambda self: pytest.fail("decoded"))
    with pytest.raises(UnreadablePhotoError, match="pixels"):
        read_photo(path)


def test_a_missing_photo_is_named(tmp_path):
    with pytest.raises(UnreadablePhotoError, match=r"gone\.jpg' cannot be read as a photo: No such file"):
        read_photo(tmp_path / "gone.jpg")


def test_a_folder_is_refused_as_a_photo(tmp_path):
    with pytest.raises(UnreadablePhotoError, match="a folder, not a file"):
        read_photo(tmp_path)


def test_a_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    with pytest.raises(UnreadablePhotoError, match="a pipe or a device"):
        read_photo(tmp_path / "pipe.jpg")


def test_a_forbidden_photo_is_named(tmp_path):
    path = save(tmp_path / "a.png", draw_ramp())
    path.chmod(0)
    user = os.geteuid()
    if user == 0:  # root can read every file: use the user nobody
        os.seteuid(65534)
    try:
        with pytest.raises(UnreadablePhotoError, match="Permission denied"):
            read_photo(path)
    finally:
        os.seteuid(user)


def test_odd_names_stay_on_one_line(tmp_path):
    path = tmp_path / "two\nlines \N{HORSE}.jpg"
    path.write_bytes(b"")
    with pytest.raises(UnreadablePhotoError) as caught:
        read_photo(path)
    assert "\n" not in str(caught.value)
    assert r"two\nlines" in str(caught.value)
    with pytest.raises(UnreadablePhotoError, match="null"):
        read_photo("nul\0byte.jpg")


def test_the_error_survives_pickling():
    error = pickle.loads(pickle.dumps(UnreadablePhotoError("a.jpg", "the file is empty")))
    assert (error.path, error.reason) == ("a.jpg", "the file is empty")
    assert str(error) == "'a.jpg' cannot be read as a photo: the file is empty"


@pytest.mark.parametrize("max_side", [0, -5])
def test_a_scale_without_pixels_is_refused(tmp_path, max_side):
    with pytest.raises(InputError, match=f"got {max_side}"):
        read_photo(tmp_path / "a.png", max_side=max_side)


def test_a_photo_in_memory_is_read_as_from_a_file(tmp_path):
    path = tmp_path / "a.jpg"
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    Image.fromarray(np.arange(90 * 60 * 3, dtype=np.uint8).reshape(60, 90, 3)).save(path, exif=exif)
    stored, held = read_photo(path, max_side=45), decode_photo(path.read_bytes(), "sent", max_side=45)
    np.testing.assert_array_equal(stored.pixels, held.pixels)
    assert stored.size == held.size == (60, 90)
    with pytest.raises(
        UnreadablePhotoError, match=r"'sent' cannot be read as a photo: its header states .* 5,399 pixels"
    ):
        decode_photo(path.read_bytes(), "sent", max_pixels=5399)
    assert decode_photo(path.read_bytes(), "sent", max_pixels=5400).size == (60, 90)
    with pytest.raises(UnreadablePhotoError, match="sent"):
        decode_photo(b"", "sent")
