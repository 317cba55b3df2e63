"""Values of functions printed in Julia, from a parser of their expressions.

Grammar, in increasing precedence: `c ? x : y`; comparisons; `+ -`; `* / // .* ./`; signs; `^ .^`,
which bind more strongly than a sign on their left; calls, indices and parentheses. Reference:
Julia's manual, operator precedence.
"""

import math
import operator
import re

TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)|(\w+)|(\.\^|\.\*|\./|//|<=|>=|==|[-+*/^()\[\],?:<>]))"
)
COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
FACTORS = {"*": operator.mul, ".*": operator.mul, "/": operator.truediv, "./": operator.truediv}
FACTORS |= {"//": operator.truediv}


def evaluated(source: str, name: str, q, v, t, p) -> list[float]:
    """What a function of the source returns."""
    body = re.search(rf"function {name}\(q, v, t, p\)\n(.*?)\n\s*end", source, re.S)[1]
    scope = {"q": q, "v": v, "t": t, "p": p, "pi": math.pi, "e": math.e}
    for line in body.splitlines():
        if line.strip().startswith("return"):
            return Parser(line.strip().removeprefix("return"), scope).whole()
        target, _, text = line.partition("=")
        scope[target.strip()] = Parser(text, scope).whole()
    raise AssertionError("nothing is returned")


class Parser:
    def __init__(self, text: str, scope: dict):
        self.tokens, at, self.scope, self.i = [], 0, scope, 0
        text = text.strip()
        while at < len(text):
            found = TOKEN.match(text, at)
            assert found, f"not understood: {text[at:]}"
            self.tokens.append(found[0].strip())
            at = found.end()

    @property
    def token(self):
        return self.tokens[self.i] if self.i < len(self.tokens) else None

    def take(self, wanted=None):
        assert wanted is None or self.token == wanted, (self.tokens, self.i, wanted)
        self.i += 1
        return self.tokens[self.i - 1]

    def whole(self):
        value = self.choice()
        assert self.token is None, self.tokens[self.i :]
        return value

    def choice(self):
        condition = self.comparison()
        if self.token != "?":
            return condition
        self.take()
        first = self.choice()
        self.take(":")
        second = self.choice()
        return first if condition else second

    def comparison(self):
        left = self.sum()
        while self.token in COMPARISONS:
            left = COMPARISONS[self.take()](left, self.sum())
        return left

    def sum(self):
        left = self.product()
        while self.token in ("+", "-"):
            left = left + self.product() if self.take() == "+" else left - self.product()
        return left

    def product(self):
        left = self.sign()
        while self.token in FACTORS:
            left = FACTORS[self.take()](left, self.sign())
        return left

    def sign(self):
        if self.token in ("+", "-"):
            return self.sign() if self.take() == "+" else -self.sign()
        return self.power()

    def power(self):
        base = self.atom()
        if self.token in ("^", ".^"):
            self.take()
            return base ** self.sign()  # from the right, and with a sign of its own
        return base

    def listed(self, end):
        values = []
        while self.token != end:
            values.append(self.choice())
            if self.token == ",":
                self.take()
        self.take(end)
        return values

    def atom(self):
        token = self.take()
        if token == "(":
            value = self.choice()
            self.take(")")
            return value
        if token == "[":
            return self.listed("]")
        if re.match(r"[\d.]", token):
            return float(token)
        if self.token == "(":
            self.take()
            values = self.listed(")")
            return {"abs": abs, "sign": lambda x: (x > 0) - (x < 0)}.get(
                token, getattr(math, token, None)
            )(*values)
        if self.token == "[":
            self.take()
            return self.scope[token][int(self.listed("]")[0]) - 1]
        return self.scope[token]
