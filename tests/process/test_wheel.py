"""The wheel carries every template, profile and vocabulary, and works where there is no checkout."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from commandline import python
from places import ROOT

MISSING = [name for name in ("build", "hatchling") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)}"),
    pytest.mark.slow,
]
VOCABULARIES = {"promptforge/_vocab/cl100k_base.bin", "promptforge/_vocab/o200k_base.bin"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as a packager does who has no network."""
    out = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(out),
        str(ROOT),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    return built


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def files(folder: str) -> set[str]:
    """Return the paths of the files in a folder of the checkout, less what an interpreter or an
    editor left there.
    """
    found = (path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file())
    return {
        path.as_posix()
        for path in found
        if not {"__pycache__", "node_modules"} & {*path.parts} and not path.name.startswith(".")
    }


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["templates", "profiles"])
def test_every_file_of_the_folder_is_in_it_and_no_other(wheel: Path, folder: str) -> None:
    prefix = "promptforge/_files/"
    carried = {
        name.removeprefix(prefix) for name in names(wheel) if name.startswith(f"{prefix}{folder}/")
    }
    assert carried == files(folder)
    assert len(carried) > 10


def test_the_package_is_in_it_with_its_vocabularies_and_types(wheel: Path) -> None:
    carried = {
        name for name in names(wheel) if name.startswith("promptforge/") and "/_files/" not in name
    }
    assert carried == files("promptforge")
    assert {*VOCABULARIES, "promptforge/py.typed"} <= carried


def test_nothing_else_is_in_it(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    (about,) = (top for top in tops if top.endswith(".dist-info"))
    assert tops == {"promptforge", about}
    licences = {name.split("/licenses/")[1] for name in names(wheel) if "/licenses/" in name}
    vendored = {
        "promptforge/_vocab/LICENSE-tiktoken.txt",
        "promptforge/preview/static/vendor/LICENSES.txt",
        "promptforge/text/LICENSE-unicode.txt",
    }
    assert licences == {"LICENSE", *vendored}
    with zipfile.ZipFile(wheel) as archive:
        assert (
            "promptforge = promptforge.cli:start"
            in archive.read(f"{about}/entry_points.txt").decode()
        )


@pytest.mark.slow
def test_it_works_unpacked_far_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    env = {"PYTHONPATH": str(place)}
    item = b'{"content": "x = 1", "path": "a.py"}'
    where = python("-c", "import promptforge; print(promptforge.__file__)", env=env, cwd=tmp_path)
    assert where.out.startswith(str(place))
    ran = python("-m", "promptforge", "render", "-p", "claude", stdin=item, env=env, cwd=tmp_path)
    assert ran == python("-m", "promptforge", "render", "-p", "claude", stdin=item)
    assert ran.code == 0 and "x = 1" in ran.out
    assert (
        str(place)
        in python("-m", "promptforge", "show", "chunks/item.md.j2", env=env, cwd=tmp_path).err
    )
