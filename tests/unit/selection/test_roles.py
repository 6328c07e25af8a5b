"""The role of a file by its path."""

from __future__ import annotations

import pytest

from promptforge.selection.roles import find_asides, role_of

ASIDE = """
tests/a.py src/__tests__/a.ts spec/a_spec.rb pool/src/jvmTest/kotlin/Pool.kt app/src/androidTest/A.java
Foo.Tests/Bar.cs core/FooTests.swift src/PoolTest.kt lib/FooSpec.scala src/tests.rs conftest.py
pkg/a_test.go web/a.spec.ts e2e/login.ts deps/lua/lua.h third-party/zlib.c 3rdparty/a.c external/a.c
packages/x/playground/App.vue online-playground/app.ts test-dts/a.ts src/a.test-d.ts _examples/a.go
.devcontainer/start.sh docs/.vitepress/config.ts packages/x/dist/x.js dist/esm/x.js
scripts/release.py packages/a/scripts/b.ts Pods/A/a.m Carthage/a.swift subprojects/glib/a.c vendor/a.go examples/a.py include/fmt/bundled/a.h
Godeps/a.go base/pool_unittest.cc gradlew mvnw.cmd app/src/test/java/com/acme/a.java src/pool_test.cc Core/PoolTests.cs lib/pool.t src/test_pool.c
"""
PROGRAMS = """
src/pool.py lib/contest.py src/latest.ts src/Manifest.kt core/Attestation.java src/greatest/a.c
src/playgrounds.py src/dist/a.js .github/release.py
app/(group)/[slug]/page.tsx src/dependencies.py internal/depsolver.go src/Tester.cs
src/main/java/com/example/demo/Pool.java app/src/commonMain/kotlin/org/samples/Pool.kt
"""


@pytest.mark.parametrize("path", ASIDE.split())
def test_tests_examples_and_others_work_stand_aside(path: str) -> None:
    assert role_of(path) == "aside"


@pytest.mark.parametrize("path", PROGRAMS.split())
def test_what_is_named_alike_is_a_program(path: str) -> None:
    assert role_of(path) == ""


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("CHANGELOG.md", "log"),
        ("docs/changelog/2024.md", "log"),
        ("docs/whatsnew/3.12.rst", "log"),
        ("docs/en/releases/5.0.txt", "log"),
        ("docs/release-notes/1.md", "log"),
        ("src/releases/view.py", ""),
        ("HISTORY.rst", "log"),
        ("src/history.py", ""),
        ("LICENSE", "licence"),
        ("lib/COPYING.LESSER", "licence"),
        ("LICENSE-MIT.txt", "licence"),
        ("src/license.py", ""),
        ("docs/licensing.md", "manual"),
        ("debian/patches/1.patch", "patch"),
        ("scripts/upgrade/1.patch", "patch"),
        ("README.md", "entry"),
        ("docs/README.md", "manual"),
        ("Cargo.toml", "manifest"),
        ("src/__main__.py", "main"),
        ("src/SUMMARY.md", "main"),
        ("src/index.ts", ""),
        ("logo.svg", "picture"),
    ],
)
def test_roles_by_name(path: str, role: str) -> None:
    assert role_of(path) == role


def asides(*paths: str) -> set[int]:
    return find_asides(paths, list(map(role_of, paths)))


def test_a_second_build_stands_aside() -> None:
    assert asides("pool.js", "pool.cjs", "only.cjs") == {1}


def test_a_folder_that_was_built_stands_behind_its_sources() -> None:
    paths = ["build/lib/pool/a.py", "pool/a.py", "build/lib.linux-x86_64/b/c.py", "src/b/c.py"]
    assert asides(*paths) == {0, 2}
    assert asides("dist/a.js", "src/a.js", "dist/own.js", "src/dist/a.js") == {0, 2}
    assert asides("build/lib/only/a.py", "build/release.py", "src/other.py") == set()


def test_marks_of_a_file_overrule_its_path() -> None:
    assert role_of("lib/pool.c", {"vendored": True}) == "aside"
    assert role_of("vendor/pool.c", {"vendored": False}) == ""
    assert role_of("site/pool.js", {"documentation": True}) == "manual"
    assert role_of("docs/pool.js", {"documentation": False}) == ""


def test_a_translation_stands_behind_the_english_text() -> None:
    docs = ("docs/pool.md", "docs/de/pool.md", "docs/zh-cn/pool.md", "docs/ja/only.md")
    assert asides(*docs) == {1, 2}
    assert asides("README.md", "README.pt-br.md", "README_zh.md", "README.go.md") == {1, 2}
    assert asides("locales/en.yml", "locales/de.yml", "content/en/a.md", "content/ko/a.md") == {
        1,
        3,
    }
    assert asides("res/values/strings.xml", "res/values-fr/strings.xml", "po/sv.po") == {1, 2}
    assert (
        asides("time.c", "time_ms.c", "lib/ms/a.js", "lib/a.js", "de.json", "en/de.json") == set()
    )


def test_settings_of_a_country_and_programs_of_a_language_are_no_translations() -> None:
    assert asides("deploy/values.yaml", "deploy/uk/values.yaml", "deploy/values-uk.yaml") == set()
    assert asides("Cargo.toml", "ca/Cargo.toml", "README.md", "id/README.md") == set()
    assert asides("lang/en/stop_words.py", "lang/de/stop_words.py") == set()
    assert asides("src/locales/en.json", "src/locales/de.json") == {1}
