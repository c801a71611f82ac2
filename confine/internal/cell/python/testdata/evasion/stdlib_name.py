"""Code compiled under the file name of the standard library."""
import os, json
for n in (os.__file__, json.__file__, json.__file__.replace("__init__", "decoder")):
    exec(compile("for i in range(1_000_000):\n    pass\nprint('EVADED')", n, "exec"))
