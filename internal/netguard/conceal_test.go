package netguard

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestErrorsOfTheNetworkTellNoAddresses(t *testing.T) {
	t.Parallel()
	const to = destination("db.example:5432")
	inside := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 5432}
	refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	for want, err := range map[string]error{
		"dial tcp db.example:5432: connect: connection refused": &net.OpError{Op: "dial", Net: "tcp", Source: inside, Addr: inside, Err: refused},
		"read tcp db.example:5432: i/o timeout":                 &net.OpError{Op: "read", Net: "tcp", Source: inside, Addr: inside, Err: os.ErrDeadlineExceeded},
		"dial tcp db.example:5432: lookup db.example: no such host": &net.OpError{
			Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "db.example.cluster.local", Server: "10.0.0.2:53", IsNotFound: true},
		},
		"dial tcp db.example:5432: lookup db.example: the name cannot be looked up": &net.OpError{
			Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "read udp 10.0.0.7:41->10.0.0.2:53: connection refused", Name: "db.example", Server: "10.0.0.2:53", IsTemporary: true},
		},
		"dial tcp db.example:5432: lookup db.example: the name server does not answer in time": &net.OpError{
			Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "i/o timeout", Name: "db.example", Server: "10.0.0.2:53", IsTimeout: true},
		},
		"EOF": io.EOF,
	} {
		got := concealAddress(err, to)
		if got.Error() != want {
			t.Errorf("%v becomes %v\nwant %s", err, got, want)
		}
		was, isNet := errors.AsType[net.Error](err)
		if now, ok := errors.AsType[net.Error](got); ok != isNet || ok && now.Timeout() != was.Timeout() {
			t.Errorf("%v is another kind of error than %v", got, err)
		}
	}
	if err := concealAddress(&net.OpError{Op: "dial", Net: "tcp", Addr: inside, Err: refused}, to); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the cause of %v is lost", err)
	}
}

func TestAConnectionNamesWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	address, _ := listen(t)
	_, port, _ := net.SplitHostPort(address)
	asked := net.JoinHostPort("localhost", port)
	conn, err := mustGuard(t, "localhost").DialContext(t.Context(), "tcp4", asked)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	for op, use := range map[string]func([]byte) (int, error){"read": conn.Read, "write": conn.Write} {
		if _, err := use([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), asked) || strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("the error of a %s is %v", op, err)
		}
	}
}

func TestANameThatIsNoneTellsNoNameServer(t *testing.T) {
	t.Parallel()
	_, err := mustGuard(t).DialContext(t.Context(), "tcp", "nothing.invalid:80")
	if err == nil || strings.Contains(err.Error(), " on ") || strings.Contains(err.Error(), ":53") || !strings.Contains(err.Error(), "nothing.invalid") {
		t.Errorf("the error is %v", err)
	}
}
