"""Reads the catalog of a connection's SQLite file, or says in plain words why there is none. No path is named."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from querybus.core.catalog import Catalog
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.sql.row_security import reachable_tables
from querybus_executor.connections.config import ConnectionConfig
from querybus_executor.engines.sqlite.errors import sqlite_failure
from querybus_executor.engines.sqlite.introspect import introspect, sqlite_engine


def read_sqlite_catalog(config: ConnectionConfig) -> Catalog | Failure:
    """Return the catalog of the file, or a failure of code connection."""
    trouble = file_trouble(config.file_path)
    if trouble is not None:
        return Failure.of(FailureCode.CONNECTION, trouble)
    engine, policy = sqlite_engine(config.file_path), config.applied_policy
    try:
        return introspect(
            engine,
            config.name,
            display_names=config.display_names,
            synonyms=config.synonyms,
            glossary=config.glossary,
            definitions=config.definition_pieces,
            today=config.today,
            values=config.values,
            personal=(*config.personal, *policy.hidden_columns),
            not_personal=config.not_personal,
            without_values=(*config.without_values, *policy.filtered_tables),
            tables_allowed=reachable_tables(policy, config.dialect),
        )
    except SQLAlchemyError as error:
        return _unread(error)
    finally:
        engine.dispose()


def file_trouble(path: Path) -> str | None:
    """Return in plain words why there is no database file at the path, or None; the path is not named.

    >>> file_trouble(Path("/"))
    'what is configured as the database is a folder'
    """
    if path.is_dir():
        return "what is configured as the database is a folder"
    if not path.exists():
        return "the database file does not exist"
    if not os.access(path, os.R_OK):
        return "the database file may not be read"
    return None


def _unread(error: SQLAlchemyError) -> Failure:
    origin = error.orig if isinstance(error, DBAPIError) else None
    code = getattr(origin, "sqlite_errorcode", None)
    if origin is None or code is None:
        return Failure.of(FailureCode.CONNECTION, f"the database could not be read ({type(error).__name__})")
    result = sqlite_failure(code, getattr(origin, "sqlite_errorname", ""), str(origin), "")
    # Whatever it is called, a database whose tables cannot be listed cannot be used.
    return Failure.of(FailureCode.CONNECTION, result.detail, Facts(native_code=result.facts.native_code))
