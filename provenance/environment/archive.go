package environment

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/tree"
)

// Archived is what [Archive] made. Its SHA256 is a checksum of the transport: another deflate gives another one for the same package.
type Archived struct {
	BundleID string
	Path     string
	SHA256   string // 64 digits
	Entries  int    // with the manifest
}

// Report is the report of archiving: specification §8.3.
func (a Archived) Report() jsonx.Value {
	return provenance.Object(
		provenance.Member("bundle_id", provenance.String(a.BundleID)),
		provenance.Member("archive", provenance.String(a.Path)),
		provenance.Member("archive_sha256", provenance.String(a.SHA256)),
		provenance.Member("entries", provenance.Int(a.Entries)),
		provenance.Member("roundtrip_verified", provenance.Bool(true)))
}

// Archive verifies a package and makes one ZIP file of it, which has its name only after it was read back and verified. What stood there is replaced.
// packageOnly and lower are as for [Verify].
func Archive(dir, out string, packageOnly bool, lower Lowerer) (Archived, error) {
	l, err := load(dir)
	if err != nil {
		return Archived{}, err
	}
	before, err := verify(l, packageOnly, lower)
	if err != nil {
		return Archived{}, err
	}
	data, err := compress(l, before.Files)
	if err != nil {
		return Archived{}, fmt.Errorf("archive package: %w", err)
	}
	back, err := unzip(data)
	if err != nil {
		return Archived{}, err
	}
	after, err := verify(back, packageOnly, lower)
	switch {
	case err != nil:
		return Archived{}, err
	case after.BundleID != before.BundleID:
		return Archived{}, differs(CodeArchiveRoundtrip, out, before.BundleID, after.BundleID)
	case after.EnvID != before.EnvID:
		return Archived{}, differs(CodeArchiveRoundtrip, out, before.EnvID, after.EnvID)
	}
	if err := tree.Replace(out, data, tree.Plain); err != nil {
		return Archived{}, fmt.Errorf("archive package: %w", err)
	}
	return Archived{BundleID: after.BundleID, Path: filepath.Clean(out), SHA256: provenance.Hex(data), Entries: len(before.Files)}, nil
}

// Fields of a ZIP entry: its specification calls them "version made by", "version needed" and "general purpose bit 11".
const (
	zipUnix    = 3 << 8
	zipVersion = 20
	zipUTF8    = 0x800
	zipDate    = 1<<5 | 1 // 1980-01-01, the first day that there is
)

// compress writes the canonical archive: sorted, without times, folders, comments and extra fields.
func compress(l loaded, names []string) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range names {
		f := l.files[name]
		var packed bytes.Buffer
		c, err := flate.NewWriter(&packed, flate.DefaultCompression)
		if err != nil {
			return nil, err
		}
		if _, err := c.Write(f.Data); err != nil {
			return nil, err
		}
		if err := c.Close(); err != nil {
			return nil, err
		}
		h := &zip.FileHeader{
			Name: name, Method: zip.Deflate, CreatorVersion: zipUnix | zipVersion, ReaderVersion: zipVersion,
			//lint:ignore SA1019 CreateRaw writes this field and does not look at Modified
			ModifiedDate: zipDate,
			CRC32:        crc32.ChecksumIEEE(f.Data), CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(len(f.Data)),
			ExternalAttrs: uint32(f.Mode.Canonical()) << 16,
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r > 0x7e }) {
			h.Flags = zipUTF8
		}
		e, err := w.CreateRaw(h)
		if err != nil {
			return nil, err
		}
		if _, err := e.Write(packed.Bytes()); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// extract reads an archive, ZIP or tar.
func extract(name string) (loaded, error) {
	f, err := os.Open(name)
	if err != nil {
		return loaded{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, tree.MaxBytes+1))
	if err != nil {
		return loaded{}, err
	}
	if len(data) > tree.MaxBytes {
		return loaded{}, refuse(CodeBundleTooLarge, name, "a larger archive", "at most 256 MiB")
	}
	if bytes.HasPrefix(data, []byte("PK")) {
		return unzip(data)
	}
	return untar(data)
}

func unreadable(err error) error {
	return refuse(CodeArchiveUnreadable, "archive", err.Error(), "a ZIP or a tar that is whole")
}

func unzip(data []byte) (loaded, error) {
	in := intake{l: loaded{files: map[string]tree.File{}}}
	// The reader makes a header of each entry before it gives one: they are counted first, by what begins them.
	if bytes.Count(data, []byte("PK\x01\x02")) > tree.MaxEntries {
		return in.l, refuse(CodeBundleTooLarge, "archive", tree.ErrTooLarge.Error(), "no more than that")
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return in.l, unreadable(err)
	}
	for _, e := range r.File {
		if strings.HasSuffix(e.Name, "/") {
			continue
		}
		mode := tree.Plain
		if m := e.ExternalAttrs >> 16; m != 0 {
			mode = tree.Mode(m & 0o7777)
		}
		// The type is in the bits above the mode; canonical archives have none there.
		if !e.Mode().IsRegular() {
			return in.l, refuse(CodeArchiveUnsafe, e.Name, "a link or a special file", "a regular file")
		}
		body, err := e.Open()
		if err != nil {
			return in.l, unreadable(err)
		}
		err = in.add(e.Name, mode, body)
		_ = body.Close()
		if err != nil {
			return in.l, err
		}
	}
	return in.l, nil
}

func untar(data []byte) (loaded, error) {
	in := intake{l: loaded{files: map[string]tree.File{}}}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) && len(in.l.files) == 0:
			return in.l, unreadable(errors.New("nothing"))
		case errors.Is(err, io.EOF):
			return in.l, nil
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			return in.l, unreadable(err)
		case h.Typeflag == tar.TypeDir:
			continue
		case h.Typeflag != tar.TypeReg:
			return in.l, refuse(CodeArchiveUnsafe, h.Name, "a link or a special file", "a regular file")
		}
		if err := in.add(h.Name, tree.ModeOf(fs.FileMode(h.Mode&0o777)), r); err != nil {
			return in.l, err
		}
	}
}

// intake takes the entries of an archive, within bounds.
type intake struct {
	l     loaded
	bytes int
}

func (in *intake) add(name string, mode tree.Mode, body io.Reader) error {
	if clean, ok := tree.Path(name); !ok || clean != name {
		return refuse(CodeArchiveUnsafe, name, "a path that leads elsewhere, or is not normalised", "a normalised path")
	}
	if _, twice := in.l.files[name]; twice {
		return refuse(CodeArchiveUnsafe, name, "the name twice", "each name once")
	}
	data, err := io.ReadAll(io.LimitReader(body, tree.MaxFile+1))
	if err != nil {
		return unreadable(err)
	}
	if in.bytes += len(data); len(data) > tree.MaxFile || in.bytes > tree.MaxBytes || len(in.l.files) == tree.MaxEntries {
		return refuse(CodeBundleTooLarge, name, tree.ErrTooLarge.Error(), "no more than that")
	}
	in.l.files[name] = tree.File{Data: data, Mode: mode}
	return nil
}
