package pack

import (
	"os"
	"testing"
)

// BenchmarkVerify measures a real pack: PDLT_PACK is its folder.
func BenchmarkVerify(b *testing.B) {
	dir := os.Getenv("PDLT_PACK")
	if dir == "" {
		b.Skip("PDLT_PACK is not set")
	}
	for _, full := range []bool{false, true} {
		name := map[bool]string{false: "quick", true: "full"}[full]
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p, err := Open(dir)
				must(b, err)
				must(b, p.Verify(full))
			}
		})
	}
}
