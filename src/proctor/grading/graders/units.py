"""Units and words of scale that may follow a number, in the spellings of several languages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: `size` times the base of its dimension. Units of one dimension are converted into each other."""

    name: str
    dimension: str
    size: Fraction


# dimension: unit = size in the base unit: spellings. International yard and pound: exact by definition.
TABLE = """
percent
  % 1: % percent percents pct prozent procent procento procenta procentům
  ‰ 0.1: ‰
length
  mm 0.001: mm millimeter millimeters millimetre millimetres
  cm 0.01: cm centimeter centimeters centimetre centimetres zentimeter centímetros
  m 1: m meter meters metre metres mètre mètres metro metros metri metrů metry
  km 1000: km kilometer kilometers kilometre kilometres kilomètres kilómetros chilometri kilometrů
  in 0.0254: inch inches ″
  ft 0.3048: ft foot feet
  yd 0.9144: yd yard yards
  mi 1609.344: mi mile miles meilen millas
mass
  mg 0.000001: mg milligram milligrams
  g 0.001: g gram grams gramm grammes gramos
  kg 1: kg kilogram kilograms kilogramm kilogrammes kilogramos kilo kilos kilogramů
  t 1000: tonne tonnes tonnen toneladas
  oz 0.028349523125: oz ounce ounces
  lb 0.45359237: lb lbs
time
  ms 0.001: ms millisecond milliseconds
  s 1: s sec secs second seconds sekunde sekunden secondes segundos secondi sekund
  min 60: min mins minute minutes minuten minutos minuti minut
  h 3600: h hr hrs hour hours stunde stunden heures horas ore hodin
  day 86400: day days tag tage tagen jour jours día días giorni dní
  week 604800: week weeks woche wochen semaine semaines semanas settimane
years
  year 1: year years yr yrs jahr jahre jahren ans année années año años anni rok roky
  month 1/12: month months monat monate mois mes meses mesi
volume
  ml 0.001: ml milliliter milliliters millilitre millilitres
  l 1: l liter liters litre litres litros litri litrů
speed
  km/h 1: km/h kph kmh
  mph 1.609344: mph
  m/s 3.6: m/s
celsius
  °C 1: °c celsius
fahrenheit
  °F 1: °f fahrenheit
dollars
  $ 1: $ dollar dollars usd
  cent 0.01: cent cents
euros
  € 1: € eur euro euros
pounds sterling
  £ 1: £ gbp
yen
  ¥ 1: ¥ yen jpy
rupees
  ₹ 1: ₹ rupee rupees inr
"""

SCALE_TABLE = """
1000: k thousand tausend mille mil mila tisíc tisíce тысяч тысячи
1000000: million millions mio millionen millón millones milione milioni milhão milhões milion miliony milionů
1000000: миллион миллиона миллионов
1000000000: billion billions bn milliarde milliarden mrd milliard milliards miliardo miliardi miliarda miliardy miliard
1000000000: миллиард миллиардов
1000000000000: trillion trillions
10000: 万 萬 만
100000000: 亿 億 억
"""


def read_units() -> Iterator[tuple[str, Unit]]:
    dimension = ""
    for line in TABLE.strip().splitlines():
        if not line.startswith(" "):
            dimension = line
            continue
        head, _, spellings = line.strip().partition(": ")
        name, _, size = head.partition(" ")
        unit = Unit(name, dimension, Fraction(size))
        yield from ((spelling, unit) for spelling in spellings.split())


UNITS = dict(read_units())
SCALES = {
    word: Fraction(size)
    for size, _, words in (line.partition(": ") for line in SCALE_TABLE.strip().splitlines())
    for word in words.split()
}
