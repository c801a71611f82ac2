"""Counts a program's steps in pure Python: the oracle that the C counter must agree with to the unit.

    python -I -S -X utf8 oracle.py PROGRAM COUNT_FILE GENERATED

GENERATED is what generated.py printed for this interpreter.

It shares no code with the counter. The classes are the same: code that was there before the program, what the import system
reads from the standard library, and frozen code are free. Everything else counts, wherever it runs.
"""
import sys
import _frozen_importlib_external as external
import _imp
import atexit
import builtins
import gc
import hashlib
import itertools
import marshal
import os
import threading
import _thread


def main():
    program, result, generated = sys.argv[1:4]
    with open(generated) as f:
        known = set(f.read().split())
    folder = os.getcwd()
    stdlib = os.path.dirname(os.path.abspath(os.__file__)) + "/"
    free = {}
    code_type = type(main.__code__)

    def trust(code):
        if id(code) in free:
            return
        free[id(code)] = code
        for const in code.co_consts:
            if type(const) is code_type:
                trust(const)

    ticks = itertools.count()
    total = [0]
    loader = external.SourceFileLoader
    stock_code, stock_frozen, stock_thread = loader.get_code, _imp.get_frozen_object, _thread.start_new_thread

    def get_code(self, name):
        code = stock_code(self, name)
        if type(self) is loader and type(self.path) is str and self.path.startswith(stdlib) and "/." not in self.path[len(stdlib):] and code is not None:
            trust(code)
        return code

    def get_frozen_object(*args):
        code = stock_frozen(*args)
        if len(args) == 1:
            trust(code)
        return code

    def is_known(source, frame):
        return type(source) is str and id(frame.f_code) in free and hashlib.sha256(source.encode()).hexdigest()[:32] in known

    def runs(name, mode):
        stock = getattr(builtins, name)

        def run(source, *args, **kwargs):
            frame = sys._getframe(1)
            if is_known(source, frame):
                source = stock_compile(source, "<string>", mode, frame.f_code.co_flags & 0x1000000, True)
                trust(source)
            if not args and not kwargs:
                args = (frame.f_globals, frame.f_locals)
            return stock(source, *args, **kwargs)
        return run

    def compiles(source, filename, mode, flags=0, *args, **kwargs):
        frame = sys._getframe(1)
        if not args and "dont_inherit" not in kwargs:
            flags |= frame.f_code.co_flags & 0x1fe0000
            kwargs["dont_inherit"] = True
        code = stock_compile(source, filename, mode, flags, *args, **kwargs)
        if type(code) is code_type and is_known(source, frame):
            trust(code)
        return code

    stock_compile, stock_exec = builtins.compile, builtins.exec
    builtins.exec, builtins.eval, builtins.compile = runs("exec", "exec"), runs("eval", "eval"), compiles
    loader.get_code = get_code
    _imp.get_frozen_object = get_frozen_object

    if sys.version_info >= (3, 12):
        tool, event = 3, sys.monitoring.events.INSTRUCTION
        disable = sys.monitoring.DISABLE

        def instruction(code, offset):
            if id(code) in free:
                return disable
            next(ticks)

        def on():
            sys.monitoring.use_tool_id(tool, "oracle")
            sys.monitoring.register_callback(tool, event, instruction)
            sys.monitoring.set_events(tool, event)

        def off():
            sys.monitoring.set_events(tool, 0)
    else:
        def local(frame, what, arg):
            if what == "opcode":
                next(ticks)
            return local

        def trace(frame, what, arg):
            if id(frame.f_code) in free:
                return None
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
            return local

        def start_new_thread(f, args, kwargs={}):
            def first():
                sys.settrace(trace)
                f(*args, **kwargs)
            trust(first.__code__)
            return stock_thread(first, ())

        def on():
            _thread.start_new_thread = _thread.start_new = threading._start_new_thread = start_new_thread
            sys.settrace(trace)

        def off():
            sys.settrace(None)

    module = type(sys)("__main__")
    module.__dict__.update(__file__=folder + "/program.py", __builtins__=__builtins__, __cached__=None,
                           __loader__=loader("__main__", folder + "/program.py"))
    with open(program, "rb") as f:
        source = f.read()
    sys.argv[:] = ["program.py"]
    sys.path.append(folder)
    # The oracle imports more than a program finds at its start. Only what was there in any case may stay.
    sys.modules["__main__"] = module

    module.__dict__["__builtins__"] = builtins

    # In a box: tracing copies a frame's variables, and a copy would keep the module.
    box = [module]
    del module

    def run():
        try:
            stock_exec(stock_compile(source, "program.py", "exec", dont_inherit=True), box[0].__dict__)
        except SystemExit:
            pass
        except BaseException:
            sys.excepthook(*sys.exc_info())
        threading._shutdown()
        atexit._run_exitfuncs()

    def clear():
        sys.stdout.flush()
        gc.collect()
        sys.modules.pop("__main__", None)
        for name in ("last_exc", "last_type", "last_value", "last_traceback"):
            if hasattr(sys, name):
                delattr(sys, name)
        box.clear()
        gc.enable()
        gc.collect()

    for o in gc.get_objects():
        if type(o) is type(main):
            trust(o.__code__)
    on()
    run()
    clear()
    off()
    with open(result, "w") as f:
        f.write(str(next(ticks)))
    sys.stdout.flush()
    os._exit(0)


main()
