e = ValueError("v")
if hasattr(e, "add_note"):
    e.add_note("a note\nof two lines")
raise e
