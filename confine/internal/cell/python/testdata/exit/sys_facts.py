import sys
print(sys.argv, sys.byteorder, sys.getdefaultencoding(), sys.getfilesystemencoding(), sys.getfilesystemencodeerrors(), sys.maxsize, sys.getrecursionlimit(), sys.getswitchinterval(), sys.flags.utf8_mode, sys.flags.no_site, sys.flags.optimize, sys.float_repr_style, sys.getrefcount is not None, sys.gettrace(), sys.getprofile(), sys.dont_write_bytecode in (True, False), sys.warnoptions, sys._xoptions if 0 else 0, sys.platform, sys.prefix == sys.exec_prefix == sys.base_prefix)
print(sorted(set(sys.modules) - {"zipimport", "_distutils_hack", "collections.abc"})[:5])
