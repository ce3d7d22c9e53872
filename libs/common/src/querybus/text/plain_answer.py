"""Any conclusion becomes a phrased `finished` without model, catalog or store: the template of last resort.

Used by the presenter when its own wording fails and by the gateway's sweeper when a `concluded` died. The texts are
fixed and hold no name, SQL or driver text; business readers get `c1`..`cn` and numbered labels. What only a
catalog could clear of names (a model's chat reply, the text of an option) is left out for the business audience.
"""

from __future__ import annotations

from typing import Final

from querybus.core.asking_back import Clarification, Option, OptionAction
from querybus.core.catalog import Language
from querybus.core.envelope import Envelope
from querybus.core.failure import FailureCode
from querybus.core.messages import (
    Answer,
    AnswerColumn,
    Concluded,
    Finished,
    Outcome,
    Result,
)
from querybus.text.rows.masking import seen_result

_Texts = dict[Language, str]

OUTCOME_TEXTS: Final[dict[Outcome, _Texts]] = {
    Outcome.ANSWERED: {"en": "Rows in the answer: {count}.", "zh": "结果共有 {count} 行。"},
    Outcome.PREPARED: {
        "en": "The query was prepared and checked. It was not run.",
        "zh": "查询已生成并通过检查，尚未执行。",
    },
    Outcome.REPLIED: {
        "en": "Ask about your data, for instance how many, the most or the latest of something.",
        "zh": "您可以询问与数据有关的问题，例如数量、排名或最近的情况。",
    },
    Outcome.CLARIFICATION: {
        "en": "Your question needs more information to be answered exactly. Please describe it in more detail.",
        "zh": "您的问题需要更多信息才能准确查询，请提供更详细的描述。",
    },
    Outcome.CONFIRMATION: {
        "en": "This would change data. Nothing was changed; it needs your confirmation first.",
        "zh": "该操作会修改数据。目前没有任何改动，需要您先确认。",
    },
    Outcome.REFUSED: {
        "en": "This operation is not allowed. Only questions that read data are supported.",
        "zh": "不允许的操作。本系统只支持查询操作。",
    },
    Outcome.FAILED: {
        "en": "The question could not be answered this time. Please try again, or ask in other words.",
        "zh": "这次未能得到结果，请重试或换一种说法提问。",
    },
    Outcome.CANCELLED: {"en": "The query was cancelled.", "zh": "查询已取消。"},
    Outcome.EXPIRED: {
        "en": "The time allowed for this question ran out. Please try again, or narrow the question.",
        "zh": "查询超过了允许的时间，请重试或缩小查询范围。",
    },
}

CODE_TEXTS: Final[dict[FailureCode, _Texts]] = {
    FailureCode.MISSING_DATABASE_INFO: {
        "en": "The data that this question needs was not found here. Please give more detail or change the question.",
        "zh": "没有找到与问题相关的数据信息，请您提供更多具体信息或修改问题。",
    },
    FailureCode.COLUMN_NOT_FOUND: {
        "en": "That piece of information may not exist here; please adjust the question.",
        "zh": "查询的数据维度可能不存在，需要调整查询内容。",
    },
    FailureCode.TABLE_NOT_FOUND: {
        "en": "The data asked for may be outside of what can be accessed.",
        "zh": "查询的数据范围可能超出了可访问的范围。",
    },
    FailureCode.SYNTAX_ERROR: {
        "en": "The way the question was turned into a query needs adjusting.",
        "zh": "查询语句的结构需要调整。",
    },
    FailureCode.UNKNOWN_GENERATION_FAILURE: {
        "en": "No valid query could be made. Please try to rephrase your question.",
        "zh": "无法生成有效的查询，请尝试重新描述您的问题。",
    },
    FailureCode.PERMISSION: {
        "en": "You have no permission to see this data.",
        "zh": "当前没有权限访问相关数据。",
    },
    FailureCode.COST: {
        "en": "That is a lot of data; narrow the range or add a period.",
        "zh": "查询数据量较大，建议缩小查询范围或添加时间限制。",
    },
    FailureCode.TIMEOUT: {
        "en": "That is a lot of data; narrow the range or add a period.",
        "zh": "查询数据量较大，建议缩小查询范围或添加时间限制。",
    },
    FailureCode.CONNECTION: {
        "en": "The data source cannot be reached at the moment. Your question was not at fault; please try again later.",
        "zh": "暂时无法连接数据源，与您的问题无关，请稍后再试。",
    },
    FailureCode.SETUP: {
        "en": "The data source is not set up correctly. Its administrator sees why.",
        "zh": "数据源尚未正确配置，管理员可以看到原因。",
    },
    FailureCode.MODEL_UNAVAILABLE: {
        "en": "The language model cannot be reached at the moment. Please try again later.",
        "zh": "语言模型暂时不可用，请稍后再试。",
    },
    FailureCode.NOT_VERIFIED: {
        "en": "Only verified questions are answered here. An analyst verifies a question by calling its answer right.",
        "zh": "此处只回答已核实的问题。分析人员将某个答案标记为正确后，该问题即为已核实。",
    },
    FailureCode.WRITE_OUTCOME_UNKNOWN: {
        "en": "It is not known whether the change was made. It will not be tried again; please check before repeating it.",
        "zh": "无法确定修改是否已生效，系统不会再次执行，请先核对再操作。",
    },
}
"""What a code says better than its outcome; a code without a row is phrased by the outcome."""

NEXT_STEP_TEXTS: Final[dict[Outcome, _Texts]] = {
    Outcome.FAILED: {"en": "Try the question again.", "zh": "重新尝试当前查询。"},
    Outcome.EXPIRED: {"en": "Narrow the period, or ask for totals.", "zh": "缩小查询的时间范围，或使用汇总数据。"},
    Outcome.CLARIFICATION: {"en": "Ask again with more detail.", "zh": "补充更多信息后重新提问。"},
    Outcome.REFUSED: {"en": "Ask a question that reads data.", "zh": "请提出读取数据的问题。"},
}

LABEL_TEXTS: Final[_Texts] = {"en": "Column {n}", "zh": "第{n}列"}
RETRY_TEXTS: Final[_Texts] = {"en": "Try the same question again", "zh": "重新尝试当前查询"}

_PHRASED_BY_CODE: Final = (Outcome.FAILED, Outcome.CLARIFICATION, Outcome.REFUSED)


def plain_message(outcome: Outcome, code: FailureCode | None, language: Language, row_count: int = 0) -> str:
    """Return the sentence for an outcome and its code; safe for every reader."""
    if outcome in _PHRASED_BY_CODE and code is not None and code in CODE_TEXTS:
        return CODE_TEXTS[code][language]
    return OUTCOME_TEXTS[outcome][language].format(count=row_count)


def plain_finished(envelope: Envelope[Concluded]) -> Envelope[Finished]:
    """Return the `finished` event of a conclusion, its outcome unchanged; cannot fail."""
    body = envelope.body
    is_analyst = envelope.audience == "analyst"
    result = seen_result(body.result or Result(columns=(), rows=(), row_count=0), envelope.audience)
    message = plain_message(body.outcome, body.code, envelope.language, result.row_count)
    if is_analyst and body.outcome is Outcome.REPLIED and body.reply:
        message = body.reply
    answer = Answer(
        outcome=body.outcome,
        language=envelope.language,
        code=body.code,
        message=message,
        next_step=NEXT_STEP_TEXTS.get(body.outcome, {}).get(envelope.language, ""),
        options=_options(envelope, body.clarification),
        trigger=body.clarification.trigger if body.clarification else None,
        confirmation=body.confirmation if is_analyst or not body.confirmation else body.confirmation.without_names(),
        rows_affected=body.rows_affected,
        columns=_columns(envelope, result),
        rows=result.rows,
        row_count=result.row_count,
        truncated=result.truncated,
        total_count=result.total_count,
        total_is_estimate=result.total_is_estimate,
        pages=result.pages,
        notes=body.notes if is_analyst else (),
    )
    sql = body.sql or (envelope.attempts[-1].sql if envelope.attempts else None)
    finished = Finished(answer=answer, sql=sql if is_analyst else None, detail=body.detail if is_analyst else "")
    return envelope.with_body(finished)


def _options(envelope: Envelope[Concluded], clarification: Clarification | None) -> tuple[Option, ...]:
    if clarification is None:
        return ()
    if envelope.audience == "analyst":
        return clarification.options
    # An option's own text may name a column; to ask the same again names nothing that the person has not said.
    return tuple(
        Option(
            id=option.id,
            text=RETRY_TEXTS[envelope.language],
            question=envelope.question,
            action=OptionAction.RETRY_AS_IS,
        )
        for option in clarification.options
        if option.action is OptionAction.RETRY_AS_IS
    )


def _columns(envelope: Envelope[Concluded], result: Result) -> tuple[AnswerColumn, ...]:
    if envelope.audience == "analyst":
        return tuple(
            AnswerColumn(id=column.name, label=column.name, kind=column.kind, personal=column.personal)
            for column in result.columns
        )
    label = LABEL_TEXTS[envelope.language]
    return tuple(
        AnswerColumn(id=f"c{n}", label=label.format(n=n), kind=column.kind, personal=column.personal)
        for n, column in enumerate(result.columns, 1)
    )
