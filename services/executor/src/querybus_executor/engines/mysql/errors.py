"""What each MySQL or MariaDB error means to QueryBus: the error number first, text only for what the number leaves open.

Pure. The text is English because the session says so. A user with few rights gets for missing tables and functions
that it has no right to them; both are read as missing. Tested on MariaDB 10.11; numbers of MySQL alone are not.
"""

from __future__ import annotations

import re
from typing import Final

from querybus.core.failure import Facts, Failure, FailureCode
from querybus_executor.engines.sqlite.errors import named_in

_BY_NUMBER: Final[dict[FailureCode, tuple[int, ...]]] = {
    FailureCode.SYNTAX_ERROR: (1064, 1149, 1222, 1221, 1235, 1248, 1295, 4161),
    FailureCode.TABLE_NOT_FOUND: (1146, 1049, 1051),
    FailureCode.COLUMN_NOT_FOUND: (1054,),
    FailureCode.AMBIGUOUS_COLUMN: (1052, 1066, 1060),
    FailureCode.TYPE_MISMATCH: (1241, 1292, 1366, 1367, 1411, 1267, 4038),
    FailureCode.GROUPING_ERROR: (1055, 1140, 1056),
    FailureCode.AGGREGATE_MISUSE: (1111, 4015, 4016, 3593),
    FailureCode.FUNCTION_NOT_FOUND: (1305, 1370, 1582, 1583, 1630),
    FailureCode.DIVISION_BY_ZERO: (1365,),
    FailureCode.NUMBER_TOO_LARGE: (1690,),
    FailureCode.CARDINALITY: (1242, 1172),
    FailureCode.PERMISSION: (1142, 1143, 1044, 1227, 1792, 1290, 1419),
    FailureCode.TIMEOUT: (1969, 3024, 1317),
    FailureCode.RESOURCE_LIMIT: (1038, 1104, 1041, 3170, 1021, 1114),
    FailureCode.TOO_COMPLEX: (1116, 1436, 4008),
    FailureCode.LOCK: (1205, 1213),
    FailureCode.CONNECTION: (1040, 1045, 1053, 1129, 1130, 1152, 1153, 1158, 1159, 1160, 1161, 1203, 1226, 2002, 2003,
                             2006, 2013, 2014, 2055),
}  # fmt: skip
_CODES: Final = {number: code for code, numbers in _BY_NUMBER.items() for number in numbers}
_QUOTED: Final = r"['`](?P<name>[^'`]+)['`]"
_NAMES: Final[dict[FailureCode, re.Pattern[str]]] = {
    FailureCode.TABLE_NOT_FOUND: re.compile(r"(?:Table|for table) (?P<name>'[^']+'|`[^`]+`(?:\.`[^`]+`)?)"),
    FailureCode.COLUMN_NOT_FOUND: re.compile(rf"column {_QUOTED} in '(?P<where>[^']*)'", re.IGNORECASE),
    FailureCode.AMBIGUOUS_COLUMN: re.compile(rf"(?:Column|table/alias: ?) ?{_QUOTED}"),
    FailureCode.FUNCTION_NOT_FOUND: re.compile(rf"(?:FUNCTION |function |routine )(?:{_QUOTED}|(?P<bare>[\w.$]+))"),
}


def mysql_failure(number: int, text: str, sql: str) -> Failure:
    """Return the failure of a server's error number and message."""
    code = _CODES.get(number, FailureCode.INTERNAL)
    if number == 1142 and text.startswith("SELECT command"):
        code = FailureCode.TABLE_NOT_FOUND
    native = str(number)
    pattern = _NAMES.get(code)
    match = None if pattern is None else pattern.search(text)
    if match is None:
        return Failure.of(code, text, Facts(native_code=native))
    groups = match.groupdict()
    parts = (groups.get("name") or groups.get("bare") or "").replace("`", "").replace("'", "").split(".")
    qualifier, name = (parts[-2] if len(parts) > 1 else None), parts[-1]
    if code is FailureCode.FUNCTION_NOT_FOUND:
        qualifier = None
    if code is FailureCode.COLUMN_NOT_FOUND:
        if name.isdigit():
            code = FailureCode.GROUPING_ERROR
        elif groups["where"].upper().startswith("FROM"):
            code = FailureCode.JOIN_ERROR
        elif qualifier is not None and not named_in(sql, qualifier):
            code = FailureCode.MISSING_ALIAS
    return Failure.of(code, text, Facts(name=name, qualifier=qualifier, native_code=native))
