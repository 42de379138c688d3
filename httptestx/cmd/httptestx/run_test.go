package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"
)

// A program is one that runs until it is stopped.
type program struct {
	url, admin, words string
	lines             *bufio.Scanner // of what it prints
	cancel            func()         // tells it to stop
	stop              func() (code int, stderr string)
}

// start runs the program on free ports until the test ends, at the latest.
func start(t *testing.T, rules string, args ...string) *program {
	t.Helper()
	args = append([]string{"-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-grace", "1ms"}, args...)
	if rules != "" {
		args = append(args, file(t, rules))
	}
	ctx, cancel := context.WithCancel(t.Context())
	stdout, w := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, args, strings.NewReader(""), w, &stderr)
		w.Close()
	}()
	p := &program{cancel: cancel, lines: bufio.NewScanner(stdout)}
	p.stop = sync.OnceValues(func() (int, string) {
		cancel()
		io.Copy(io.Discard, stdout)
		return <-code, stderr.String()
	})
	t.Cleanup(func() { p.stop() })
	for p.url == "" && p.lines.Scan() {
		if addr, ok := strings.CutPrefix(p.lines.Text(), "admin at "); ok {
			p.admin = addr
		}
		if rest, ok := strings.CutPrefix(p.lines.Text(), "serving "); ok {
			p.url, p.words, _ = strings.Cut(rest, ", ")
		}
	}
	if p.url == "" {
		c, message := p.stop()
		t.Fatalf("it does not serve: exit code %d, %s", c, message)
	}
	return p
}

// file returns the name of a file with the text in it.
func file(t *testing.T, text string) string {
	name := filepath.Join(t.TempDir(), "rules.json")
	is.New(t).NoErr(os.WriteFile(name, []byte(text), 0o600))
	return name
}

// ask returns the status and the body of an answer, or the error in the place of a status.
func ask(t *testing.T, method, url, body string, header ...string) (status, answer string) {
	t.Helper()
	return askBy(t, http.DefaultTransport, method, url, body, header...)
}

func askBy(t *testing.T, tr http.RoundTripper, method, url, body string, header ...string) (status, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	is.New(t).NoErr(err) // well-formed
	req.Close = true
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return err.Error(), ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.Status + ", then " + err.Error(), string(b)
	}
	return resp.Status, string(b)
}

func TestAloneItAnswersWithWhatItWasAsked(t *testing.T) {
	is := is.New(t)
	p := start(t, "")
	status, answer := ask(t, "POST", p.url+"/a?b=c&b=d", `{"x": "<ä>"}`, "X-Y", "z")
	var e echoed
	is.NoErr(json.Unmarshal([]byte(answer), &e)) // as JSON
	is.Equal(status, "200 OK")                   // whatever it was asked
	is.Equal([]string{e.Method, e.Path, e.Header.Get("X-Y"), e.Body}, []string{"POST", "/a", "z", `{"x": "<ä>"}`})
	is.Equal(e.Query["b"], []string{"c", "d"}) // both values
	_, answer = ask(t, "PUT", p.url, "\xff\x00")
	is.True(strings.Contains(answer, `"bodyBase64": "/wA="`)) // bytes that are no text
	status, _ = ask(t, "PUT", p.url, strings.Repeat("x", echoLimit+1))
	is.Equal(status, "413 Request Entity Too Large") // more than it wants to hold
}

func TestItMisbehavesAsTheRulesSay(t *testing.T) {
	is := is.New(t)
	p := start(t, `{"rules": [{"on": "POST /orders", "script": ["lostresponse", {"unavailable": "30s"}]}]}`)
	status, _ := ask(t, "POST", p.url+"/orders", "1")
	is.True(strings.Contains(status, "connection reset by peer") || strings.HasSuffix(status, "EOF")) // lost
	status, _ = ask(t, "POST", p.url+"/orders", "1")
	is.Equal(status, "503 Service Unavailable") // the second plan
	status, _ = ask(t, "POST", p.url+"/orders", "1")
	is.Equal(status, "200 OK") // no third
}

func TestItStandsInFrontOfARealServer(t *testing.T) {
	is := is.New(t)
	var asked []string
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		io.WriteString(w, "real")
	}))
	defer upstream.Close()
	p := start(t, `{"rules": [{"on": "/a", "script": [[{"status": 500}], "lostresponse"]}]}`, "-upstream", upstream.URL)
	for range 3 {
		ask(t, "POST", p.url+"/a", "")
	}
	_, answer := ask(t, "GET", p.url+"/b", "")
	is.Equal(answer, "real") // forwarded
	upstream.Close()
	is.Equal(asked, []string{"POST /a", "POST /a", "GET /b"}) // all but the one that was refused
}

func TestItServesTheProtocolsOfItsFlags(t *testing.T) {
	h1, h2, h2c := new(http.Protocols), new(http.Protocols), new(http.Protocols)
	h1.SetHTTP1(true)
	h2.SetHTTP2(true)
	h2c.SetUnencryptedHTTP2(true)
	for _, tt := range []struct {
		flags string
		asks  *http.Protocols
		want  string // "" if it is not spoken
		words string
	}{
		{"", h1, "HTTP/1.1", "HTTP/1.1"},
		{"", h2c, "", "HTTP/1.1"},
		{"-h2c", h1, "HTTP/1.1", "HTTP/1.1 and HTTP/2"},
		{"-h2c", h2c, "HTTP/2.0", "HTTP/1.1 and HTTP/2"},
		{"-http2", h2c, "HTTP/2.0", "HTTP/2"},
		{"-tls", h1, "HTTP/1.1", "HTTP/1.1 and HTTP/2"},
		{"-tls", h2, "HTTP/2.0", "HTTP/1.1 and HTTP/2"},
		{"-tls -http1", h1, "HTTP/1.1", "HTTP/1.1"},
		{"-tls -http1", h2, "", "HTTP/1.1"},
		{"-tls -http2", h2, "HTTP/2.0", "HTTP/2"},
		{"-tls -http2", h1, "", "HTTP/2"},
	} {
		t.Run(tt.flags+" "+tt.asks.String(), func(t *testing.T) {
			is := is.New(t)
			p := start(t, "", strings.Fields(tt.flags)...)
			_, pem := ask(t, "GET", p.admin+"/ca.pem", "")
			roots := x509.NewCertPool()
			is.True(roots.AppendCertsFromPEM([]byte(pem))) // an authority to trust
			tr := &http.Transport{Protocols: tt.asks, TLSClientConfig: &tls.Config{RootCAs: roots}}
			defer tr.CloseIdleConnections()
			_, answer := askBy(t, tr, "GET", p.url, "")
			var e echoed
			json.Unmarshal([]byte(answer), &e)
			is.Equal(e.Proto, tt.want)  // what was spoken
			is.Equal(p.words, tt.words) // and announced
		})
	}
}

func TestOwnCertificateIsShown(t *testing.T) {
	is := is.New(t)
	other := httptest.NewTLSServer(http.NotFoundHandler()) // has a certificate
	defer other.Close()
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	writePEM(t, cert, "CERTIFICATE", other.TLS.Certificates[0].Certificate[0])
	der, err := x509.MarshalPKCS8PrivateKey(other.TLS.Certificates[0].PrivateKey)
	is.NoErr(err)
	writePEM(t, key, "PRIVATE KEY", der)
	p := start(t, "", "-cert", cert, "-key", key)
	status, _ := askBy(t, other.Client().Transport, "GET", p.url, "")
	is.Equal(status, "200 OK") // who trusts it is served
}

func TestSameSeedHitsTheSameRequests(t *testing.T) {
	is := is.New(t)
	hits := func(args ...string) (list string) {
		p := start(t, `{"seed": 2, "rules": [{"on": "/", "prob": 0.5, "do": [{"status": 601}]}]}`, args...)
		for range 16 {
			status, _ := ask(t, "GET", p.url, "")
			list += status[:1]
		}
		return list
	}
	is.Equal(hits(), hits())                               // that of the rules
	is.True(hits() != hits("-seed", "0x51f3"))             // the flag goes before
	is.Equal(hits("-seed", "0x51f3"), hits("-seed=20979")) // and can be written in two ways
}

func TestStopLetsRunningRequestsEnd(t *testing.T) {
	is := is.New(t)
	arrived, goOn := make(chan bool), make(chan bool)
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- true
		<-goOn
	}))
	defer upstream.Close()
	p := start(t, "", "-upstream", upstream.URL, "-grace", "1m")
	ended := make(chan string, 1)
	go func() {
		status, _ := ask(t, "GET", p.url, "")
		ended <- status
	}()
	<-arrived
	p.cancel()
	is.True(p.lines.Scan() && p.lines.Text() == "stopping") // it has heard
	close(goOn)
	is.Equal(<-ended, "200 OK") // and still answers
	code, message := p.stop()
	is.Equal(code, exitOK) // it ends well
	is.Equal(message, "")  // and there is nothing to say
	_, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	is.True(err != nil) // nobody is there any more
}

func TestStopCutsRequestsThatDoNotEnd(t *testing.T) {
	is := is.New(t)
	p := start(t, `{"rules": [{"on": "/", "do": ["hang"]}]}`)
	ended := make(chan string, 1)
	go func() {
		status, _ := ask(t, "GET", p.url, "")
		ended <- status
	}()
	for {
		if _, list := ask(t, "GET", p.admin+"/exchanges", ""); strings.Contains(list, `"hang"`) {
			break
		}
	}
	code, message := p.stop()
	is.Equal(code, exitOK)                                                                // it stops
	is.Equal(message, "httptestx: after 1ms requests were still running, and were cut\n") // and says so
	is.True(!strings.HasPrefix(<-ended, "200"))                                           // the client is let go
}

// The program that people run takes the signals as an end.
func TestSignalsStopTheProgram(t *testing.T) {
	if os.Getenv("HTTPTESTX_MAIN") != "" {
		os.Args = []string{"httptestx", "-listen", "127.0.0.1:0"}
		main()
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		is := is.New(t)
		cmd := self(t)
		out, err := cmd.StdoutPipe()
		is.NoErr(err)
		is.NoErr(cmd.Start())
		lines := bufio.NewScanner(out)
		is.True(lines.Scan()) // it serves
		is.NoErr(cmd.Process.Signal(sig))
		is.True(lines.Scan() && lines.Text() == "stopping") // it has heard
		is.NoErr(cmd.Wait())                                // and ends well
	}
}

// self is this test, run as the program.
func self(t *testing.T) *exec.Cmd {
	name, err := os.Executable()
	is.New(t).NoErr(err)
	cmd := exec.CommandContext(t.Context(), name, "-test.run=^TestSignalsStopTheProgram$")
	cmd.Env = append(os.Environ(), "HTTPTESTX_MAIN=1")
	cmd.Stderr = os.Stderr
	return cmd
}

// usageOf runs the program with arguments with which it does not serve.
func usageOf(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code = run(ctx, args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}
