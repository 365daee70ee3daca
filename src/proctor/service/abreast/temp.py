"""Temporary: two runs, a crude rule."""
import math
from proctor.findings.looks import Decision, Path, PathPoint
from proctor.types import Outcome

class Temp:
    def __init__(self, store, runs, n):
        self.runs = runs; self.n = n
        self.got = {r.id: {} for r in runs}
        self.points = []
        for r in runs:
            for row in store.latest(r.id):
                if row.score is not None:
                    self.got[r.id][row.position] = row.score
                elif row.attempt >= 2: self.got[r.id][row.position] = None
        self.ended = "open"
    def settled(self, run_id, a):
        if a.grade.outcome is not Outcome.ERROR: self.got[run_id][a.position] = a.grade.score
        elif a.attempt >= 2: self.got[run_id][a.position] = None
    def look(self):
        a, b = (self.got[r.id] for r in self.runs[:2])
        k = (len(self.points) + 1)
        while self.ended == "open":
            t = -(-self.n * (len(self.points)+1) // 100)
            if t > self.n or not all(i in a and i in b for i in range(t)): break
            d = [a[i]-b[i] for i in range(t) if a[i] is not None and b[i] is not None]
            m = sum(x != 0 for x in d); s = sum(d)
            bound = max(6, 4*math.sqrt(m)) if m else None
            self.points.append(PathPoint(t, s, bound))
            if bound and abs(s) >= bound: self.ended = "decided"
        t = self.points[-1].items if self.points else 0
        p = Path(self.n, tuple(self.points), self.ended, .05, .5, 4.0, "temp")
        return Decision({(self.runs[0].id, self.runs[1].id): p}, frozenset(), f"decided after {t} of {self.n:,} items" if self.ended=="decided" else "")
