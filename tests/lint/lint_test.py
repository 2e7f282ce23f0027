"""Each lint finds what it is there to find, and lets pass what it should."""

import tempfile
import unittest
from pathlib import Path

import headers
import symbols
import tree


class Tree(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def expect(self, check, *fragments):
        found = check(self.root)
        self.assertEqual(len(found), len(fragments), found)
        for line, fragment in zip(found, fragments):
            self.assertIn(fragment, line)


class Layers(Tree):
    def room(self, name, *includes):
        self.write(f"src/{name}", "".join(f"#include {include}\n" for include in includes))

    def test_includes_may_point_down_and_inwards(self):
        self.room("base/a.h", "<vector>", "<fusednn/enums.h>")
        self.room("ir/g.h", '"base/a.h"')
        self.room("ir/g.cpp", '"ir/g.h"', '"base/a.h"')
        self.room("engines/cpu/e.cpp", '"ir/g.h"', "<omp.h>", "<oneapi/dnnl/dnnl.hpp>")
        self.write("kernels/math/m.h", "")
        self.room("ops/o.cpp", '"math/m.h"')
        self.expect(tree.check_layers)

    def test_includes_may_not_point_up_or_sideways(self):
        self.room("ir/g.h")
        self.room("base/a.h", '"ir/g.h"')
        self.room("target/t.cpp", '"ir/g.h"')
        self.expect(tree.check_layers, "base (level 0) may not include ir", "target (level 1) may not include ir")

    def test_low_rooms_do_not_see_the_facade(self):
        self.room("ir/g.h", "<fusednn/attributes.h>", "<fusednn/graph.h>")
        self.room("frontend/f.cpp", "<fusednn/graph.h>")
        self.expect(tree.check_layers, "<fusednn/graph.h>")

    def test_kernels_that_the_host_compiles(self):
        self.write("kernels/math/m.h", '#include "abi/a.h"\n#include "ptx/mma.h"\n')
        self.write("kernels/tile/t.h", '#include "ptx/mma.h"\n')
        self.expect(tree.check_layers, "kernels/math/m.h")

    def test_engines_do_not_include_one_another(self):
        self.room("engines/cpu/e.h")
        self.room("engines/cuda/norm/n.h")
        self.room("engines/cuda/gemm/g.cpp", '"engines/cpu/e.h"', '"engines/cuda/norm/n.h"')
        self.expect(tree.check_layers, "engines/cuda (level 6) may not include engines/cpu", "do not include one another")

    def test_unknown_rooms_and_files(self):
        self.room("attic/a.h")
        self.room("ir/g.h", '"attic/a.h"', '"g2.h"')
        self.room("attic/b.cpp", '"attic/a.h"')
        self.expect(tree.check_layers, "no known room", "no known room", "not a file below src/")

    def test_private_libraries_stay_in_their_rooms(self):
        self.room("plan/p.cpp", "<nlohmann/json.hpp>", "<oneapi/dnnl/dnnl.hpp>", "<omp.h>")
        self.room("serial/s.cpp", "<nlohmann/json.hpp>")
        self.expect(tree.check_layers, "nlohmann", "dnnl", "omp.h")

    def test_clients_see_public_headers_only(self):
        self.room("ir/g.h")
        self.write("tools/fusednn/main.cpp", '#include <fusednn.h>\n#include "args.h"\n#include "ir/g.h"\n')
        self.write("tools/fusednn/args.h", "")
        self.expect(tree.check_layers, "ir/g.h")

    def test_public_headers_stand_on_the_standard_library(self):
        self.write("include/fusednn/a.h", "#include <vector>\n#include <fusednn/b.h>\n")
        self.write("include/fusednn/b.h", '#include <iostream>\n#include <fmt/format.h>\n#include "c.h"\n#include <cuda.h>\n')
        self.expect(tree.check_layers, "iostream", "fmt/format.h", "c.h", "cuda.h")


class Texts(Tree):
    def test_size(self):
        self.write("src/ir/long.cpp", "x\n" * 1201)
        self.write("src/ir/fine.cpp", "x\n" * 1200)
        self.expect(tree.check_size, "long.cpp: 1201 lines")

    def test_places(self):
        self.write("kernels/ptx/mma.h", 'asm volatile("x");\n')
        self.write("src/base/env.cpp", 'std::getenv("X");\n')
        self.write("tests/a.cpp", 'std::getenv("X");\n')
        self.write("src/ir/a.cpp", '  __asm__ __volatile__ ("x");\nint asm_count(int);\nauto e = getenv("X");\n'
                   "__builtin_mul_overflow(a, b, &c);\n")
        self.expect(tree.check_places, "src/ir/a.cpp:1: inline assembly", "src/ir/a.cpp:3: a look at the environment",
                    "src/ir/a.cpp:4: checked arithmetic")

    def test_text(self):
        self.write("cmake/a.cmake", "file(DOWNLOAD " + "https" + "://example.org)\n")
        self.write("README.md", "see " + "https" + "://example.org\n")
        self.write("src/ir/a.cpp", "// TO" + "DO: later\n")
        self.write("scripts/x.sh", "cd /" + "root/src\ncat $here/root/x ./home/y\n")
        self.write("build/x.cpp", "// FIX" + "ME\n")
        self.expect(tree.check_text, "address", "scripts/x.sh:1: an absolute path", "work left")


class Headers(Tree):
    def test_a_header_that_needs_another_is_found(self):
        self.write("include/good.h", "#include <vector>\ninline std::vector<int> a;\n")
        self.write("include/bad.h", "inline std::vector<int> a;\n")
        self.write("include/sloppy.h", "inline int f(int unused) { return 0; }\n")
        found = headers.check_public(self.root, ["c++"])
        self.assertEqual([Path(line.split(": ")[1]).name for line in found], ["bad.h", "sloppy.h"])

    def test_no_header_is_a_finding(self):
        self.assertEqual(len(headers.check_public(self.root, ["c++"])), 1)

    def test_standard_headers_reached(self):
        self.write("include/fusednn.h", "#include <fusednn/a.h>\n#include <string>\n")
        self.write("include/fusednn/a.h", "#include <vector>\n")
        self.assertEqual(headers.standard_headers(self.root), ["string", "vector"])

    def test_an_expensive_header_is_found(self):
        self.write("include/fusednn.h", "#include <cstdint>\n#include <fusednn/a.h>\n")
        self.write("include/fusednn/a.h", "template <int N> struct S { static constexpr int v = S<N - 1>::v + 1; };\n"
                   "template <> struct S<0> { static constexpr int v = 0; };\n"
                   + "".join(f"inline int f{i}() {{ return S<800>::v + {i}; }}\n" for i in range(3))
                   + "".join(f"struct T{i} {{ int a; int f() {{ return a + {i}; }} }};\n" for i in range(20000)))
        self.assertEqual(len(headers.check_cost(self.root, ["c++"])), 1)


class Symbols(unittest.TestCase):
    def test_only_public_names_pass(self):
        public = ["0001 T fusednn::v0::create()", "0002 V vtable for fusednn::v0::Graph"]
        self.assertEqual(symbols.findings(public), [])
        others = ["0003 T fusednn::internal()", "0004 W nlohmann::detail::f()", "0005 W std::vector<fusednn::v0::A>::f()"]
        self.assertEqual(len(symbols.findings(public + others)), 3)
        self.assertEqual(symbols.findings([]), ["nothing is exported"])


if __name__ == "__main__":
    unittest.main()
