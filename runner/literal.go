package runner

import (
	"context"
	_ "embed"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/internal/jsonx"
)

//go:embed literal.py
var literalSource []byte

// Literal reports whether the witness of a line, as a program printed it, is written into that program: specification §5. The interpreter reads
// the program and compares as it compares values, in a cell. The answer is nil when it came to none. An error is one of [Executor].
func Literal(ctx context.Context, x Executor, t Tier, source, line string) (*bool, error) {
	answer, err := ask(ctx, x, t, true, literalSource, "literal", confine.File{Name: "source.py", Data: []byte(source)},
		confine.File{Name: "witness.txt", Data: []byte(line)})
	if err != nil || answer.Kind != jsonx.Bool {
		return nil, err
	}
	return &answer.Bool, nil
}
