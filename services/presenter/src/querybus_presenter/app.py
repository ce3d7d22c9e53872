"""The presenter's composition root: settings to edges, edges to the verb, the verb to its stage."""

from __future__ import annotations

from functools import partial
from typing import Any

from querybus.bus.application import Service, run_service
from querybus.bus.broker import make_broker
from querybus.bus.stage import stage
from querybus.bus.stage_policy import Runtime, StagePolicy
from querybus.bus.stores.buckets import ConnectionStore, CounterStore
from querybus.bus.stores.catalogs import CatalogStore
from querybus.bus.stores.knowledge import ChoiceStore
from querybus.bus.stores.models import ModelStore
from querybus.bus.stores.pages import PageStore
from querybus.core.envelope import Envelope
from querybus.core.failure import Failure
from querybus.core.subjects import StageName
from querybus.llm import NamedModels
from querybus.ops.clock import system_clock
from querybus.ops.live_texts import LiveTexts
from querybus.ops.log import configure_logging, get_log
from querybus.ops.metrics import Metrics
from querybus.ops.run import Part
from querybus.ops.settings import load
from querybus.ops.trace import tracing_of
from querybus.text.plain_answer import plain_finished
from querybus_presenter.catalog_store import PatientCatalogs, PatientChoices
from querybus_presenter.charts.chart_server import McpChartServer, present_with_picture
from querybus_presenter.present import present
from querybus_presenter.settings import SUMMARY_SECONDS_MAX, Settings
from querybus_presenter.summaries.model_summary import Summarizer, load_prompts
from querybus_presenter.wording.texts import load_texts

_log = get_log(__name__)

CATALOG_WAIT_SECONDS = 1.0
"""How long a query's words wait for the catalog; without it a label only says what kind of value it is."""


def build(settings: Settings) -> Service:
    """Return the presenter, wired and not yet started."""
    metrics = Metrics(StageName.PRESENTER)
    tracing = tracing_of(StageName.PRESENTER, settings)
    broker = make_broker(settings, StageName.PRESENTER, metrics)
    store = CatalogStore(broker, follow=True)
    catalogs = PatientCatalogs(store, wait_seconds=CATALOG_WAIT_SECONDS)

    known = ModelStore(broker, follow=True)
    model = (
        NamedModels(settings, metrics, known=known, counters=CounterStore(broker))
        if settings.summary_by_model
        else None
    )
    connections = ConnectionStore(broker, follow=True)
    refused = partial(metrics.prompts_refused, StageName.PRESENTER)
    prompts = LiveTexts(settings.prompts_directory, load_prompts, on_state=refused)
    summarizer = (
        Summarizer(model, connections, prompts=prompts, seconds_max=SUMMARY_SECONDS_MAX) if model is not None else None
    )

    def plainly(envelope: Envelope[Any], _: Failure) -> Envelope[Any]:
        return plain_finished(envelope)

    def left_out(part: str, error: Exception) -> None:
        _log.warning("an answer goes without a part", part=part, error=type(error).__name__)
        metrics.answer_part_left_out(part)

    think = partial(
        present,
        catalogs=catalogs,
        words=load_texts(),
        pages=PageStore(broker),
        choices=PatientChoices(ChoiceStore(broker), wait_seconds=CATALOG_WAIT_SECONDS),
        summarizer=summarizer,
        left_out=left_out,
    )
    if settings.chart_server_url:
        server = McpChartServer(
            settings.chart_server_url,
            seconds_max=SUMMARY_SECONDS_MAX,
            clock=system_clock,
            left_out=left_out,
        )
        think = partial(present_with_picture, present=think, server=server)
    presenting = stage(
        broker,
        think,
        StagePolicy(name=StageName.PRESENTER, on_failure=plainly, after_deadline="proceed"),
        Runtime(metrics=metrics, tracing=tracing),
        slots=settings.slots,
        drain_seconds=settings.drain_seconds,
    )
    parts: tuple[Part, ...] = (tracing, store, *((connections, known, model) if model is not None else ()), presenting)
    return Service(StageName.PRESENTER, broker, parts, metrics=metrics, settings=settings)


def main() -> None:
    """Run the presenter until it is asked to stop."""
    settings = load(Settings)
    configure_logging(settings.log_level, as_json=settings.log_json)
    run_service(build(settings))


if __name__ == "__main__":
    main()
