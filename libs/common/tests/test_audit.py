"""Records of the audit follow from each other by hash: what is changed, removed or moved in an export is found."""

from __future__ import annotations

import json

import pytest

from querybus.bus.log.audit import line_of
from querybus.core.stored.audit import (
    FIRST,
    AuditFacts,
    AuditFault,
    AuditKind,
    AuditRecord,
    VerifiedChain,
    Words,
    chained,
    salt_of,
    verify_lines,
)


def export(tenant: str = "acme", count: int = 5) -> list[str]:
    """Return the lines of a tenant's first statements."""
    lines: list[str] = []
    last: AuditRecord | None = None
    for number in range(1, count + 1):
        words = Words(question=f"Größe {number}?", sql=f"SELECT {number}", salt=salt_of(b"event %d" % number))
        last = chained(
            AuditFacts(
                kind=AuditKind.STATEMENT,
                at=1_000 * number,
                tenant=tenant,
                user="ann",
                query_id=f"q{number}",
                event_sequence=number,
                words_sha256=words.digest,
            ),
            last,
        )
        lines.append(line_of(last, words))
    return lines


def changed(line: str, **values: object) -> str:
    return json.dumps(json.loads(line) | values)


def test_a_whole_export_fits_in_any_order_of_members_and_from_any_place_on() -> None:
    lines = export()
    result = verify_lines([changed(line) for line in lines])
    assert result == (VerifiedChain("acme", 1, 5, json.loads(lines[-1])["hash"], 0),)
    assert verify_lines(lines[2:]) == (VerifiedChain("acme", 3, 5, json.loads(lines[-1])["hash"], 0),)
    assert json.loads(lines[0])["previous"] == FIRST


def test_the_order_of_one_tenant_is_kept_beside_other_tenants() -> None:
    ours, theirs = export(), export("globex")
    mixed = [line for pair in zip(ours, theirs, strict=True) for line in pair]
    result = verify_lines(mixed)
    assert not isinstance(result, AuditFault)
    assert [(chain.tenant, chain.last) for chain in result] == [("acme", 5), ("globex", 5)]


@pytest.mark.parametrize(
    ("tampered", "line", "why"),
    [
        (lambda lines: [*lines[:2], *lines[3:]], 3, "missing"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], 2, "out of order"),
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], 3, "repeated"),
        (lambda lines: [*lines[:2], changed(lines[2], user="bob"), *lines[3:]], 3, "was changed"),
        (lambda lines: [*lines[:2], changed(lines[2], new="member"), *lines[3:]], 3, "was changed"),
        (lambda lines: [*lines[:2], changed(lines[2], words=json.loads(lines[3])["words"]), *lines[3:]], 3, "words"),
        (lambda lines: [*lines[:4], "{}"], 5, "no record"),
        (lambda lines: [*lines[:4], "nothing"], 5, "no record"),
        (lambda lines: [*lines[:4], "[]"], 5, "no record"),
    ],
)
def test_the_first_line_that_does_not_fit_is_named(tampered, line: int, why: str) -> None:  # type: ignore[no-untyped-def]
    result = verify_lines(tampered(export()))
    assert isinstance(result, AuditFault)
    assert (result.line, why in result.why) == (line, True), result


def test_a_file_that_was_cut_and_a_chain_that_was_made_anew_lack_the_hash_that_was_kept() -> None:
    lines = export()
    hashes = [json.loads(line)["hash"] for line in lines]
    assert not isinstance(verify_lines(lines, [hashes[1], hashes[-1]]), AuditFault)
    cut = verify_lines(lines[:4], [hashes[-1]])
    assert isinstance(cut, AuditFault)
    assert (cut.line, hashes[-1] in cut.why) == (4, True)
    anew = verify_lines(export("globex"), [hashes[-1]])
    assert isinstance(anew, AuditFault)
    assert isinstance(verify_lines([], [hashes[-1]]), AuditFault)


def test_a_record_made_anew_breaks_the_chain_behind_it() -> None:
    lines = export()
    values = {
        key: value for key, value in json.loads(lines[2]).items() if key not in ("hash", "words", "number", "previous")
    }
    before = json.loads(lines[1])
    before.pop("words")
    forged = chained(AuditFacts.model_validate(values | {"user": "bob"}), AuditRecord.model_validate(before))
    result = verify_lines([*lines[:2], line_of(forged, None), *lines[3:]])
    assert isinstance(result, AuditFault)
    assert (result.line, "hash of the record before" in result.why) == (4, True)


def test_words_may_go_and_the_chain_stays() -> None:
    lines = export()
    erased = json.loads(lines[2])
    erased.pop("words")
    result = verify_lines([*lines[:2], json.dumps(erased), *lines[3:]])
    assert result == (VerifiedChain("acme", 1, 5, json.loads(lines[-1])["hash"], 1),)


def test_equal_words_of_two_events_have_different_hashes() -> None:
    one, other = (Words(question="q", sql="SELECT 1", salt=salt_of(event)) for event in (b"a", b"b"))
    assert one.digest != other.digest
