"""What runs say of the paper's claims.

Each comparison of a claim is made by the largest scale that has enough seeds
for it: small runs fill in what large ones do not say, and contradict nothing.
Claims about how settings compare take the scale that has most of them. A
verdict that rests on shortened runs says so.
"""

import collections
from collections.abc import Mapping
import dataclasses
import re

from srdice_tf.reports import claim_checks
from srdice_tf.reports import claim_rules
from srdice_tf.reports import figures
from srdice_tf.reports import paper_claims
from srdice_tf.reports import report_parts

_COLUMNS = (
    'task', 'compared', 'scale', 'n', 'value', 'low 95%', 'high 95%',
    'bears it out',
)
# The longer name comes first.
_METHODS = 'srdice_closed', *claim_checks.TRAINED
_METHOD = re.compile('|'.join(_METHODS))
_SHORTENED = 'short', 'smoke'  # Scales.


@dataclasses.dataclass(frozen=True)
class JudgedClaim:
  """A claim with what the runs say of it.

  Attributes:
    claim: of the paper.
    verdict: of the rule; 'refuted by short runs' if it rests on these.
    table: the comparisons; None if there is none.
    answers: what they say, counted.
    scale: of the runs, more than one if comparisons are of several.
  """

  claim: claim_checks.Claim
  verdict: str
  table: report_parts.ReportTable | None
  answers: str = ''
  scale: str = ''


def judge(evidence: Mapping[str, claim_rules.Evidence]) -> list[JudgedClaim]:
  """Returns every claim with its verdict and its figures.

  Args:
    evidence: by scale, the largest first.
  """
  return [_judge(claim, evidence) for claim in paper_claims.CLAIMS]


def _judge(claim, evidence) -> JudgedClaim:
  found = _merged({s: claim.decide(each) for s, each in evidence.items()})
  rows = [
      [
          c.task, _worded(c.what), c.scale, c.number, c.value, c.low, c.high,
          c.answer,
      ]
      for c in found.comparisons
  ]
  table = report_parts.ReportTable(
      f'claim_{claim.name}', _COLUMNS, rows, 'Figures of the claim.',
      decimals=2,
  )
  counts = collections.Counter(each.answer for each in found.comparisons)
  answers = ', '.join(f'{count} {name}' for name, count in counts.items())
  used = {each.scale for each in found.comparisons}
  scale = ', '.join(name for name in evidence if name in used)
  table = table if rows else None
  return JudgedClaim(claim, _verdict(found), table, answers, scale)


def _worded(what: str) -> str:
  """Returns what is compared with the methods as people write them."""
  styles = figures.styles_of(list(_METHODS))
  return _METHOD.sub(lambda found: styles[found[0]].label, what)


def _verdict(found: claim_rules.Finding) -> str:
  """Returns the verdict, and whether it would not be without shortened runs.

  What is refuted without them is refuted, whatever they say. To confirm takes
  all comparisons.
  """
  verdict = found.verdict
  whole = [c for c in found.comparisons if c.scale not in _SHORTENED]
  short = [c.scale for c in found.comparisons if c.scale in _SHORTENED]
  stands = found.summary(whole) == verdict == claim_rules.REFUTED
  if not short or stands or verdict == claim_rules.OPEN:
    return verdict
  return f'{verdict} by {short[0]} runs'


def _merged(
    findings: Mapping[str, claim_rules.Finding],
) -> claim_rules.Finding:
  """Returns the comparisons of all scales, each by the largest that can."""
  findings = {s: found for s, found in findings.items() if found.comparisons}
  if any(found.at_one_scale for found in findings.values()):
    most = max(findings, key=lambda scale: _num_known(findings[scale]))
    findings = {most: findings[most]}
  chosen: dict[tuple, claim_rules.Comparison] = {}
  for scale, finding in findings.items():
    for each in finding.comparisons:
      key = each.task, each.what
      old = chosen.get(key)
      lacks = old and old.answer == claim_rules.FEW != each.answer
      if old is None or lacks:
        chosen[key] = dataclasses.replace(each, scale=scale)
  # By what is compared, then by task, of whatever scale they are.
  order = list(dict.fromkeys(what for _, what in chosen))
  found = sorted(chosen, key=lambda key: (order.index(key[1]), key[0]))
  comparisons = [chosen[key] for key in found]
  for finding in findings.values():
    return dataclasses.replace(finding, comparisons=comparisons)
  return claim_rules.Finding()


def _num_known(finding: claim_rules.Finding) -> int:
  return sum(each.answer != claim_rules.FEW for each in finding.comparisons)

