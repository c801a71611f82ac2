package gate

import (
	"encoding/json"
	"fmt"
)

// Codes of JSON-RPC and of the protocol. Nothing else below -32000 is sent, except what a legacy revision has of its own.
const (
	CodeUnreadable         = -32700
	CodeInvalid            = -32600
	CodeUnknownMethod      = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
)

// Error is a protocol error: what only the client's library can act on.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error gives the message and the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Errorf makes an error without data.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// With gives the error with data, which must be encodable.
func (e *Error) With(data any) *Error {
	raw, err := json.Marshal(data)
	if err != nil {
		return Errorf(CodeInternal, "error data: %v", err) // cannot happen: data is made of strings, numbers and raw values
	}
	return &Error{Code: e.Code, Message: e.Message, Data: raw}
}
