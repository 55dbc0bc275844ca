import struct
from pathlib import Path

import pytest
from PIL import Image, PngImagePlugin, TiffImagePlugin

from tagsight.data.readers import open_collection
from tagsight.data.readers.embedded import decode_iptc, read_embedded
from tagsight.data.readers.xmp import LIMIT, find_keywords
from tagsight.errors import InputError

WORDS = "word,kind\nzebra,object\nhorse,object\ncafé,object\nfurry,attribute\nunused,attribute\n"


def make_xmp(*subjects: str, hierarchy: tuple[str, ...] = ()) -> bytes:
    bag = "".join(f"<r:li>{word}</r:li>" for word in subjects)
    levels = "".join(f"<r:li>{word}</r:li>" for word in hierarchy)
    return (
        '<?xpacket begin="\ufeff"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<r:Description xmlns:d="http://purl.org/dc/elements/1.1/" '
        'xmlns:lr="http://ns.adobe.com/lightroom/1.0/">'
        "<d:title><r:Alt><r:li>not a keyword</r:li></r:Alt></d:title>"
        f"<d:subject><r:Bag>{bag}</r:Bag></d:subject>"
        f"<lr:hierarchicalSubject><r:Bag>{levels}</r:Bag></lr:hierarchicalSubject>"
        '</r:Description></r:RDF></x:xmpmeta>\n   <?xpacket end="w"?>\0'
    ).encode()


def make_iptc(*keywords: bytes, utf8: bool = False) -> bytes:
    """Write a JPEG APP13 segment with a Photoshop resource 0x0404."""
    records = [(1, 90, b"\x1b%G")] if utf8 else []
    records += [(2, 25, keyword) for keyword in keywords]
    data = b"".join(struct.pack(">BBBH", 0x1C, record, field, len(v)) + v for record, field, v in records)
    resource = b"8BIM" + struct.pack(">HHI", 0x0404, 0, len(data)) + data + b"\0" * (len(data) % 2)
    body = b"Photoshop 3.0\0" + resource
    return b"\xff\xed" + struct.pack(">H", len(body) + 2) + body


def write_photo(path: Path, *, xmp: bytes = b"", segment: bytes = b"") -> Path:
    image = Image.new("RGB", (4, 4))
    if path.suffix == ".png":
        info = PngImagePlugin.PngInfo()
        info.add_itxt("XML:com.adobe.xmp", xmp.decode())
        image.save(path, pnginfo=info)
    elif path.suffix == ".tif":
        info = TiffImagePlugin.ImageFileDirectory_v2()
        info[700] = xmp
        image.save(path, tiffinfo=info)
    else:
        image.save(path, xmp=xmp)
    if segment:
        raw = path.read_bytes()
        path.write_bytes(raw[:2] + segment + raw[2:])
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "words.csv").write_text(WORDS)
    (tmp_path / "photos").mkdir()
    return tmp_path / "photos"


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".tif", ".webp", ".avif"])
def test_xmp_inside_the_photo(folder: Path, suffix: str) -> None:
    photo = write_photo(folder / f"a{suffix}", xmp=make_xmp("Horse", "caf\u00e9", hierarchy=("animals|zebra",)))
    assert read_embedded(photo) == ["Horse", "café", "animals", "zebra"]


def test_iptc_inside_the_photo(folder: Path) -> None:
    declared = write_photo(folder / "a.jpg", segment=make_iptc("café".encode(), b"horse", utf8=True))
    undeclared = write_photo(folder / "b.jpg", segment=make_iptc("café".encode("latin-1")))
    assert read_embedded(declared) == ["café", "horse"]
    assert read_embedded(undeclared) == ["café"]
    assert decode_iptc({(2, 25): "café".encode()}) == ["café"]
    assert decode_iptc({}) == []


def test_a_folder_of_keyworded_photos(folder: Path) -> None:
    write_photo(folder / "a.jpg", xmp=make_xmp("Horse", "Italy"), segment=make_iptc(b"FURRY"))
    write_photo(folder / "b.png", xmp=make_xmp("Horse"))
    (folder / "b.xmp").write_bytes(make_xmp("zebra"))
    (folder / "b.png.xmp").write_bytes(make_xmp("furry", "2019"))
    write_photo(folder / "c.jpg")
    collection = open_collection(folder, format="keywords", words=folder.parent / "words.csv")
    assert collection.vocabulary == (("zebra", "horse"), ("furry",))
    assert [photo[1:] for photo in collection.photos] == [
        (("horse",), ("furry",)),
        (("zebra", "horse"), ("furry",)),
        ((), ()),
    ]
    (problem,) = collection.problems
    assert problem.reason == "2 keywords are not in the word list and are left out: '2019', 'italy'"


def test_bad_files_are_reported_and_the_others_read(folder: Path) -> None:
    write_photo(folder / "good.jpg", xmp=make_xmp("horse"))
    (folder / "html.jpg").write_text("<html>")
    (folder / "empty.jpg").touch()
    (folder / "good.xmp").write_text("<a>")
    (folder / "dead.jpg").symlink_to("nowhere.jpg")
    collection = open_collection(folder, format="keywords", words=folder.parent / "words.csv")
    assert collection.vocabulary == (("horse",), ())
    assert {problem.path.name for problem in collection.problems} == {
        "html.jpg",
        "empty.jpg",
        "good.xmp",
        "dead.jpg",
    }


def test_linked_photos_and_sidecars_are_read(folder: Path) -> None:
    write_photo(folder.parent / "out.jpg", xmp=make_xmp("zebra"))
    (folder.parent / "out.xmp").write_bytes(make_xmp("furry"))
    (folder / "link.jpg").symlink_to(folder.parent / "out.jpg")
    (folder / "link.xmp").symlink_to(folder.parent / "out.xmp")
    collection = open_collection(folder, format="keywords", words=folder.parent / "words.csv")
    assert [tuple(photo) for photo in collection.photos] == [(folder / "link.jpg", ("zebra",), ("furry",))]
    assert collection.problems == ()


def test_only_formats_of_photos_are_opened(folder: Path) -> None:
    Image.new("RGB", (4, 4)).save(folder / "a.jpg", format="PPM")
    with pytest.raises(InputError, match="not a file of a known format"):
        read_embedded(folder / "a.jpg")


def test_the_word_list_and_the_format_must_be_given(folder: Path) -> None:
    write_photo(folder / "a.jpg")
    with pytest.raises(InputError, match="keywords: keywords inside the photos \\(asked for by name\\)"):
        open_collection(folder)
    with pytest.raises(InputError, match="give a word list"):
        open_collection(folder, format="keywords")


def test_hostile_xml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    laughs = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
    outside = f'<!DOCTYPE x [<!ENTITY a SYSTEM "file://{tmp_path}/secret">]>'
    for doctype in (laughs, outside, "<!DOCTYPE x>"):
        with pytest.raises(InputError, match="DOCTYPE is refused"):
            find_keywords(doctype.encode() + make_xmp("&a;").removeprefix("\ufeff".encode()))


@pytest.mark.parametrize("packet", [b"", b"<a>", b"<a></b>", b"\xff\xfe\x00", b"&a;"])
def test_broken_xml_is_refused(packet: bytes) -> None:
    with pytest.raises(InputError, match="not valid XML"):
        find_keywords(packet)


def test_an_undeclared_entity_is_refused() -> None:
    with pytest.raises(InputError, match="undefined entity"):
        find_keywords(make_xmp("&a;"))


def test_an_oversized_packet_is_refused() -> None:
    with pytest.raises(InputError, match="over the limit"):
        find_keywords(b" " * (LIMIT + 1))


def test_other_encodings_of_xml() -> None:
    packet = make_xmp("café").strip(b"\0").decode()
    assert find_keywords(packet.encode("utf-16")) == ["café"]
