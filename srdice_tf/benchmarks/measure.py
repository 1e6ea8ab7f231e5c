"""How a measurement is taken and reported."""

from collections.abc import Callable
import dataclasses
import time


@dataclasses.dataclass(frozen=True)
class Measurement:
  """One line of the benchmark.

  Attributes:
    name: what was compared.
    ratio: the figure that counts.
    goal: such as '>= 0.5'; '' if there is none.
    is_met: whether the ratio reaches the goal; None if there is none.
    detail: what the ratio is made of, in words.
  """

  name: str
  ratio: float
  goal: str
  is_met: bool | None
  detail: str


def at_least(name: str, ratio: float, goal: float, detail: str) -> Measurement:
  return Measurement(name, ratio, f'>= {goal}', ratio >= goal, detail)


def at_most(name: str, ratio: float, goal: float, detail: str) -> Measurement:
  return Measurement(name, ratio, f'<= {goal}', ratio <= goal, detail)


def reported(name: str, ratio: float, detail: str) -> Measurement:
  return Measurement(name, ratio, '', None, detail)


def rate(work: Callable[[], int]) -> float:
  """Returns the amount of work, which `work` returns, per second."""
  start = time.perf_counter()
  amount = work()
  return amount / (time.perf_counter() - start)


def alternate(works: dict[str, Callable[[], int]], rounds: int) -> dict:
  """Returns the median rate of each work, measured in turns.

  If other work slows the machine down, it slows down all of them.
  """
  rates = {name: [] for name in works}
  for _ in range(rounds):
    for name, work in works.items():
      rates[name].append(rate(work))
  return {name: sorted(found)[rounds // 2] for name, found in rates.items()}
