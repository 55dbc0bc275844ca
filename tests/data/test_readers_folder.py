import time

import pytest
from made_folder import Make

from tagsight.data.readers import READERS, open_collection
from tagsight.errors import InputError


def test_csv_and_jsonl_give_the_same_collection(make_folder: Make) -> None:
    root = make_folder(
        ("csv/a, b.jpg", "jsonl/a, b.jpg"),
        csv__tags_DOT_csv=b'\xef\xbb\xbfImage,Attributes,Objects\r\n"a, b.jpg",Furry; brown,horse;Dog\r\n',
        jsonl__tags_DOT_jsonl='{"image": "a, b.jpg","objects": ["horse","Dog"], "attributes": "furry;brown"}',
    )
    from_csv, from_jsonl = open_collection(root / "csv"), open_collection(root / "jsonl")
    assert from_csv.vocabulary == from_jsonl.vocabulary == (("dog", "horse"), ("brown", "furry"))
    assert from_csv.photos[0][1:] == from_jsonl.photos[0][1:] == (("dog", "horse"), ("brown", "furry"))
    assert from_csv.problems == from_jsonl.problems == ()
    assert from_csv.name == "csv"


def test_the_tags_file_itself_can_be_given(make_folder: Make) -> None:
    root = make_folder(("a.jpg",), tags_DOT_csv="image,objects\na.jpg,car\n")
    assert open_collection(root / "tags.csv").photos == open_collection(str(root)).photos


def test_odd_names(make_folder: Make) -> None:
    root = make_folder(
        ("line\nbreak.jpg", "🐎 émoji.jpg", "sub/c.jpg"),
        tags_DOT_csv='image,objects\n"line\nbreak.jpg",a\n🐎 émoji.jpg,b\nsub/c.jpg,c\n../d.jpg,d\n',
    )
    collection = open_collection(root)
    assert len(collection.photos) == 3
    assert [problem.reason for problem in collection.problems] == [
        "line 6: '../d.jpg' leads out of the collection's folder"
    ]


def test_bad_rows_and_unread_columns_are_reported(make_folder: Make) -> None:
    root = make_folder(
        ("a.jpg",),
        tags_DOT_csv="image,objects,atributes\na.jpg,car,red\nb.jpg,car\n ,car,red\n",
    )
    collection = open_collection(root)
    assert [problem.reason for problem in collection.problems] == [
        "column 'atributes' is not read; only image, objects, attributes are",
        "line 3: 2 cells where the header has 3",
        "line 4: 'image' is ' ', not the name of a photo",
    ]
    assert collection.vocabulary == (("car",), ())


def test_bad_json_rows_are_reported(make_folder: Make) -> None:
    lines = ['{"image": 3}', '{"image": "a.jpg", "objects": [1]}', '{"image": "a.jpg", "objects": null}', "{"]
    collection = open_collection(make_folder(("a.jpg",), tags_DOT_jsonl="\n".join(lines)))
    assert len(collection.photos) == 1
    assert [problem.reason[:8] for problem in collection.problems] == ["line 4: ", "line 1: ", "line 2: "]


@pytest.mark.parametrize(
    "cell", ["cat, dog", "cat|dog", "cat\ndog", "cat\tdog", "猫\uff1b狗", "猫\u3001狗", "bird; cat, dog"]
)
def test_another_separator_than_a_semicolon_is_reported(make_folder: Make, cell: str) -> None:
    collection = open_collection(
        make_folder(("a.jpg", "b.jpg"), tags_DOT_csv=f'image,objects\na.jpg,"{cell}"\nb.jpg,"bird;\n"\n')
    )
    assert collection.vocabulary.objects == ("bird",)
    (problem,) = collection.problems
    assert problem.reason.startswith(f"line 2: 'objects' is {cell!r}: separate tags by ';'")


def test_a_table_with_another_separator_throughout_is_refused(make_folder: Make) -> None:
    with pytest.raises(InputError, match=r"lists no photo .*line 2: 'objects' is 'cat, dog': separate tags by ';'"):
        open_collection(make_folder(("a.jpg",), tags_DOT_csv='image,objects\na.jpg,"cat, dog"\n'))


def test_lists_of_json_are_exact(make_folder: Make) -> None:
    root = make_folder(("a.jpg",), tags_DOT_jsonl='{"image": "a.jpg", "objects": ["cat, dog", "a;b"]}')
    assert open_collection(root).vocabulary.objects == ("a;b", "cat, dog")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("photo,objects\na.jpg,car\n", "'photo', 'objects': it must have image,objects,attributes"),
        ("image;objects;attributes\na.jpg;car;\n", "'image;objects;attributes': it must have"),
        ("image\na.jpg\n", "it must have image,objects,attributes"),
        ("", "is empty"),
        ("image,objects\n", "lists no photo"),
        (b"image,objects\na.jpg,caf\xe9\n", "not UTF-8 text"),
    ],
)
def test_unusable_tables_are_refused(make_folder: Make, content: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_collection(make_folder(("a.jpg",), tags_DOT_csv=content))


def test_an_unknown_layout_lists_the_known_formats(make_folder: Make) -> None:
    root = make_folder(("a.jpg",))
    with pytest.raises(InputError) as caught:
        open_collection(root)
    assert all(name in str(caught.value) for name in READERS)
    with pytest.raises(InputError, match="does not exist"):
        open_collection(root / "nowhere")
    with pytest.raises(InputError, match=r"no tags\.csv or tags\.jsonl"):
        open_collection(root, format="folder")
    with pytest.raises(InputError, match="no format 'zip'; choose one of folder, imagefolder"):
        open_collection(root, format="zip")


def test_two_layouts_at_once_must_be_told_apart(make_folder: Make) -> None:
    root = make_folder(
        ("a.jpg",),
        tags_DOT_csv="image,objects\na.jpg,car\n",
        metadata_DOT_csv="file_name,objects\na.jpg,dog\n",
    )
    with pytest.raises(InputError, match="fits the formats folder and imagefolder"):
        open_collection(root)
    assert open_collection(root, format="folder").vocabulary.objects == ("car",)
    (root / "tags.jsonl").touch()
    with pytest.raises(InputError, match=r"both tags\.csv and tags\.jsonl"):
        open_collection(root, format="folder")


def test_an_option_of_another_format_is_refused(make_folder: Make) -> None:
    root = make_folder(("a.jpg",), tags_DOT_csv="image,objects\na.jpg,car\n")
    with pytest.raises(InputError, match="'folder' takes no 'split': leave it out \\(it is for imagefolder"):
        open_collection(root, split="train")
    with pytest.raises(InputError, match="takes no 'colours'"):
        open_collection(root, colours=True)


def test_synonyms_by_file(make_folder: Make) -> None:
    root = make_folder(
        ("a.jpg", "b.jpg"),
        tags_DOT_csv="image,objects,attributes\na.jpg,orange,\nb.jpg,pony,orange\n",
        same_DOT_csv="from,to,kind\norange,orange fruit,object\npony,horse,\n",
    )
    with pytest.raises(InputError, match="tag 'orange' is an object"):
        open_collection(root)
    collection = open_collection(root, synonyms=root / "same.csv")
    assert collection.vocabulary == (("horse", "orange fruit"), ("orange",))


def test_ten_thousand_rows_are_quick(make_folder: Make) -> None:
    names = tuple(f"{number:05}.jpg" for number in range(10_000))
    lines = "".join(f"{name},horse;car;dog,red;furry;round\n" for name in names)
    root = make_folder(names, tags_DOT_csv="image,objects,attributes\n" + lines)
    start = time.perf_counter()
    assert len(open_collection(root).photos) == 10_000
    assert time.perf_counter() - start < 5
