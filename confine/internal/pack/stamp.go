package pack

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The stamp lies beside the pack's folder and not in it: it describes one place on one disk, the folder any place.
// Its lines are a header and then, for the manifest and for every entry in the manifest's order, "DEV:INODE SIZE CTIME MODE PATH".
// A folder's change time moves when a name in it comes or goes, so comparing the listed folders also finds
// names that are not listed.

const stampHeader = "pdlt pack stamp 1"

var errStamp = errors.New("the stamp does not match")

func stampName(root string) string { return root + ".stamp" }

// WriteStamp verifies the pack in full and then writes its stamp. The build and the installer call it, once the folder has its
// final place. Where the system gives no inode and change time, the error is errors.ErrUnsupported.
func (p *Pack) WriteStamp() error {
	// The change times are read before the hashes: what changes meanwhile then differs from the stamp.
	text, err := p.stampText()
	if err != nil {
		return fmt.Errorf("stamp interpreter pack: %w", err)
	}
	if err := p.verifyFull(); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(p.Root), ".stamp-*")
	if err != nil {
		return fmt.Errorf("stamp interpreter pack: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Chmod(0o444), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), stampName(p.Root))
	}
	if err != nil {
		return fmt.Errorf("stamp interpreter pack: %w", err)
	}
	return nil
}

// stamped returns nil when the stamp matches the folder.
func (p *Pack) stamped() error {
	stored, err := os.ReadFile(stampName(p.Root))
	if err != nil {
		return err
	}
	now, err := p.stampText()
	if err != nil {
		return err
	}
	if !bytes.Equal(stored, now) {
		return errStamp
	}
	return nil
}

// stampText stats every entry and returns what a stamp must hold now.
func (p *Pack) stampText() ([]byte, error) {
	if !parents(p.entries) {
		return nil, errStamp
	}
	st, err := openStatter(p.Root)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	b := make([]byte, 0, 96*len(p.entries))
	b = fmt.Appendf(b, "%s %s\n", stampHeader, p.Digest)
	if b, err = st.appendLine(b, entry{path: ManifestName, mode: 0o444, size: -1}); err != nil {
		return nil, err
	}
	for _, e := range p.entries {
		if b, err = st.appendLine(b, e); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// stampPaths lists the paths in a stamp; tests use it.
func stampPaths(text []byte) []string {
	var paths []string
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		if f := strings.SplitN(sc.Text(), " ", 5); len(f) == 5 && !strings.HasPrefix(sc.Text(), stampHeader) {
			paths = append(paths, f[4])
		}
	}
	return paths
}
