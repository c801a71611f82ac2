import unittest, io
class T(unittest.TestCase):
    def setUp(self):
        self.v = 1
    def test_a(self):
        self.assertEqual(self.v, 1)
    def test_b(self):
        with self.assertRaises(ZeroDivisionError):
            1 / 0
    @unittest.expectedFailure
    def test_c(self):
        self.fail()
r = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(T))
print(r)
