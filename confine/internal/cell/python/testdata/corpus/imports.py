import os, sys, re, json, math, random, collections, itertools, functools, datetime, decimal, fractions, string
import statistics, textwrap, typing, enum, pathlib, copy, heapq, bisect, io, csv, hashlib, base64, struct, time, uuid
import urllib.parse, html, logging, argparse, tempfile, shutil, inspect, ast, dis, traceback, queue, secrets, contextlib
import xml.etree.ElementTree, email.message, http.client, unittest, sqlite3, zipfile, pprint, difflib, calendar
from collections import Counter, defaultdict, deque, namedtuple, OrderedDict
print(Counter("hello").most_common(1), math.pi > 3)
