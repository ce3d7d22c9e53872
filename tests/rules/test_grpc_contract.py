"""Claims on the gRPC contract: named by the rules, never broken for its callers, its Python current and complete."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from querybus.core.catalog import ColumnKind
from querybus.core.messages import Operation, Outcome
from querybus.core.options import ExecutionMode, Mode, OnExecutionFailure, RepairPolicy
from querybus.picture import PictureForm
from querybus.text.knowledge import EntryKind
from querybus_gateway.admit import RequestOptions
from querybus_gateway.grpc.errors import code_of
from querybus_gateway.grpc.messages import word
from querybus_gateway.grpc.server import SERVICES
from querybus_gateway.problems import STATUS
from querybus_gateway.use_cases.results.export import Format
from querybus_gateway.v1 import connection_service_pb2, query_pb2, query_service_pb2

ROOT = Path(__file__).parents[2]


def contract_module() -> Any:
    spec = importlib.util.spec_from_file_location("grpc_contract", ROOT / "tools/grpc_contract.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


contract = contract_module()


@pytest.fixture(scope="module")
def now() -> FileDescriptorSet:
    return contract.descriptors()


def test_the_contract_keeps_the_rules_of_naming_and_saying(now: FileDescriptorSet) -> None:
    assert contract.findings(now) == []


def test_the_contract_breaks_no_caller_and_its_record_is_current(now: FileDescriptorSet) -> None:
    assert contract.breaks(contract.recorded(), now) == []
    assert contract.record(now) == contract.CONTRACT.read_bytes(), "run `make proto` and commit what changed"


def test_the_generated_python_is_current() -> None:
    assert {path.name for path in contract.OUT.glob("*_pb2.py*")} == set(contract.modules())
    for name, text in contract.modules().items():
        assert (contract.OUT / name).read_text() == text, f"{name}: run `make proto` and commit what changed"


def changed(before: FileDescriptorSet, path: str) -> Any:
    after = FileDescriptorSet()
    after.CopyFrom(before)
    file, _, name = path.partition(":")
    result = next(path for path in after.file if path.name.endswith(file))
    return after, next((path for path in result.message_type if path.name == name), result)


def test_each_way_to_break_a_caller_is_seen(now: FileDescriptorSet) -> None:
    after, message = changed(now, "query_service.proto:AskRequest")
    message.field[0].name = "text"
    assert any("AskRequest.1" in item for item in contract.breaks(now, after))
    after, message = changed(now, "query_service.proto:AskRequest")
    message.field[1].number = 9
    assert any("AskRequest.2" in item and "gone" in item for item in contract.breaks(now, after))
    after, message = changed(now, "query.proto:Column")
    message.field[0].type = 3
    assert any("Column.1" in item for item in contract.breaks(now, after))
    after, message = changed(now, "query.proto:Row")
    del message.field[0]
    assert any("Row.1" in item for item in contract.breaks(now, after))
    after, file = changed(now, "query.proto:")
    file.enum_type[0].value[1].name = "QUERY_STATUS_WAITING"
    assert any("QueryStatus.1" in item for item in contract.breaks(now, after))
    after, file = changed(now, "query_service.proto:")
    file.service[0].method[0].server_streaming = True
    assert any("QueryService.Ask" in item for item in contract.breaks(now, after))
    after, file = changed(now, "query_service.proto:")
    del file.service[0].method[0]
    assert any("QueryService.Ask" in item for item in contract.breaks(now, after))


def test_adding_breaks_nobody(now: FileDescriptorSet) -> None:
    after, message = changed(now, "query_service.proto:AskRequest")
    added = message.field.add()
    added.name, added.number, added.type, added.label = "note", 99, 9, 1
    assert contract.breaks(now, after) == []


@pytest.mark.parametrize(
    ("path", "spoil", "finding"),
    [
        ("query.proto:Column", lambda it: setattr(it.field[0], "name", "columnId"), "snake_case"),
        ("query.proto:Column", lambda it: setattr(it, "name", "result_column"), "PascalCase"),
        ("query.proto:", lambda it: setattr(it, "package", "querybus"), "no version"),
        ("query.proto:", lambda it: setattr(it.enum_type[0].value[0], "name", "QUERY_STATUS_NONE"), "the zero is"),
        ("query.proto:", lambda it: setattr(it.enum_type[1].value[1], "name", "ANSWERED"), "does not begin with"),
        ("query.proto:", lambda it: it.ClearField("source_code_info"), "no comment"),
        ("query_service.proto:", lambda it: setattr(it.service[0], "name", "Queries"), "ends in Service"),
        (
            "query_service.proto:",
            lambda it: setattr(it.service[0].method[0], "output_type", ".querybus.v1.Query"),
            "not AskResponse",
        ),
    ],
)
def test_each_breach_of_a_rule_is_seen(now: FileDescriptorSet, path: str, spoil: Any, finding: str) -> None:
    after, part = changed(now, path)
    spoil(part)
    assert any(finding in item for item in contract.findings(after))


def test_every_method_of_the_contract_is_served_as_it_says(now: FileDescriptorSet) -> None:
    said = {
        f"{file.package}.{service.name}": {path.name: path for path in service.method}
        for file in now.file
        for service in file.service
    }
    assert {name: set(methods) for name, methods in SERVICES.items()} == {
        name: set(methods) for name, methods in said.items()
    }
    for name, methods in SERVICES.items():
        for method, served in methods.items():
            assert served.is_streaming == said[name][method].server_streaming, method
            assert f".{served.takes.DESCRIPTOR.full_name}" == said[name][method].input_type, method


def test_every_option_of_a_request_can_be_said_over_grpc() -> None:
    fields = query_service_pb2.Options.DESCRIPTOR.fields
    # What is deprecated is read and no option any more.
    said = {field.name for field in fields if not field.GetOptions().deprecated}
    assert said == set(RequestOptions.model_fields)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (Operation, query_service_pb2.Operation),
        (Mode, query_service_pb2.Mode),
        (ExecutionMode, query_service_pb2.ExecutionMode),
        (OnExecutionFailure, query_service_pb2.OnExecutionFailure),
        (RepairPolicy, query_service_pb2.RepairPolicy),
        (Outcome, query_pb2.Outcome),
        (ColumnKind, query_pb2.ColumnKind),
        (EntryKind, connection_service_pb2.KnowledgeKind),
        (Format, query_service_pb2.ExportFormat),
        (PictureForm, query_service_pb2.PictureFormat),
    ],
)
def test_every_word_of_a_closed_set_has_its_number(known: Any, said: Any) -> None:
    assert {word(said, number) for number in said.values() if number} == {item.value for item in known}


def test_every_problem_has_a_grpc_code_and_none_is_unknown() -> None:
    codes = {code: code_of(status) for code, (status, _) in STATUS.items()}
    assert 2 not in codes.values()
    assert {code for code, number in codes.items() if number == 13} == {"internal"}
