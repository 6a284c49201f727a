"""Files that are replaced whole or not at all."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import lumus as lm
from lumus.io.atomic import replacing


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    """Sets the process's mask, and puts the old one back."""
    old = os.umask(0o022)
    yield os.umask
    os.umask(old)


def test_block_that_ends_leaves_the_new_file_alone_in_its_folder(tmp_path):
    path = tmp_path / "x"
    with replacing(path) as temporary:
        assert temporary.parent == tmp_path
        temporary.write_text("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def _write_half(path, error):
    with replacing(path) as temporary:
        temporary.write_text("half")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_block_that_raises_leaves_the_old_file_alone_in_its_folder(tmp_path, error):
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(error):
        _write_half(path, error)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


_KILLED = """
import os, signal, sys
from pathlib import Path
import lumus as lm
from lumus.io import atomic

def kill(path):
    assert Path(path).stat().st_size > 0
    os.kill(os.getpid(), signal.SIGKILL)

atomic._to_disk = kill  # all is written, nothing is moved yet
lm.io.save(sys.argv[1], {"x": lm.full((1000,), 2.0)})
"""


def test_save_killed_in_the_middle_leaves_the_old_file_O12(tmp_path):
    path = tmp_path / "x.safetensors"
    lm.io.save(path, {"x": lm.full((1000,), 1.0)})
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", _KILLED, str(path)], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    assert lm.io.load(path)["x"][0].item() == 1.0


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_new_file_has_the_usual_permissions(tmp_path, umask, mask):
    umask(mask)
    lm.io.save(tmp_path / "x", {"x": lm.zeros(1)})
    assert mode_of(tmp_path / "x") == 0o666 & ~mask


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
def test_replaced_file_keeps_its_permissions(tmp_path, umask, mode):
    path = tmp_path / "x"
    path.write_text("old")
    path.chmod(mode)
    lm.io.save(path, {"x": lm.zeros(1)})
    assert mode_of(path) == mode
    assert list(lm.io.load(path)) == ["x"]


def test_file_put_in_place_of_the_temporary_gets_the_usual_permissions(tmp_path, umask):
    path = tmp_path / "x"
    with replacing(path) as temporary:
        other = tmp_path / "other"
        other.write_text("new")
        other.chmod(0o600)
        other.replace(temporary)
    assert mode_of(path) == 0o644


def test_symbolic_link_stays_and_its_target_is_replaced(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    target, link = folder / "real", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(Path("store") / "real")
    with replacing(link) as temporary:
        assert temporary.parent == folder
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert {one.name for one in tmp_path.iterdir()} == {"store", "link"}


def test_symbolic_link_to_nothing_yet_makes_its_target(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("later")
    lm.io.save(link, {"x": lm.zeros(1)})
    assert link.is_symlink()
    assert list(lm.io.load(tmp_path / "later")) == ["x"]


@pytest.mark.parametrize("below", ["file", "nowhere"])
def test_folder_that_cannot_be_written_is_named_by_the_path_that_was_asked_for(tmp_path, below):
    (tmp_path / "file").write_text("")
    path = tmp_path / below / "x"
    with pytest.raises((NotADirectoryError, FileNotFoundError)) as caught:
        lm.io.save(path, {"x": lm.zeros(1)})
    assert caught.value.filename == str(path)


def test_target_that_is_a_folder_is_refused_and_nothing_is_left(tmp_path):
    folder = tmp_path / "x"
    folder.mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        lm.io.save(folder, {"x": lm.zeros(1)})
    assert caught.value.filename == str(folder)
    assert list(tmp_path.iterdir()) == [folder]


def test_long_names_are_replaced_too(tmp_path):
    path = tmp_path / ("n" * 250)
    lm.io.save(path, {"x": lm.zeros(1)})
    assert list(lm.io.load(path)) == ["x"]
