import json, re, collections, itertools, datetime, decimal, random, textwrap, statistics
N = collections.namedtuple("N", "a b")
print(json.loads(json.dumps({"a": [1, 2, {"b": None}]})), N(1, 2)._replace(a=3))
print(re.sub(r"(\w+)", lambda m: m.group(1).upper(), "a b c"))
print(list(itertools.groupby("aabbb"))[0][0], datetime.date(2024, 2, 29).isoformat(), decimal.Decimal("1.1") * 3)
random.seed(5)
print(random.randint(1, 100), textwrap.fill("the quick brown fox", 10), statistics.mean([1, 2, 3]))
d = collections.defaultdict(lambda: 7)
print(d["x"], sorted(collections.Counter("abracadabra").items(), key=lambda p: -p[1])[0])
