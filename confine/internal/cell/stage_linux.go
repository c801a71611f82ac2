//go:build linux && cgo

package cell

// #cgo CFLAGS: -Wall -Wextra -O2
// #include "cell.h"
import "C"

import "unsafe"

// Available reports whether the C stage is compiled in.
const Available = true

// sizes gives the C sizes for the test that holds both sides together.
func sizes() map[string][2]uintptr {
	return map[string][2]uintptr{
		"cell_config":  {C.sizeof_struct_cell_config, unsafe.Sizeof(header{})},
		"cell_prepare": {C.sizeof_struct_cell_prepare, unsafe.Sizeof(prepare{})},
		"cell_message": {C.sizeof_struct_cell_message, unsafe.Sizeof(message{})},
		"cell_ready":   {C.sizeof_struct_cell_ready, unsafe.Sizeof(Ready{})},
		"cell_request": {C.sizeof_struct_cell_request, unsafe.Sizeof(request{})},
		"cell_mount":   {C.sizeof_struct_cell_mount, 16},
		"cell_rule":    {C.sizeof_struct_cell_rule, 16},
		"cell_block":   {C.sizeof_struct_cell_block, unsafe.Sizeof(Block{})},
	}
}
