"""Finds the mutants of a C++ source and writes the source that holds them all.

A mutant is a range of the text and what to read instead of it. Rules match the text that
clang-format leaves: a binary operator has white space on both sides, the angle brackets of a
template have not. What a rule gets wrong does not compile, and is no mutant (mutate.py drops it).
Comments, strings, assertions and the making of error messages are left alone.
"""

import bisect
import dataclasses
import re

CLOSING = {"(": ")", "[": "]", "{": "}"}
PRECEDENCE = {"?": 1, "||": 2, "&&": 3, "==": 4, "!=": 4, "<": 5, "<=": 5, ">": 5, ">=": 5, "<<": 6,
              ">>": 6, "+": 7, "-": 7, "*": 8, "/": 8, "%": 8}
OTHER = {"&&": "||", "||": "&&", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
OPERATOR = re.compile(r"(?<=\s)(\?|\|\||&&|[=!<>]=|<<|>>|[-<>+*/%])(?=\s)")
ASSIGNMENT = re.compile(r"(?<![=!<>])=(?!=)")
SKIPPED = re.compile(r"\b(throw|assert|static_assert|llvm_unreachable|emitError|emitOpError|error|"
                     r"Error|constexpr|case)\b")
PATH = r"(?:\w+(?:\.|->|::))*"
ORDERED = re.compile(rf"(?<![\w.>:]){PATH}(?:sub|divide|remainder|isBelow|isLess|divideCeil|"
                     r"create<arith::(?:SubFOp|SubIOp|DivFOp|DivSIOp|ShLIOp|ShRUIOp)>)\(")
CAST = re.compile(rf"(?<![\w.>:]){PATH}(?:toIndex|widen|narrow|convert)\(")
STATEMENT = re.compile(rf"(?:return )?{PATH}(\w+)(?:<[^;{{}}()]*>)?\(")
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "void", "catch"}


@dataclasses.dataclass
class Mutant:
    begin: int
    end: int
    kind: str
    after: str  # what the range reads, for people
    form: str  # of C++: {n} is the mutant's number, {o} the original
    number: int = 0


def blank(text, only_comments=False):
    """The text with blanks for comments, strings and directives: every offset stays as it is."""
    pattern = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'"
                         r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.S | re.M)

    def blanks(match):
        part = match.group()
        if only_comments and part[0] != "/":
            return part
        inner = re.sub(r"[^\n]", " ", part)
        return '"' + inner[2:] + '"' if part[0] in "\"'" else inner

    return pattern.sub(blanks, text)


class Source:
    """A C++ source whose mutants are found."""

    def __init__(self, name, text):
        self.name, self.text, self.code = name, text, blank(text)
        self.plain = blank(text, only_comments=True)
        self.partner = self.match_brackets()
        self.operators = [(match.start(), match.group()) for match in OPERATOR.finditer(self.code)]
        self.skipped = [(match.start(), self.end_of(match.start()))
                        for match in SKIPPED.finditer(self.code)]
        self.mutants = []
        self.find()

    def match_brackets(self):
        partner, opened = {}, []
        for at, letter in enumerate(self.code):
            if letter in CLOSING:
                opened.append(at)
            elif letter in ")]}" and opened:
                partner[at] = opened.pop()
                partner[partner[at]] = at
        return partner

    def end_of(self, at):
        """The end of the statement, the header or the argument that `at` is in."""
        while at < len(self.code) and self.code[at] not in ";{)]}":
            if self.code[at] == ":" and ":" not in (self.code[at - 1], self.code[at + 1]):
                break
            at = self.partner.get(at, at) + 1 if self.code[at] in CLOSING else at + 1
        return at

    def top_level(self, begin, end):
        """The code of a range, with blanks for what is in brackets."""
        result, at = "", begin
        while at < end:
            last = self.partner.get(at, at) if self.code[at] in CLOSING else at
            result += self.code[at] + " " * (last - at)
            at = last + 1
        return result[:end - begin]

    def parts(self, begin, end, separator=","):
        """The ranges of a list's parts."""
        result = []
        for match in re.finditer(rf"[^{separator}]+", self.top_level(begin, end)):
            result.append((begin + match.start(), begin + match.end()))
        return result

    def trimmed(self, begin, end):
        part = self.code[begin:end]
        return begin + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())

    def operand_before(self, at, precedence):
        begin = at
        while begin > 0:
            letter = self.code[begin - 1]
            if letter in "([{},;" or self.code[:begin].endswith("return "):
                break
            if letter in ")]":
                begin = self.partner.get(begin - 1, begin - 1)
                continue
            if letter in "=:?|&<>!+-*/%" and self.code[begin].isspace():
                start = begin
                while self.code[start - 1] in "=:?|&<>!+-*/%":
                    start -= 1
                spaced = self.code[start - 1].isspace()
                if spaced and PRECEDENCE.get(self.code[start:begin], 0) < precedence:
                    break
            begin -= 1
        return self.trimmed(begin, at)

    def operand_after(self, at, precedence):
        end = at
        while end < len(self.code) and self.code[end] not in ")]},;":
            if self.code[end] in CLOSING:
                end = self.partner.get(end, end) + 1
                continue
            operator = OPERATOR.match(self.code, end)
            if operator and PRECEDENCE[operator.group()] <= precedence:
                break
            if re.match(r"\s[:=]\s", self.code[end:end + 3]):
                break
            end += 1
        return self.trimmed(at, end)

    def add(self, begin, end, kind, after, form):
        if begin < end and not any(first <= begin < last for first, last in self.skipped):
            if not any((m.begin, m.end, m.kind, m.after) == (begin, end, kind, after)
                       for m in self.mutants):
                self.mutants.append(Mutant(begin, end, kind, after, form))

    def replace(self, begin, end, kind, after):
        after = " ".join(after.split())
        self.add(begin, end, kind, after, "(halfstep::mutant({n}) ? (" + after.replace("{", "{{")
                 .replace("}", "}}") + ") : ({o}))")

    def shift(self, begin, end, kind, sign="+"):
        self.add(begin, end, kind, f"{self.plain[begin:end]} {sign} 1",
                 "({o} " + sign + " halfstep::mutant({n}))")

    def negate(self, begin, end):
        begin, end = self.trimmed(begin, end)
        if not ASSIGNMENT.search(self.top_level(begin, end)):
            self.add(begin, end, "negate", f"!({self.plain[begin:end]})",
                     "(halfstep::mutant({n}) != static_cast<bool>({o}))")

    def find(self):
        for rule in (self.conditions, self.binary, self.literals, self.indices, self.calls,
                     self.statements, self.grids, self.live_ranges):
            rule()
        # A range that another one cuts comes from an operand that was not understood.
        self.mutants.sort(key=lambda mutant: (mutant.begin, -mutant.end))
        kept, enclosing = [], []
        for mutant in self.mutants:
            while enclosing and enclosing[-1].end <= mutant.begin:
                enclosing.pop()
            if not enclosing or mutant.end <= enclosing[-1].end:
                kept.append(mutant)
                enclosing.append(mutant)
        self.mutants = kept

    def conditions(self):
        for match in re.finditer(r"\b(if|while|for)\s*\(", self.code):
            begin = match.end()
            end = self.partner.get(begin - 1, begin)
            clauses = self.parts(begin, end, ";")
            if match.group(1) != "for" and clauses:
                self.negate(*clauses[-1])
            elif len(clauses) > 1:
                self.negate(*clauses[1])

    def binary(self):
        for at, operator in self.operators:
            left = self.operand_before(at - 1, PRECEDENCE[operator])
            right = self.operand_after(at + len(operator), PRECEDENCE[operator])
            x, y = self.plain[slice(*left)], self.plain[slice(*right)]
            if operator == "?":
                self.negate(*left)
            elif operator in ("==", "!="):
                self.negate(left[0], right[1])
            elif operator in OTHER:
                kind = "negate" if operator in ("&&", "||") else "bound"
                self.replace(left[0], right[1], kind, f"{x} {OTHER[operator]} {y}")
            elif operator in ("-", "/", "%"):
                self.replace(left[0], right[1], "swap", f"{y} {operator} ({x})")

    def literals(self):
        for match in re.finditer(r"(?<![\w.'])\d+(?![\w.'])", self.code):
            self.shift(*match.span(), "bound")

    def indices(self):
        for match in re.finditer(r"(?<=[\w)\]])\[", self.code):
            begin, end = match.end(), self.partner.get(match.start(), match.end())
            if not re.search(r"\bauto$", self.code[:match.start()]) and \
                    not self.code[begin:end].strip().isdigit():
                self.shift(begin, end, "bound")

    def calls(self):
        for match in ORDERED.finditer(self.code):
            end = self.partner.get(match.end() - 1, match.end())
            arguments = [self.plain[slice(*self.trimmed(*part))]
                         for part in self.parts(match.end(), end)]
            if len(arguments) == 2:
                self.replace(match.start(), end + 1, "swap",
                             f"{match.group()}{arguments[1]}, {arguments[0]})")
        for match in CAST.finditer(self.code):
            end = self.partner.get(match.end() - 1, match.end())
            arguments = self.parts(match.end(), end)
            if arguments:
                self.replace(match.start(), end + 1, "cast",
                             self.plain[slice(*self.trimmed(*arguments[0]))])

    def statements(self):
        for match in re.finditer(r"[;{})]\s+|\belse\s+", self.code):
            call = STATEMENT.match(self.code, match.end())
            if not call or call.group(1) in KEYWORDS:
                continue
            if call.group().startswith("return ") and call.group(1) not in ("check", "store"):
                continue
            end = self.partner.get(call.end() - 1, call.end()) + 1
            while chain := re.compile(r"\s*(?:\.|->)\w+\(").match(self.code, end):
                end = self.partner.get(chain.end() - 1, chain.end()) + 1
            if self.code[end:end + 1] == ";":
                begin = match.end() + len("return ") * call.group().startswith("return ")
                self.add(begin, end, "drop", "", "(halfstep::mutant({n}) ? void() : void({o}))")

    def grids(self):
        for match in re.finditer(r"\bgrid = \{", self.code):
            for part in self.parts(match.end(), self.partner.get(match.end() - 1, match.end())):
                self.shift(*self.trimmed(*part), "grid")

    def live_ranges(self):
        for match in re.finditer(r"(?:\w+(?:\.|->))*\blast\b(?!\w*\s*(?:=[^=]|\())", self.code):
            self.shift(*match.span(), "reuse", "-")

    def line(self, mutant):
        return self.text.count("\n", 0, mutant.begin) + 1

    def signature(self, mutant):
        """What names a mutant in every version of the file: its line, with the change in it."""
        begin = self.text.rfind("\n", 0, mutant.begin) + 1
        end = (self.text + "\n").index("\n", mutant.end)
        before = self.text[mutant.begin:mutant.end]
        line = (f"{self.text[begin:mutant.begin]}[{before} => {mutant.after}]"
                f"{self.text[mutant.end:end]}")
        return f"{self.name}: {' '.join(line.split())}"

    def render(self):
        """The source with its mutants in it, and each one's range there. Lines stay the lines that
        they were."""
        ranges = {}

        def write(begin, end, mutants, out):
            while mutants:
                mutant = mutants[0]
                inner = [m for m in mutants[1:] if m.begin < mutant.end]
                mutants = mutants[1 + len(inner):]
                out.append(self.text[begin:mutant.begin])
                start = sum(map(len, out))
                front, back = mutant.form.split("{o}")
                out.append(front.format(n=mutant.number))
                out.append(write_into(mutant.begin, mutant.end, inner, sum(map(len, out))))
                out.append(back.format(n=mutant.number))
                ranges[mutant.number] = (start, sum(map(len, out)))
                begin = mutant.end
            out.append(self.text[begin:end])

        def write_into(begin, end, mutants, offset):
            out, known = [], set(ranges)
            write(begin, end, mutants, out)
            for number in set(ranges) - known:
                ranges[number] = tuple(offset + bound for bound in ranges[number])
            return "".join(out)

        return write_into(0, len(self.text), self.mutants, 0), ranges
