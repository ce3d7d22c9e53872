"""The buckets of what people taught, of what they prefer, of their boards, and of the administration."""

from __future__ import annotations

from querybus.bus.connection import Connected
from querybus.bus.stores.values import ValueStore
from querybus.core.stored.boards import Boards
from querybus.core.stored.choices import Choices
from querybus.core.stored.preferences import Preferences
from querybus.core.stored.quality import Quality
from querybus.core.topology import BOARDS, KNOWLEDGE, PREFERENCES, QUALITY
from querybus.text.knowledge import Knowledge


class KnowledgeStore(ValueStore[Knowledge]):
    """Knowledge by tenant and connection."""

    def __init__(self, holder: Connected, *, follow: bool = False) -> None:
        super().__init__(holder, KNOWLEDGE, Knowledge, lambda _, name: Knowledge(connection=name), follow=follow)


class PreferenceStore(ValueStore[Preferences]):
    """Preferences by tenant and user."""

    def __init__(self, holder: Connected, *, follow: bool = False) -> None:
        super().__init__(holder, PREFERENCES, Preferences, lambda *_: Preferences(), follow=follow)


class ChoiceStore(ValueStore[Choices]):
    """Which options people chose, by tenant and `choices_name` of the user, in the bucket of the preferences."""

    def __init__(self, holder: Connected) -> None:
        super().__init__(holder, PREFERENCES, Choices, lambda *_: Choices(), follow=False)


class BoardStore(ValueStore[Boards]):
    """Boards by tenant and user."""

    def __init__(self, holder: Connected) -> None:
        super().__init__(holder, BOARDS, Boards, lambda _, user: Boards(user=user), follow=False)


class QualityStore(ValueStore[Quality]):
    """What lies on the administration, by tenant and connection."""

    def __init__(self, holder: Connected) -> None:
        super().__init__(holder, QUALITY, Quality, lambda *_: Quality(), follow=False)
