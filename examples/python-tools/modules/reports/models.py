"""The reports, as a module of an application would keep them in a database."""

import dataclasses
from typing import Optional


@dataclasses.dataclass
class Report:
    id: int
    title: str
    status: str = "draft"

    @classmethod
    def get(cls, report_id: int) -> "Optional[Report]":
        return _REPORTS.get(report_id)


_REPORTS = {
    1: Report(1, "Sales in May", "published"),
    2: Report(2, "Sales in June"),
}
