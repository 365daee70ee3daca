"""Plans at the edge: words at any door become a Wanted, a Wanted a Plan, and a Plan JSON and back."""

from proctor.plan.build import batch_reference, build, reference, share_limits, wanted_of
from proctor.plan.check import check
from proctor.plan.codec import cell_from_json, cell_to_json, plan_to_json
from proctor.plan.names import need_name, parse_batch, parse_model, parse_source
from proctor.plan.values import parse_duration
from proctor.plan.wanted import OPTIONS, Wanted

__all__ = [
    "OPTIONS",
    "Wanted",
    "batch_reference",
    "build",
    "cell_from_json",
    "cell_to_json",
    "check",
    "need_name",
    "parse_batch",
    "parse_duration",
    "parse_model",
    "parse_source",
    "plan_to_json",
    "reference",
    "share_limits",
    "wanted_of",
]
