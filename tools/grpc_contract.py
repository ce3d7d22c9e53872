"""The gRPC contract kept: its rules, its record, and the Python that is made of it; `make proto` calls it.

`contract.binpb` records every message, field, value and method that was ever published. What would break a caller of
the record is refused; adding is always free. The rules stand in for buf's STANDARD lint and FILE breaking check, whose
program is not a Python package. The messages land in the gateway as `querybus_gateway.v1`, because `querybus` is the
name of the common library.
"""

from __future__ import annotations

import importlib.resources
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from grpc_tools import protoc

ROOT: Final = Path(__file__).parents[1]
PROTO: Final = ROOT / "proto"
CONTRACT: Final = PROTO / "contract.binpb"
OUT: Final = ROOT / "services/gateway/src/querybus_gateway/v1"
PACKAGE: Final = "querybus_gateway.v1"

_SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_PASCAL = re.compile(r"([A-Z][a-z0-9]*)+")
_MESSAGE, _ENUM, _SERVICE = 4, 5, 6
_METHOD, _VALUE = 2, 2


def findings(found: FileDescriptorSet) -> list[str]:
    """Return what is named or left unsaid against the rules.

    Package with a version and files below its folder; names in their case; enum values prefixed by their enum, zero
    `_UNSPECIFIED`; services end in `Service`; each method has a request and a response of its own; each message,
    enum, value, service and method has a comment.
    """
    return [finding for file in found.file for finding in _of_file(file)]


def breaks(before: FileDescriptorSet, now: FileDescriptorSet) -> list[str]:
    """Return what a caller of `before` would miss or misread in `now`; adding is always free."""
    old, new = _surface(before), _surface(now)
    return [
        f"{name}: was {what}, is {new.get(name, 'gone')}" for name, what in sorted(old.items()) if new.get(name) != what
    ]


def _of_file(file: FileDescriptorProto) -> Iterator[str]:
    said = {tuple(part.path) for part in file.source_code_info.location if part.leading_comments.strip()}
    if not re.fullmatch(r"[a-z]+(\.[a-z]+)*\.v\d+", file.package):
        yield f"{file.name}: the package {file.package!r} has no version"
    if not file.name.startswith(file.package.replace(".", "/") + "/"):
        yield f"{file.name}: not in the folder of {file.package}"
    if not _SNAKE.fullmatch(file.name.rpartition("/")[2].removesuffix(".proto")):
        yield f"{file.name}: a file is named in snake_case"
    if file.syntax != "proto3":
        yield f"{file.name}: not proto3"
    for number, message in enumerate(file.message_type):
        yield from _of_message(message, (_MESSAGE, number), said)
    for number, enum in enumerate(file.enum_type):
        yield from _of_enum(enum, (_ENUM, number), said)
    used: list[str] = []
    for number, service in enumerate(file.service):
        if (_SERVICE, number) not in said:
            yield f"{service.name}: no comment"
        if not (service.name.endswith("Service") and _PASCAL.fullmatch(service.name)):
            yield f"{service.name}: a service is named PascalCase and ends in Service"
        for at, method in enumerate(service.method):
            if (_SERVICE, number, _METHOD, at) not in said:
                yield f"{service.name}.{method.name}: no comment"
            if not _PASCAL.fullmatch(method.name):
                yield f"{service.name}.{method.name}: a method is named PascalCase"
            for type_name, ending in ((method.input_type, "Request"), (method.output_type, "Response")):
                if type_name.rpartition(".")[2] != method.name + ending:
                    yield f"{service.name}.{method.name}: takes or gives {type_name}, not {method.name}{ending}"
                used.append(type_name)
    yield from (
        f"{element}: used by two methods" for element in sorted({item for item in used if used.count(item) > 1})
    )


def _of_message(message: DescriptorProto, path: tuple[int, ...], said: set[tuple[int, ...]]) -> Iterator[str]:
    if path not in said:
        yield f"{message.name}: no comment"
    if not _PASCAL.fullmatch(message.name):
        yield f"{message.name}: a message is named PascalCase"
    for field in message.field:
        if not _SNAKE.fullmatch(field.name):
            yield f"{message.name}.{field.name}: a field is named in snake_case"
        if field.name.endswith(("_list", "_array")):
            yield f"{message.name}.{field.name}: the plural says it"
    for number, nested in enumerate(message.nested_type):
        if not nested.options.map_entry:
            yield from _of_message(nested, (*path, 3, number), said)
    for number, enum in enumerate(message.enum_type):
        yield from _of_enum(enum, (*path, 4, number), said)


def _of_enum(enum: EnumDescriptorProto, path: tuple[int, ...], said: set[tuple[int, ...]]) -> Iterator[str]:
    if path not in said:
        yield f"{enum.name}: no comment"
    prefix = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", enum.name).upper() + "_"
    for number, value in enumerate(enum.value):
        if (*path, _VALUE, number) not in said:
            yield f"{enum.name}.{value.name}: no comment"
        if not value.name.startswith(prefix):
            yield f"{enum.name}.{value.name}: does not begin with {prefix}"
        if value.number == 0 and value.name != prefix + "UNSPECIFIED":
            yield f"{enum.name}.{value.name}: the zero is {prefix}UNSPECIFIED"


def _surface(found: FileDescriptorSet) -> dict[str, str]:
    """Return every name that a caller may have written down, with what must stay the same about it."""
    surface: dict[str, str] = {}
    for file in found.file:
        for message in file.message_type:
            _add_message(surface, file, f"{file.package}.{message.name}", message)
        for enum in file.enum_type:
            _add_enum(surface, file, f"{file.package}.{enum.name}", enum)
        for service in file.service:
            name = f"{file.package}.{service.name}"
            surface[name] = f"service in {file.name}"
            for method in service.method:
                stream = f"{int(method.client_streaming)}{int(method.server_streaming)}"
                surface[f"{name}.{method.name}"] = f"{method.input_type} to {method.output_type}, streams {stream}"
    return surface


def _add_message(surface: dict[str, str], file: FileDescriptorProto, name: str, message: DescriptorProto) -> None:
    surface[name] = f"message in {file.name}"
    for field in message.field:
        # The number is what is on the wire, the name what is in programs and in JSON.
        surface[f"{name}.{field.number}"] = _kind(message, field)
    for nested in message.nested_type:
        _add_message(surface, file, f"{name}.{nested.name}", nested)
    for enum in message.enum_type:
        _add_enum(surface, file, f"{name}.{enum.name}", enum)


def _kind(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    kinds: Any = FieldDescriptorProto
    parts = [
        field.name,
        kinds.Type.Name(field.type).lower(),
        kinds.Label.Name(field.label).lower(),
        field.type_name,
        "optional" if field.proto3_optional else "",
        # An `optional` makes a oneof of its own, which nobody sees.
        message.oneof_decl[field.oneof_index].name
        if field.HasField("oneof_index") and not field.proto3_optional
        else "",
    ]
    return " ".join(filter(None, parts))


def _add_enum(surface: dict[str, str], file: FileDescriptorProto, name: str, enum: EnumDescriptorProto) -> None:
    surface[name] = f"enum in {file.name}"
    for value in enum.value:
        surface[f"{name}.{value.number}"] = value.name


def sources() -> list[str]:
    """Return the files of the contract, as protoc names them."""
    return sorted(path.relative_to(PROTO).as_posix() for path in PROTO.glob("querybus/v1/*.proto"))


def compiled(*arguments: str) -> None:
    """Run protoc over the contract; raises ValueError if a file is wrong."""
    known = str(importlib.resources.files("grpc_tools") / "_proto")
    if protoc.main(["protoc", f"-I{PROTO}", f"-I{known}", *arguments, *sources()]):
        raise ValueError("protoc refused the contract")


def descriptors() -> FileDescriptorSet:
    """Return the contract as the files say it now, comments included."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "now.binpb"
        compiled("--include_source_info", f"--descriptor_set_out={file}")
        return FileDescriptorSet.FromString(file.read_bytes())


def recorded() -> FileDescriptorSet:
    """Return the contract as it was published last; empty before the first time."""
    return FileDescriptorSet.FromString(CONTRACT.read_bytes() if CONTRACT.exists() else b"")


def record(found: FileDescriptorSet) -> bytes:
    """Return the contract without its comments, so that words may change freely."""
    bare = FileDescriptorSet()
    bare.CopyFrom(found)
    for file in bare.file:
        file.ClearField("source_code_info")
    return bare.SerializeToString(deterministic=True)


def modules() -> dict[str, str]:
    """Return the generated Python by file name."""
    with tempfile.TemporaryDirectory() as directory:
        compiled(f"--python_out={directory}", f"--pyi_out={directory}")
        made = {path.name: path.read_text() for path in sorted(Path(directory).rglob("*.py*"))}
    return {
        name: re.sub(r"^from querybus\.v1 import", f"from {PACKAGE} import", text, flags=re.MULTILINE)
        for name, text in made.items()
    }


def main() -> None:
    """Write the modules and the record."""
    result = descriptors()
    broken = breaks(recorded(), result)
    if broken:
        sys.exit("\n".join(["these changes break callers; add beside instead, or begin querybus.v2:", *broken]))
    CONTRACT.write_bytes(record(result))
    for old in OUT.glob("*_pb2.py*"):
        old.unlink()
    for name, text in modules().items():
        (OUT / name).write_text(text)


if __name__ == "__main__":
    main()
