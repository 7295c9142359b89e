"""Reads the reports of this application."""

from typing import Annotated, Literal, Optional

from modules.reports.models import Report
from toolcrib import Field, tool

views = 0  # The process stays, so this counts the calls of all sessions.


@tool("get-report", title="Get report", risk="low", idempotent=True, aliases=["show a report"])
def get_report(report_id: int) -> dict:
    """Loads one report.

    Args:
        report_id: The number of the report.
    """
    global views
    views += 1
    report = Report.get(report_id)
    if report is None:
        return {"status": "error", "error": "not_found"}
    return {"status": "ok", "report": report, "views": views}


@tool("compare-reports", title="Compare reports", risk="low")
async def compare_reports(
    report_ids: Annotated[list[int], Field("The numbers of the reports.", min_length=2, max_length=5)],
    by: Literal["title", "status"] = "status",
    *,
    sdk,
    context: Optional[dict] = None,
) -> dict:
    """Compares reports by one of their fields."""
    found = {}
    for number, report_id in enumerate(report_ids, start=1):
        sdk.progress(number, len(report_ids), f"reading report {report_id}")
        # Goes through the gate on behalf of the caller of this tool.
        result = await sdk.run_tool("reports.get-report", {"report_id": report_id})
        found[str(report_id)] = result.get("report", {}).get(by)
    return {"status": "ok", "asked_by": context["session_id"], by: found}


@tool("delete-report", risk="high", confirmation_required=True, user_selectable=False)
def delete_report(report_id: int) -> dict:
    """Deletes a report for good."""
    return {"status": "error", "error": f"report {report_id} is locked"}
