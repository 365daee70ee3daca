"""What tokens cost: the user's own price table. proctor ships no prices, so an unknown cost stays None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proctor.errors import ConfigError
from proctor.given_files import toml_table
from proctor.types import Model

FILE = "prices.toml"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float

    def cost_usd(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        """None when either count is unknown: half a price is no price."""
        if input_tokens is None or output_tokens is None:
            return None
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by `provider/name`, with the file they come from."""

    path: Path
    table: Mapping[str, Price] = field(default_factory=dict)

    def of(self, model: Model) -> Price | None:
        return self.table.get(str(model))


def read_prices(home: Path) -> Prices:
    """The table in `HOME/prices.toml`; empty if there is no such file.

    The file holds one table a model: `["openai/gpt-x"]` with `input` and `output`, dollars per
    million tokens. Raises ConfigError naming the file and the key that is wrong.
    """
    path = home / FILE
    if not path.exists():
        return Prices(path)
    record = toml_table(path.read_bytes(), str(path))
    return Prices(path, {name: _price(entry, f"{path}, [{name!r}]") for name, entry in record.items()})


def _price(entry: object, where: str) -> Price:
    if not isinstance(entry, dict) or set(entry) != {"input", "output"}:
        raise ConfigError(
            f"{where}: give input and output, in US dollars per million tokens, and nothing else"
        )
    for key, value in entry.items():
        if not isinstance(value, int | float) or value < 0:
            raise ConfigError(f"{where}: {key} = {value!r} is no price")
    return Price(float(entry["input"]), float(entry["output"]))
