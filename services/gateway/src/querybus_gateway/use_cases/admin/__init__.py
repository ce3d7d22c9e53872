"""Administration: what people asked and did not get, evaluations, personal columns, keys. For owners only."""

from __future__ import annotations

from dataclasses import dataclass

from querybus_gateway.use_cases.admin.asked import AskedQuestions
from querybus_gateway.use_cases.admin.evaluations import Evaluations
from querybus_gateway.use_cases.admin.keys import Keys
from querybus_gateway.use_cases.admin.models import ModelCases
from querybus_gateway.use_cases.admin.personal import PersonalColumns
from querybus_gateway.use_cases.admin.set_up import SetUpCases


@dataclass(frozen=True, slots=True)
class AdminCases:
    """What an owner may do at the quality."""

    asked: AskedQuestions
    evaluations: Evaluations
    personal: PersonalColumns
    keys: Keys
    set_up: SetUpCases
    models: ModelCases
