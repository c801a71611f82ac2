// Command bridge lets a client that speaks only Streamable HTTP reach a server that speaks only stdio: the official conformance suite is
// such a client. It starts the server once for the requests of the modern era, and once for each legacy session. It is for tests: it
// listens on the loopback interface only and authenticates nobody.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "bridge:", err)
		os.Exit(1)
	}
}

func serve() error {
	listen := flag.String("listen", "127.0.0.1:0", "address on the loopback interface")
	portFile := flag.String("port-file", "", "file that is given the port once it is open")
	flag.Parse()
	if flag.NArg() == 0 {
		return errors.New("usage: bridge [flags] SERVER [ARG...]")
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	defer l.Close()
	at := l.Addr().(*net.TCPAddr)
	if !at.IP.IsLoopback() {
		return fmt.Errorf("found %s; required: an address on the loopback interface", at)
	}
	b, err := newBridge(flag.Args())
	if err != nil {
		return err
	}
	if *portFile != "" {
		// A reader that sees the file sees the whole number.
		if err := os.WriteFile(*portFile+".new", []byte(strconv.Itoa(at.Port)), 0o600); err != nil {
			return err
		}
		if err := os.Rename(*portFile+".new", *portFile); err != nil {
			return err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", b)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- http.Serve(l, mux) }()
	select {
	case err := <-ended:
		return errors.Join(err, b.close())
	case <-stop:
		return b.close()
	}
}
