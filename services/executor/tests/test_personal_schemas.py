"""Personal columns in schemas as people make them: abbreviations, prefixes, German, pinyin, tables that do not say what they hold."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus_executor.catalog.personal_columns import BY_ITS_COMPANY, BY_ITS_NAME, list_personal, personal_kinds

KINDS = {
    "d": ColumnKind.DATE,
    "i": ColumnKind.INTEGER,
    "n": ColumnKind.NUMBER,
    "b": ColumnKind.BOOLEAN,
    "": ColumnKind.TEXT,
}


@dataclass
class Schema:
    """Tables of one database, and which of their columns are personal."""

    tables: dict[str, list[Column]] = field(default_factory=dict[str, list[Column]])
    personal: set[str] = field(default_factory=set[str])

    def add(self, line: str) -> None:
        table, _, columns = line.partition(":")
        own = self.tables.setdefault(table.strip(), [])
        for written in columns.split():
            name, _, kind = written.removesuffix("*").partition(":")
            own.append(Column(name=name, type="", kind=KINDS[kind]))
            if written.endswith("*"):
                self.personal.add(f"{table.strip()}.{name}")

    def found(self) -> set[str]:
        return {f"{table}.{name}" for table, columns in self.tables.items() for name in personal_kinds(table, columns)}


def read(text: str) -> list[Schema]:
    schemas: list[Schema] = []
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        if lines:
            schemas.append(Schema())
            for line in lines:
                schemas[-1].add(line)
    return schemas


LOOKED_AT = read(Path(__file__).with_name("personal_schemas.txt").read_text())


def test_of_the_schemas_looked_at_nothing_personal_is_shown_and_nothing_harmless_is_hidden() -> None:
    assert len(LOOKED_AT) >= 20
    shown = sorted(key for schema in LOOKED_AT for key in schema.personal - schema.found())
    hidden = sorted(key for schema in LOOKED_AT for key in schema.found() - schema.personal)
    assert (shown, hidden) == ([], [])


PERSON_TABLES = (
    "CLAIMANTS", "t_pupil", "tblResidents", "STAFF_MSTR", "hr_personnel", "Volunteers", "MBR_DIM", "lk_passengers", "Arbeiter",
    "dim_borrower", "PERSONEN", "t_bewohner", "app_users", "STUDENT_INFO", "crm_contacts", "tx_0007", "import_2024", "CITIZEN",
    "Versicherte", "soldiers", "prisoners", "tbl_donors", "alumni", "CHILDREN",
)  # fmt: skip
PERSON_COLUMNS = (
    ("LAST_NM", "FIRST_NM", "BIRTH_DTE:d", "SEX_CD"),
    ("surname", "forename", "date_of_birth:d", "sex"),
    ("sLastName", "sFirstName", "dBirth:d", "sGender"),
    ("Familienname", "Vorname", "Geburtsdatum:d", "Geschlecht"),
    ("FAM_NAME", "GIVEN_NAME", "DOB:d", "GENDER"),
    ("nm_lst", "nm_fst", "dt_brth:d", "cd_sx"),
    ("lastname1", "firstname1", "bday:d", "gndr"),
    ("xing", "ming", "shengri:d", "xingbie"),
    ("LName", "FName", "BirthDate:d", "Sex"),
    ("apellidos", "nombre", "fecha_nac:d", "sexo"),
    ("achternaam", "voornaam", "geboortedatum:d", "geslacht"),
    ("PERS_NACHN", "PERS_VORN", "PERS_GEBDT:d", "PERS_GESCHL"),
)
REACH = (
    "E_MAIL_ADR",
    "mobileNumber",
    "homeTel",
    "streetAndNo",
    "Rufnummer",
    "eml_addr_txt",
    "MOBIL",
    "contactEmail",
    "Wohnadresse",
    "TEL1",
)
THINGS = (
    "tblMachines: machine_id:i machineName vendor installed:d",
    "harbours: harbour_id:i name country depth:n",
    "films: film_id:i title director_id:i released:d first_shown:d",
    "T_LIEFERANT: lief_nr:i firmenname ort ust_id",
    "dim_store: store_key:i store_name region opened:d",
    "companies: id:i name legal_form vat_no employees:i",
    "departments: id:i name cost_center head_count:i",
    "gongsi: id:i mingcheng hangye",
    "file_index: id:i file_name folder_name last_modified:d first_line",
    "ships: imo:i name flag built:d gross_tonnage:n",
    "api_calls: id:i host url method last_status:i first_byte_ms:i",
    "breeds: id:i name origin life_span:i",
    "rivers: id:i name length_km:n basin",
    "horses: id:i name sex foaled:d trainer_id:i",
    "sku_master: sku skuName brandName uom",
    "cells: cell_id:i name voltage:n ph:n",
    "streets_of_code: id:i repo_name branch_name last_commit:d",
    "apps: id:i display_name bundle version",
    "medicines: id:i generic_name trade_name strength",
    "airports: iata name city elevation:i",
    "projects: id:i project_name owner_team start:d",
    "mobile_plans: id:i plan_name minutes:i mobile_data_gb:n",
    "mail_queue: id:i queue_name size:i",
    "cards_of_game: id:i card_name suit rarity",
)  # fmt: skip


def generated(seed: int) -> list[Schema]:
    """Return 24 schemas of other words, put together by chance."""
    draw = random.Random(seed)
    schemas: list[Schema] = []
    for number, table in enumerate(PERSON_TABLES):
        columns = draw.choice(PERSON_COLUMNS)
        marks = [column + "*" for column in columns[:3]] + [columns[3]]
        reached = [f"{column}*" for column in draw.sample(REACH, 2)]
        schema = Schema()
        schema.add(f"{table}: id:i {' '.join(marks + reached)} status")
        schema.add(THINGS[number])
        schemas.append(schema)
    return schemas


def test_schemas_of_other_words_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    schemas = generated(58)
    shown = sorted(key for schema in schemas for key in schema.personal - schema.found())
    hidden = sorted(key for schema in schemas for key in schema.found() - schema.personal)
    personal = sum(len(schema.personal) for schema in schemas)
    columns = sum(len(own) for schema in schemas for own in schema.tables.values())
    with capsys.disabled():
        print(
            f"\npersonal columns of {len(schemas)} generated schemas, {columns} columns: {len(shown)} of {personal} shown though"
            f" personal {shown}, {len(hidden)} of {columns - personal} hidden though harmless {hidden}"
        )
    assert len(schemas) >= 20


def test_the_list_for_an_owner_says_how_each_column_was_recognised() -> None:
    (clinic, *_) = LOOKED_AT
    tables = tuple(
        Table(name=name, columns=tuple(column.model_copy(update={"personal": False}) for column in columns))
        for name, columns in clinic.tables.items()
    )
    listed = list_personal(Catalog(connection="c", dialect=Dialect.POSTGRESQL, tables=tables))
    assert [(item.key, item.kind, item.reason) for item in listed if item.table.name == "TBL_PAT"] == [
        ("TBL_PAT.NM_LAST", "name", BY_ITS_NAME),
        ("TBL_PAT.NM_FIRST", "name", BY_ITS_NAME),
        ("TBL_PAT.DOB", "contact", BY_ITS_NAME),
    ]
    unnamed = next(schema for schema in LOOKED_AT if "T0042" in schema.tables)
    assert personal_kinds("T0042", unnamed.tables["T0042"])["NAME"] == ("name", BY_ITS_COMPANY)
