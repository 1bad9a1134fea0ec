"""reproduce/harness/files.py: the places where a file is looked for, and what can go wrong."""

import gzip
import hashlib
import http.server
import os
import socket
import threading
import time
import urllib.error

import pytest

from reproduce.harness import files
from reproduce.harness.files import DataError, Missing, find

pytestmark = pytest.mark.usefixtures("nowhere")
NAME, CONTENT = "cases.txt", b"1 2 3\n" * 400
NOBODY = "http://127.0.0.1:9/" + NAME  # nobody listens there


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def place(tmp_path):
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / NAME).write_bytes(CONTENT)
    return tmp_path / "place"


def look(folder=None, url=NOBODY, packed=False, checksum=None):
    return find(NAME, folder, url, checksum or sha256(CONTENT), packed)


def test_the_folder_comes_before_the_environment_and_that_before_the_cache(
        place, tmp_path, monkeypatch):
    for folder in (tmp_path / "wrong", tmp_path / "cache" / "mirrormc"):
        folder.mkdir(parents=True)
        (folder / NAME).write_bytes(b"not the data")
    monkeypatch.setenv("PAPERS_DATA", str(tmp_path / "wrong"))
    assert look(place) == CONTENT
    with pytest.raises(DataError, match="wrong"):
        look()
    monkeypatch.setenv("PAPERS_DATA", str(place))
    assert look() == CONTENT
    monkeypatch.delenv("PAPERS_DATA")
    with pytest.raises(DataError, match="cache"):
        look()


def test_a_folder_without_the_file_is_mentioned_and_the_next_place_serves(
        place, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PAPERS_DATA", os.pathsep.join([str(tmp_path / "none"), str(place)]))
    assert look(tmp_path) == CONTENT
    errors = capsys.readouterr().err
    assert f"{tmp_path} has no {NAME}" in errors
    assert f"{tmp_path / 'none'} has no {NAME}" in errors


@pytest.mark.parametrize("damage", [
    lambda content: content[:1000] + bytes([content[1000] ^ 1]) + content[1001:],
    lambda content: b""], ids=["one bit", "empty"])
def test_a_damaged_file_is_refused_with_both_checksums(place, damage):
    (place / NAME).write_bytes(damage(CONTENT))
    with pytest.raises(DataError) as error:
        look(place)
    for words in (str(place / NAME), sha256(damage(CONTENT)), sha256(CONTENT), NOBODY):
        assert words in str(error.value)
    assert "(unpacked)" not in str(error.value)


def test_a_file_may_be_compressed_where_that_is_said(place):
    (place / NAME).unlink()
    packed = gzip.compress(CONTENT)
    (place / f"{NAME}.gz").write_bytes(packed)
    assert look(place, packed=True) == CONTENT
    with pytest.raises(Missing):
        look(place)
    for damaged, said in (
            (packed[:-9], rf"{NAME}.gz cannot be read: .+"),
            (b"plain text", rf"{NAME}.gz cannot be read: .+"),
            (packed[:10] + bytes([255]) * 20 + packed[30:], rf"{NAME}.gz cannot be read: .+"),
            # its checksum is that of the original
            (gzip.compress(b"others"), rf"SHA-256 \(unpacked\) is {sha256(b'others')}")):
        (place / f"{NAME}.gz").write_bytes(damaged)
        with pytest.raises(DataError, match=said):
            look(place, packed=True)
    (place / NAME).mkdir()  # a folder in the place of the file
    with pytest.raises(DataError, match=f"{NAME} cannot be read"):
        look(place)


@pytest.fixture
def site(place, loopback):
    """Serve the file on this machine; return its address and the list of requests."""
    requests = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=place)

        def log_message(self, _, *words):
            requests.append(words[0])

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/{NAME}", requests
        server.shutdown()
        thread.join()


def test_a_download_is_kept_in_the_cache(site, tmp_path):
    url, requests = site
    assert look(url=url) == CONTENT
    asked = len(requests)
    assert asked > 0
    assert look(url=url) == CONTENT
    assert len(requests) == asked
    assert [path.name for path in (tmp_path / "cache" / "mirrormc").iterdir()] == [NAME]


def test_a_cache_that_cannot_be_written_does_no_harm(site, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert look(url=site[0]) == CONTENT


def test_a_download_with_another_checksum_is_not_used(site, tmp_path):
    with pytest.raises(Missing):
        look(url=site[0], checksum=sha256(b"something else"))
    assert not (tmp_path / "cache" / "mirrormc" / NAME).exists()


def test_a_file_that_is_nowhere_is_one_sentence_that_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(Missing) as error:
        look(tmp_path / "mine")
    for words in (NAME, str(tmp_path / "mine"), str(tmp_path / "cache"), "http://127.0.0.1:9/",
                  "--data DIR"):
        assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_server_without_the_file_is_not_asked_again(site):
    with pytest.raises(urllib.error.HTTPError, match="404") as error:
        files.probe(f"{site[0]}.gz")
    error.value.close()


def test_a_name_server_that_hangs_is_given_up(monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(files, "PROBE", 0.2)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(60) and [])
    start = time.perf_counter()
    with pytest.raises(Missing, match="no answer"):
        look(url=f"http://silent.invalid/{NAME}")
    assert time.perf_counter() - start < 30  # 0.2 s on an idle machine; a look-up takes 60
    over.set()


def test_a_server_that_accepts_and_says_nothing_is_given_up(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(files, "PROBE", 0.2)
        with pytest.raises(Missing):
            look(url=f"http://127.0.0.1:{silent.getsockname()[1]}/{NAME}")
