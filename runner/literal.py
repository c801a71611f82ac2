# Says whether the witness in witness.txt, a line as it was printed, is written into the program in source.py. The answer is one JSON object on
# standard output.
import ast
import json
import sys

sys.set_int_max_str_digits(0)  # a witness may hold any integer; the wall clock bounds the work


def constants(tree):
    """Gives the constants of a program. A signed number counts with its sign only. Booleans equal trivial leaves only."""
    signed = set()
    for node in ast.walk(tree):  # parents come before their children
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)) and isinstance(node.operand, ast.Constant):
            value = node.operand.value
            if isinstance(value, (int, float, complex)):
                signed.add(id(node.operand))
                yield -value if isinstance(node.op, ast.USub) else value
        elif isinstance(node, ast.Constant) and id(node) not in signed:
            yield node.value


def leaves(data):
    todo = [data]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo.extend(value.values())
        elif isinstance(value, list):
            todo.extend(value)
        else:
            yield value


def trivial(leaf):
    return leaf is None or isinstance(leaf, bool) or leaf in ("", -1, 0, 1)


def literal(source, line):
    witness = json.loads(line.removeprefix("WITNESS:"))
    data = witness["data"] if "polarity" in witness else witness
    leaf = [v for v in leaves(data) if not trivial(v)]
    if not leaf:
        return False
    known = set(constants(ast.parse(source)))
    return all(v in known for v in leaf) or any(isinstance(c, str) and c.strip() == line for c in known)


with open("source.py", encoding="utf-8", newline="") as f, open("witness.txt", encoding="utf-8", newline="") as g:
    print(json.dumps({"literal": literal(f.read(), g.read())}))
