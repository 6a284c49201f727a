"""A line of a saved program, read token by token."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn, TypeVar

MAX_INTEGER = 2**63
T = TypeVar("T")


class MalformedError(ValueError):
    """What a line says is not what can stand there."""


class Token(NamedTuple):
    """A piece of a line: its kind (string, number, value, word, mark), its text, its column."""

    kind: str
    text: str
    column: int


_TOKEN = re.compile(
    r"""(?P<space>[ ]+)
    |(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
    |(?P<number>-?(?:inf\b|nan\b|\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])))
    |(?P<value>%\d{1,9}(?!\w))
    |(?P<word>[A-Za-z_]\w*)
    |(?P<mark><-|->|[()\[\]{}:,=\#])""",
    re.VERBOSE | re.ASCII,
)


class Cursor:
    """A line that is read token by token."""

    def __init__(self, line: str) -> None:
        self._tokens: list[Token] = []
        self._at = 0
        place = 0
        while place < len(line):
            match = _TOKEN.match(line, place)
            if match is None:
                raise MalformedError(
                    f"column {place + 1}: {line[place : place + 20]!r} is nothing known"
                )
            if match.lastgroup != "space":
                self._tokens.append(Token(str(match.lastgroup), match[0], place + 1))
            place = match.end()
        self._end = Token("end", "the end of the line", place + 1)

    @property
    def next(self) -> Token:
        """The token that comes next."""
        return self._tokens[self._at] if self._at < len(self._tokens) else self._end

    def token(self, kind: str, what: str) -> str:
        """The text of the next token, which is of that kind."""
        token = self.next
        if token.kind != kind:
            self.fail(what)
        self._at += 1
        return token.text

    def fail(self, wanted: str) -> NoReturn:
        """Raises MalformedError for the next token."""
        token = self.next
        text = token.text if len(token.text) <= 40 else token.text[:37] + "..."
        raise MalformedError(f"column {token.column}: expected {wanted}, got {text}")

    def skip(self, text: str) -> bool:
        """Whether the next token is this mark or word, which is passed then."""
        found = self.next.text == text and self.next.kind in ("mark", "word")
        self._at += found
        return found

    def expect(self, *texts: str) -> None:
        """Passes these marks and words; raises MalformedError where others stand."""
        for text in texts:
            if not self.skip(text):
                self.fail(repr(text))

    def end(self) -> None:
        """Raises MalformedError if there is more."""
        if self.next.kind != "end":
            self.fail("the end of the line")

    def word(self, what: str = "a name") -> str:
        """A name."""
        return self.token("word", what)

    def string(self) -> str:
        """Text in quotes."""
        column, text = self.next.column, self.token("string", "text in quotes")
        try:
            value = json.loads(text)
        except ValueError as error:
            raise MalformedError(f"column {column}: {error}") from None
        if any("\ud800" <= one <= "\udfff" for one in value):
            raise MalformedError(f"column {column}: half a character")
        return str(value)

    def number(self) -> int | float:
        """An int, or a float, which has a point or an exponent, or is not finite."""
        token = self.next
        text = self.token("number", "a number")
        if any(mark in text for mark in ".en"):
            value = float(text)
            if math.isinf(value) and "inf" not in text:
                raise MalformedError(f"column {token.column}: {text} is beyond a float")
            return value
        if len(text) > 20 or not -MAX_INTEGER <= int(text) < 2 * MAX_INTEGER:
            raise MalformedError(f"column {token.column}: {text[:40]} is beyond 64 bits")
        return int(text)

    def integer(self, what: str = "an integer") -> int:
        """An int of 64 bits with a sign."""
        token = self.next
        value = self.number() if token.kind == "number" else None
        if value is None or isinstance(value, float) or value >= MAX_INTEGER:
            raise MalformedError(f"column {token.column}: expected {what}, got {token.text[:40]}")
        return value

    def items(self, read: Callable[[], T], close: str) -> list[T]:
        """What stands between an opening mark, passed already, and the closing one, by commas."""
        found: list[T] = []
        while not self.skip(close):
            if found:
                self.expect(",")
                if close == ")" and len(found) == 1 and self.skip(close):
                    break
            found.append(read())
        return found
