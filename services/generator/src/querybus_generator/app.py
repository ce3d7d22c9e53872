"""The generator's composition root: settings to edges, edges to the verb, the verb to its stage."""

from __future__ import annotations

from functools import partial

from querybus.bus.application import Service, run_service
from querybus.bus.broker import make_broker
from querybus.bus.log.journal import Journal
from querybus.bus.requests.set_up import MODELS, SetUpServer
from querybus.bus.stage import stage
from querybus.bus.stage_policy import Runtime, StagePolicy
from querybus.bus.stores.buckets import ConnectionStore, CounterStore
from querybus.bus.stores.catalogs import CatalogStore
from querybus.bus.stores.knowledge import KnowledgeStore
from querybus.bus.stores.models import ModelStore
from querybus.core.subjects import StageName
from querybus.llm import EmbeddingClient, NamedModels, shared_limit
from querybus.ops.live_texts import LiveTexts
from querybus.ops.log import configure_logging, get_log
from querybus.ops.metrics import Metrics
from querybus.ops.run import Part
from querybus.ops.settings import load
from querybus.ops.trace import tracing_of
from querybus_generator.conversation.history import JournalHistory
from querybus_generator.conversation.token_progress import TokenProgress
from querybus_generator.generate import Resources, generate, generation_failed
from querybus_generator.linking.linker import Linker
from querybus_generator.linking.routing import Router
from querybus_generator.model_set_up import ModelSetUp
from querybus_generator.ports import Ports
from querybus_generator.prompts.texts import load_texts
from querybus_generator.settings import Settings
from querybus_translator.failsafe import report_failures_to

_log = get_log(__name__)


def build(settings: Settings) -> Service:
    """Return the generator, wired and not yet started."""
    report_failures_to(lambda kind, places: _log.error("translator.failed", error=kind, places=places))
    metrics = Metrics(StageName.GENERATOR)
    tracing = tracing_of(StageName.GENERATOR, settings)
    broker = make_broker(settings, StageName.GENERATOR, metrics)
    catalogs = CatalogStore(broker, follow=True)
    connections = ConnectionStore(broker, follow=True)
    knowledge = KnowledgeStore(broker, follow=True)
    models = ModelStore(broker, follow=True)
    model = NamedModels(settings, metrics, known=models, counters=CounterStore(broker))
    meaning = None
    if settings.embeddings_base_url:
        # Loaded only where it is used: it brings numpy.
        from querybus_generator.linking.semantic import Nearness

        shared = shared_limit(settings, CounterStore(broker))
        meaning = Nearness(EmbeddingClient(settings, metrics, shared=shared), settings)
    ports = Ports(
        catalogs=catalogs,
        connections=connections,
        history=JournalHistory(Journal(broker)),
        model=model,
        taught=knowledge,
        progress=TokenProgress(broker),
        meaning=meaning,
    )
    refused = partial(metrics.prompts_refused, StageName.GENERATOR)
    resources = Resources(
        linker=Linker(schema_tokens_max=settings.schema_tokens_max),
        texts=LiveTexts(settings.prompts_directory, load_texts, on_state=refused),
        definitions=settings.definitions,
        with_hints=settings.hints,
        tokens_per_question=settings.tokens_per_question,
        cost_per_question=settings.cost_per_question,
        router=Router(),
    )
    generating = stage(
        broker,
        partial(generate, ports=ports, resources=resources),
        StagePolicy(name=StageName.GENERATOR, on_failure=generation_failed),
        Runtime(metrics=metrics, tracing=tracing),
        # A slot waits for its model call: fewer slots than calls would leave the model idle.
        slots=max(settings.slots, settings.llm_concurrency_max),
        drain_seconds=settings.drain_seconds,
    )
    set_up = ModelSetUp(model, models, settings, is_allowed=settings.allows_model_set_up)
    serving = SetUpServer(broker, MODELS, set_up.answer)
    parts: tuple[Part, ...] = (
        tracing,
        catalogs,
        connections,
        knowledge,
        models,
        model,
        *((meaning,) if meaning is not None else ()),
        serving,
        generating,
    )
    return Service(StageName.GENERATOR, broker, parts, metrics=metrics, settings=settings)


def main() -> None:
    """Run the generator until it is asked to stop."""
    settings = load(Settings)
    configure_logging(settings.log_level, as_json=settings.log_json)
    run_service(build(settings))


if __name__ == "__main__":
    main()
