"""Files of one machine as Spark and Hadoop see them: made without a process for each, and otherwise as Hadoop makes them."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession


@pytest.fixture
def hadoop(spark: SparkSession) -> Any:
    return spark._jvm.org.apache.hadoop.fs


@pytest.fixture
def files(spark: SparkSession, hadoop: Any) -> Any:
    return hadoop.FileSystem.get(spark._jvm.java.net.URI("file:///"), spark._jsc.hadoopConfiguration())


@pytest.fixture
def context(spark: SparkSession, hadoop: Any) -> Any:
    return hadoop.FileContext.getFileContext(spark._jvm.java.net.URI("file:///"), spark._jsc.hadoopConfiguration())


@pytest.fixture
def hadoop_path(tmp_path: Path, hadoop: Any) -> Any:
    """Makes a file with a text in it, if one is given; its path as Hadoop has it."""

    def make(name: str, text: str | None = None) -> Any:
        if text is not None:
            (tmp_path / name).write_text(text)
        return hadoop.Path(str(tmp_path / name))

    return make


def test_they_are_the_kernels(files: Any, context: Any) -> None:
    names = [each.getClass().getSimpleName() for each in (files, context.getDefaultFileSystem())]
    assert names == ["LocalFiles", "LocalContext"]


@pytest.mark.parametrize("asked", ["640", "755", "000", "777", "1777"])
def test_permissions_are_those_that_were_asked_for(files: Any, hadoop: Any, hadoop_path: Any, tmp_path: Path, asked: str) -> None:
    files.setPermission(hadoop_path("file", ""), hadoop.permission.FsPermission(asked))
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == int(asked, 8)


def test_a_new_file_has_the_permissions_that_the_mask_leaves(files: Any, hadoop: Any, hadoop_path: Any, tmp_path: Path) -> None:
    mask = hadoop.permission.FsPermission.getUMask(files.getConf()).toShort()
    files.create(hadoop_path("new")).close()
    files.mkdirs(hadoop_path("directory"))
    assert stat.S_IMODE((tmp_path / "directory").stat().st_mode) == 0o777 & ~mask
    assert (tmp_path / "new").exists()


def test_what_is_not_there_is_told(files: Any, hadoop: Any, hadoop_path: Any) -> None:
    with pytest.raises(Py4JJavaError, match="NoSuchFileException"):
        files.setPermission(hadoop_path("nothing"), hadoop.permission.FsPermission("640"))
    with pytest.raises(Py4JJavaError, match="FileNotFoundException"):
        files.getFileLinkStatus(hadoop_path("nothing"))


def test_a_link_is_seen_as_one(files: Any, hadoop_path: Any, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert not files.getFileLinkStatus(hadoop_path("file", "a")).isSymlink()
    assert files.getFileLinkStatus(hadoop_path("link")).isSymlink()


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_file_is_replaced_only_where_that_was_asked_for(
    spark: SparkSession, context: Any, hadoop: Any, hadoop_path: Any, tmp_path: Path, overwrite: bool
) -> None:
    kinds = hadoop.Options.Rename
    how = spark.sparkContext._gateway.new_array(kinds, 1)
    how[0] = kinds.OVERWRITE if overwrite else kinds.NONE
    draft, final = hadoop_path("draft", "new"), hadoop_path("final", "old")
    if overwrite:
        context.rename(draft, final, how)
        assert not (tmp_path / "draft").exists()
    else:
        with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
            context.rename(draft, final, how)
    assert (tmp_path / "final").read_text() == ("new" if overwrite else "old")
