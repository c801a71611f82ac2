# Says whether the text in body.txt is a Python module, as this interpreter reads it. The answer is one JSON object on standard output.
import ast
import json

STRUCTURE = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.AsyncFor, ast.While, ast.If, ast.With,
             ast.AsyncWith, ast.Try, ast.TryStar)


def module(text):
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def structured(tree):
    if sum(not isinstance(s, ast.Expr) for s in tree.body) >= 3:
        return True
    return any(isinstance(n, STRUCTURE) for n in ast.walk(tree))


def broken(text, at):
    """Reports whether a text whose parser stopped at line `at` has program structure before or behind that line."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    before, tree = lines[:max(0, at - 1)], None
    while tree is None:
        tree = module("\n".join(before))
        before = before[:-1]
    if structured(tree):
        return True
    for start in range(at, min(at + 20, len(lines))):
        tree = module("\n".join(lines[start:]))
        if tree is not None:
            return structured(tree)
    return False


def kind(text):
    if "\0" in text:
        return "text"
    try:
        tree = ast.parse(text)
    except SyntaxError as e:
        return "broken" if broken(text, e.lineno or 1) else "text"
    except (ValueError, MemoryError, RecursionError):
        return "text"
    if all(isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) for s in tree.body):
        return "constants"
    return "module"


with open("body.txt", encoding="utf-8", newline="") as f:
    print(json.dumps({"body": kind(f.read())}))
