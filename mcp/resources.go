package mcp

import (
	"context"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pdlt.dev/pdlt/mcp/internal/gate"
)

// Resources are the resources of a profile. The methods may be called from several goroutines.
type Resources interface {
	// Paged reports whether List has pages. Without them the cursor is always empty, and next must be.
	Paged() bool
	// List gives the page that a cursor names, "" being the first, and the cursor of the next, "" if it was the last. A cursor that it
	// did not give out is [ErrBadCursor].
	List(ctx context.Context, cursor string) (page []Resource, next string, err error)
	// Templates gives the families of resources, in the order in which they are listed.
	Templates(ctx context.Context) ([]Template, error)
	// Read gives what a resource has, never nothing. A URI that names none is [ErrNoResource].
	Read(ctx context.Context, uri string) ([]Contents, error)
}

// Conditions that [Resources] report.
var (
	ErrBadCursor  = errors.New("the cursor is not one that was given out")
	ErrNoResource = errors.New("there is no such resource")
)

// Resource is a resource as it is listed.
type Resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Size        *int64 `json:"size,omitempty"` // in bytes, if known
}

// Template is a family of resources.
type Template struct {
	URI         string `json:"uriTemplate"` // RFC 6570
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
}

// codeNoResource is what an absent resource has in the legacy era. The modern one forbids it.
const codeNoResource = -32002

func (d *dispatcher) private(r *gate.Request) *caching {
	if !r.Modern {
		return nil
	}
	return &caching{d.p.ResourcesTTL.Milliseconds(), "private"}
}

type resourceList struct {
	head
	Resources []Resource `json:"resources"`
	Next      string     `json:"nextCursor,omitempty"`
	*caching
	sdk.ResultBase
}

func (d *dispatcher) listResources(r *gate.Request) (sdk.Result, error) {
	page, next, err := d.p.Resources.List(r.Context(), r.Cursor)
	if errors.Is(err, ErrBadCursor) {
		return nil, gate.BadCursor(r.Method)
	}
	if err != nil {
		return nil, err
	}
	if page == nil {
		page = []Resource{}
	}
	return &resourceList{head: headFor(r), Resources: page, Next: next, caching: d.private(r)}, nil
}

type templateList struct {
	head
	Templates []Template `json:"resourceTemplates"`
	*caching
	sdk.ResultBase
}

func (d *dispatcher) listTemplates(r *gate.Request) (sdk.Result, error) {
	all, err := d.p.Resources.Templates(r.Context())
	if err != nil {
		return nil, err
	}
	if all == nil {
		all = []Template{}
	}
	return &templateList{head: headFor(r), Templates: all, caching: d.catalogue(r)}, nil
}

type resourceResult struct {
	head
	Contents []Contents `json:"contents"`
	*caching
	sdk.ResultBase
}

func (d *dispatcher) readResource(r *gate.Request) (sdk.Result, error) {
	contents, err := d.p.Resources.Read(r.Context(), r.Name)
	if errors.Is(err, ErrNoResource) {
		code := CodeInvalidParams
		if !r.Modern {
			code = codeNoResource
		}
		return nil, gate.Errorf(code, "Resource not found").With(map[string]any{"uri": r.Name})
	}
	if err != nil {
		return nil, err
	}
	return &resourceResult{head: headFor(r), Contents: contents, caching: d.private(r)}, nil
}

// subscribe notes that a client of the legacy era wants to be told of a resource, or no longer.
func (d *dispatcher) subscribe(r *gate.Request) (sdk.Result, error) {
	d.gate.Watch(textOf(r.Fields, "uri"), r.Method == "resources/subscribe")
	return &empty{head: headFor(r)}, nil
}
