"""Lists the passes, ops and messages of the tree that no test mentions.

A pass is tested where a RUN line of the lit suites names it; an op where a test holds `dialect.op`,
or its name in quotes in the samples of tests/gradients.

A message is tested where an expected text quotes it. Its fixed text is what the literals of one
statement hold; `"the size is " + n + ", not 4"` has two pieces. A test quotes the message if one of
its own texts (a literal, an `expected-error`, a CHECK line) holds three successive words of a piece,
or the whole of a shorter one, that no other message has. A message that has no such mark of its own is
quoted if a text holds all its pieces in order.

Messages of the same text count as one, wherever they are. Those of OUT_OF_REACH are left out.

usage: check_untested.py ROOT
"""

import ast
import collections
import pathlib
import re
import sys

SOURCES = ("frontend", "ir", "passes", "codegen", "runtime", "tools")
TOKEN = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<include>\#\s*include[^\n]*)
    |R"(?P<mark>[^(\s]*)\((?P<raw>.*?)\)(?P=mark)"
    |"(?P<string>(?:[^"\\\n]|\\.)*)"
    |(?P<char>'(?:[^'\\\n]|\\.)+')
    |(?P<word>[A-Za-z_]\w*)
    |(?P<sign><<|->|::|[^\s])""", re.S | re.X)
# What makes a message of the literals behind it, up to the end of the statement.
SAYS = re.compile(r"(emit(Op)?Error|emitWarning|createStringError|\w*[eE]rror|fail|reject|malformed"
                  r"|damaged|broken(Promise)?|fault|guarded|report_fatal_error|diag(nostic)?"
                  r"|problem|return|add)$")
# What adds a line below a message: where to look, and the way out.
BELOW = {"help", "detail", "attachNote"}
DIRECTIVE = re.compile(r"^\s*(?://|#|;)\s*[A-Z][A-Z0-9_-]*(?:\{LITERAL\})?\s*:(.*)")
EXPECTED = re.compile(r"expected-(?:error|warning|note|remark)(?:-re)?\s*(?:@\S+)?\s*\{\{(.*?)\}\}")
# The parts of a regular expression or a CHECK line that stand for any text.
WILD = re.compile(r"\{\{.*?\}\}|\[\[.*?\]\]|\(\?:|\.[*+]|\[[^]]*\][*+]|\(\.\*.*?\)"
                  r"|\\[dswSW][*+]?|\\?\n|\\n|%\w+")

# What no test can make happen: the fixed text, and why.
OUT_OF_REACH = {
    "would be larger than 2 GiB": "a model that grows beyond 2 GiB while it is exported",
    "this machine's CPU lacks AVX2": "a CPU without AVX2",
    "the linker ld.lld-19 is not there": "a machine without the linker of this build",
    ", which onnx's shape inference contradicts: ": "an unknown fault of an import rule",
}

Message = collections.namedtuple("Message", "path line pieces")


def tokens(text):
    """Pairs of a kind and a text; strings that lie side by side are one."""
    line, at = 1, 0
    for match in TOKEN.finditer(text):
        line, at = line + text.count("\n", at, match.start()), match.start()
        kind = match.lastgroup
        if match["raw"] is not None or match["string"] is not None:
            raw = match["raw"]
            yield "string", raw if raw is not None else unescape(match["string"]), line
        elif kind not in ("comment", "include"):
            yield kind, match.group(), line


def unescape(text):
    text = re.sub(r"\\(x[0-9a-fA-F]+|[0-7]{1,3})", " ", text)
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text)


def joined(stream):
    """`stream` with literals that the compiler would join as one."""
    result = []
    for kind, text, line in stream:
        if kind == "string" and result and result[-1][0] == "string":
            result[-1] = ("string", result[-1][1] + text, result[-1][2])
        else:
            result.append((kind, text, line))
    return result


def skip_call(stream, at):
    """The index behind the brackets that begin behind `at`."""
    depth = 0
    for index in range(at + 1, len(stream)):
        depth += {"(": 1, ")": -1}.get(stream[index][1], 0) if stream[index][0] == "sign" else 0
        if depth == 0:
            return index
    return len(stream)


def is_argument(stream, at):
    """Whether the literal names an attribute or option that a call inside a message reads."""
    kind, name, _ = stream[at - 2]
    return stream[at - 1][1] == "(" and kind == "word" and not SAYS.match(name)


def words(text):
    """Without numbers, signs and single letters, which tests write in other ways."""
    return tuple(re.findall(r"[A-Za-z]{2,}(?:'[a-z]+)?", text))


def pieces_of(literals):
    return tuple(words(text) for text in literals if words(text))


def messages_of(path):
    """The messages of one file: those of a statement, and both sides of a choice within it."""
    stream, used = joined(tokens(path.read_text())), set()
    for start, (kind, text, line) in enumerate(stream):
        following = [t for _, t, _ in stream[start + 1:start + 3]]
        if kind != "word" or not SAYS.match(text) or (
                text != "return" and "(" not in following and following[:1] != ["<<"]):
            continue
        literals, at = [], start + 1
        while at < len(stream) and not (stream[at][0] == "sign" and (
                stream[at][1] == ";" or stream[at][1] == "{" and stream[at - 1][1] in (")", "]"))):
            kind, literal, _ = stream[at]
            if kind == "word" and literal in BELOW:
                at = skip_call(stream, at)
                if literal == "attachNote":
                    break
            elif kind == "string" and at not in used:
                used.add(at)
                if stream[at - 1][1] in ("?", ":") and literal.count(" ") > 1:
                    yield Message(path, line, pieces_of([literal]))
                elif " " in literal or not is_argument(stream, at):
                    literals.append(literal)
            at += 1
        if is_sentence(literals, text):
            yield Message(path, line, pieces_of(literals))


def is_sentence(literals, said_by):
    """A value that is returned, or an element added, may be a name; a message is several words."""
    length = sum(len(words(text)) for text in literals)
    spaced = any(re.search(r"[a-z] [a-z]|[a-z]: ", text) for text in literals)
    return length > 2 and spaced if said_by in ("return", "add") else length > 0 and any(
        re.search(r"[a-z]{2}", text) and not text.startswith("--") for text in literals)


def python_texts(path):
    tree = ast.parse(path.read_text())
    prose = {id(node.body[0].value) for node in ast.walk(tree)
             if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and node.body
             and isinstance(node.body[0], ast.Expr)}
    return [node.value for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            and id(node) not in prose]


def texts_of(path):
    """What a test expects, or says in any other text of its own."""
    if path.suffix == ".py":
        return python_texts(path)
    text = path.read_text()
    if path.suffix in (".mlir", ".test"):
        lines = text.splitlines()
        return EXPECTED.findall(text) + [
            m[1] for m in map(DIRECTIVE.match, lines) if m and not re.search("RUN|DEFINE", m[0])]
    if path.suffix in (".cpp", ".h", ".c"):
        return [text for kind, text, _ in joined(tokens(text)) if kind == "string"]
    return text.splitlines()


def runs(text):
    """The words of an expected text, cut where it allows any other."""
    return [words(re.sub(r"\\(.)", r"\1", part)) for part in WILD.split(text)]


def grams(piece, longest):
    return {piece[i:i + n] for n in range(1, longest + 1) for i in range(len(piece) - n + 1)}


def marks(message):
    """The runs of three words of its pieces, or shorter pieces of two as they are."""
    return {g for piece in message.pieces if len(piece) > 1
            for g in grams(piece, 3) if len(g) == min(3, len(piece))}


def holds_all(text, pieces):
    at = 0
    for piece in pieces:
        at = next((i + len(piece) for i in range(at, len(text) - len(piece) + 1)
                   if text[i:i + len(piece)] == piece), -1)
        if at < 0:
            return False
    return True


def untested_messages(root, tests):
    texts = [runs(text) for path in tests for text in texts_of(path)]
    quoted = {g for text in texts for run in text for g in grams(run, 3)}
    whole = [sum(text, ()) for text in texts]
    messages = [m for folder in SOURCES for path in sorted((root / folder).rglob("*"))
                if path.suffix in (".cpp", ".h", ".td") for m in messages_of(path)]
    having = collections.defaultdict(set)
    for message in messages:
        for mark in marks(message):
            having[mark].add(message.pieces)
    excused = {words(text) for text in OUT_OF_REACH}
    for message in messages:
        if any(piece[:len(text)] == text for piece in message.pieces for text in excused):
            continue
        own = {mark for mark in marks(message) if len(having[mark]) == 1}
        if not (own & quoted if own else any(holds_all(text, message.pieces) for text in whole)):
            yield f"{message.path.relative_to(root)}:{message.line}: untested message: " + (
                " ... ".join(" ".join(piece) for piece in message.pieces))
    print(f"{len(messages)} messages")


def passes(root):
    """Pairs of a file and the name of a pass that it defines."""
    for path in sorted(root.glob("*/Passes.td")):
        for name in re.findall(r'^def \w+ : \w*Pass<"([\w-]+)"', path.read_text(), re.M):
            yield path, name


def ops(root):
    """Pairs of a file and the name of an op that it defines."""
    dialects = {"KernelOps.td": "kernel", "TableOps.td": "table"}
    for path in sorted((root / "ir").glob("*Ops.td")):
        text = path.read_text()
        for name in re.findall(r'^def \w+Op\s*: \w+<(?:\w+_Dialect, )?"(\w+)"', text, re.M):
            yield path, f"{dialects.get(path.name, 'train')}.{name}"


def untested_passes(root, tests):
    runs_of = "\n".join(line for path in tests if path.suffix in (".mlir", ".test")
                        for line in path.read_text().splitlines() if "RUN:" in line)
    for path, name in passes(root):
        if not re.search(rf"--?{name}\b", runs_of):
            yield f"{path.relative_to(root)}: untested pass: {name}"


def untested_ops(root, tests):
    text = "\n".join(path.read_text() for path in tests if path.suffix in (".mlir", ".cpp", ".h"))
    samples = "\n".join(path.read_text() for path in tests if path.parent.name == "gradients")
    for path, name in ops(root):
        if not re.search(rf"\b{name}\b", text) and f'"{name.split(".")[1]}"' not in samples:
            yield f"{path.relative_to(root)}: untested op: {name}"


def main():
    root = pathlib.Path(sys.argv[1])
    tests = [path for path in sorted((root / "tests").rglob("*"))
             if path.suffix in (".mlir", ".test", ".py", ".cpp", ".h", ".c", ".txt")
             and path.name not in ("CMakeLists.txt", "survivors.txt", "check_untested.py")]
    found = [*untested_passes(root, tests), *untested_ops(root, tests),
             *untested_messages(root, tests)]
    print("\n".join(found) or "each pass, op and message has a test")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
